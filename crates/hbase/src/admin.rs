//! What is asked of the active master: tables, regions, the cluster's state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tokio::time::sleep;

use crate::core::{Core, specifier};
use crate::error::{Error, Result};
use crate::locate::{Replica, TableName};
use crate::ops::{Durability, Get, ReadMode};
use crate::proto;
use crate::rpc::{CallSpec, Deadline, Service};
use crate::table::Table;
use crate::wire::Plain;

/// First pause between two questions for a procedure's result.
const FIRST_POLL: Duration = Duration::from_millis(10);
const LONGEST_POLL: Duration = Duration::from_millis(500);

/// What a table is to look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    name: String,
    families: Vec<FamilySpec>,
    replicas: u32,
    durability: Durability,
    splits: Vec<Bytes>,
    attributes: BTreeMap<String, String>,
}

impl TableSpec {
    /// A table of one region and one copy.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            families: Vec::new(),
            replicas: 1,
            durability: Durability::UseDefault,
            splits: Vec::new(),
            attributes: BTreeMap::new(),
        }
    }

    /// Adds a family.
    #[must_use]
    pub fn family(mut self, family: FamilySpec) -> Self {
        self.families.push(family);
        self
    }

    /// How many copies each region has, the primary included (HBase's `REGION_REPLICATION`).
    #[must_use]
    pub fn replicas(mut self, n: u32) -> Self {
        self.replicas = n;
        self
    }

    /// What [`Durability::UseDefault`] means to this table's writes.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Splits the table from the start: each key begins a region.
    #[must_use]
    pub fn splits<I, B>(mut self, keys: I) -> Self
    where
        I: IntoIterator<Item = B>,
        B: Into<Bytes>,
    {
        self.splits = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Any other attribute of a table descriptor, by HBase's name: `MAX_FILESIZE`, `SPLIT_POLICY`, …
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }

    fn to_proto(&self) -> Result<proto::CreateTableRequest> {
        if self.families.is_empty() {
            return Err(Error::Invalid(format!("table {} needs a family", self.name)));
        }
        let mut attributes = self.attributes.clone();
        if self.replicas != 1 {
            attributes.insert("REGION_REPLICATION".into(), self.replicas.to_string());
        }
        if self.durability != Durability::UseDefault {
            attributes.insert("DURABILITY".into(), self.durability.name().into());
        }
        let mut split_keys = self.splits.clone();
        split_keys.sort();
        let families = self.families.iter().map(|f| proto::ColumnFamilySchema {
            name: Bytes::copy_from_slice(f.name.as_bytes()),
            attributes: pairs(&f.attributes),
        });
        Ok(proto::CreateTableRequest {
            table_schema: proto::TableSchema {
                table_name: Some(TableName::new(&self.name)?.to_proto()),
                attributes: pairs(&attributes),
                column_families: families.collect(),
            },
            split_keys,
        })
    }
}

/// What a column family is to look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilySpec {
    name: String,
    attributes: BTreeMap<String, String>,
}

impl FamilySpec {
    /// A family that keeps one version of each column.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), attributes: BTreeMap::new() }.versions(1)
    }

    /// How many versions it keeps.
    #[must_use]
    pub fn versions(self, n: u32) -> Self {
        self.attribute("VERSIONS", n.to_string())
    }

    /// Any other attribute of a family descriptor, by HBase's name: `COMPRESSION`, `BLOOMFILTER`, `IN_MEMORY`, …
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.insert(name.into(), value.into());
        self
    }
}

fn pairs(attributes: &BTreeMap<String, String>) -> Vec<proto::BytesBytesPair> {
    let bytes = |s: &String| Bytes::copy_from_slice(s.as_bytes());
    attributes
        .iter()
        .map(|(k, v)| proto::BytesBytesPair { first: bytes(k), second: bytes(v) })
        .collect()
}

/// A server of the cluster, one start of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerId {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// When it started, in milliseconds since 1970.
    pub start_ms: u64,
}

impl From<proto::ServerName> for ServerId {
    fn from(name: proto::ServerName) -> Self {
        Self {
            host: name.host_name,
            port: name.port.and_then(|p| u16::try_from(p).ok()).unwrap_or(0),
            start_ms: name.start_code.unwrap_or(0),
        }
    }
}

impl From<&ServerId> for proto::ServerName {
    fn from(id: &ServerId) -> Self {
        Self {
            host_name: id.host.clone(),
            port: Some(u32::from(id.port)),
            start_code: Some(id.start_ms),
        }
    }
}

/// What the active master says of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStatus {
    /// HBase's version.
    pub version: String,
    /// The active master.
    pub master: Option<ServerId>,
    /// Masters on standby.
    pub backup_masters: Vec<ServerId>,
    /// Region servers that live.
    pub live: Vec<ServerId>,
    /// Region servers that the master takes for dead.
    pub dead: Vec<ServerId>,
    /// How many regions are on their way to a server.
    pub regions_in_transition: usize,
}

