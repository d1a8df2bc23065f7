//! Speaks to MongoDB with the official driver.
//!
//! Records are documents of the database `pacelc`, in a collection named as the table: `_id` is the
//! key, the fields are strings.
//!
//! Operations are sent as commands in raw BSON (`Commands` packs them), not through the
//! driver's collection methods: those build a document tree and copy each value several times, and
//! what the client costs is taken from the servers that it measures. Counted in instructions, a
//! read of ten fields of 100 bytes costs a tenth less so, an update of one of 8 KiB a quarter
//! less. The driver still does all that a driver is for: it finds the primary and follows it when
//! it changes, keeps the pool, selects a member by read preference, and keeps the sessions.
//!
//! An update must change its record to be one: MongoDB acknowledges one that writes what is
//! there already without asking any other member, whatever its write concern. Stamped values
//! always differ.
//!
//! What is set, and why:
//! - `retryWrites` and `retryReads` are off, as for every binding.
//! - The pool holds as many connections as there are users, made when first needed: a closed-loop
//!   user needs one, and idle ones to members that nobody asks would show in their memory.
//! - Selecting a server ends after two seconds, or three quarters of the load loop's limit where
//!   that is less, so that a dead server reads as "connection refused" and not as a time-out.
//! - Members are checked every second, not every ten: a run lasts minutes, and a partition that
//!   drops packets is only ever noticed by these checks.
//! - A user's operations share one driver session, without causal consistency: that would add
//!   `afterClusterTime` to reads, a guarantee that was not asked for. A session for every operation
//!   (the driver's default) costs a task each.
//! - No time limit is sent to the server. A dropped call closes its connection, and the server then
//!   ends what it was doing for it.
//!
//! A user logs in to `auth_source`, by default `admin`, by SCRAM. With TLS, a member's certificate
//! must be for the host by which the replica set's own configuration names it: that is where the
//! driver connects to.
//!
//! There are no options yet: any in [`Target::options`](crate::Target::options) is refused.

use crate::security::{IdentityFile, explain};
use crate::{Binding, BindingError, Context, Session, lost};
use futures::StreamExt;
use mongodb::bson::raw::cstr;
use mongodb::bson::{Document, RawBsonRef, RawDocument, RawDocumentBuf, doc, rawdoc};
use mongodb::error::{Error, ErrorKind as DriverError, NO_WRITES_PERFORMED};
use mongodb::options::{
    ClientOptions, CollectionOptions, Credential, ReadConcern, ReadPreference, SelectionCriteria,
    ServerAddress, TlsOptions, WriteConcern,
};
use mongodb::{Client, ClientSession, Collection, Database};
use pacelc_core::consistency::{PerKind, mongodb as levels};
use pacelc_core::operation::field_number;
use pacelc_core::{Consistency, ErrorKind, FieldValue, Operation, OperationKind, Outcome, Rows};
use std::borrow::Cow;
use std::rc::Rc;
use std::time::Duration;

const DATABASE: &str = "pacelc";
const SELECTION_LIMIT: Duration = Duration::from_secs(2);
const HEARTBEAT: Duration = Duration::from_secs(1);
const SCHEMA_LIMIT: Duration = Duration::from_secs(60);

/// One engine thread's client.
#[derive(Debug)]
pub struct MongoDb {
    client: Client,
    database: Database,
    address: String,
    commands: Rc<Commands>,
    /// Read again by the driver for each member that it learns of.
    _identity: Option<IdentityFile>,
}

/// One user's place: a driver session.
#[derive(Debug)]
pub struct User {
    database: Database,
    session: ClientSession,
    commands: Rc<Commands>,
}

impl Binding for MongoDb {
    type Session = User;

