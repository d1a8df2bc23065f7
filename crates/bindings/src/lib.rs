//! How the engine speaks to each database.
//!
//! Start with the two traits: a [`Binding`] is one engine thread's door to a cluster, a
//! [`Session`] is one user's place in it. The load loop knows nothing else of a database.
//!
//! To add a database: one file here, one line in [`for_database!`], and the conformance suite
//! passing against its real server (`python/tests/conformance`).
//!
//! | module | speaks to | by |
//! |---|---|---|
//! | [`noop`] | nothing: what the engine itself costs | – |
//! | [`memory`] | a map inside the process | – |
//! | [`redis`] | Redis, Valkey | our own RESP |
//! | [`mongodb`] | MongoDB | the official driver |
//! | [`cassandra`] | Cassandra | the `scylla` driver |
//! | [`hbase`] | HBase | our own `pacelc-hbase` |
//!
//! [`security`] is what they share of users, passwords and TLS; [`table`] the rule by which a table
//! may be dropped; [`routing`] which node serves a user, where there is a choice.
//!
//! Two rules hold for all of them:
//! - *No retries, no speculative execution.* A driver that tries again hides what is measured.
//! - *A dropped call leaves nothing behind.* The load loop drops [`Session::execute`] when its time
//!   limit runs out. The next call must not see the late answer of the one before: a session
//!   that owns its connection closes it and opens another.

use pacelc_core::{Consistency, ErrorKind, Operation, OperationKind, Outcome, Rows};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub mod cassandra;
pub mod hbase;
pub mod memory;
pub mod mongodb;
pub mod noop;
pub mod redis;
pub mod routing;
pub mod security;
pub mod table;

pub use routing::Routing;
pub use table::{Created, Found, Owner};

use security::Security;

/// The cluster to speak to, as its provider describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Which database, and so which binding.
    pub database: String,
    /// `host:port` of each node a client may speak to; the first is the coordinator or primary.
    #[serde(default)]
    pub endpoints: Vec<String>,
    /// `host:port` of the primary, where there is one.
    #[serde(default)]
    pub primary: Option<String>,
    /// `host:port` of the replicas, where they are other nodes than the primary.
    #[serde(default)]
    pub replicas: Vec<String>,
    /// Nodes that hold data.
    #[serde(default = "one")]
    pub nodes: u32,
    /// Copies of each record.
    #[serde(default = "one")]
    pub replication: u32,
    /// MongoDB: the replica set's name.
    #[serde(default)]
    pub replica_set: Option<String>,
    /// MongoDB: how records are spread over replica sets.
    #[serde(default)]
    pub sharding: Sharding,
    /// MongoDB: the sets that the binding hashes keys over, for [`Sharding::Client`].
    #[serde(default)]
    pub sets: Vec<ReplicaSet>,
    /// Cassandra: the data centre that is local to the client.
    #[serde(default)]
    pub local_datacenter: Option<String>,
    /// Cassandra: copies of each record in each data centre; empty: as the option
    /// `replication_strategy` has it.
    #[serde(default)]
    pub datacenters: BTreeMap<String, u32>,
    /// HBase: `host:port` of the region servers.
    #[serde(default)]
    pub region_servers: Vec<String>,
    /// HBase: replicas of each region.
    #[serde(default)]
    pub region_replicas: Option<u32>,
    /// User, password, TLS; `None` for a server that asks for none of them.
    #[serde(default)]
    pub security: Option<Security>,
    /// On a cluster that is somebody else's: which tables may be dropped. `None`: the cluster is
    /// pacelc's own, and so is all that is in it.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// Where a user's operations go; `None`: as the database's clients have it.
    #[serde(default)]
    pub session: Option<Routing>,
    /// Whatever else the binding offers; each documents its own.
    #[serde(default)]
    pub options: BTreeMap<String, serde_json::Value>,
}

/// How records are spread over several replica sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharding {
    /// They aren't: there is one.
    #[default]
    None,
    /// By the binding, which hashes keys.
    Client,
    /// By the database, behind `mongos` routers.
    Mongos,
}

/// One of the replica sets that records are spread over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicaSet {
    /// As its members know it.
    pub name: String,
    /// `host:port` of members.
    pub endpoints: Vec<String>,
}

const fn one() -> u32 {
    1
}

impl Target {
    /// Refuses, before anything is connected to, what `security` and `owner` can't be.
    pub fn check(&self) -> Result<(), BindingError> {
        self.owner.as_ref().map_or(Ok(()), Owner::check)?;
        let Some(security) = &self.security else { return Ok(()) };
        let name = self.database.as_str();
        let unknown = || Err(BindingError::without_security(name));
        for_database!(name, B => B::check_security(name, security), unknown())?;
        security.check()
    }