/// Whether a table serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableState {
    /// It serves.
    Enabled,
    /// It does not.
    Disabled,
    /// It is about to stop.
    Disabling,
    /// It is about to start.
    Enabling,
}

/// The administrative side of a [`crate::Client`].
#[derive(Clone)]
pub struct Admin {
    core: Arc<Core>,
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}

impl Admin {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    fn deadline(&self) -> Deadline {
        Deadline::after(self.core.config.admin_timeout)
    }

    /// One call to the active master.
    async fn call<Q: Message, A: Message + Default>(
        &self,
        method: &'static str,
        request: Q,
        deadline: Deadline,
    ) -> Result<A> {
        let master = self.core.registry().active_master(deadline).await?;
        let id = ServerId::from(master);
        let server = self.core.servers.get(&id.host, id.port, Service::Master);
        let connection = self.core.connection(&server, deadline).await?;
        let spec = CallSpec { method, priority: 0, deadline };
        connection.call(spec, &Plain(request))?.await?.message()
    }

    /// Starts a procedure and waits for its end.
    async fn procedure<Q: Message>(&self, method: &'static str, request: Q) -> Result<()> {
        let deadline = self.deadline();
        let started: proto::ProcedureResponse = self.call(method, request, deadline).await?;
        let Some(proc_id) = started.proc_id else { return Ok(()) };
        let mut pause = FIRST_POLL;
        loop {
            let request = proto::GetProcedureResultRequest { proc_id };
            let result: proto::GetProcedureResultResponse =
                self.call("getProcedureResult", request, deadline).await?;
            match (result.state, result.exception) {
                (1, _) => {}
                (2, None) => return Ok(()),
                (2, Some(e)) => {
                    let cause = e.generic_exception.unwrap_or_default();
                    return Err(Error::Procedure {
                        class: cause.class_name.unwrap_or_default(),
                        message: cause.message.unwrap_or_default(),
                    });
                }
                _ => {
                    return Err(Error::Procedure {
                        class: String::new(),
                        message: format!("the master does not know procedure {proc_id}"),
                    });
                }
            }
            if deadline.passed() {
                return Err(deadline.error("waiting for the master's procedure", true));
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_POLL);
        }
    }

