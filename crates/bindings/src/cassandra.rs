//! Speaks to Cassandra with the `scylla` driver, over the native protocol.
//!
//! Records are rows of a table in the keyspace `pacelc`: `key text PRIMARY KEY, field0 text, …`.
//! Each kind of operation has a prepared statement of its own, which carries its consistency level;
//! those that read one field are prepared when the field is first asked for.
//!
//! Options of a target ([`Target::options`](crate::Target::options)):
//!
//! | option | values | default |
//! |---|---|---|
//! | `coordinator` | `fixed`: the first endpoint coordinates every request, as ferreira-2024 had it; `last`: the last does; `token-aware`: a replica of the record does; `round-robin`: each node in turn | `fixed` |
//! | `replication_strategy` | `SimpleStrategy`, as ferreira-2024 had it; `NetworkTopologyStrategy`: so many copies in each data centre | `SimpleStrategy` |
//!
//! A target that says how many copies each of its `datacenters` has gets just these, by
//! `NetworkTopologyStrategy`, unless the option names `SimpleStrategy`.
//!
//! With a `local_datacenter`, `token-aware` and `round-robin` choose among its nodes only. Users that
//! roam ([`Routing::Roaming`]) have each node of every data centre as coordinator in turn. One that the
//! cluster hasn't, or that a coordinator named by the user isn't in, is refused.
//!
//! What is set, and why:
//! - One connection to each node, which the users of a binding share: requests are multiplexed.
//! - No retries (`FallthroughRetryPolicy`), no speculative execution, no time limit of the driver's
//!   own: the load loop has one, and drops the call. The late answer of a dropped call is
//!   discarded by its stream number.
//! - A request goes to another node than the policy's first choice only if that one has no open
//!   connection, so nothing is ever sent twice.
//! - A node that was down is connected to again as soon as another node tells of its return; with
//!   no other to tell, the driver tries after pauses that grow to ten seconds.
//! - With TLS, a node's certificate must be for its address or for one of the hosts in the
//!   endpoints, or for `server_name` where that is given.
//! - The driver reads a frame of any length that its header says, up to 4 GiB, and has no option for
//!   it: what a server that says so sends is kept in memory until the load loop's limit.
//! - No client-side timestamps: the coordinator's clock orders writes. Where coordinators differ
//!   (`token-aware`, `round-robin`), so may their clocks.
//! - `INSERT` and `UPDATE` both write whether or not the record is there, and `DELETE` too, as
//!   Cassandra has it. At `SERIAL` and `LOCAL_SERIAL` they are lightweight transactions: `IF NOT
//!   EXISTS` or `IF EXISTS`, with the outcome committed at `QUORUM` or `LOCAL_QUORUM`.

use crate::security::{Security, explain, host_of};
use crate::{Binding, BindingError, Context, Created, Found, Layout, Routing, Session, lost};
use pacelc_core::consistency::{PerKind, cassandra::Level};
use pacelc_core::{Consistency, ErrorKind, FieldValue, Operation, OperationKind, Outcome, Rows};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session as Driver;
use scylla::client::session_builder::SessionBuilder;
use scylla::cluster::{ClusterState, NodeRef};
use scylla::deserialize::row::{ColumnIterator, DeserializeRow};
use scylla::errors::{DbError, ExecutionError, PrepareError, RequestAttemptError};
use scylla::policies::load_balancing::{
    DefaultPolicy, FallbackPlan, LoadBalancingPolicy, NodeIdentifier, RoutingInfo,
    SingleTargetLoadBalancingPolicy,
};
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::response::PagingState;
use scylla::response::query_result::QueryResult;
use scylla::routing::Shard;
use scylla::serialize::SerializationError;
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::RowWriter;
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::unprepared::Statement;
use scylla::statement::{Consistency as Cql, SerialConsistency};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const KEYSPACE: &str = "pacelc";
const SIMPLE: &str = "SimpleStrategy";
/// What a marker follows in a table's comment (see [`crate::table`]).
const OWNER: &str = "pacelc owner ";
const TABLES: &str = "SELECT table_name, CAST(id AS text), comment FROM system_schema.tables WHERE keyspace_name = ?";
const VIEWS: &str =
    "SELECT CAST(id AS text) FROM system_schema.views WHERE keyspace_name = ? AND view_name = ?";
const REPLICATION: &str = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
const SCHEMA_LIMIT: Duration = Duration::from_secs(60);
const COUNT_PAGE: i32 = 5_000;

/// One engine thread's connections and statements.
#[derive(Debug)]
pub struct Cassandra {
    shared: Rc<Shared>,
    /// `None` while there is no table that they fit.
    statements: RefCell<Option<Rc<Statements>>>,
    address: String,
    replication: BTreeMap<String, String>,
    /// This study's marker; `None` on a cluster of pacelc's own.
    marker: Option<String>,
}

/// One user's place.
#[derive(Debug)]
pub struct User {
    shared: Rc<Shared>,
    statements: Rc<Statements>,
}

#[derive(Debug)]
struct Shared {
    driver: Driver,
    levels: PerKind<Level, Level>,
    layout: Layout,
}

impl Binding for Cassandra {
    type Session = User;

    fn check_security(database: &str, security: &Security) -> Result<(), BindingError> {
        security.require_both_or_neither(database)?;
        security.refuse_auth_source()
    }

