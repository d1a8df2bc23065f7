//! Redis and Valkey.
//!
//! A record is a hash, `<table>:<key>`, as YCSB stores it. A user has a connection of its own,
//! since `WAIT` blocks the connection that it is sent on; reads at `replica` go over a second one,
//! to one of the replicas in turn; a user that roams has one to each, and takes the next for every
//! read. A write and its `WAIT` travel in one packet.
//!
//! It speaks the protocol itself ([`resp`]), without a queue, a task or an allocation: the `redis`
//! crate's connection multiplexes users over a task, and took half as much CPU again for an
//! operation as `redis-benchmark`, which would be measured as the server's. The crate's parser is
//! the oracle of ours in the tests.
//!
//! A connection logs in (`AUTH`) as soon as it is made, over TLS where the target asks for it
//! (`door`).
//!
//! Replies have no number: they belong to commands by their order alone, so one too many would be
//! taken for the answer to the next command, and every later one for that of its successor. A
//! connection is closed when a reply isn't of the type that its command has, when bytes are left
//! over after an operation's last reply, and when some have come before the next command is sent.
//! After a read of what no writer wrote ([`Session::distrust`]) a `PING` must come back with the word
//! that it was sent. A surplus reply of the right type that comes between a command and its reply
//! can't be told from it; the next of these checks that fails ends what follows from it. A reply far
//! longer than the workload's records
//! ([`Layout::longest_answer_bytes`](crate::Layout::longest_answer_bytes)) closes it, too.
//!
//! A read of all fields is an `HGETALL`, of one field an `HGET`, which doesn't tell a missing field
//! from a missing record.
//!
//! Scans: without a start, `SCAN` and a pipeline of such reads. With a start, Redis needs an index:
//! target option `scan_index: true` keeps a sorted set of keys beside the records, and so makes
//! inserts and deletes two commands.
//!
//! An update writes fields whether or not the record exists: Redis has no conditional `HSET`. One
//! that brings a deleted record back doesn't bring its key back to the index.

mod door;
pub mod resp;
mod table;

use crate::security::Security;
use crate::{Binding, BindingError, Context, Created, Found, Routing, Session, lost};
use door::{Door, Stream};
use pacelc_core::consistency::redis::{Read, Write};
use pacelc_core::{
    Consistency, ErrorKind, Operation, OperationKind, Outcome, PerKind, Rows, operation,
};
use resp::{Reply, pack};
use std::cell::Cell;
use std::io;
use std::rc::Rc;

/// The binding.
#[derive(Debug)]
pub struct Redis {
    shared: Rc<Shared>,
    /// Spreads users over the replicas.
    next_replica: Cell<usize>,
}

/// What all users of a thread need.
#[derive(Debug)]
struct Shared {
    door: Rc<Door>,
    primary: String,
    replicas: Vec<String>,
    /// Whether each read at `replica` goes to the next replica.
    roams: bool,
    /// `<table>:`
    prefix: String,
    /// The sorted set of keys, where `scan_index` is on.
    index: Option<String>,
    /// What it is called where there is one.
    index_key: String,
    /// What says who made the table.
    owner_key: String,
    /// This study's marker; `None` on a cluster of pacelc's own.
    marker: Option<String>,
    levels: PerKind<Read, Write>,
    /// The packed `WAIT` that follows a write of each kind; empty for none.
    wait: PerKind<(), Wait>,
    /// `HSET`'s names of fields.
    fields: Vec<String>,
    /// Bytes of the longest reply that is read.
    longest_reply: usize,
}

/// Room for one key in a list of them: its prefix, its digits, and how the protocol frames it.
const KEY_BYTES: usize = 256;

impl Binding for Redis {
    type Session = RedisSession;

    fn check_security(_database: &str, security: &Security) -> Result<(), BindingError> {
        if security.user.is_some() && security.password.is_none() {
            return Err(BindingError::target(
                "a user is named, but no password",
                "add password_env or password_file",
            ));
        }
        security.refuse_auth_source()
    }

