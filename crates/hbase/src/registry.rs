//! The masters as registry: which cluster, which master is active, where `hbase:meta` is.
//!
//! Since HBase 2.3 masters answer these questions themselves (`ClientMetaService`), also while they are on standby, so
//! that a client needs no ZooKeeper.

use prost::Message;

use crate::config::{Config, split_address};
use crate::error::{Error, Result};
use crate::proto;
use crate::rpc::{CallSpec, Counters, Deadline, Servers, Service};
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

/// The masters of a cluster, and what it takes to ask them.
pub(crate) struct Registry<'a> {
    pub masters: &'a [(String, u16)],
    pub servers: &'a Servers,
    pub counters: &'a Counters,
    pub config: &'a Config,
}

impl Registry<'_> {
    pub(crate) async fn cluster_id(&self, deadline: Deadline) -> Result<Option<String>> {
        let answer: proto::GetClusterIdResponse = self.ask("GetClusterId", deadline).await?;
        Ok(answer.cluster_id)
    }

    pub(crate) async fn active_master(&self, deadline: Deadline) -> Result<proto::ServerName> {
        let answer: proto::GetActiveMasterResponse = self.ask("GetActiveMaster", deadline).await?;
        answer.server_name.ok_or_else(|| self.no_master("they know of no active master".into()))
    }

    pub(crate) async fn meta_locations(
        &self,
        deadline: Deadline,
    ) -> Result<proto::GetMetaRegionLocationsResponse> {
        self.ask("GetMetaRegionLocations", deadline).await
    }

    /// Asks the masters one after another; the first answer counts.
    async fn ask<M: Message + Default>(
        &self,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<M> {
        let mut reason = String::new();
        for (host, port) in self.masters {
            if deadline.passed() {
                break;
            }
            let deadline = deadline.no_later_than(self.config.lookup_timeout);
            let server = self.servers.get(host, *port, Service::Registry);
            let answer = async {
                let connection = server.connection(self.config, self.counters, deadline).await?;
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
        Err(self.no_master(reason))
    }

    fn no_master(&self, reason: String) -> Error {
        Error::NoMaster { masters: self.config.masters.join(","), reason }
    }
}