    async fn open(context: &Context) -> Result<Self, BindingError> {
        let Consistency::Cassandra(levels) = context.consistency else {
            return Err(BindingError::target(
                format!("Cassandra can't be asked for {:?}", context.consistency),
                "resolve the study's consistency for `cassandra`",
            ));
        };
        let options = Options::of(context)?;
        let profile = || {
            ExecutionProfile::builder()
                .retry_policy(Arc::new(FallthroughRetryPolicy))
                .speculative_execution_policy(None)
                .request_timeout(None)
        };
        let mut policy = profile().build().into_handle();
        let mut builder = SessionBuilder::new()
            .known_nodes(&context.target.endpoints)
            .default_execution_profile_handle(policy.clone())
            .pool_size(PoolSize::PerHost(NonZeroUsize::MIN))
            .tcp_nodelay(true)
            .compression(None)
            .connection_timeout(context.operation_timeout)
            .keyspaces_to_fetch([KEYSPACE])
            .schema_agreement_timeout(SCHEMA_LIMIT)
            .driver_config_reporting(false);
        let endpoints = &context.target.endpoints;
        let address = endpoints.join(",");
        let mut tls = None;
        if let Some(security) = &context.target.security {
            if let Some(login) = security.login()? {
                builder = builder.user(login.user.unwrap_or_default(), login.password.expose());
            }
            if let Some(asked) = &security.tls {
                let hosts: Vec<_> = endpoints.iter().map(|e| host_of(e).to_owned()).collect();
                let config = asked.config(&hosts)?;
                explain::shake_hands("Cassandra", endpoints, &config).await?;
                tls = Some(config);
            }
        }
        let encrypted = tls.is_some();
        let driver = match builder.tls_context(tls).build().await {
            Ok(driver) => driver,
            Err(cause) => {
                return Err(explain::failed("Cassandra", endpoints, encrypted, &cause).await);
            }
        };
        let chosen = options.policy(context, &driver.get_cluster_state()).await?;
        policy.map_to_another_profile(profile().load_balancing_policy(chosen).build());
        let shared = Rc::new(Shared { driver, levels, layout: context.layout.clone() });
        let statements = match Statements::prepare(&shared).await {
            Ok(statements) => Some(Rc::new(statements)),
            Err(cause) if is_no_table_of_ours(&cause) => None,
            Err(cause) => return Err(BindingError::server("Cassandra, preparing", cause)),
        };
        let replication = replication(context, options.replication_strategy);
        let marker = context.target.marker().map(str::to_owned);
        Ok(Self { shared, statements: RefCell::new(statements), address, replication, marker })
    }

    /// A table, or a view of its name; nothing is said of its columns, which may be any.
    async fn find_table(&self) -> Result<Option<Found>, BindingError> {
        let name = &self.shared.layout.table;
        let tables = self.schema::<(String, String, Option<String>)>(TABLES, (KEYSPACE,)).await?;
        if let Some((_, id, comment)) = tables.into_iter().find(|(table, ..)| table == name) {
            return Ok(Some(Found {
                what: format!("a table in the keyspace `{KEYSPACE}`"),
                marker: comment.and_then(|text| text.strip_prefix(OWNER).map(str::to_owned)),
                id: Some(id),
            }));
        }
        let views = self.schema::<(String,)>(VIEWS, (KEYSPACE, name)).await?;
        Ok(views.into_iter().next().map(|(id,)| Found {
            what: format!("a materialized view in the keyspace `{KEYSPACE}`"),
            marker: None,
            id: Some(id),
        }))
    }

    async fn drop_table(&self, _found: &Found) -> Result<(), BindingError> {
        self.statements.take();
        self.change(format!("DROP TABLE {KEYSPACE}.{}", quoted(&self.shared.layout.table))).await
    }

    async fn create_table(&self) -> Result<Created, BindingError> {
        self.statements.take();
        let Layout { table, fields, .. } = &self.shared.layout;
        let container = self.make_keyspace().await?;
        let mut columns = String::from("key text PRIMARY KEY");
        for field in 0..*fields {
            let _ = write!(columns, ", field{field} text");
        }
        let comment = self.marker.as_ref().map_or(String::new(), |marker| {
            // Letters and digits, as `Target::check` has seen to.
            format!(" WITH comment = '{OWNER}{marker}'")
        });
        let table = quoted(table);
        self.change(format!("CREATE TABLE {KEYSPACE}.{table} ({columns}){comment}")).await?;
        self.prepared().await?;
        let table_id = self.find_table().await?.and_then(|found| found.id);
        Ok(Created { table_id, container })
    }

    async fn drop_container(&self) -> Result<bool, BindingError> {
        for kind in ["tables", "views", "types", "functions", "aggregates"] {
            let ask =
                format!("SELECT keyspace_name FROM system_schema.{kind} WHERE keyspace_name = ?");
            if !self.schema::<(String,)>(&ask, (KEYSPACE,)).await?.is_empty() {
                return Ok(false);
            }
        }
        self.change(format!("DROP KEYSPACE IF EXISTS {KEYSPACE}")).await?;
        Ok(true)
    }

    async fn server_version(&self) -> Option<String> {
        let ask = "SELECT release_version FROM system.local";
        let rows = self.shared.driver.query_unpaged(ask, ()).await.ok()?.into_rows_result().ok()?;
        rows.single_row::<(String,)>().ok().map(|(version,)| version)
    }