    async fn open(context: &Context) -> Result<Self, BindingError> {
        let Consistency::Redis(levels) = context.consistency else {
            return Err(BindingError::target(
                "the consistency isn't Redis's",
                "resolve it for redis",
            ));
        };
        let target = &context.target;
        let Some(primary) = target.primary.as_ref().or(target.endpoints.first()) else {
            return Err(BindingError::target(
                "Redis needs the primary's address",
                "name an endpoint",
            ));
        };
        if target.replicas.is_empty()
            && (levels.read == Read::Replica || levels.scan == Read::Replica)
        {
            return Err(BindingError::target(
                "Redis reads from a replica need the replicas' addresses",
                "name the target's replicas",
            ));
        }
        let index = match target.options.get("scan_index") {
            None => false,
            Some(serde_json::Value::Bool(on)) => *on,
            Some(_) => {
                return Err(BindingError::target(
                    "scan_index is true or false",
                    "see the options of Redis",
                ));
            }
        };
        let table = &context.layout.table;
        let shared = Shared {
            door: Rc::new(Door::new(target.security.as_ref())?),
            primary: primary.clone(),
            replicas: target.replicas.clone(),
            roams: target.session == Some(Routing::Roaming),
            prefix: format!("{table}:"),
            index: index.then(|| format!("{table}_index")),
            index_key: format!("{table}_index"),
            owner_key: format!("{table}_owner"),
            marker: target.marker().map(str::to_owned),
            levels,
            wait: PerKind {
                read: (),
                scan: (),
                update: Wait::new(levels.update),
                insert: Wait::new(levels.insert),
                delete: Wait::new(levels.delete),
            },
            fields: (0..context.layout.fields).map(|n| format!("field{n}")).collect(),
            // Records are read one by one, but the keys of a scan come all at once.
            longest_reply: (context.layout.longest_answer_bytes(1))
                .saturating_add(KEY_BYTES.saturating_mul(context.layout.scan_records as usize)),
        };
        let binding = Self { shared: Rc::new(shared), next_replica: Cell::new(0) };
        binding.admin().await?;
        Ok(binding)
    }

    async fn find_table(&self) -> Result<Option<Found>, BindingError> {
        self.find().await
    }

    async fn drop_table(&self, found: &Found) -> Result<(), BindingError> {
        self.unlink(found).await
    }

    async fn create_table(&self) -> Result<Created, BindingError> {
        self.mark().await
    }

    async fn server_version(&self) -> Option<String> {
        let mut connection = self.admin().await.ok()?;
        connection.pack(&[b"INFO", b"server"]);
        let mut answer = Keys::default();
        connection.ask("INFO", Expected::String, &mut answer).await.ok()?;
        let text = String::from_utf8_lossy(answer.found.first()?).into_owned();
        // Valkey tells the version of Redis that it is compatible with, too.
        ["valkey_version:", "redis_version:"].iter().find_map(|name| {
            text.lines().find_map(|line| line.strip_prefix(name)).map(|v| v.trim().to_owned())
        })
    }

    async fn count_records(&self, most: u64) -> Result<u64, BindingError> {
        self.count(most).await
    }

    async fn session(&self) -> Result<RedisSession, BindingError> {
        let mut replicas = Vec::new();
        let turn = self.next_replica.get();
        if matches!(self.shared.levels.read, Read::Replica)
            || matches!(self.shared.levels.scan, Read::Replica)
        {
            self.next_replica.set(turn + 1);
            let all = &self.shared.replicas;
            let roams = self.shared.roams;
            for address in
                all.iter().cycle().skip(turn % all.len()).take(if roams { all.len() } else { 1 })
            {
                replicas.push(self.connect(address).await?);
            }
        }
        let primary = self.connect(&self.shared.primary).await?;
        Ok(RedisSession { shared: Rc::clone(&self.shared), primary, replicas })
    }

    fn in_force(&self) -> Vec<(OperationKind, String)> {
        let wait = |packed: &[u8]| match resp::words(packed).as_slice() {
            [] => "primary only".to_owned(),
            words => words.join(" "),
        };
        let shared = &self.shared;
        vec![
            (OperationKind::Read, shared.levels.read.to_string()),
            (OperationKind::Scan, shared.levels.scan.to_string()),
            (OperationKind::Update, wait(&shared.wait.update.packed)),
            (OperationKind::Insert, wait(&shared.wait.insert.packed)),
            (OperationKind::Delete, wait(&shared.wait.delete.packed)),
        ]
    }
}