    async fn open(context: &Context) -> Result<Self, BindingError> {
        let target = &context.target;
        let Consistency::MongoDb(levels) = &context.consistency else {
            return Err(BindingError::target(
                format!("MongoDB can't be asked for {:?}", context.consistency),
                "resolve the study's consistency for `mongodb`",
            ));
        };
        if let Some(unknown) = target.options.keys().next() {
            return Err(BindingError::target(
                format!("MongoDB's binding has no option `{unknown}`"),
                "leave it out: there are none",
            ));
        }
        if target.endpoints.is_empty() {
            return Err(BindingError::target(
                "MongoDB's target names no endpoint",
                "give `endpoints` as host:port of the replica set's members",
            ));
        }
        let address = target.endpoints.join(",");
        let hosts = target.endpoints.iter().map(ServerAddress::parse).collect::<Result<_, _>>();
        let hosts: Vec<_> = hosts.map_err(|cause| {
            BindingError::target(
                format!("`{address}` isn't host:port of MongoDB servers: {}", cause.kind),
                "write each endpoint as host:port",
            )
        })?;
        let selection_limit = SELECTION_LIMIT.min(context.operation_timeout.mul_f64(0.75));
        let mut options = ClientOptions::builder()
            .hosts(hosts)
            .repl_set_name(target.replica_set.clone())
            .app_name("pacelc".to_owned())
            .retry_reads(false)
            .retry_writes(false)
            .max_pool_size(u32::try_from(context.users.max(1)).unwrap_or(u32::MAX))
            .server_selection_timeout(selection_limit)
            .connect_timeout(selection_limit)
            .heartbeat_freq(HEARTBEAT)
            .build();
        if target.replica_set.is_some() {
            options.direct_connection = Some(false);
        }
        let identity = secure(context, &mut options).await?;
        let connect = |cause: Error| BindingError::connect("MongoDB", &address, cause.kind);
        let client = Client::with_options(options).map_err(connect)?;
        let database = client.database(DATABASE);
        // Pings are answered before a login; this isn't.
        let asked = database.run_command(
            doc! { "listCollections": 1, "nameOnly": true, "authorizedCollections": true },
        );
        if let Err(cause) = asked.await {
            let tls = target.security.as_ref().is_some_and(|security| security.tls.is_some());
            return Err(explain::failed("MongoDB", &target.endpoints, tls, &cause.kind).await);
        }
        let commands = Rc::new(Commands::new(&context.layout.table, context.layout.fields, levels));
        Ok(Self { client, database, address, commands, _identity: identity })
    }

    async fn create_table(&self) -> Result<(), BindingError> {
        let table = &self.commands.table;
        let majority = WriteConcern::builder()
            .w(mongodb::options::Acknowledgment::Majority)
            .w_timeout(SCHEMA_LIMIT)
            .build();
        let dropped = self.collection().drop().write_concern(majority.clone()).await;
        dropped.map_err(|cause| self.failed(&format!("dropping {DATABASE}.{table}"), &cause))?;
        let created = self.database.create_collection(table).write_concern(majority).await;
        created.map_err(|cause| self.failed(&format!("creating {DATABASE}.{table}"), &cause))
    }

    async fn holds_records(&self) -> Result<bool, BindingError> {
        let found = self.collection().find_one(doc! {}).await;
        let table = &self.commands.table;
        let found =
            found.map_err(|cause| self.failed(&format!("reading {DATABASE}.{table}"), &cause));
        Ok(found?.is_some())
    }

    async fn server_version(&self) -> Option<String> {
        let built = self.database.run_command(doc! { "buildInfo": 1 }).await.ok()?;
        built.get_str("version").ok().map(str::to_owned)
    }

    async fn count_records(&self) -> Result<u64, BindingError> {
        let count = self.collection().count_documents(doc! {}).await;
        let table = &self.commands.table;
        count.map_err(|cause| self.failed(&format!("counting {DATABASE}.{table}"), &cause))
    }

    async fn session(&self) -> Result<User, BindingError> {
        let session = self.client.start_session().causal_consistency(false).await;
        Ok(User {
            database: self.database.clone(),
            session: session.map_err(|cause| self.failed("starting a session", &cause))?,
            commands: Rc::clone(&self.commands),
        })
    }

