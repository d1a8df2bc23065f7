//! The masters as registry: which cluster, which master is active, where `hbase:meta` is.
//!
//! Since HBase 2.3 masters answer these questions themselves (`ClientMetaService`), also while they are on standby, so
//! that a client needs no ZooKeeper.

use prost::Message;

use crate::client::Core;
use crate::config::split_address;
use crate::error::{Error, Result};
use crate::proto;
use crate::rpc::{CallSpec, Deadline, Service};
use crate::wire::Plain;

pub(crate) fn parse_masters(addresses: &[String]) -> Result<Vec<(String, u16)>> {
    if addresses.is_empty() {
        return Err(Error::Invalid("no master given".into()));
    }
    addresses
        .iter()
        .map(|a| {
            split_address(a, 16000)
                .map(|(host, port)| (host.to_owned(), port))
                .ok_or_else(|| Error::Invalid(format!("{a:?} is not host:port")))
        })
        .collect()
}

/// Asks the masters one after another; the first answer counts.
async fn ask<M: Message + Default>(
    core: &Core,
    method: &'static str,
    deadline: Deadline,
) -> Result<M> {
    let mut reason = String::new();
    for (host, port) in &core.masters {
        if deadline.passed() {
            break;
        }
        let deadline = deadline.no_later_than(core.config.lookup_timeout);
        let server = core.servers.get(host, *port, Service::Registry);
        let answer = async {
            let connection = core.connection(&server, deadline).await?;
            let spec = CallSpec { method, priority: 0, deadline };
            connection.call(spec, &Plain(proto::Empty {}))?.await?.message::<M>()
        };
        match answer.await {
            Ok(message) => return Ok(message),
            Err(e) => reason = e.to_string(),
        }
    }
    if deadline.passed() {
        // Too little time proves nothing about the masters.
        return Err(deadline.error("asking the masters", false));
    }
    Err(Error::NoMaster { masters: core.config.masters.join(","), reason })
}

pub(crate) async fn cluster_id(core: &Core, deadline: Deadline) -> Result<Option<String>> {
    Ok(ask::<proto::GetClusterIdResponse>(core, "GetClusterId", deadline).await?.cluster_id)
}

pub(crate) async fn active_master(core: &Core, deadline: Deadline) -> Result<proto::ServerName> {
    let response: proto::GetActiveMasterResponse = ask(core, "GetActiveMaster", deadline).await?;
    response.server_name.ok_or_else(|| Error::NoMaster {
        masters: core.config.masters.join(","),
        reason: "they know of no active master".into(),
    })
}

pub(crate) async fn meta_locations(
    core: &Core,
    deadline: Deadline,
) -> Result<proto::GetMetaRegionLocationsResponse> {
    ask(core, "GetMetaRegionLocations", deadline).await
}