    async fn count_records(&self, most: u64) -> Result<u64, BindingError> {
        // By pages, each with its own time limit on the server: `count(*)` runs into one on a
        // large table.
        let text = format!("SELECT key FROM {KEYSPACE}.{}", quoted(&self.shared.layout.table));
        let mut statement = Statement::new(text.clone());
        statement.set_consistency(Cql::All);
        statement.set_page_size(COUNT_PAGE);
        let mut page = PagingState::start();
        let mut count = 0;
        loop {
            let answer = self.shared.driver.query_single_page(statement.clone(), (), page).await;
            let (result, next) = answer.map_err(|cause| self.failed(&text, &cause))?;
            let rows = result
                .into_rows_result()
                .map_err(|cause| BindingError::server("Cassandra, counting", cause))?;
            count += rows.rows_num() as u64;
            match next.into_paging_control_flow() {
                ControlFlow::Continue(next) if count <= most => page = next,
                _ => return Ok(count),
            }
        }
    }

    async fn session(&self) -> Result<User, BindingError> {
        Ok(User { shared: Rc::clone(&self.shared), statements: self.prepared().await? })
    }

    fn in_force(&self) -> Vec<(OperationKind, String)> {
        let statements = self.statements.borrow();
        let Some(statements) = statements.as_ref() else { return Vec::new() };
        [
            (OperationKind::Read, &statements.read),
            (OperationKind::Update, &statements.update_all),
            (OperationKind::Insert, &statements.insert),
            (OperationKind::Scan, &statements.scan),
            (OperationKind::Delete, &statements.delete),
        ]
        .map(|(kind, statement)| (kind, sent_level(statement).to_owned()))
        .to_vec()
    }
}

impl Cassandra {
    /// Makes the keyspace, or gives it the replication asked for; whether it had to be made.
    ///
    /// On a cluster of the user's, that of one which holds tables is left as it is: nobody would bring
    /// their records to where they belong then. If it is another one, this is an error.
    async fn make_keyspace(&self) -> Result<bool, BindingError> {
        let there = self.schema::<(BTreeMap<String, String>,)>(REPLICATION, (KEYSPACE,)).await?;
        let asked = cql_map(&self.replication);
        let Some((replication,)) = there.into_iter().next() else {
            self.change(format!("CREATE KEYSPACE {KEYSPACE} WITH replication = {asked}")).await?;
            return Ok(true);
        };
        if same_replication(&replication, &self.replication) {
            return Ok(false);
        }
        let tables = self.schema::<(String, String, Option<String>)>(TABLES, (KEYSPACE,)).await?;
        if let (Some((table, ..)), true) = (tables.first(), self.marker.is_some()) {
            let table = table.escape_debug();
            return Err(BindingError::target(
                format!(
                    "the keyspace `{KEYSPACE}` is replicated as {}, not as {asked}, and holds \
                     the table `{table}`",
                    cql_map(&replication)
                ),
                "ask for that replication (replication, replication_strategy), or move the table",
            ));
        }
        self.change(format!("ALTER KEYSPACE {KEYSPACE} WITH replication = {asked}")).await?;
        Ok(false)
    }

    /// Carries out a change of the schema.
    async fn change(&self, text: String) -> Result<(), BindingError> {
        let mut change = Statement::new(text);
        change.set_request_timeout(Some(SCHEMA_LIMIT));
        let changed = self.shared.driver.query_unpaged(change.clone(), ()).await;
        changed.map(drop).map_err(|cause| self.failed(&change.contents, &cause))
    }

    /// Asks the coordinator what it knows of the schema.
    async fn schema<R>(&self, ask: &str, values: impl SerializeRow) -> Result<Vec<R>, BindingError>
    where
        R: for<'frame, 'metadata> DeserializeRow<'frame, 'metadata>,
    {
        let mut statement = Statement::new(ask);
        statement.set_request_timeout(Some(SCHEMA_LIMIT));
        let answer = self.shared.driver.query_unpaged(statement, values).await;
        let answer = answer.map_err(|cause| self.failed(ask, &cause))?;
        let malformed = |cause: &dyn std::fmt::Display| {
            BindingError::server(&format!("Cassandra, {ask}"), cause)
        };
        let rows = answer.into_rows_result().map_err(|cause| malformed(&cause))?;
        let rows = rows.rows::<R>().map_err(|cause| malformed(&cause))?;
        rows.collect::<Result<_, _>>().map_err(|cause| malformed(&cause))
    }

    async fn prepared(&self) -> Result<Rc<Statements>, BindingError> {
        if let Some(statements) = self.statements.borrow().as_ref() {
            return Ok(Rc::clone(statements));
        }
        let statements = Statements::prepare(&self.shared).await;
        let statements = Rc::new(statements.map_err(|cause| BindingError {
            message: format!("Cassandra, preparing for `{}`: {cause}", self.shared.layout.table),
            hint: "create the table first".into(),
            connection: false,
        })?);
        self.statements.replace(Some(Rc::clone(&statements)));
        Ok(statements)
    }

    fn failed(&self, what: &str, cause: &ExecutionError) -> BindingError {
        match cause {
            ExecutionError::ConnectionPoolError(_) | ExecutionError::EmptyPlan => {
                BindingError::connect("Cassandra", &self.address, cause)
            }
            _ => BindingError::server(&format!("Cassandra, {what}"), cause),
        }
    }
}

/// A name in double quotes, which keep its case.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether there is no table, or one of other columns.
fn is_no_table_of_ours(cause: &PrepareError) -> bool {
    matches!(
        cause,
        PrepareError::AllAttemptsFailed {
            first_attempt: RequestAttemptError::DbError(DbError::Invalid, _)
        }
    )
}

/// Which node coordinates a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coordinator {
    Fixed,
    Last,
    TokenAware,
    RoundRobin,
    /// Each node in turn, whatever its data centre.
    Roaming,
}

