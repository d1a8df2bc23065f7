//! HBase, by our own native client.
//!
//! A record is a row; its fields are columns of the family `f`. Users of one thread share a
//! connection to each region server, as those of a Java client do. The table is cut beforehand into as
//! many regions as there are region servers, so that all of them take load from the start.
//!
//! An update is a put, and so writes whether or not the row is there. A delete, too, is ok in either
//! case.
//!
//! Replicas follow their primary by its log. The count after loading waits until every replica has
//! as many rows as the primary, for at most 30 s. In a table of few records that was dropped and
//! made anew, replicas may take longer. The load then fails; the next invocation tries again.
//!
//! A frame far longer than the workload's records
//! ([`Layout::longest_answer_bytes`](crate::Layout::longest_answer_bytes)) ends its connection.
//!
//! Target options:
//! - `regions`: regions of the table; by default one a region server.
//! - `timeline`: `"hedged"` (default) asks the primary and, after 10 ms, the other replicas, as the
//!   Java client does; `"any"` gives each user a replica of its own for `TIMELINE` reads, all replicas
//!   in turn, as [`Routing::Sticky`] does. Users that roam take the next one for each read.

use crate::security::Security;
use crate::{Binding, BindingError, Context, Created, Found, Routing, Session};
use bytes::Bytes;
use pacelc_core::consistency::hbase::{Durability, Read};
use pacelc_core::{
    Consistency, ErrorKind, FieldValue, Operation, OperationKind, Outcome, PerKind, Rows, operation,
};
use pacelc_hbase as client;
use pacelc_hbase::{
    Client, Delete, Effect, FamilySpec, Get, Put, ReadMode, Row, Scan, Table, TableSpec,
};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::time;

const FAMILY: Bytes = Bytes::from_static(b"f");

/// The table's attribute that holds the marker of the study that made it (see [`crate::table`]).
const OWNER: &str = "PACELC_OWNER";

/// Rows fetched at once by a count.
const COUNT_BATCH: u32 = 1_000;

/// How long replicas may take to follow their primary.
const REPLICAS_FOLLOW: Duration = Duration::from_secs(30);

/// The binding.
#[derive(Debug)]
pub struct HBase {
    client: Client,
    table: Table,
    spec: TableSpec,
    shared: Rc<Shared>,
    replicas: u32,
    servers: usize,
    next_replica: Cell<u32>,
    any_replica: bool,
}

#[derive(Debug)]
struct Shared {
    levels: PerKind<client::ReadMode, client::Durability>,
    /// The columns' names.
    fields: Vec<Bytes>,
    replicas: u32,
    /// Whether a user takes the next replica for each read, where it reads from any.
    roams: bool,
}

impl Binding for HBase {
    type Session = HBaseSession;

    fn check_security(_database: &str, security: &Security) -> Result<(), BindingError> {
        if security.password.is_some() {
            return Err(BindingError::target(
                "pacelc's HBase client has no SASL, so it can't use a password",
                "leave the password out: servers with SIMPLE authentication believe the user's name",
            ));
        }
        if security.tls.is_some() {
            return Err(BindingError::target(
                "pacelc's HBase client has no TLS",
                "use the cluster's plain ports, over a network that you trust",
            ));
        }
        security.refuse_auth_source()
    }