    /// Creates a table and waits until the master has done so.
    pub async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        self.procedure("CreateTable", spec.to_proto()?).await
    }

    /// Takes a table out of service.
    pub async fn disable_table(&self, name: &str) -> Result<()> {
        self.procedure("DisableTable", table_request(name)?).await
    }

    /// Takes a table into service.
    pub async fn enable_table(&self, name: &str) -> Result<()> {
        self.procedure("EnableTable", table_request(name)?).await
    }

    /// Deletes a table, which must be disabled.
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        self.procedure("DeleteTable", table_request(name)?).await
    }

    /// Disables and deletes a table, if it exists.
    pub async fn drop_table(&self, name: &str) -> Result<()> {
        if !self.table_exists(name).await? {
            return Ok(());
        }
        if self.table_state(name).await? != TableState::Disabled {
            self.disable_table(name).await?;
        }
        self.delete_table(name).await
    }

    /// Whether the table exists.
    pub async fn table_exists(&self, name: &str) -> Result<bool> {
        Ok(self.table_attributes(name).await?.is_some())
    }

    /// The attributes of the table as the master knows them: `DURABILITY`, `REGION_REPLICATION`, …; `None` if there
    /// is no such table.
    pub async fn table_attributes(&self, name: &str) -> Result<Option<BTreeMap<String, String>>> {
        let request = proto::GetTableDescriptorsRequest {
            table_names: vec![TableName::new(name)?.to_proto()],
        };
        let answer: proto::GetTableDescriptorsResponse =
            self.call("GetTableDescriptors", request, self.deadline()).await?;
        let text = |b: &Bytes| String::from_utf8_lossy(b).into_owned();
        let pairs = |schema: &proto::TableSchema| {
            schema.attributes.iter().map(|p| (text(&p.first), text(&p.second))).collect()
        };
        Ok(answer.table_schema.first().map(pairs))
    }

    /// Whether the table serves.
    pub async fn table_state(&self, name: &str) -> Result<TableState> {
        let answer: proto::GetTableStateResponse =
            self.call("GetTableState", table_request(name)?, self.deadline()).await?;
        match answer.table_state.state {
            0 => Ok(TableState::Enabled),
            1 => Ok(TableState::Disabled),
            2 => Ok(TableState::Disabling),
            3 => Ok(TableState::Enabling),
            other => Err(Error::Protocol(format!("table state {other}"))),
        }
    }

    /// What the active master says of the cluster.
    pub async fn cluster_status(&self) -> Result<ClusterStatus> {
        let request = proto::GetClusterStatusRequest { options: vec![0, 3, 4, 5, 7, 10] };
        let answer: proto::GetClusterStatusResponse =
            self.call("GetClusterStatus", request, self.deadline()).await?;
        let status = answer.cluster_status;
        let ids = |names: Vec<proto::ServerName>| names.into_iter().map(ServerId::from).collect();
        Ok(ClusterStatus {
            version: status.hbase_version.map(|v| v.version).unwrap_or_default(),
            master: status.master.map(ServerId::from),
            backup_masters: ids(status.backup_masters),
            live: ids(status.servers_name),
            dead: ids(status.dead_servers),
            regions_in_transition: status.regions_in_transition.len(),
        })
    }

    /// Moves a region (or one of its replicas) to a server, and waits for it.
    pub async fn move_region(&self, replica: &Replica, to: &ServerId) -> Result<()> {
        let request = proto::MoveRegionRequest {
            // The master, unlike region servers, wants the encoded name.
            region: proto::RegionSpecifier {
                r#type: 2,
                value: replica.encoded_name_bytes().clone(),
            },
            dest_server_name: Some(to.into()),
        };
        self.call::<_, proto::Empty>("MoveRegion", request, self.deadline()).await.map(drop)
    }

    /// Switches the balancer, which moves regions on its own; says what it was before.
    pub async fn set_balancer(&self, on: bool) -> Result<bool> {
        let request = proto::SetBalancerRunningRequest { on, synchronous: Some(true) };
        let answer: proto::SetBalancerRunningResponse =
            self.call("SetBalancerRunning", request, self.deadline()).await?;
        Ok(answer.prev_balance_value.unwrap_or(false))
    }

    /// Waits until every copy of every region answers reads. A table just created needs this before `TIMELINE` reads: a
    /// secondary replica refuses reads until its primary has flushed once (which it does by itself, soon after opening).
    pub async fn wait_until_served(&self, table: &Table) -> Result<()> {
        let deadline = self.deadline();
        for region in table.regions().await? {
            // Any row of the region will do; the empty one isn't a row.
            let row = if region.start().is_empty() {
                Bytes::from_static(&[0])
            } else {
                region.start().clone()
            };
            for replica in region.replicas() {
                let get =
                    Get::new(row.clone()).existence_only().mode(ReadMode::Replica(replica.id()));
                let mut pause = FIRST_POLL;
                while let Err(e) = table.get(&get).await {
                    let hopeless =
                        matches!(e, Error::TableNotFound(_) | Error::NoSuchReplica { .. });
                    if hopeless || deadline.passed() {
                        return Err(e);
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_POLL);
                }
            }
        }
        Ok(())
    }

    /// Writes the memory of a table's primaries to files, region after region.
    pub async fn flush_table(&self, table: &Table) -> Result<()> {
        let deadline = self.deadline();
        for region in table.regions().await? {
            let Some(primary) = region.replicas().first() else { continue };
            let Some((host, port)) = primary.server() else { continue };
            let server = self.core.servers.get(host, port, Service::Admin);
            let connection = self.core.connection(&server, deadline).await?;
            let request = proto::FlushRegionRequest {
                region: specifier(primary),
                write_flush_wal_marker: Some(true),
            };
            let spec = CallSpec { method: "FlushRegion", priority: 0, deadline };
            connection.call(spec, &Plain(request))?.await?;
        }
        Ok(())
    }
}

fn table_request(name: &str) -> Result<proto::TableRequest> {
    Ok(proto::TableRequest { table_name: TableName::new(name)?.to_proto() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_described_in_hbases_terms() {
        let spec = TableSpec::new("ns:t")
            .family(FamilySpec::new("f").versions(3).attribute("BLOOMFILTER", "NONE"))
            .replicas(3)
            .durability(Durability::AsyncWal)
            .splits(["m", "c"]);
        let request = spec.to_proto().unwrap();
        let attributes: Vec<_> =
            request.table_schema.attributes.iter().map(|p| (&p.first[..], &p.second[..])).collect();
        assert_eq!(
            attributes,
            [(&b"DURABILITY"[..], &b"ASYNC_WAL"[..]), (b"REGION_REPLICATION", b"3")]
        );
        assert_eq!(request.split_keys, ["c", "m"]);
        assert_eq!(request.table_schema.column_families[0].attributes.len(), 2);
        assert_eq!(request.table_schema.table_name.unwrap().namespace, "ns");
    }

    #[test]
    fn a_table_without_a_family_is_refused() {
        assert!(matches!(TableSpec::new("t").to_proto(), Err(Error::Invalid(_))));
    }
}