    /// The marker that a table of this study carries.
    #[must_use]
    pub fn marker(&self) -> Option<&str> {
        self.owner.as_ref().and_then(|owner| owner.marker.as_deref())
    }

    /// What a person should know of it.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.security.as_ref().map_or_else(Vec::new, Security::warnings)
    }
}

/// What the records look like, which is all that a table's schema depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Table, collection, or key prefix.
    pub table: String,
    /// Fields a record, named `field0`, `field1`, …
    pub fields: usize,
    /// Bytes of the longest record's values.
    pub record_bytes: usize,
    /// The most records that an operation asks for.
    pub scan_records: u32,
}

impl Layout {
    /// The longest answer that is read where `records` records were asked for: a longer one ends the
    /// connection before it is there.
    ///
    /// It is twice what they can take, and room for answers that hold no records. The data may be
    /// somebody else's, and longer: that is for the verifier to say, record by record, as far as the
    /// client can keep them.
    #[must_use]
    pub const fn longest_answer_bytes(&self, records: usize) -> usize {
        /// A cluster's description of itself, a page of keys.
        const OTHER_BYTES: usize = 16 << 20;
        /// What a protocol puts around a value: HBase repeats the record's key with each.
        const AROUND_VALUE_BYTES: usize = 256;
        let record =
            self.record_bytes.saturating_add(self.fields.saturating_mul(AROUND_VALUE_BYTES));
        record.saturating_mul(records).saturating_mul(2).saturating_add(OTHER_BYTES)
    }
}

/// All that a binding is opened with.
#[derive(Debug, Clone)]
pub struct Context {
    /// Where to.
    pub target: Target,
    /// For which records.
    pub layout: Layout,
    /// Asking for what.
    pub consistency: Consistency,
    /// How many users will open a session on this binding: what a pool is sized by.
    pub users: usize,
    /// The load loop's time limit an operation, for drivers that want to know.
    pub operation_timeout: std::time::Duration,
}

/// Why a cluster can't be spoken to. The message is one line; the hint says what to check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BindingError {
    /// What failed, with the address.
    pub message: String,
    /// What to check.
    pub hint: String,
    /// Whether no connection could be made or nothing was answered, as against a refusal.
    pub connection: bool,
}

impl BindingError {
    /// No connection to `address`.
    pub fn connect(database: &str, address: &str, cause: impl std::fmt::Display) -> Self {
        let cause = cause.to_string();
        // ENFILE and EMFILE, however deep a driver has wrapped them.
        let hint = if cause.contains("(os error 23)") || cause.contains("(os error 24)") {
            "raise the limit on open files (ulimit -n), or take fewer users"
        } else {
            "check that the server is up and that the address and port are right"
        };
        Self {
            message: format!("{database} at {address} can't be reached: {cause}"),
            hint: hint.into(),
            connection: true,
        }
    }

    /// What was asked for did not come to an end.
    #[must_use]
    pub fn late(what: &str, limit: std::time::Duration) -> Self {
        Self {
            message: format!("{what}: no end after {} s", limit.as_secs()),
            hint: "check that the server still answers; it may be overloaded".into(),
            connection: true,
        }
    }

    /// The server answered, but not as it should.
    pub fn server(what: &str, cause: impl std::fmt::Display) -> Self {
        Self {
            message: format!("{what}: {cause}"),
            hint: "see the server's log".into(),
            connection: false,
        }
    }

    /// The database knows neither users nor TLS.
    fn without_security(database: &str) -> Self {
        let message = format!("{database} knows neither users nor TLS");
        Self::target(message, "leave `security` out")
    }

    /// The target as given makes no sense.
    pub fn target(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), connection: false }
    }
}