/// A keyspace's replication, as Cassandra's own schema has it.
fn replication(context: &Context, strategy: Option<&str>) -> BTreeMap<String, String> {
    let target = &context.target;
    let simple = target.datacenters.is_empty() || strategy == Some(SIMPLE);
    let (class, copies) = if simple {
        let copies = [("replication_factor".to_owned(), target.replication)];
        (strategy.unwrap_or(SIMPLE), BTreeMap::from(copies))
    } else {
        ("NetworkTopologyStrategy", target.datacenters.clone())
    };
    let copies = copies.into_iter().map(|(name, copies)| (name, copies.to_string()));
    copies.chain([("class".to_owned(), class.to_owned())]).collect()
}

/// A map as CQL writes it.
fn cql_map(map: &BTreeMap<String, String>) -> String {
    let word = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let pairs: Vec<_> = map.iter().map(|(k, v)| format!("{}: {}", word(k), word(v))).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// Whether a keyspace is replicated as asked; the schema names classes with their package, and a
/// factor for all data centres one by one.
fn same_replication(there: &BTreeMap<String, String>, asked: &BTreeMap<String, String>) -> bool {
    let short = |class: &str| class.rsplit('.').next().map(str::to_owned);
    let class = |map: &BTreeMap<String, String>| map.get("class").and_then(|class| short(class));
    let factor = asked.get("replication_factor");
    let mut copies = there.iter().filter(|(name, _)| *name != "class");
    class(there) == class(asked)
        && (copies.clone().eq(asked.iter().filter(|(name, _)| *name != "class"))
            || (factor.is_some() && copies.all(|(_, copies)| Some(copies) == factor)))
}

#[derive(Debug)]
struct Options {
    coordinator: Coordinator,
    replication_strategy: Option<&'static str>,
}

impl Options {
    fn of(context: &Context) -> Result<Self, BindingError> {
        let mut options = Self { coordinator: Coordinator::Fixed, replication_strategy: None };
        if context.target.session == Some(Routing::Roaming) {
            options.coordinator = Coordinator::Roaming;
        }
        for (name, value) in &context.target.options {
            match (name.as_str(), value.as_str().unwrap_or_default()) {
                ("coordinator", "fixed") => options.coordinator = Coordinator::Fixed,
                ("coordinator", "last") => options.coordinator = Coordinator::Last,
                ("coordinator", "token-aware") => options.coordinator = Coordinator::TokenAware,
                ("coordinator", "round-robin") => options.coordinator = Coordinator::RoundRobin,
                ("coordinator", _) => {
                    return Err(BindingError::target(
                        "Cassandra's binding has no such coordinator",
                        "use fixed, last, token-aware or round-robin",
                    ));
                }
                ("replication_strategy", "SimpleStrategy") => {
                    options.replication_strategy = Some(SIMPLE);
                }
                ("replication_strategy", "NetworkTopologyStrategy") => {
                    options.replication_strategy = Some("NetworkTopologyStrategy");
                }
                ("replication_strategy", _) => {
                    return Err(BindingError::target(
                        "Cassandra's binding has no such replication_strategy",
                        "use SimpleStrategy or NetworkTopologyStrategy",
                    ));
                }
                _ => {
                    return Err(BindingError::target(
                        format!("Cassandra's binding has no option `{name}`"),
                        "it has coordinator and replication_strategy",
                    ));
                }
            }
        }
        Ok(options)
    }

    async fn policy(
        &self,
        context: &Context,
        cluster: &ClusterState,
    ) -> Result<Arc<dyn LoadBalancingPolicy>, BindingError> {
        let datacenter = context.target.local_datacenter.clone();
        let all: BTreeSet<_> =
            cluster.get_nodes_info().iter().filter_map(|node| node.datacenter.as_deref()).collect();
        require_datacenter(datacenter.as_deref(), &all)?;
        match self.coordinator {
            Coordinator::Fixed | Coordinator::Last => {
                let endpoints = &context.target.endpoints;
                let named = match self.coordinator {
                    Coordinator::Last => endpoints.last(),
                    _ => endpoints.first(),
                };
                let node = node_at(named, cluster).await?;
                // On a cluster of pacelc's own nobody has named one, and any node may coordinate.
                if context.target.owner.is_some() {
                    require_local(datacenter.as_deref(), node.datacenter.as_deref())?;
                }
                let node = NodeIdentifier::HostId(node.host_id);
                Ok(SingleTargetLoadBalancingPolicy::new(node, None))
            }
            Coordinator::TokenAware => {
                let policy = DefaultPolicy::builder().token_aware(true).permit_dc_failover(false);
                Ok(match datacenter {
                    Some(name) => policy.prefer_datacenter(name).build(),
                    None => policy.build(),
                })
            }
            Coordinator::Roaming => {
                Ok(Arc::new(RoundRobin { datacenter: None, next: AtomicUsize::new(0) }))
            }
            Coordinator::RoundRobin => {
                Ok(Arc::new(RoundRobin { datacenter, next: AtomicUsize::new(0) }))
            }
        }
    }
}

/// Refuses a local data centre that the cluster hasn't: no node of it would ever be asked.
fn require_datacenter(local: Option<&str>, all: &BTreeSet<&str>) -> Result<(), BindingError> {
    match local {
        Some(name) if !all.contains(name) => Err(BindingError::target(
            format!("Cassandra's cluster has no data centre `{name}`, which is local_datacenter"),
            format!("it has {}", all.iter().copied().collect::<Vec<_>>().join(", ")),
        )),
        _ => Ok(()),
    }
}

/// Refuses a coordinator elsewhere: `LOCAL_QUORUM` would mean its data centre, and not the local one.
fn require_local(local: Option<&str>, coordinators: Option<&str>) -> Result<(), BindingError> {
    match (local, coordinators) {
        (Some(local), Some(other)) if local != other => Err(BindingError::target(
            format!(
                "Cassandra's coordinator is in the data centre `{other}`, and local_datacenter is \
                 `{local}`"
            ),
            format!(
                "give an endpoint in `{local}` its place, or use coordinator: token-aware or \
                 round-robin"
            ),
        )),
        _ => Ok(()),
    }
}

/// The node at one of the target's endpoints.
///
/// It is to be kept by its id: the driver knows nodes by the addresses that they give themselves, which
/// a later look-up of a name need not find again.
async fn node_at<'a>(
    endpoint: Option<&String>,
    cluster: &'a ClusterState,
) -> Result<NodeRef<'a>, BindingError> {
    let Some(endpoint) = endpoint else {
        return Err(BindingError::target(
            "Cassandra's target names no endpoint",
            "give `endpoints` as host:port, the coordinator first",
        ));
    };
    let addresses: Vec<_> = tokio::net::lookup_host(endpoint)
        .await
        .map_err(|cause| BindingError::connect("Cassandra", endpoint, cause))?
        .collect();
    let nodes = cluster.get_nodes_info();
    let node = nodes.iter().find(|node| {
        addresses.iter().any(|a| (a.ip(), a.port()) == (node.address.ip(), node.address.port()))
    });
    match node {
        Some(node) if node.is_connected() => Ok(node),
        Some(_) => Err(BindingError::connect("Cassandra", endpoint, "no connection is open")),
        None => {
            let known: Vec<_> = nodes.iter().map(|node| node.address.to_string()).collect();
            Err(BindingError::target(
                format!("Cassandra's coordinator {endpoint} isn't an address of the cluster's"),
                format!("its nodes call themselves {}", known.join(", ")),
            ))
        }
    }
}