    fn in_force(&self) -> Vec<(OperationKind, String)> {
        let commands = &self.commands;
        let values: [FieldValue<'_>; 0] = [];
        let read = |command: &RawDocument, finder: &Finder| {
            sent_read(command, &finder.from).map_or_else(|| "unknown".into(), |l| l.to_string())
        };
        let write = |command: &RawDocument| {
            sent_write(command).map_or_else(|| "unknown".into(), |l| l.to_string())
        };
        vec![
            (OperationKind::Read, read(&commands.read("", None), &commands.read)),
            (OperationKind::Update, write(&commands.update("", &values))),
            (OperationKind::Insert, write(&commands.insert("", &values))),
            (OperationKind::Scan, read(&commands.scan(None, 1, None), &commands.scan)),
            (OperationKind::Delete, write(&commands.delete(""))),
        ]
    }
}

/// Gives the driver user, password and TLS. What is returned must live as long as the client.
async fn secure(
    context: &Context,
    options: &mut ClientOptions,
) -> Result<Option<IdentityFile>, BindingError> {
    let target = &context.target;
    let Some(security) = &target.security else { return Ok(None) };
    if let Some(login) = security.login()? {
        options.credential = Some(
            Credential::builder()
                .username(login.user)
                .password(login.password.expose().to_owned())
                .source(security.auth_source.clone().unwrap_or_else(|| "admin".to_owned()))
                .build(),
        );
    }
    let Some(tls) = &security.tls else { return Ok(None) };
    explain::shake_hands("MongoDB", &target.endpoints, &tls.config(&[])?).await?;
    let identity = tls.identity_file()?;
    options.tls = Some(
        TlsOptions::builder()
            .ca_file_path(tls.ca_file.clone())
            .cert_key_file_path(identity.as_ref().map(IdentityFile::path))
            .build()
            .into(),
    );
    Ok(identity)
}

impl MongoDb {
    /// The collection as schema changes and counts use it: by the primary, and linearizable, so
    /// that records written with `w: 1` a moment ago are counted, and none that may yet be lost.
    fn collection(&self) -> Collection<Document> {
        let options = CollectionOptions::builder()
            .read_concern(ReadConcern::linearizable())
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .build();
        self.database.collection_with_options(&self.commands.table, options)
    }

    fn failed(&self, what: &str, cause: &Error) -> BindingError {
        match &*cause.kind {
            DriverError::ServerSelection { .. } | DriverError::Io(_) => {
                BindingError::connect("MongoDB", &self.address, &cause.kind)
            }
            kind => BindingError::server(&format!("MongoDB, {what}"), kind),
        }
    }
}

impl Session for User {
    async fn execute(&mut self, operation: &Operation<'_>, rows: &mut dyn Rows) -> Outcome {
        let commands = Rc::clone(&self.commands);
        let command = match *operation {
            Operation::Read { key, field } => {
                let command = commands.read(key, field);
                return match self.find(operation, command, &commands.read, rows).await {
                    Ok(0) => not_found(key),
                    Ok(_) => Outcome::Ok,
                    Err(outcome) => outcome,
                };
            }
            Operation::Scan { start, limit, field } => {
                let command = commands.scan(start, limit, field);
                return match self.find(operation, command, &commands.scan, rows).await {
                    Ok(_) => Outcome::Ok,
                    Err(outcome) => outcome,
                };
            }
            Operation::Update { key, values } => commands.update(key, values),
            Operation::Insert { key, values } => commands.insert(key, values),
            Operation::Delete { key } => commands.delete(key),
        };
        match self.database.run_raw_command(command).session(&mut self.session).await {
            Ok(reply) => answered(operation, &reply),
            Err(cause) => failed(operation, &cause),
        }
    }
}

impl User {
    /// Runs a `find` to its end; how many documents it found.
    async fn find(
        &mut self,
        operation: &Operation<'_>,
        command: RawDocumentBuf,
        finder: &Finder,
        rows: &mut dyn Rows,
    ) -> Result<u64, Outcome> {
        let cursor = self
            .database
            .run_raw_cursor_command(command)
            .selection_criteria(SelectionCriteria::ReadPreference(finder.from.clone()))
            .session(&mut self.session)
            .batch()
            .await;
        let mut cursor = cursor.map_err(|cause| failed(operation, &cause))?;
        let mut batches = cursor.stream(&mut self.session);
        let mut found = 0;
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(|cause| failed(operation, &cause))?;
            let documents = batch.doc_slices().map_err(|cause| failed(operation, &cause))?;
            for document in documents {
                let given = document.ok().and_then(|d| give(d.as_document()?, rows));
                if given.is_none() {
                    return Err(Outcome::fail(ErrorKind::Other, "a reply isn't valid BSON"));
                }
                found += 1;
            }
        }
        Ok(found)
    }
}