impl Redis {
    async fn connect(&self, address: &str) -> Result<Connection, BindingError> {
        let door = &self.shared.door;
        match Connection::open(address, door, self.shared.longest_reply).await {
            Ok(connection) => Ok(connection),
            Err(cause) => Err(door.failed(address, &cause).await),
        }
    }

    /// A connection to the primary, which talks to us.
    async fn admin(&self) -> Result<Connection, BindingError> {
        let address = &self.shared.primary;
        let mut connection = self.connect(address).await?;
        // A server that asks for a password takes the connection, and refuses every command.
        connection.pack(&[b"PING"]);
        match connection.answer(Expected::Status, &mut Ignore).await {
            Ok(_) => Ok(connection),
            Err(cause) => Err(self.shared.door.failed(address, &cause).await),
        }
    }
}

/// A `WAIT`, packed once.
#[derive(Debug)]
struct Wait {
    packed: Vec<u8>,
    replicas: i64,
}

impl Wait {
    fn new(level: Write) -> Self {
        Self { packed: packed_wait(level), replicas: i64::from(level.wait) }
    }
}

fn packed_wait(level: Write) -> Vec<u8> {
    let mut packed = Vec::new();
    if level.wait > 0 {
        let (replicas, limit) = (level.wait.to_string(), level.timeout_ms.to_string());
        pack(&[b"WAIT", replicas.as_bytes(), limit.as_bytes()], &mut packed);
    }
    packed
}

/// One user's connections.
#[derive(Debug)]
pub struct RedisSession {
    shared: Rc<Shared>,
    primary: Connection,
    /// To its own, or to all where it roams: the first is the next one's turn.
    replicas: Vec<Connection>,
}

impl Session for RedisSession {
    async fn execute(&mut self, operation: &Operation<'_>, rows: &mut dyn Rows) -> Outcome {
        let level = match operation.kind() {
            OperationKind::Scan => self.shared.levels.scan,
            OperationKind::Read => self.shared.levels.read,
            _ => Read::Primary,
        };
        let connection = match level {
            Read::Replica => {
                // Of one replica that does nothing.
                let next = usize::from(self.replicas.len() > 1);
                self.replicas.rotate_left(next);
                self.replicas.first_mut().unwrap_or(&mut self.primary)
            }
            Read::Primary => &mut self.primary,
        };
        if connection.has_surplus() {
            connection.idle = false;
            return Outcome::fail(ErrorKind::ConnectionLost, SURPLUS);
        }
        if let Err(error) = connection.ready().await {
            return Outcome::fail(ErrorKind::ConnectionRefused, error.to_string());
        }
        let done = match *operation {
            Operation::Read { key, field } => self.shared.read(connection, key, field, rows).await,
            Operation::Scan { start, limit, field } => {
                self.shared.scan(connection, start, limit, field, rows).await
            }
            Operation::Update { key, values } => {
                let hset = self.shared.pack_hset(connection, key, values);
                self.shared.write(connection, hset, &self.shared.wait.update, None).await
            }
            Operation::Insert { key, values } => {
                let mut commands = self.shared.pack_hset(connection, key, values);
                if let Some(index) = &self.shared.index {
                    connection.pack(&[b"ZADD", index.as_bytes(), b"0", key.as_bytes()]);
                    commands += 1;
                }
                self.shared.write(connection, commands, &self.shared.wait.insert, None).await
            }
            Operation::Delete { key } => {
                let record = [self.shared.prefix.as_bytes(), key.as_bytes()];
                connection.pack_joined(b"DEL", record);
                let mut commands = 1;
                if let Some(index) = &self.shared.index {
                    connection.pack(&[b"ZREM", index.as_bytes(), key.as_bytes()]);
                    commands += 1;
                }
                self.shared.write(connection, commands, &self.shared.wait.delete, Some(key)).await
            }
        };
        match done {
            // Whose reply it was that came first isn't known.
            Ok(_) if !connection.is_drained() => lost(operation, &SURPLUS),
            Ok(outcome) => {
                connection.idle = true;
                outcome
            }
            // Not idle any more: the next operation opens a new connection.
            Err(error) => lost(operation, &error),
        }
    }