/// Each connected node in turn; of one data centre, when one is given.
#[derive(Debug)]
struct RoundRobin {
    datacenter: Option<String>,
    next: AtomicUsize,
}

impl RoundRobin {
    fn nodes<'a>(&'a self, cluster: &'a ClusterState) -> impl Iterator<Item = NodeRef<'a>> {
        cluster.get_nodes_info().iter().filter(|node| {
            node.is_connected() && (self.datacenter.is_none() || self.datacenter == node.datacenter)
        })
    }
}

impl LoadBalancingPolicy for RoundRobin {
    fn pick<'a>(
        &'a self,
        _request: &'a RoutingInfo<'_>,
        cluster: &'a ClusterState,
    ) -> Option<(NodeRef<'a>, Option<Shard>)> {
        let count = self.nodes(cluster).count();
        let turn = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(count)?;
        self.nodes(cluster).nth(turn).map(|node| (node, None))
    }

    fn fallback<'a>(
        &'a self,
        _request: &'a RoutingInfo<'_>,
        cluster: &'a ClusterState,
    ) -> FallbackPlan<'a> {
        Box::new(self.nodes(cluster).map(|node| (node, None)))
    }

    fn name(&self) -> String {
        "pacelc round-robin".to_owned()
    }
}

/// The statements for one table at one level a kind.
#[derive(Debug)]
struct Statements {
    read: PreparedStatement,
    scan: PreparedStatement,
    scan_from: PreparedStatement,
    /// All fields, in their order.
    insert: PreparedStatement,
    /// All fields, in their order.
    update_all: PreparedStatement,
    /// By field.
    update_one: Vec<PreparedStatement>,
    delete: PreparedStatement,
    /// Of any other fields: prepared when first met.
    others: RefCell<HashMap<(OperationKind, Vec<usize>), PreparedStatement>>,
    /// Reads of one field: prepared when first met.
    of_one_field: RefCell<HashMap<(Reading, usize), PreparedStatement>>,
}

/// What a reading statement looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Reading {
    Record,
    Scan,
    ScanFrom,
}

impl Statements {
    async fn prepare(shared: &Shared) -> Result<Self, PrepareError> {
        let all: Vec<usize> = (0..shared.layout.fields).collect();
        let mut update_one = Vec::with_capacity(all.len());
        for field in &all {
            update_one.push(write(shared, OperationKind::Update, &[*field]).await?);
        }
        Ok(Self {
            read: read(shared, Reading::Record, &all).await?,
            scan: read(shared, Reading::Scan, &all).await?,
            scan_from: read(shared, Reading::ScanFrom, &all).await?,
            insert: write(shared, OperationKind::Insert, &all).await?,
            update_all: write(shared, OperationKind::Update, &all).await?,
            update_one,
            delete: write(shared, OperationKind::Delete, &[]).await?,
            others: RefCell::default(),
            of_one_field: RefCell::default(),
        })
    }

    /// The statement that reads this one field.
    async fn reading(
        &self,
        shared: &Shared,
        reading: Reading,
        field: usize,
    ) -> Result<PreparedStatement, PrepareError> {
        if let Some(statement) = self.of_one_field.borrow().get(&(reading, field)) {
            return Ok(statement.clone());
        }
        let statement = read(shared, reading, &[field]).await?;
        self.of_one_field.borrow_mut().insert((reading, field), statement.clone());
        Ok(statement)
    }