/// Hands over one document; `None` when it isn't valid BSON.
///
/// A field that is no string is handed to nobody, and so found missing.
fn give(document: &RawDocument, rows: &mut dyn Rows) -> Option<()> {
    let mut elements = document.iter();
    // The server puts `_id` first, whatever order it was inserted in.
    match elements.next()?.ok()? {
        (name, RawBsonRef::String(key)) if name == "_id" => rows.row(key.as_bytes()),
        _ => return None,
    }
    for element in elements {
        let (name, value) = element.ok()?;
        if let (Some(field), RawBsonRef::String(value)) =
            (field_number(name.as_str().as_bytes()), value)
        {
            rows.value(field, value.as_bytes());
        }
    }
    Some(())
}

/// How a kind of read is sent.
#[derive(Debug)]
struct Finder {
    /// `readConcern`.
    concern: RawDocumentBuf,
    /// By which members.
    from: ReadPreference,
}

impl Finder {
    fn new(level: levels::Read) -> Self {
        let concern = match level.concern {
            levels::ReadConcern::Local => "local",
            levels::ReadConcern::Available => "available",
            levels::ReadConcern::Majority => "majority",
            levels::ReadConcern::Linearizable => "linearizable",
            levels::ReadConcern::Snapshot => "snapshot",
        };
        let options = None;
        let from = match level.preference {
            levels::Preference::Primary => ReadPreference::Primary,
            levels::Preference::PrimaryPreferred => ReadPreference::PrimaryPreferred { options },
            levels::Preference::Secondary => ReadPreference::Secondary { options },
            levels::Preference::SecondaryPreferred => {
                ReadPreference::SecondaryPreferred { options }
            }
            levels::Preference::Nearest => ReadPreference::Nearest { options },
        };
        Self { concern: rawdoc! { "level": concern }, from }
    }
}

/// Packs commands for one table at one level a kind.
#[derive(Debug)]
struct Commands {
    table: String,
    /// `field0`, `field1`, …
    names: Vec<String>,
    read: Finder,
    scan: Finder,
    /// `writeConcern` of each kind of write.
    update: RawDocumentBuf,
    insert: RawDocumentBuf,
    delete: RawDocumentBuf,
}

impl Commands {
    fn new(table: &str, fields: usize, levels: &PerKind<levels::Read, levels::Write>) -> Self {
        Self {
            table: table.to_owned(),
            names: (0..fields).map(|n| format!("field{n}")).collect(),
            read: Finder::new(levels.read),
            scan: Finder::new(levels.scan),
            update: write_concern(levels.update),
            insert: write_concern(levels.insert),
            delete: write_concern(levels.delete),
        }
    }

    fn read(&self, key: &str, field: Option<usize>) -> RawDocumentBuf {
        packed(0, |command| {
            command.string("find", self.table.as_bytes());
            command.document("filter", |filter| filter.string("_id", key.as_bytes()));
            self.projection(command, field);
            command.int32("limit", 1);
            command.boolean("singleBatch", true);
            command.embed("readConcern", &self.read.concern);
        })
    }

