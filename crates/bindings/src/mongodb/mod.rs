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
//! An update of a record that isn't there writes none (`upsert` is off).
//!
//! An update must change its record to be one: MongoDB acknowledges one that writes what is
//! there already without asking any other member, whatever its write concern. Stamped values
//! always differ.
//!
//! What is set, and why:
//! - `retryWrites` and `retryReads` are off, as for every binding.
//! - The pool holds as many connections as there are users, made when first needed: a closed-loop
//!   user needs one, and idle ones to members that nobody asks would show in their memory. All may
//!   be made at the same time (`maxConnecting`), not two: else users queue for them when a link
//!   gets slow, by the time a call is sent its limit is nearly over, its connection is closed with
//!   it, and the client stays in that state long after the link is well again.
//! - Selecting a server ends after two seconds, or three quarters of the load loop's limit where
//!   that is less, so that a dead server reads as "connection refused" and not as a time-out.
//! - Members are checked every second, not every ten: a run lasts minutes, and a partition that
//!   drops packets is only ever noticed by these checks.
//! - The driver refuses a message above the length that the server gave as its limit when they met
//!   (48 MB for MongoDB's own servers), and closes the connection. It has no option for a lower one.
//! - A user's operations share one driver session, which keeps the time of its last operation and
//!   tells servers of the cluster's time. A session for every operation (the driver's default) costs
//!   a task each. Where `session: causal` is asked for, reads carry that time as `afterClusterTime`:
//!   the driver adds it to its own methods' reads, but leaves commands as they are, so it is packed
//!   with the rest of the read concern. Elsewhere it isn't sent: nobody asked for that guarantee.
//! - Users that roam ([`Routing::Roaming`]) read from any eligible member, however far (the driver's
//!   `localThresholdMS` is an hour): it takes two at random, and of these the one with less to do.
//! - No time limit is sent to the server. A dropped call closes its connection, and the server then
//!   ends what it was doing for it.
//!
//! A user logs in to `auth_source`, by default `admin`, by SCRAM. With TLS, a member's certificate
//! must be for the host by which the replica set's own configuration names it: that is where the
//! driver connects to.
//!
//! There are no options yet: any in [`Target::options`](crate::Target::options) is refused.
//!
//! Over several replica sets records are spread in one of two ways:
//! - [`Sharding::Client`]: the binding hashes keys over the target's sets, and has a driver client
//!   for each. A key's set follows from the key and the number of sets alone, by a hash that never
//!   changes (`shards` spells it out). A scan asks every set for as many records as it wants, at
//!   the same time, waits for all of them, merges their answers by key and takes what it wants:
//!   what a router does with a scan of records that are spread by hash. Without a key to start
//!   from the records have no order, and are taken from each set in turn. No router is passed, so
//!   this costs less than `mongos` does, and is never called one.
//! - [`Sharding::Mongos`]: the endpoints are `mongos` routers, and the collection is sharded by the
//!   hash of `_id`. What answers there but is no `mongos` is refused.
//!
//! | module | holds |
//! |---|---|
//! | `set` | one replica set: connection, table, and a user's session in it |
//! | `commands` | operations as raw BSON, at the level of their kind |
//! | `outcomes` | what answers and errors say of an operation |
//! | `shards` | which set holds a key; several scans as one |

mod commands;
mod outcomes;
mod set;
mod shards;

use crate::security::Security;
use crate::{
    Binding, BindingError, Context, Created, Found, ReplicaSet, Session, Sharding, Target,
};
use commands::{Commands, Finder, sent_read, sent_write};
use futures::future::{join_all, try_join_all};
use mongodb::bson::{RawDocument, RawDocumentBuf, Timestamp};
use outcomes::{answered, failed};
use pacelc_core::{Consistency, FieldValue, Operation, OperationKind, Outcome, Rows};
use set::{Place, Set, documents, give, invalid, key};
use std::rc::Rc;