    /// The statement that writes these fields.
    async fn writing(
        &self,
        shared: &Shared,
        kind: OperationKind,
        values: &[FieldValue<'_>],
    ) -> Result<PreparedStatement, PrepareError> {
        let key = (kind, values.iter().map(|value| value.field).collect::<Vec<_>>());
        if let Some(statement) = self.others.borrow().get(&key) {
            return Ok(statement.clone());
        }
        let statement = write(shared, kind, &key.1).await?;
        self.others.borrow_mut().insert(key, statement.clone());
        Ok(statement)
    }

    /// The statement for these fields, if it is one of those prepared beforehand.
    fn known(&self, kind: OperationKind, values: &[FieldValue<'_>]) -> Option<&PreparedStatement> {
        let fields = self.update_one.len();
        let all = values.len() == fields && values.iter().enumerate().all(|(n, v)| v.field == n);
        match (kind, values) {
            (OperationKind::Insert, _) if all => Some(&self.insert),
            (OperationKind::Update, _) if all => Some(&self.update_all),
            (OperationKind::Update, [value]) => self.update_one.get(value.field),
            _ => None,
        }
    }
}

/// Prepares a read of these fields; its columns are the key, then the fields in this order.
async fn read(
    shared: &Shared,
    reading: Reading,
    fields: &[usize],
) -> Result<PreparedStatement, PrepareError> {
    let Shared { driver, levels, layout } = shared;
    let columns: String = fields.iter().fold("key".to_owned(), |mut columns, field| {
        let _ = write!(columns, ", field{field}");
        columns
    });
    let (tail, level) = match reading {
        Reading::Record => ("WHERE key = ?", levels.read),
        Reading::Scan => ("LIMIT ?", levels.scan),
        Reading::ScanFrom => ("WHERE token(key) >= token(?) LIMIT ?", levels.scan),
    };
    let select = format!("SELECT {columns} FROM {KEYSPACE}.{} {tail}", quoted(&layout.table));
    let mut statement = driver.prepare(select).await?;
    statement.set_consistency(cql(level));
    // The columns are named and the table isn't altered, so that their description need not come
    // with every answer.
    statement.set_use_cached_result_metadata(true);
    Ok(statement)
}

/// Prepares a write of these fields; its markers are the fields in this order, then the key.
async fn write(
    shared: &Shared,
    kind: OperationKind,
    fields: &[usize],
) -> Result<PreparedStatement, PrepareError> {
    let Shared { driver, levels, layout } = shared;
    let table = quoted(&layout.table);
    let list = |item: fn(&usize) -> String, between: &str| {
        fields.iter().map(item).collect::<Vec<_>>().join(between)
    };
    let (text, condition, level) = match kind {
        OperationKind::Insert => {
            let columns = list(|field| format!("field{field}, "), "");
            let markers = list(|_| "?, ".to_owned(), "");
            let text = format!("INSERT INTO {KEYSPACE}.{table} ({columns}key) VALUES ({markers}?)");
            (text, "IF NOT EXISTS", levels.insert)
        }
        OperationKind::Delete => {
            let text = format!("DELETE FROM {KEYSPACE}.{table} WHERE key = ?");
            (text, "IF EXISTS", levels.delete)
        }
        _ => {
            let assignments = list(|field| format!("field{field} = ?"), ", ");
            let text = format!("UPDATE {KEYSPACE}.{table} SET {assignments} WHERE key = ?");
            (text, "IF EXISTS", levels.update)
        }
    };
    let serial = match level {
        Level::Serial => Some((SerialConsistency::Serial, Cql::Quorum)),
        Level::LocalSerial => Some((SerialConsistency::LocalSerial, Cql::LocalQuorum)),
        _ => None,
    };
    let Some((serial, commit)) = serial else {
        let mut statement = driver.prepare(text).await?;
        statement.set_consistency(cql(level));
        return Ok(statement);
    };
    let mut statement = driver.prepare(format!("{text} {condition}")).await?;
    statement.set_serial_consistency(Some(serial));
    statement.set_consistency(commit);
    Ok(statement)
}

const fn cql(level: Level) -> Cql {
    match level {
        Level::Any => Cql::Any,
        Level::One => Cql::One,
        Level::Two => Cql::Two,
        Level::Three => Cql::Three,
        Level::Quorum => Cql::Quorum,
        Level::All => Cql::All,
        Level::LocalOne => Cql::LocalOne,
        Level::LocalQuorum => Cql::LocalQuorum,
        Level::EachQuorum => Cql::EachQuorum,
        Level::Serial => Cql::Serial,
        Level::LocalSerial => Cql::LocalSerial,
    }
}

/// The level that a statement is sent with.
fn sent_level(statement: &PreparedStatement) -> &'static str {
    // A serial consistency means something to conditional statements only.
    let conditional = statement.get_statement().contains(" IF ");
    let level = match (statement.get_serial_consistency(), statement.get_consistency()) {
        (Some(SerialConsistency::Serial), _) if conditional => Level::Serial,
        (Some(SerialConsistency::LocalSerial), _) if conditional => Level::LocalSerial,
        (_, Some(Cql::Any)) => Level::Any,
        (_, Some(Cql::One)) => Level::One,
        (_, Some(Cql::Two)) => Level::Two,
        (_, Some(Cql::Three)) => Level::Three,
        (_, Some(Cql::Quorum)) => Level::Quorum,
        (_, Some(Cql::All)) => Level::All,
        (_, Some(Cql::LocalOne)) => Level::LocalOne,
        (_, Some(Cql::LocalQuorum)) => Level::LocalQuorum,
        (_, Some(Cql::EachQuorum)) => Level::EachQuorum,
        (_, Some(Cql::Serial)) => Level::Serial,
        (_, Some(Cql::LocalSerial)) => Level::LocalSerial,
        (_, None) => return "unknown",
    };
    level.name()
}

impl Session for User {
    async fn execute(&mut self, operation: &Operation<'_>, rows: &mut dyn Rows) -> Outcome {
        let statements = &*self.statements;
        match *operation {
            Operation::Read { key, .. } => {
                let values = Bound { values: &[], key: Some(key), limit: None };
                match self.find(operation, Reading::Record, values, rows).await {
                    Ok(_) => Outcome::Ok,
                    Err(outcome) => outcome,
                }
            }
            Operation::Scan { start, limit, .. } => {
                let reading = if start.is_some() { Reading::ScanFrom } else { Reading::Scan };
                let limit = Some(i32::try_from(limit).unwrap_or(i32::MAX));
                let values = Bound { values: &[], key: start, limit };
                match self.find(operation, reading, values, rows).await {
                    Ok(_) => Outcome::Ok,
                    Err(outcome) => outcome,
                }
            }
            Operation::Update { key, values } | Operation::Insert { key, values } => {
                let kind = operation.kind();
                if let Some(statement) = statements.known(kind, values) {
                    return self.change(operation, statement, values, key).await;
                }
                match statements.writing(&self.shared, kind, values).await {
                    Ok(statement) => self.change(operation, &statement, values, key).await,
                    Err(cause) => unprepared(&cause),
                }
            }
            Operation::Delete { key } => self.change(operation, &statements.delete, &[], key).await,
        }
    }
}

impl User {
    /// Reads; how many rows there were. A scan is one page: its limit is a marker of the statement.
    async fn find(
        &self,
        operation: &Operation<'_>,
        reading: Reading,
        values: Bound<'_>,
        rows: &mut dyn Rows,
    ) -> Result<u64, Outcome> {
        let of_one_field;
        let statement = match (operation.field(), reading) {
            (Some(field), _) => {
                let prepared = self.statements.reading(&self.shared, reading, field).await;
                of_one_field = prepared.map_err(|cause| unprepared(&cause))?;
                &of_one_field
            }
            (None, Reading::Record) => &self.statements.read,
            (None, Reading::Scan) => &self.statements.scan,
            (None, Reading::ScanFrom) => &self.statements.scan_from,
        };
        let answer = self.shared.driver.execute_unpaged(statement, values).await;
        let answer = answer.map_err(|cause| failed(operation, false, &cause))?;
        let malformed = |cause: &dyn std::fmt::Display| {
            Outcome::fail(ErrorKind::Other, format!("a reply can't be read: {cause}"))
        };
        let answer = answer.into_rows_result().map_err(|cause| malformed(&cause))?;
        let found = answer.rows::<ColumnIterator<'_, '_>>().map_err(|cause| malformed(&cause))?;
        let mut count = 0;
        for columns in found {
            // As the statement names them: the key, then the field asked for, or all in their order.
            let first = operation.field().unwrap_or(0);
            for column in columns.map_err(|cause| malformed(&cause))? {
                let column = column.map_err(|cause| malformed(&cause))?;
                let Some(value) = column.slice else { continue };
                match column.index.checked_sub(1) {
                    None => rows.row(value.as_slice()),
                    Some(field) => rows.value(first + field, value.as_slice()),
                }
            }
            count += 1;
        }
        Ok(count)
    }