    fn distrust(&mut self) {
        self.primary.is_suspect = true;
        for replica in &mut self.replicas {
            replica.is_suspect = true;
        }
    }
}

/// Why a connection is closed that has more replies than commands.
const SURPLUS: &str = "the server sent more than was asked for";

impl Shared {
    /// Packs `HSET` of `values` into the connection's buffer; returns the number of commands.
    fn pack_hset(
        &self,
        connection: &mut Connection,
        key: &str,
        values: &[pacelc_core::FieldValue<'_>],
    ) -> usize {
        let out = &mut connection.out;
        resp::begin(2 + 2 * values.len(), out);
        resp::argument(b"HSET", out);
        resp::joined_argument([self.prefix.as_bytes(), key.as_bytes()], out);
        for value in values {
            resp::argument(self.fields.get(value.field).map_or(b"", |name| name.as_bytes()), out);
            resp::argument(value.value, out);
        }
        1
    }

    async fn read(
        &self,
        connection: &mut Connection,
        key: &str,
        field: Option<usize>,
        rows: &mut dyn Rows,
    ) -> io::Result<Outcome> {
        self.pack_read(connection, key.as_bytes(), field);
        connection.send().await?;
        let answer = receive_record(connection, key.as_bytes(), field, rows).await?;
        Ok(answer.err().unwrap_or(Outcome::Ok))
    }

    /// Packs the read of one record into the connection's buffer.
    fn pack_read(&self, connection: &mut Connection, key: &[u8], field: Option<usize>) {
        let Some(field) = field else {
            return connection.pack_joined(b"HGETALL", [self.prefix.as_bytes(), key]);
        };
        let out = &mut connection.out;
        resp::begin(3, out);
        resp::argument(b"HGET", out);
        resp::joined_argument([self.prefix.as_bytes(), key], out);
        resp::argument(self.fields.get(field).map_or(b"", |name| name.as_bytes()), out);
    }

    /// Sends `commands` packed commands and, in the same packet, their `WAIT`.
    ///
    /// `counted` is the key of a delete, which is told by its count whether there was a record.
    async fn write(
        &self,
        connection: &mut Connection,
        commands: usize,
        wait: &Wait,
        counted: Option<&str>,
    ) -> io::Result<Outcome> {
        connection.out.extend_from_slice(&wait.packed);
        connection.send().await?;
        let mut outcome = Outcome::Ok;
        for number in 0..commands {
            match connection.receive(Expected::Number, &mut Ignore).await? {
                // What was done before it stays done.
                Err(Outcome::Fail(failure)) if outcome.is_ok() && number > 0 => {
                    outcome = Outcome::Unknown(failure);
                }
                Err(error) if outcome.is_ok() => outcome = error,
                Ok(0) if number == 0 && counted.is_some() => {
                    outcome = Outcome::fail(ErrorKind::NotFound, counted.unwrap_or_default());
                }
                _ => {}
            }
        }
        if wait.packed.is_empty() {
            return Ok(outcome);
        }
        let answered = connection.receive(Expected::Number, &mut Ignore).await?;
        if !outcome.is_ok() {
            return Ok(outcome);
        }
        Ok(match answered {
            Err(error) => match error {
                // The write was acknowledged; only its replication is in doubt.
                Outcome::Fail(failure) => Outcome::Unknown(failure),
                other => other,
            },
            Ok(replicas) => {
                let asked = wait.replicas;
                if replicas >= asked {
                    Outcome::Ok
                } else {
                    let detail = format!("WAIT {asked} was answered by {replicas} replicas");
                    Outcome::unknown(ErrorKind::NotEnoughReplicas, detail)
                }
            }
        })
    }

    async fn scan(
        &self,
        connection: &mut Connection,
        start: Option<&str>,
        limit: u32,
        field: Option<usize>,
        rows: &mut dyn Rows,
    ) -> io::Result<Outcome> {
        let mut keys = Keys::default();
        let count = limit.to_string();
        match (start, &self.index) {
            (None, _) => {
                let pattern = table::beginning_with(&format!("{}user", self.prefix));
                let mut cursor = b"0".to_vec();
                loop {
                    let command: [&[u8]; 6] = [
                        b"SCAN",
                        &cursor,
                        b"MATCH",
                        pattern.as_bytes(),
                        b"COUNT",
                        count.as_bytes(),
                    ];
                    connection.pack(&command);
                    connection.send().await?;
                    if let Err(error) = connection.receive(Expected::Array, &mut keys).await? {
                        return Ok(error);
                    }
                    cursor = std::mem::take(&mut keys.cursor);
                    if keys.found.len() >= limit as usize || cursor == b"0" {
                        break;
                    }
                }
                let prefix = self.prefix.len();
                keys.found.iter_mut().for_each(|key| {
                    key.drain(..prefix.min(key.len()));
                });
            }
            (Some(start), Some(index)) => {
                let from = format!("[{start}");
                let command: [&[u8]; 7] = [
                    b"ZRANGEBYLEX",
                    index.as_bytes(),
                    from.as_bytes(),
                    b"+",
                    b"LIMIT",
                    b"0",
                    count.as_bytes(),
                ];
                connection.pack(&command);
                connection.send().await?;
                if let Err(error) = connection.receive(Expected::Array, &mut keys).await? {
                    return Ok(error);
                }
            }
            (Some(_), None) => {
                let why = "a scan from a key needs the target option scan_index: true";
                return Ok(Outcome::fail(ErrorKind::Rejected, why));
            }
        }
        keys.found.truncate(limit as usize);
        // A bounded pipeline: neither side's buffers must hold all of a large scan.
        for batch in keys.found.chunks(64) {
            for key in batch {
                self.pack_read(connection, key, field);
            }
            connection.send().await?;
            let mut failed = None;
            for key in batch {
                let answer = receive_record(connection, key, field, rows).await?;
                failed = failed.or(answer.err());
            }
            if let Some(error) = failed {
                return Ok(error);
            }
        }
        Ok(Outcome::Ok)
    }
}

/// Receives what [`Shared::pack_read`] asks for.
async fn receive_record(
    connection: &mut Connection,
    key: &[u8],
    field: Option<usize>,
    rows: &mut dyn Rows,
) -> io::Result<Result<i64, Outcome>> {
    if let Some(field) = field {
        return connection.receive(Expected::String, &mut OneField { key, field, rows }).await;
    }
    let mut fields = Fields { key, rows, seen: 0 };
    connection.receive(Expected::Pairs, &mut fields).await
}

/// What a command is answered with, unless by an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Number,
    Status,
    String,
    Array,
    /// An array of names, each with its value behind it.
    Pairs,
    /// A status, or no string for "not done".
    StatusOrNone,
}