    fn scan(&self, start: Option<&str>, limit: u32, field: Option<usize>) -> RawDocumentBuf {
        packed(0, |command| {
            command.string("find", self.table.as_bytes());
            command.document("filter", |filter| {
                if let Some(start) = start {
                    filter.document("_id", |id| id.string("$gte", start.as_bytes()));
                }
            });
            if start.is_some() {
                command.document("sort", |sort| sort.int32("_id", 1));
            }
            self.projection(command, field);
            let limit = i32::try_from(limit).unwrap_or(i32::MAX);
            command.int32("limit", limit);
            // One more than the limit, as drivers do: with just the limit the server leaves the
            // cursor open, and a second round trip closes it.
            command.int32("batchSize", limit.saturating_add(1));
            command.embed("readConcern", &self.scan.concern);
        })
    }

    /// Asks for one field only, beside the key.
    fn projection(&self, command: &mut Writer, field: Option<usize>) {
        if let Some(name) = field.and_then(|field| self.names.get(field)) {
            command.document("projection", |projection| projection.int32(name, 1));
        }
    }

    fn update(&self, key: &str, values: &[FieldValue<'_>]) -> RawDocumentBuf {
        packed(size_of_values(values), |command| {
            command.string("update", self.table.as_bytes());
            command.array_of_one("updates", |update| {
                update.document("q", |query| query.string("_id", key.as_bytes()));
                update.document("u", |change| {
                    change.document("$set", |set| self.fields(set, values));
                });
            });
            command.embed("writeConcern", &self.update);
        })
    }

    fn insert(&self, key: &str, values: &[FieldValue<'_>]) -> RawDocumentBuf {
        packed(size_of_values(values), |command| {
            command.string("insert", self.table.as_bytes());
            command.array_of_one("documents", |document| {
                document.string("_id", key.as_bytes());
                self.fields(document, values);
            });
            command.embed("writeConcern", &self.insert);
        })
    }

    fn delete(&self, key: &str) -> RawDocumentBuf {
        packed(0, |command| {
            command.string("delete", self.table.as_bytes());
            command.array_of_one("deletes", |delete| {
                delete.document("q", |query| query.string("_id", key.as_bytes()));
                delete.int32("limit", 1);
            });
            command.embed("writeConcern", &self.delete);
        })
    }

    fn fields(&self, into: &mut Writer, values: &[FieldValue<'_>]) {
        for FieldValue { field, value } in values {
            let name = self.names.get(*field).map_or_else(
                || Cow::Owned(format!("field{field}")),
                |name| Cow::Borrowed(name.as_str()),
            );
            into.string(&name, value);
        }
    }
}

fn size_of_values(values: &[FieldValue<'_>]) -> usize {
    values.iter().map(|v| v.value.len() + 20).sum()
}

fn write_concern(level: levels::Write) -> RawDocumentBuf {
    let mut concern = match level.w {
        levels::Acknowledged::Nodes(n) => rawdoc! { "w": i32::try_from(n).unwrap_or(i32::MAX) },
        levels::Acknowledged::Majority(_) => rawdoc! { "w": "majority" },
    };
    if let Some(journal) = level.j {
        concern.append(cstr!("j"), journal);
    }
    if let Some(limit) = level.wtimeout_ms {
        concern.append(cstr!("wtimeout"), i64::try_from(limit).unwrap_or(i64::MAX));
    }
    concern
}

/// The level in a packed `find`; `None` when there is none.
fn sent_read(command: &RawDocument, from: &ReadPreference) -> Option<levels::Read> {
    let level = command.get_document("readConcern").ok()?.get_str("level").ok()?;
    let preference = match from {
        ReadPreference::Primary => levels::Preference::Primary,
        ReadPreference::PrimaryPreferred { .. } => levels::Preference::PrimaryPreferred,
        ReadPreference::Secondary { .. } => levels::Preference::Secondary,
        ReadPreference::SecondaryPreferred { .. } => levels::Preference::SecondaryPreferred,
        ReadPreference::Nearest { .. } => levels::Preference::Nearest,
        _ => return None,
    };
    Some(levels::Read { concern: serde_json::from_value(level.into()).ok()?, preference })
}

/// The level in a packed write; `None` when there is none.
fn sent_write(command: &RawDocument) -> Option<levels::Write> {
    let concern = command.get_document("writeConcern").ok()?;
    let w = match concern.get("w").ok()?? {
        RawBsonRef::Int32(n) => levels::Acknowledged::Nodes(u32::try_from(n).ok()?),
        RawBsonRef::String("majority") => {
            levels::Acknowledged::Majority(levels::MajorityWord::Majority)
        }
        _ => return None,
    };
    let wtimeout_ms = concern.get_i64("wtimeout").ok().and_then(|ms| u64::try_from(ms).ok());
    Some(levels::Write { w, j: concern.get_bool("j").ok(), wtimeout_ms })
}

/// A command, built by `fill`, which writes about `size` bytes of values.
fn packed(size: usize, fill: impl FnOnce(&mut Writer)) -> RawDocumentBuf {
    let mut writer = Writer(Vec::with_capacity(size + 256));
    writer.enclosed(fill);
    // The writer closes what it opens, so this can't fail; an empty command would be refused.
    RawDocumentBuf::from_bytes(writer.0).unwrap_or_default()
}

/// Writes BSON straight into the bytes of a command, so that a value is copied into it once.
/// Appending documents to documents, as `bson` has it, copies a value once a level.
struct Writer(Vec<u8>);

impl Writer {
    fn name(&mut self, kind: u8, name: &str) {
        self.0.push(kind);
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
    }

    /// The text must be UTF-8, which field values are: printable ASCII.
    fn string(&mut self, name: &str, text: &[u8]) {
        self.name(0x02, name);
        self.length(text.len() + 1);
        self.0.extend_from_slice(text);
        self.0.push(0);
    }

    fn int32(&mut self, name: &str, value: i32) {
        self.name(0x10, name);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn boolean(&mut self, name: &str, value: bool) {
        self.name(0x08, name);
        self.0.push(u8::from(value));
    }

    fn embed(&mut self, name: &str, document: &RawDocument) {
        self.name(0x03, name);
        self.0.extend_from_slice(document.as_bytes());
    }

    fn document(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        self.name(0x03, name);
        self.enclosed(fill);
    }

    fn array_of_one(&mut self, name: &str, fill: impl FnOnce(&mut Self)) {
        self.name(0x04, name);
        self.enclosed(|array| array.document("0", fill));
    }

    fn enclosed(&mut self, fill: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.length(0);
        fill(self);
        self.0.push(0);
        let length = i32::try_from(self.0.len() - start).unwrap_or(i32::MAX);
        self.0[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        self.0.extend_from_slice(&length.to_le_bytes());
    }
}

/// The outcome of a write that the server answered.
fn answered(operation: &Operation<'_>, reply: &Document) -> Outcome {
    // An error of the one statement: it was rolled back, so it had no effect.
    if let Some(error) = reply.get_array("writeErrors").ok().and_then(|e| e.first()?.as_document())
    {
        let kind = match error.get_i32("code").unwrap_or_default() {
            50 | 262 => ErrorKind::ServerTimeout,
            112 => ErrorKind::Other,
            _ => ErrorKind::Rejected,
        };
        return Outcome::fail(kind, message(error));
    }
    // Nothing matched, so nothing was written, whatever became of the write concern.
    if let (Operation::Update { key, .. } | Operation::Delete { key }, Ok(0)) =
        (*operation, reply.get_i32("n"))
    {
        return not_found(key);
    }
    // The primary has written, and does not take it back: other members may follow yet, or a new
    // primary may undo it.
    if let Ok(error) = reply.get_document("writeConcernError") {
        let kind = match error.get_i32("code").unwrap_or_default() {
            10107 | 11600 | 11602 | 91 | 189 => ErrorKind::NotPrimary,
            _ => ErrorKind::NotEnoughReplicas,
        };
        return Outcome::unknown(kind, message(error));
    }
    Outcome::Ok
}

fn message(error: &Document) -> String {
    let code = error.get_i32("code").unwrap_or_default();
    format!("{} (code {code})", error.get_str("errmsg").unwrap_or("no message"))
}

/// The outcome of an operation for which the driver has an error.
fn failed(operation: &Operation<'_>, cause: &Error) -> Outcome {
    use std::io::ErrorKind as Io;
    let text = cause.kind.to_string();
    match &*cause.kind {
        // No member to ask within the limit: nothing was sent.
        DriverError::ServerSelection { .. } | DriverError::DnsResolve { .. } => {
            Outcome::fail(ErrorKind::ConnectionRefused, text)
        }
        // The driver labels network errors so when they come from making a connection.
        DriverError::Io(_) if cause.contains_label("SystemOverloadedError") => {
            Outcome::fail(ErrorKind::ConnectionRefused, text)
        }
        DriverError::Io(io)
            if matches!(
                io.kind(),
                Io::ConnectionRefused | Io::HostUnreachable | Io::NetworkUnreachable
            ) =>
        {
            Outcome::fail(ErrorKind::ConnectionRefused, text)
        }
        // Another user's error cleared the pool. The driver says the same to those who wait for a
        // connection and to those whose command is under way, so the worse must be assumed.
        DriverError::Io(_) | DriverError::ConnectionPoolCleared { .. } => lost(operation, &text),
        DriverError::Command(error) => {
            let unwritten = cause.contains_label(NO_WRITES_PERFORMED);
            refused(operation, error.code, unwritten, text)
        }
        // Found wrong on this side, or when the connection was set up.
        DriverError::InvalidArgument { .. }
        | DriverError::Authentication { .. }
        | DriverError::IncompatibleServer { .. }
        | DriverError::SessionsNotSupported
        | DriverError::InvalidTlsConfig { .. } => Outcome::fail(ErrorKind::Rejected, text),
        _ => may_have_written(operation, ErrorKind::Other, text),
    }
}

/// The outcome of an operation to which the server answered with an error code.
fn refused(operation: &Operation<'_>, code: i32, unwritten: bool, text: String) -> Outcome {
    let kind = match code {
        // Said before the command runs: not writable primary, not primary and no secondaryOk,
        // neither primary nor secondary.
        10058 | 10107 | 13435 | 13436 => return Outcome::fail(ErrorKind::NotPrimary, text),
        // Interrupted by a shutdown or a change of primary, perhaps after the write.
        91 | 189 | 11600 | 11602 => ErrorKind::NotPrimary,
        // MaxTimeMSExpired, NetworkTimeout, NetworkInterfaceExceededTimeLimit, ExceededTimeLimit.
        50 | 89 | 202 | 262 => ErrorKind::ServerTimeout,
        // WriteConcernFailed, UnsatisfiableWriteConcern, LinearizableReadConcernError.
        64 | 100 | 187 => ErrorKind::NotEnoughReplicas,
        // FailedToSatisfyReadPreference, ReadConcernMajorityNotAvailableYet, SnapshotTooOld,
        // SnapshotUnavailable: only reads have these.
        133 | 134 | 239 | 246 => return Outcome::fail(ErrorKind::Unavailable, text),
        // IngressRequestRateLimitExceeded: turned away at the door.
        462 => return Outcome::fail(ErrorKind::Overloaded, text),
        // Found wrong before the command runs: BadValue, FailedToParse, Unauthorized,
        // TypeMismatch, AuthenticationFailed, IllegalOperation, CommandNotFound, InvalidOptions,
        // InvalidNamespace, UnknownReplWriteConcern, BSONObjectTooLarge.
        2 | 9 | 13 | 14 | 18 | 20 | 59 | 72 | 73 | 79 | 10334 => {
            return Outcome::fail(ErrorKind::Rejected, text);
        }
        _ => ErrorKind::Other,
    };
    if unwritten { Outcome::fail(kind, text) } else { may_have_written(operation, kind, text) }
}

fn may_have_written(operation: &Operation<'_>, kind: ErrorKind, text: String) -> Outcome {
    if operation.kind().writes() { Outcome::unknown(kind, text) } else { Outcome::fail(kind, text) }
}

fn not_found(key: &str) -> Outcome {
    Outcome::fail(ErrorKind::NotFound, format!("no record {key}"))
}