/// One engine thread's door to a cluster: what its users share (a driver's session, a pool).
///
/// A binding lives on one thread, inside that thread's runtime; nothing here needs to be `Send`.
#[allow(async_fn_in_trait)] // never used as a trait object, never across threads
pub trait Binding: Sized + 'static {
    /// One user's part.
    type Session: Session;

    /// Whether there is anything to be read of what was written.
    const KEEPS_RECORDS: bool = true;

    /// Refuses what a target says of users and certificates and this database's client can't do:
    /// all of it, unless the binding says otherwise.
    fn check_security(database: &str, _security: &Security) -> Result<(), BindingError> {
        Err(BindingError::without_security(database))
    }

    /// Opens the shared part and prepares statements. Creates nothing in the database.
    async fn open(context: &Context) -> Result<Self, BindingError>;

    /// What has the table's name in the database, whatever its shape and whoever made it.
    async fn find_table(&self) -> Result<Option<Found>, BindingError>;

    /// Drops what [`Binding::find_table`] has just found; whether it may is settled (see [`table`]).
    async fn drop_table(&self, found: &Found) -> Result<(), BindingError>;

    /// Creates the table, empty, with the target's marker in its metadata. Fails where something
    /// has its name.
    async fn create_table(&self) -> Result<Created, BindingError>;

    /// Removes what holds the table (a keyspace) if nothing else is in it; whether it did. Asked
    /// only where this study made it.
    async fn drop_container(&self) -> Result<bool, BindingError> {
        Ok(false)
    }

    /// The server's version as it tells it; `None` where it doesn't, or this user may not ask.
    async fn server_version(&self) -> Option<String> {
        None
    }

    /// What keeps the cluster from serving with all its servers, as it says itself; `None` if nothing
    /// does, or where it isn't asked.
    async fn unsettled(&self) -> Option<String> {
        None
    }

    /// Counts the records, at the strongest read there is; may stop counting above `most`, so that a
    /// server which never comes to an end takes no more memory than the workload's own records.
    async fn count_records(&self, most: u64) -> Result<u64, BindingError>;

    /// Opens a user's session.
    async fn session(&self) -> Result<Self::Session, BindingError>;

    /// The level in force for each kind, *read back from what will be sent* (the prepared
    /// statement, the command as packed), not from what was asked for.
    fn in_force(&self) -> Vec<(OperationKind, String)>;

    /// Requests sent since it was opened, beside the first of an operation, because that one was
    /// slow to be answered.
    fn hedges(&self) -> u64 {
        0
    }
}

/// One user's place: does one operation at a time.
#[allow(async_fn_in_trait)]
pub trait Session {
    /// Does one operation. What a read or scan finds goes to `rows` as it is parsed; where there is
    /// nothing, it is ok without rows.
    ///
    /// Never panics on what a server sends, and may be dropped at any await (see the crate's rules).
    async fn execute(&mut self, operation: &Operation<'_>, rows: &mut dyn Rows) -> Outcome;

    /// What the last operation read wasn't what any writer wrote there. Where answers belong to
    /// requests by their order alone, that order may be lost: the session finds out before it goes on.
    fn distrust(&mut self) {}
}

/// The visible list of databases: runs `$body` with the type `$binding` bound to the binding of
/// the database called `$name`; `$unknown` for any other name.
///
/// ```
/// use pacelc_bindings::{for_database, Binding};
/// let size = for_database!("memory", B => Some(std::mem::size_of::<B>()), None);
/// assert!(size.is_some());
/// ```
#[macro_export]
macro_rules! for_database {
    ($name:expr, $binding:ident => $body:expr, $unknown:expr) => {
        match $name {
            "noop" => {
                type $binding = $crate::noop::Noop;
                $body
            }
            "memory" => {
                type $binding = $crate::memory::Memory;
                $body
            }
            "redis" | "valkey" => {
                type $binding = $crate::redis::Redis;
                $body
            }
            "mongodb" => {
                type $binding = $crate::mongodb::MongoDb;
                $body
            }
            "cassandra" => {
                type $binding = $crate::cassandra::Cassandra;
                $body
            }
            "hbase" => {
                type $binding = $crate::hbase::HBase;
                $body
            }
            _ => $unknown,
        }
    };
}

/// The names that [`for_database!`] knows.
pub const DATABASES: [&str; 7] =
    ["noop", "memory", "redis", "valkey", "mongodb", "cassandra", "hbase"];

/// How an I/O error on an established connection counts: after the request went out, the
/// operation may have taken effect.
#[must_use]
pub fn lost(operation: &Operation<'_>, cause: &dyn std::fmt::Display) -> Outcome {
    Outcome::interrupted(operation.kind().writes(), ErrorKind::ConnectionLost, cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_open_files_is_not_blamed_on_the_server() {
        let hint = |number| {
            BindingError::connect("It", "a:1", std::io::Error::from_raw_os_error(number)).hint
        };
        assert!(hint(24).contains("open files"));
        assert!(hint(111).contains("the server is up"));
    }

    #[test]
    fn an_answer_is_read_up_to_what_the_workload_can_need() {
        let layout = |fields: usize, field_bytes: usize| Layout {
            table: "t".into(),
            fields,
            record_bytes: fields * field_bytes,
            scan_records: 1,
        };
        for (layout, mib) in [(layout(10, 100), 17), (layout(10, 1 << 20), 37)] {
            let longest = layout.longest_answer_bytes(1);
            assert!(longest > 2 * layout.record_bytes && longest < mib << 20, "{longest}");
        }
        assert_eq!(layout(1_000, usize::MAX / 1_000).longest_answer_bytes(9), usize::MAX);
    }

    #[test]
    fn every_listed_database_has_a_binding() {
        for name in DATABASES {
            assert!(for_database!(name, B => { let _: Option<B> = None; true }, false), "{name}");
        }
    }
}