    async fn change(
        &self,
        operation: &Operation<'_>,
        statement: &PreparedStatement,
        values: &[FieldValue<'_>],
        key: &str,
    ) -> Outcome {
        let levels = &self.shared.levels;
        let conditional = match operation {
            Operation::Insert { .. } => levels.insert,
            Operation::Delete { .. } => levels.delete,
            _ => levels.update,
        }
        .is_serial();
        let bound = Bound { values, key: Some(key), limit: None };
        match self.shared.driver.execute_unpaged(statement, bound).await {
            Err(cause) => failed(operation, conditional, &cause),
            Ok(_) if !conditional => Outcome::Ok,
            Ok(answer) => match applied(answer) {
                Some(true) => Outcome::Ok,
                Some(false) if matches!(operation, Operation::Insert { .. }) => {
                    Outcome::fail(ErrorKind::Exists, format!("record {key} is there already"))
                }
                Some(false) => not_found(key),
                None => Outcome::unknown(ErrorKind::Other, "a reply doesn't say `[applied]`"),
            },
        }
    }
}

/// Whether a lightweight transaction took effect: its answer's first column.
fn applied(answer: QueryResult) -> Option<bool> {
    let rows = answer.into_rows_result().ok()?;
    let mut columns = rows.rows::<ColumnIterator<'_, '_>>().ok()?.next()?.ok()?;
    let column = columns.next()?.ok()?;
    match column.slice?.as_slice() {
        [applied] if column.spec.name() == "[applied]" => Some(*applied != 0),
        _ => None,
    }
}

/// The markers of a statement: values, then the key, then the limit.
struct Bound<'a> {
    values: &'a [FieldValue<'a>],
    key: Option<&'a str>,
    limit: Option<i32>,
}

impl SerializeRow for Bound<'_> {
    fn serialize(
        &self,
        _context: &RowSerializationContext<'_>,
        writer: &mut RowWriter<'_>,
    ) -> Result<(), SerializationError> {
        // Bytes as they are: `text` is its UTF-8, and that the markers are of these types is
        // known, for the statements are our own.
        let limit = self.limit.map(i32::to_be_bytes);
        let values = self.values.iter().map(|value| value.value);
        for bytes in
            values.chain(self.key.map(str::as_bytes)).chain(limit.as_ref().map(<[u8; 4]>::as_slice))
        {
            writer.make_cell_writer().set_value(bytes).map_err(SerializationError::new)?;
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.key.is_none() && self.limit.is_none()
    }
}