/// One engine thread's clients.
#[derive(Debug)]
pub struct MongoDb {
    /// One, but for `sharding: client`.
    sets: Vec<Set>,
    by_mongos: bool,
    /// This study's marker; `None` on a cluster of pacelc's own.
    marker: Option<String>,
    commands: Rc<Commands>,
}

/// One user's place in each set.
#[derive(Debug)]
pub struct User {
    places: Vec<Place>,
    commands: Rc<Commands>,
}

impl Binding for MongoDb {
    type Session = User;

    fn check_security(database: &str, security: &Security) -> Result<(), BindingError> {
        security.require_both_or_neither(database)?;
        if security.user.is_none() {
            security.refuse_auth_source()?;
        }
        if security.tls.as_ref().is_some_and(|tls| tls.server_name.is_some()) {
            return Err(BindingError::target(
                "MongoDB's driver checks a certificate against the host in the endpoint, so \
                 server_name can't be had",
                "write the name that the certificate has into the endpoints and the replica set's \
                 configuration",
            ));
        }
        Ok(())
    }

    async fn open(context: &Context) -> Result<Self, BindingError> {
        let target = &context.target;
        let Consistency::MongoDb(levels) = &context.consistency else {
            return Err(BindingError::target(
                format!("MongoDB can't be asked for {:?}", context.consistency),
                "resolve the study's consistency for `mongodb`",
            ));
        };
        check(target)?;
        let by_mongos = target.sharding == Sharding::Mongos;
        let sets = if target.sharding == Sharding::Client {
            let sets = target.sets.iter().map(|ReplicaSet { name, endpoints }| {
                Set::open(context, endpoints, Some(name.clone()))
            });
            try_join_all(sets).await?
        } else {
            vec![Set::open(context, &target.endpoints, target.replica_set.clone()).await?]
        };
        if by_mongos {
            sets[0].require_mongos().await?;
        }
        let commands = Rc::new(Commands::new(&context.layout.table, context.layout.fields, levels));
        Ok(Self { sets, by_mongos, marker: target.marker().map(str::to_owned), commands })
    }

    /// What any of the sets has; it is this study's only if all that is there is.
    async fn find_table(&self) -> Result<Option<Found>, BindingError> {
        let found = try_join_all(self.sets.iter().map(Set::find_table)).await?;
        let found: Vec<_> = found.into_iter().flatten().collect();
        let ids = found.iter().map(|found| found.id.clone()).collect::<Option<Vec<_>>>();
        let another = found.iter().find(|found| found.marker != self.marker);
        let Some(first) = another.or(found.first()) else { return Ok(None) };
        Ok(Some(Found { id: ids.map(|ids| ids.join(" ")), ..first.clone() }))
    }

    async fn drop_table(&self, _found: &Found) -> Result<(), BindingError> {
        try_join_all(self.sets.iter().map(Set::drop_table)).await.map(drop)
    }

    async fn create_table(&self) -> Result<Created, BindingError> {
        let marker = self.marker.as_deref();
        try_join_all(self.sets.iter().map(|set| set.create_table(self.by_mongos, marker))).await?;
        let table_id = self.find_table().await?.and_then(|found| found.id);
        Ok(Created { table_id, ..Created::default() })
    }

    async fn server_version(&self) -> Option<String> {
        self.sets[0].version().await
    }

    async fn count_records(&self, most: u64) -> Result<u64, BindingError> {
        Ok(try_join_all(self.sets.iter().map(|set| set.count_records(most))).await?.iter().sum())
    }

    async fn session(&self) -> Result<User, BindingError> {
        let places = try_join_all(self.sets.iter().map(Set::place)).await?;
        Ok(User { places, commands: Rc::clone(&self.commands) })
    }