impl Expected {
    const fn fits(self, reply: &Reply<'_>) -> bool {
        match (self, reply) {
            (_, Reply::Error(_))
            | (Self::Number, Reply::Number(_))
            | (Self::Status, Reply::Status)
            | (Self::String, Reply::String)
            | (Self::StatusOrNone, Reply::Status | Reply::String)
            | (Self::Array, Reply::Array(_)) => true,
            (Self::Pairs, Reply::Array(length)) => length.is_multiple_of(2),
            _ => false,
        }
    }
}

/// Takes the parts of a reply as they are parsed.
trait Sink {
    /// A string at nesting `depth`, the `index`-th of its array.
    fn string(&mut self, depth: usize, index: usize, bytes: &[u8]);
}

struct Ignore;

impl Sink for Ignore {
    fn string(&mut self, _depth: usize, _index: usize, _bytes: &[u8]) {}
}

/// `HGETALL`'s reply: name, value, name, value …
struct Fields<'a> {
    key: &'a [u8],
    rows: &'a mut dyn Rows,
    seen: usize,
}

impl Sink for Fields<'_> {
    fn string(&mut self, _depth: usize, index: usize, bytes: &[u8]) {
        if self.seen == 0 {
            self.rows.row(self.key);
        }
        if index.is_multiple_of(2) {
            // An unknown name becomes a number beyond any layout, which the verifier refuses.
            self.seen = 1 + operation::field_number(bytes).unwrap_or(usize::MAX - 1);
        } else {
            self.rows.value(self.seen - 1, bytes);
        }
    }
}

/// `HGET`'s reply: the value, or nothing.
struct OneField<'a> {
    key: &'a [u8],
    field: usize,
    rows: &'a mut dyn Rows,
}