    async fn open(context: &Context) -> Result<Self, BindingError> {
        let Consistency::HBase(levels) = context.consistency else {
            return Err(BindingError::target(
                "the consistency isn't HBase's",
                "resolve it for hbase",
            ));
        };
        let target = &context.target;
        let replicas = target.region_replicas.unwrap_or(target.replication);
        let servers = u32::try_from(target.region_servers.len()).unwrap_or(1).max(1);
        let regions = match target.options.get("regions") {
            None => servers,
            Some(value) => value
                .as_u64()
                .and_then(|n| u32::try_from(n).ok())
                .filter(|n| (1..=80).contains(n))
                .ok_or_else(|| option("regions", "1 to 80"))?,
        };
        let any_replica = match target.options.get("timeline") {
            None => target.session.is_some(),
            Some(value) => match value.as_str() {
                Some("hedged") => false,
                Some("any") => true,
                _ => return Err(option("timeline", "\"hedged\" or \"any\"")),
            },
        };
        let mut config = client::Config::new(target.endpoints.iter().cloned());
        // The load loop's limit is the one that counts; the client's is there for its own questions.
        config.operation_timeout = context.operation_timeout + Duration::from_secs(1);
        // However many records a scan asks for, servers send 2 MB and one record at once.
        config.max_frame_bytes = context.layout.longest_answer_bytes(1);
        // Servers with SIMPLE authentication believe the name; `check_security` refuses the rest.
        if let Some(security) = &target.security {
            Self::check_security(&target.database, security)?;
            config.user = security.user.clone().unwrap_or(config.user);
        }
        let address = target.endpoints.join(",");
        let client = Client::connect(config)
            .await
            .map_err(|e| BindingError::connect("HBase", &address, e))?;
        let name = &context.layout.table;
        let table = client.table(name).map_err(|e| BindingError::server("the table's name", e))?;
        let shared = Shared {
            levels: PerKind {
                read: read_mode(levels.read),
                scan: read_mode(levels.scan),
                update: durability(levels.update),
                insert: durability(levels.insert),
                delete: durability(levels.delete),
            },
            fields: (0..context.layout.fields).map(|n| Bytes::from(format!("field{n}"))).collect(),
            replicas: replicas.max(1),
            roams: target.session == Some(Routing::Roaming),
        };
        let mut spec = TableSpec::new(name.as_str())
            .family(FamilySpec::new("f"))
            .replicas(replicas)
            .splits(splits(regions));
        if let Some(marker) = target.marker() {
            spec = spec.attribute(OWNER, marker);
        }
        Ok(Self {
            client,
            table,
            spec,
            shared: Rc::new(shared),
            replicas,
            servers: target.region_servers.len(),
            next_replica: Cell::new(0),
            any_replica,
        })
    }

    async fn find_table(&self) -> Result<Option<Found>, BindingError> {
        let failed = |e: client::Error| BindingError::server("looking for the table", e);
        let name = self.table.name().to_string();
        let attributes = self.client.admin().table_attributes(&name).await.map_err(failed)?;
        Ok(attributes.map(|mut attributes| Found {
            what: "a table that HBase knows".into(),
            marker: attributes.remove(OWNER),
            id: None,
        }))
    }

    async fn drop_table(&self, _found: &Found) -> Result<(), BindingError> {
        let name = self.table.name().to_string();
        let dropped = self.client.admin().drop_table(&name).await;
        dropped.map_err(|e| BindingError::server("dropping the table", e))
    }

    async fn create_table(&self) -> Result<Created, BindingError> {
        let admin = self.client.admin();
        let failed = |e: client::Error| BindingError::server("creating the table", e);
        admin.create_table(&self.spec).await.map_err(failed)?;
        // New secondary replicas refuse reads until their primary has flushed once.
        admin.wait_until_served(&self.table).await.map_err(failed)?;
        Ok(Created::default())
    }

    async fn server_version(&self) -> Option<String> {
        self.client.admin().cluster_status().await.ok().map(|status| status.version)
    }

    /// The master must have all region servers and no region on its way, and `hbase:meta` be read.
    async fn unsettled(&self) -> Option<String> {
        let admin = self.client.admin();
        let status = match admin.cluster_status().await {
            Ok(status) => status,
            Err(cause) => return Some(cause.to_string()),
        };
        let (live, all) = (status.live.len(), self.servers);
        if live != all {
            return Some(format!("{live} of {all} region servers are in"));
        }
        if status.regions_in_transition > 0 {
            return Some(format!("{} regions are on their way", status.regions_in_transition));
        }
        // A master that is starting says how things are, but not which tables there are.
        if let Err(cause) = admin.table_exists("hbase:meta").await {
            return Some(cause.to_string());
        }
        match self.table.regions().await {
            Ok(_) | Err(client::Error::TableNotFound(_)) => None,
            Err(cause) => Some(cause.to_string()),
        }
    }