    fn in_force(&self) -> Vec<(OperationKind, String)> {
        let commands = &self.commands;
        let values: [FieldValue<'_>; 0] = [];
        // As in a session that has seen something: its first read has nothing to wait for.
        let seen = Some(Timestamp { time: 1, increment: 1 });
        let read = |command: &RawDocument, finder: &Finder| {
            sent_read(command, &finder.from).map_or_else(|| "unknown".into(), |l| l.to_string())
        };
        let write = |command: &RawDocument| {
            sent_write(command).map_or_else(|| "unknown".into(), |l| l.to_string())
        };
        vec![
            (OperationKind::Read, read(&commands.read("", None, seen), &commands.read)),
            (OperationKind::Update, write(&commands.update("", &values))),
            (OperationKind::Insert, write(&commands.insert("", &values))),
            (OperationKind::Scan, read(&commands.scan(None, 1, None, seen), &commands.scan)),
            (OperationKind::Delete, write(&commands.delete(""))),
        ]
    }
}

/// Refuses a target that this binding can't be opened with.
fn check(target: &Target) -> Result<(), BindingError> {
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
    let by_client = target.sharding == Sharding::Client;
    if by_client == target.sets.is_empty() || target.sets.iter().any(|s| s.endpoints.is_empty()) {
        return Err(BindingError::target(
            format!("MongoDB's target has {} sets to hash keys over", target.sets.len()),
            "name each replica set with its endpoints in `sets`, and say `sharding: client`",
        ));
    }
    Ok(())
}

impl Session for User {
    async fn execute(&mut self, operation: &Operation<'_>, rows: &mut dyn Rows) -> Outcome {
        let commands = Rc::clone(&self.commands);
        let (key, command) = match *operation {
            Operation::Read { key, field } => {
                let place = self.at(key);
                let command = commands.read(key, field, place.seen());
                let found = place.find(operation, command, &commands.read, rows).await;
                return found.err().unwrap_or(Outcome::Ok);
            }
            Operation::Scan { start, limit, field } => {
                let command = commands.scan(start, limit, field, self.places[0].seen());
                let found = match self.places.as_mut_slice() {
                    [place] => {
                        place.find(operation, command, &commands.scan, rows).await.map(|_| ())
                    }
                    places => scan_all(places, operation, &command, &commands.scan, rows).await,
                };
                return found.err().unwrap_or(Outcome::Ok);
            }
            Operation::Update { key, values } => (key, commands.update(key, values)),
            Operation::Insert { key, values } => (key, commands.insert(key, values)),
            Operation::Delete { key } => (key, commands.delete(key)),
        };
        match self.at(key).write(command).await {
            Ok(reply) => answered(operation, &reply),
            Err(cause) => failed(operation, &cause),
        }
    }
}

impl User {
    /// The place of a key; nothing is hashed where there is one set.
    fn at(&mut self, key: &str) -> &mut Place {
        match self.places.len() {
            1 => &mut self.places[0],
            sets => &mut self.places[shards::set_of(key, sets)],
        }
    }
}

/// Runs a scan on every set and hands over what it would have found in all of them as one.
async fn scan_all(
    places: &mut [Place],
    operation: &Operation<'_>,
    command: &RawDocumentBuf,
    finder: &Finder,
    rows: &mut dyn Rows,
) -> Result<(), Outcome> {
    let Operation::Scan { start, limit, .. } = *operation else { return Ok(()) };
    let asked = places.iter_mut().map(|place| place.replies(command.clone(), finder));
    // All to their end, though one fails: a dropped call closes its connection.
    let answers: Result<Vec<_>, _> = join_all(asked).await.into_iter().collect();
    let answers = answers.map_err(|cause| failed(operation, &cause))?;
    let mut lists = Vec::with_capacity(answers.len());
    for replies in &answers {
        let mut list = Vec::new();
        for reply in replies {
            for document in documents(operation, reply)? {
                let document = document?;
                // Without an order of their own they are taken from each set in turn.
                let place = match start {
                    Some(_) => (key(document).ok_or_else(invalid)?, 0),
                    None => ("", list.len()),
                };
                list.push((place, document));
            }
        }
        lists.push(list);
    }
    let mut found = shards::merged(lists).take(limit as usize);
    found.try_for_each(|document| give(document, rows).ok_or_else(invalid))
}