impl Sink for OneField<'_> {
    fn string(&mut self, _depth: usize, _index: usize, bytes: &[u8]) {
        self.rows.row(self.key);
        self.rows.value(self.field, bytes);
    }
}

/// `SCAN`'s reply (cursor, then keys one level deeper) or a flat list of keys.
#[derive(Default)]
struct Keys {
    found: Vec<Vec<u8>>,
    cursor: Vec<u8>,
}

impl Sink for Keys {
    fn string(&mut self, depth: usize, index: usize, bytes: &[u8]) {
        // SCAN's cursor is the one string that looks like a number at the top of its reply.
        if depth == 1 && index == 0 && bytes.iter().all(u8::is_ascii_digit) {
            self.cursor = bytes.to_vec();
        } else {
            self.found.push(bytes.to_vec());
        }
    }
}

/// One connection, its buffers, and whether a reply may still be on its way.
#[derive(Debug)]
struct Connection {
    door: Rc<Door>,
    address: String,
    stream: Option<Stream>,
    out: Vec<u8>,
    received: Vec<u8>,
    /// Where the unparsed part of `received` begins.
    at: usize,
    longest_reply: usize,
    /// Replies may belong to other commands than they seem to.
    is_suspect: bool,
    /// `PING`s sent, each with its number.
    pings: u64,
    /// False from the moment an operation begins until its last reply is in. An operation that is
    /// dropped in between leaves it false, and the connection is replaced.
    idle: bool,
}

impl Connection {
    async fn open(address: &str, door: &Rc<Door>, longest_reply: usize) -> io::Result<Self> {
        let mut connection = Self {
            door: Rc::clone(door),
            address: address.to_owned(),
            stream: None,
            out: Vec::new(),
            received: Vec::new(),
            at: 0,
            longest_reply,
            is_suspect: false,
            pings: 0,
            idle: false,
        };
        connection.ready().await?;
        connection.idle = true;
        Ok(connection)
    }

    /// Whether anything has come on an idle connection. One that the server has closed is dropped.
    fn has_surplus(&mut self) -> bool {
        if !self.idle {
            return false;
        }
        match self.stream.as_mut().and_then(Stream::unread) {
            None => false,
            Some(Ok(bytes)) if bytes > 0 => true,
            Some(_) => {
                self.stream = None;
                false
            }
        }
    }

    /// Whether every reply that was received has been taken.
    const fn is_drained(&self) -> bool {
        self.received.is_empty()
    }