    /// Counts the primary's rows, when every replica has as many: replicas follow about a second
    /// behind, and a weak read must not miss what was loaded before the run began.
    async fn count_records(&self, most: u64) -> Result<u64, BindingError> {
        let count = self.count(ReadMode::Strong, most).await?;
        let deadline = Instant::now() + REPLICAS_FOLLOW;
        for replica in 1..self.replicas {
            while self.count(ReadMode::Replica(replica), most).await? != count {
                if Instant::now() > deadline {
                    let late = format!("replica {replica} doesn't follow the primary");
                    return Err(BindingError::server("counting", late));
                }
                time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(count)
    }

    async fn session(&self) -> Result<HBaseSession, BindingError> {
        let replica = self.any_replica.then(|| {
            let turn = self.next_replica.get();
            self.next_replica.set(turn.wrapping_add(1));
            Cell::new(turn % self.replicas.max(1))
        });
        Ok(HBaseSession { table: self.table.clone(), shared: Rc::clone(&self.shared), replica })
    }

    fn in_force(&self) -> Vec<(OperationKind, String)> {
        let levels = &self.shared.levels;
        let read = |mode: ReadMode| match mode {
            ReadMode::Strong => "STRONG".to_owned(),
            _ if self.any_replica => "TIMELINE from any replica".to_owned(),
            ReadMode::PrimaryThenReplicas(after) => {
                format!("TIMELINE, replicas after {} ms", after.as_millis())
            }
            ReadMode::Replica(id) => format!("TIMELINE from replica {id}"),
        };
        vec![
            (OperationKind::Read, read(levels.read)),
            (OperationKind::Scan, read(levels.scan)),
            (OperationKind::Update, levels.update.name().to_owned()),
            (OperationKind::Insert, levels.insert.name().to_owned()),
            (OperationKind::Delete, levels.delete.name().to_owned()),
        ]
    }

    fn hedges(&self) -> u64 {
        self.client.counts().hedges
    }
}

fn option(name: &str, known: &str) -> BindingError {
    BindingError::target(format!("HBase's option {name} can't be that"), format!("use {known}"))
}

/// Keys that cut YCSB's hashed keys (`user` and up to 19 digits, the first 1 to 9) into `regions`
/// parts of about the same size.
fn splits(regions: u32) -> Vec<Bytes> {
    // Numbers below 2^63 in decimal: nearly all lie between 1.0 and 9.2 times 10^18.
    (1..regions).map(|i| Bytes::from(format!("user{}", 10 + 82 * i / regions))).collect()
}

const fn read_mode(level: Read) -> ReadMode {
    match level {
        Read::Strong => ReadMode::Strong,
        Read::Timeline => ReadMode::TIMELINE,
    }
}

const fn durability(level: Durability) -> client::Durability {
    match level {
        Durability::UseDefault => client::Durability::UseDefault,
        Durability::SkipWal => client::Durability::SkipWal,
        Durability::AsyncWal => client::Durability::AsyncWal,
        Durability::SyncWal => client::Durability::SyncWal,
        Durability::FsyncWal => client::Durability::FsyncWal,
    }
}

/// One user: a handle to the shared table, and the replica of its next read where these are spread.
#[derive(Debug)]
pub struct HBaseSession {
    table: Table,
    shared: Rc<Shared>,
    replica: Option<Cell<u32>>,
}

impl HBase {
    async fn count(&self, mode: ReadMode, most: u64) -> Result<u64, BindingError> {
        let mut scanner = self.table.scan(Scan::new().caching(COUNT_BATCH).mode(mode));
        let mut count = 0;
        while let Some(batch) =
            scanner.next_batch().await.map_err(|e| BindingError::server("counting", e))?
        {
            count += batch.len() as u64;
            if count > most {
                break;
            }
        }
        Ok(count)
    }
}

impl Session for HBaseSession {
    async fn execute(&mut self, operation: &Operation<'_>, rows: &mut dyn Rows) -> Outcome {
        let levels = &self.shared.levels;
        let result = match *operation {
            Operation::Read { key, field } => {
                let mut get = Get::new(bytes(key)).mode(self.mode(levels.read));
                if let Some(field) = field {
                    get = get.column(FAMILY, self.column(field));
                }
                self.table.get(&get).await.map(|row| give(&row, rows))
            }
            Operation::Update { key, values } => {
                self.table.put(&self.put(key, values, levels.update)).await
            }
            Operation::Insert { key, values } => {
                self.table.put(&self.put(key, values, levels.insert)).await
            }
            Operation::Delete { key } => {
                let delete = Delete::new(bytes(key)).family(FAMILY).durability(levels.delete);
                self.table.delete(&delete).await
            }
            Operation::Scan { start, limit, field } => {
                let mut scan =
                    Scan::new().limit(limit as usize).caching(limit).mode(self.mode(levels.scan));
                if let Some(field) = field {
                    scan = scan.column(FAMILY, self.column(field));
                }
                if let Some(start) = start {
                    scan = scan.start(bytes(start));
                }
                self.scan(scan, rows).await
            }
        };
        match result {
            Ok(()) => Outcome::Ok,
            Err(error) => outcome(operation, &error),
        }
    }
}

impl HBaseSession {
    fn mode(&self, level: ReadMode) -> ReadMode {
        match (level, &self.replica) {
            (ReadMode::Strong, _) | (_, None) => level,
            (_, Some(replica)) => {
                let next = (replica.get() + u32::from(self.shared.roams)) % self.shared.replicas;
                ReadMode::Replica(replica.replace(next))
            }
        }
    }

    fn put(&self, key: &str, values: &[FieldValue<'_>], durability: client::Durability) -> Put {
        // One copy of all values; the columns are slices of it.
        let all: Bytes = values.iter().flat_map(|v| v.value).copied().collect::<Vec<u8>>().into();
        let mut at = 0;
        let put = Put::with_capacity(bytes(key), values.len()).durability(durability);
        values.iter().fold(put, |put, value| {
            let part = all.slice(at..at + value.value.len());
            at += value.value.len();
            put.column(FAMILY, self.column(value.field), part)
        })
    }

    fn column(&self, field: usize) -> Bytes {
        self.shared.fields.get(field).cloned().unwrap_or_default()
    }

    async fn scan(&self, scan: Scan, rows: &mut dyn Rows) -> client::Result<()> {
        let mut scanner = self.table.scan(scan);
        while let Some(batch) = scanner.next_batch().await? {
            for row in &batch {
                give(row, rows);
            }
        }
        Ok(())
    }
}

fn bytes(key: &str) -> Bytes {
    Bytes::copy_from_slice(key.as_bytes())
}

fn give(row: &Row, rows: &mut dyn Rows) {
    let Some(key) = row.key() else { return };
    rows.row(key);
    for cell in row.cells() {
        // An unknown column becomes a number beyond any layout, which the verifier refuses.
        let field = operation::field_number(cell.qualifier).unwrap_or(usize::MAX);
        rows.value(field, cell.value);
    }
}

/// What an error means. Whether the operation may have taken effect is the client's own answer;
/// reads never have any.
fn outcome(operation: &Operation<'_>, error: &client::Error) -> Outcome {
    use client::Error as E;
    let kind = match error {
        E::Connect { .. } | E::NoMaster { .. } => ErrorKind::ConnectionRefused,
        E::ConnectionLost { .. } => ErrorKind::ConnectionLost,
        E::Timeout { .. } => ErrorKind::Timeout,
        E::NotAssigned { .. } => ErrorKind::Unavailable,
        E::Remote(remote) if remote.overloaded => ErrorKind::Overloaded,
        E::Remote(remote) => match remote.simple_class() {
            "NotServingRegionException"
            | "RegionMovedException"
            | "RegionOpeningException"
            | "WrongRegionException" => ErrorKind::NotPrimary,
            "RegionTooBusyException"
            | "CallQueueTooBigException"
            | "ServerTooBusyException"
            | "ServerNotRunningYetException" => ErrorKind::Overloaded,
            "RegionServerStoppedException" | "RegionServerAbortedException" => {
                ErrorKind::Unavailable
            }
            _ => ErrorKind::Other,
        },
        E::TableNotFound(_) | E::NoSuchReplica { .. } | E::Invalid(_) => ErrorKind::Rejected,
        _ => ErrorKind::Other,
    };
    let may_write = operation.kind().writes() && error.effect() == Effect::Unknown;
    Outcome::interrupted(may_write, kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_in_order_and_one_fewer_than_regions() {
        for regions in 1..=80 {
            let keys = splits(regions);
            assert_eq!(keys.len(), regions as usize - 1);
            assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        }
    }
}