/// The outcome of an operation whose statement can't be prepared: it wasn't sent.
fn unprepared(cause: &PrepareError) -> Outcome {
    let kind = match cause {
        PrepareError::ConnectionPoolError(_) => ErrorKind::ConnectionRefused,
        _ => ErrorKind::Rejected,
    };
    Outcome::fail(kind, cause.to_string())
}

/// The outcome of an operation for which the driver has an error. `conditional` is said of
/// lightweight transactions.
fn failed(operation: &Operation<'_>, conditional: bool, cause: &ExecutionError) -> Outcome {
    let text = cause.to_string();
    match cause {
        // Nothing was sent.
        ExecutionError::EmptyPlan | ExecutionError::ConnectionPoolError(_) => {
            Outcome::fail(ErrorKind::ConnectionRefused, text)
        }
        ExecutionError::BadQuery(_) => Outcome::fail(ErrorKind::Rejected, text),
        ExecutionError::LastAttemptError(attempt) => match attempt {
            RequestAttemptError::DbError(error, _) => refused(operation, conditional, error, text),
            RequestAttemptError::BrokenConnectionError(_) => lost(operation, &text),
            // More users than stream numbers: it wasn't sent.
            RequestAttemptError::UnableToAllocStreamId => {
                Outcome::fail(ErrorKind::Overloaded, text)
            }
            RequestAttemptError::SerializationError(_)
            | RequestAttemptError::CqlRequestSerialization(_)
            | RequestAttemptError::RepreparedIdChanged { .. } => {
                Outcome::fail(ErrorKind::Rejected, text)
            }
            _ => may_have_written(operation, ErrorKind::Other, text),
        },
        ExecutionError::RequestTimeout(_) => may_have_written(operation, ErrorKind::Timeout, text),
        _ => may_have_written(operation, ErrorKind::Other, text),
    }
}

/// The outcome of an operation to which the server answered with an error.
fn refused(operation: &Operation<'_>, conditional: bool, error: &DbError, text: String) -> Outcome {
    match error {
        // The coordinator counts live replicas before it sends a mutation to any. In a lightweight
        // transaction it counts again for every round: it may find too few to commit what was
        // accepted already, or to try again after a minority accepted, which a later transaction
        // would then complete.
        DbError::Unavailable { .. } if conditional => {
            may_have_written(operation, ErrorKind::Unavailable, text)
        }
        DbError::Unavailable { .. } => Outcome::fail(ErrorKind::Unavailable, text),
        // Some replicas may have the mutation, and read repair or hints may spread it. In a
        // lightweight transaction, the read after the promise may time out too, in a second round
        // as above, so a write that meets a `ReadTimeout` isn't safe either.
        DbError::WriteTimeout { .. } | DbError::ReadTimeout { .. } => {
            may_have_written(operation, ErrorKind::ServerTimeout, text)
        }
        DbError::WriteFailure { .. } | DbError::ReadFailure { .. } => {
            may_have_written(operation, ErrorKind::NotEnoughReplicas, text)
        }
        // Turned away before it began: the queue too long or too slow, too many hints in flight
        // (checked for every replica before the first is sent to), the node not yet in the ring.
        DbError::Overloaded | DbError::IsBootstrapping | DbError::RateLimitReached { .. } => {
            Outcome::fail(ErrorKind::Overloaded, text)
        }
        // Found wrong before it began.
        DbError::SyntaxError
        | DbError::Invalid
        | DbError::Unauthorized
        | DbError::AuthenticationError
        | DbError::ConfigError
        | DbError::AlreadyExists { .. }
        | DbError::ProtocolError
        | DbError::Unprepared { .. } => Outcome::fail(ErrorKind::Rejected, text),
        _ => may_have_written(operation, ErrorKind::Other, text),
    }
}

fn may_have_written(operation: &Operation<'_>, kind: ErrorKind, text: String) -> Outcome {
    Outcome::interrupted(operation.kind().writes(), kind, text)
}

fn not_found(key: &str) -> Outcome {
    Outcome::fail(ErrorKind::NotFound, format!("no record {key}"))
}

#[cfg(test)]
mod tests {
    use super::{require_datacenter, require_local};
    use std::collections::BTreeSet;

    #[test]
    fn a_local_data_centre_that_the_cluster_has_not_is_refused_with_those_it_has() {
        let all = BTreeSet::from(["dc2", "dc1"]);
        assert_eq!(require_datacenter(None, &all), Ok(()));
        assert_eq!(require_datacenter(Some("dc2"), &all), Ok(()));
        let refused = require_datacenter(Some("nope"), &all).expect_err("there is none");
        assert!(refused.message.contains("no data centre `nope`"), "{refused}");
        assert_eq!(refused.hint, "it has dc1, dc2");
    }

    #[test]
    fn a_coordinator_in_another_data_centre_than_the_local_one_is_refused() {
        assert_eq!(require_local(None, Some("dc1")), Ok(()));
        assert_eq!(require_local(Some("dc1"), Some("dc1")), Ok(()));
        let refused = require_local(Some("dc1"), Some("dc2")).expect_err("it is elsewhere");
        assert!(refused.message.contains("in the data centre `dc2`"), "{refused}");
    }
}