    /// Begins an operation: on the connection as it is, or on a new one.
    async fn ready(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_suspect) && self.idle {
            // Dropped in here, it must not be idle.
            self.idle = false;
            self.idle = self.stream.is_some() && self.is_in_step().await;
        }
        if !self.idle || self.stream.is_none() {
            self.stream = None;
            self.out.clear();
            self.received.clear();
            self.at = 0;
            self.stream = Some(self.door.connect(&self.address).await?);
            let door = Rc::clone(&self.door);
            if let Some(login) = &door.login {
                let password = login.password.expose().as_bytes();
                match &login.user {
                    Some(user) => self.pack(&[b"AUTH", user.as_bytes(), password]),
                    None => self.pack(&[b"AUTH", password]),
                }
                let answered = self.answer(Expected::Status, &mut Ignore).await;
                // A connection that isn't logged in is none.
                answered.inspect_err(|_| self.stream = None)?;
            }
        }
        self.idle = false;
        Ok(())
    }

    /// Whether a command is answered with its own reply.
    async fn is_in_step(&mut self) -> bool {
        self.pings += 1;
        let word = format!("pacelc-{}", self.pings);
        self.pack(&[b"PING", word.as_bytes()]);
        let mut reply = Keys::default();
        let answered = self.answer(Expected::String, &mut reply).await;
        answered.is_ok() && self.is_drained() && reply.found == [word.as_bytes()]
    }

    /// Sends the one command that is packed; its number as `receive` has it, or the server's error.
    async fn answer(&mut self, expected: Expected, sink: &mut impl Sink) -> io::Result<i64> {
        self.send().await?;
        match self.receive(expected, sink).await? {
            Ok(number) => Ok(number),
            Err(outcome) => {
                let text = outcome.failure().map_or("", |failure| &failure.detail);
                Err(io::Error::other(text.to_owned()))
            }
        }
    }

    /// The same, for what is done before and after a run.
    async fn ask(
        &mut self,
        command: &str,
        expected: Expected,
        sink: &mut impl Sink,
    ) -> Result<i64, BindingError> {
        let answered = self.answer(expected, sink).await;
        answered.map_err(|cause| BindingError::server(command, cause))
    }

    fn pack(&mut self, arguments: &[&[u8]]) {
        pack(arguments, &mut self.out);
    }

    fn pack_joined(&mut self, command: &[u8], argument: [&[u8]; 2]) {
        resp::begin(2, &mut self.out);
        resp::argument(command, &mut self.out);
        resp::joined_argument(argument, &mut self.out);
    }

    async fn send(&mut self) -> io::Result<()> {
        if !self.is_drained() {
            return Err(invalid(SURPLUS));
        }
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let sent = stream.send(&self.out).await;
        self.out.clear();
        sent
    }

    /// One whole reply: its number (0 where it isn't one), or the outcome that its error means.
    async fn receive(
        &mut self,
        expected: Expected,
        sink: &mut impl Sink,
    ) -> io::Result<Result<i64, Outcome>> {
        let end = loop {
            match resp::end_of_reply(&self.received[self.at..], self.longest_reply) {
                Ok(Some(length)) => break self.at + length,
                Ok(None) => self.fill().await?,
                Err(broken) => return Err(invalid(broken)),
            }
        };
        let reply = resp::walk(&self.received[self.at..end], &mut |depth, index, bytes| {
            sink.string(depth, index, bytes);
        });
        if !expected.fits(&reply) {
            return Err(invalid("the server's reply isn't one to the command that was sent"));
        }
        let result = match reply {
            Reply::Number(number) => Ok(number),
            Reply::Error(text) => Err(server_error(text)),
            _ => Ok(0),
        };
        self.at = end;
        if self.at == self.received.len() {
            self.received.clear();
            self.at = 0;
        }
        Ok(result)
    }

    async fn fill(&mut self) -> io::Result<()> {
        const READ_BYTES: usize = 16 * 1024;
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        if self.at > 0 {
            self.received.drain(..self.at);
            self.at = 0;
        }
        if self.received.capacity() - self.received.len() < READ_BYTES {
            // Doubling keeps a large scan's reply from being copied again and again.
            self.received.reserve(self.received.capacity().max(READ_BYTES));
        }
        match stream.receive(&mut self.received).await? {
            0 => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            )),
            _ => Ok(()),
        }
    }
}

/// What breaks the protocol.
fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// What the server's error means. Each of these is sent instead of doing the command.
fn server_error(text: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(text);
    let kind = match text.split(' ').next().unwrap_or_default() {
        "READONLY" => ErrorKind::NotPrimary,
        "LOADING" | "BUSY" | "OOM" | "TRYAGAIN" => ErrorKind::Overloaded,
        "MASTERDOWN" | "CLUSTERDOWN" => ErrorKind::Unavailable,
        "NOREPLICAS" => ErrorKind::NotEnoughReplicas,
        _ => ErrorKind::Rejected,
    };
    Outcome::fail(kind, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_errors_have_had_no_effect_and_are_told_apart() {
        for (text, kind) in [
            ("READONLY You can't write against a read only replica.", ErrorKind::NotPrimary),
            ("LOADING Redis is loading the dataset in memory", ErrorKind::Overloaded),
            ("NOREPLICAS Not enough good replicas to write.", ErrorKind::NotEnoughReplicas),
            ("ERR unknown command", ErrorKind::Rejected),
            ("", ErrorKind::Rejected),
        ] {
            assert_eq!(server_error(text.as_bytes()), Outcome::fail(kind, text));
        }
    }

    #[test]
    fn levels_in_force_are_read_back_from_the_packed_commands() {
        assert_eq!(
            resp::words(&packed_wait(Write { wait: 2, timeout_ms: 500 })),
            ["WAIT", "2", "500"]
        );
        assert!(packed_wait(Write { wait: 0, timeout_ms: 500 }).is_empty());
    }
}
