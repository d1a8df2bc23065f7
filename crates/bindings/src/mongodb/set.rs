//! One replica set, or the routers before several: a driver client, and a user's session in it.

use super::commands::Finder;
use super::outcomes::failed;
use crate::security::{IdentityFile, explain};
use crate::{BindingError, Context, Found, Routing};
use futures::{StreamExt, TryStreamExt};
use mongodb::bson::raw::CStr;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, Timestamp, doc};
use mongodb::error::{Error, ErrorKind as DriverError};
use mongodb::options::{
    Acknowledgment, ClientOptions, CollectionOptions, Credential, ReadConcern, ReadPreference,
    SelectionCriteria, ServerAddress, TlsOptions, ValidationLevel, WriteConcern,
};
use mongodb::raw_batch_cursor::{RawBatch, SessionRawBatchCursor};
use mongodb::{Client, ClientSession, Collection, Database};
use pacelc_core::operation::field_number;
use pacelc_core::{ErrorKind, Operation, Outcome, Rows};
use std::time::Duration;

const DATABASE: &str = "pacelc";
/// What a marker follows in the comment of a collection's validator (see [`crate::table`]).
const OWNER: &str = "pacelc owner ";
const SELECTION_LIMIT: Duration = Duration::from_secs(2);
/// Of members beyond the nearest's round trip, for users that roam.
const ANY_DISTANCE: Duration = Duration::from_secs(3600);
const HEARTBEAT: Duration = Duration::from_secs(1);
const SCHEMA_LIMIT: Duration = Duration::from_secs(60);

/// The driver's client of one set.
#[derive(Debug)]
pub(super) struct Set {
    client: Client,
    database: Database,
    address: String,
    table: String,
    /// Read again by the driver for each member that it learns of.
    _identity: Option<IdentityFile>,
}

impl Set {
    /// Connects to `endpoints`, by which the driver finds the rest of the set called `name`.
    pub async fn open(
        context: &Context,
        endpoints: &[String],
        name: Option<String>,
    ) -> Result<Self, BindingError> {
        let address = endpoints.join(",");
        let hosts = endpoints.iter().map(ServerAddress::parse).collect::<Result<_, _>>();
        let hosts: Vec<_> = hosts.map_err(|cause| {
            BindingError::target(
                format!("`{address}` isn't host:port of MongoDB servers: {}", cause.kind),
                "write each endpoint as host:port",
            )
        })?;
        let users = u32::try_from(context.users.max(1)).unwrap_or(u32::MAX);
        let selection_limit = SELECTION_LIMIT.min(context.operation_timeout.mul_f64(0.75));
        let mut options = ClientOptions::builder()
            .hosts(hosts)
            .repl_set_name(name.clone())
            .app_name("pacelc".to_owned())
            .retry_reads(false)
            .retry_writes(false)
            .max_pool_size(users)
            .max_connecting(users)
            .server_selection_timeout(selection_limit)
            .connect_timeout(selection_limit)
            .heartbeat_freq(HEARTBEAT)
            .build();
        if context.target.session == Some(Routing::Roaming) {
            options.local_threshold = Some(ANY_DISTANCE);
        }
        if name.is_some() {
            options.direct_connection = Some(false);
        }
        let identity = secure(context, endpoints, &mut options).await?;
        let connect = |cause: Error| BindingError::connect("MongoDB", &address, cause.kind);
        let client = Client::with_options(options).map_err(connect)?;
        let database = client.database(DATABASE);
        // Pings are answered before a login; this isn't.
        let asked = database.run_command(
            doc! { "listCollections": 1, "nameOnly": true, "authorizedCollections": true },
        );
        if let Err(cause) = asked.await {
            let tls = context.target.security.as_ref().is_some_and(|s| s.tls.is_some());
            return Err(explain::failed("MongoDB", endpoints, tls, &cause.kind).await);
        }
        let table = context.layout.table.clone();
        Ok(Self { client, database, address, table, _identity: identity })
    }

    /// Refuses what is no `mongos`: its measurements would be called those of one.
    pub async fn require_mongos(&self) -> Result<(), BindingError> {
        let hello = self.database.run_command(doc! { "hello": 1 }).await;
        let hello = hello.map_err(|cause| self.failed("saying hello", &cause))?;
        // What only a mongos answers.
        if hello.get_str("msg").is_ok_and(|said| said == "isdbgrid") {
            return Ok(());
        }
        Err(BindingError::target(
            format!("MongoDB at {} is no mongos", self.address),
            "name the routers as endpoints, or leave out `sharding: mongos`",
        ))
    }

    /// What the database has by the collection's name: a collection, a view, a time series.
    pub async fn find_table(&self) -> Result<Option<Found>, BindingError> {
        let (what, table) = (format!("looking for {DATABASE}.{}", self.table), &self.table);
        let ask = doc! { "listCollections": 1, "filter": { "name": table } };
        let answer = self.database.run_command(ask).await;
        let answer = answer.map_err(|cause| self.failed(&what, &cause))?;
        let first = answer.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
        let first = first.map_err(|cause| BindingError::server(&format!("MongoDB, {what}"), cause));
        let Some(found) = first?.first().and_then(Bson::as_document) else { return Ok(None) };
        let comment = found
            .get_document("options")
            .and_then(|options| options.get_document("validator"))
            .and_then(|validator| validator.get_str("$comment"));
        let id = found.get_document("info").ok().and_then(|info| info.get("uuid"));
        let id = id.and_then(|id| match id {
            Bson::Binary(id) => <[u8; 16]>::try_from(id.bytes.as_slice()).ok(),
            _ => None,
        });
        Ok(Some(Found {
            what: format!("a {} that MongoDB knows", found.get_str("type").unwrap_or("collection")),
            marker: comment.ok().and_then(|text| text.strip_prefix(OWNER)).map(str::to_owned),
            id: id.map(|id| format!("{:032x}", u128::from_be_bytes(id))),
        }))
    }

    /// Drops the collection.
    pub async fn drop_table(&self) -> Result<(), BindingError> {
        let dropped = self.collection().drop().write_concern(by_majority()).await;
        dropped.map_err(|cause| self.failed(&format!("dropping {DATABASE}.{}", self.table), &cause))
    }

    /// Creates the collection; through a `mongos`, hashed over all shards by its key.
    pub async fn create_table(
        &self,
        by_mongos: bool,
        marker: Option<&str>,
    ) -> Result<(), BindingError> {
        let table = &self.table;
        let mut create = self.database.create_collection(table).write_concern(by_majority());
        if let Some(marker) = marker {
            // With validation off nobody evaluates it: it is a place for the marker alone.
            create = create
                .validator(doc! { "$comment": format!("{OWNER}{marker}") })
                .validation_level(ValidationLevel::Off);
        }
        create
            .await
            .map_err(|cause| self.failed(&format!("creating {DATABASE}.{table}"), &cause))?;
        if by_mongos {
            let shard = doc! {
                "shardCollection": format!("{DATABASE}.{table}"), "key": { "_id": "hashed" }
            };
            let sharded = self.client.database("admin").run_command(shard).await;
            sharded
                .map_err(|cause| self.failed(&format!("sharding {DATABASE}.{table}"), &cause))?;
        }
        Ok(())
    }

    /// Counts the collection's records, no further than just above `most`.
    pub async fn count_records(&self, most: u64) -> Result<u64, BindingError> {
        let count = self.collection().count_documents(doc! {}).limit(most.saturating_add(1)).await;
        count.map_err(|cause| self.failed(&format!("counting {DATABASE}.{}", self.table), &cause))
    }

    /// The server's version.
    pub async fn version(&self) -> Option<String> {
        let built = self.database.run_command(doc! { "buildInfo": 1 }).await.ok()?;
        built.get_str("version").ok().map(str::to_owned)
    }

    /// A user's session.
    pub async fn place(&self) -> Result<Place, BindingError> {
        let session = self.client.start_session().causal_consistency(false).await;
        Ok(Place {
            database: self.database.clone(),
            session: session.map_err(|cause| self.failed("starting a session", &cause))?,
        })
    }

    /// The collection as schema changes and counts use it: by the primary, and linearizable, so
    /// that records written with `w: 1` a moment ago are counted, and none that may yet be lost.
    fn collection(&self) -> Collection<Document> {
        let options = CollectionOptions::builder()
            .read_concern(ReadConcern::linearizable())
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .build();
        self.database.collection_with_options(&self.table, options)
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

/// How schema changes are acknowledged.
fn by_majority() -> WriteConcern {
    WriteConcern::builder().w(Acknowledgment::Majority).w_timeout(SCHEMA_LIMIT).build()
}

/// Gives the driver user, password and TLS. What is returned must live as long as the client.
async fn secure(
    context: &Context,
    endpoints: &[String],
    options: &mut ClientOptions,
) -> Result<Option<IdentityFile>, BindingError> {
    let Some(security) = &context.target.security else { return Ok(None) };
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
    explain::shake_hands("MongoDB", endpoints, &tls.config(&[])?).await?;
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

/// One user's session in one set.
#[derive(Debug)]
pub(super) struct Place {
    database: Database,
    session: ClientSession,
}

impl Place {
    /// The time of the session's last operation, by the cluster's clock.
    pub fn seen(&self) -> Option<Timestamp> {
        self.session.operation_time()
    }

    /// Runs a write.
    pub async fn write(&mut self, command: RawDocumentBuf) -> Result<Document, Error> {
        self.database.run_raw_command(command).session(&mut self.session).await
    }

    /// Runs a `find` to its end, handing over what it finds; how many documents that were.
    pub async fn find(
        &mut self,
        operation: &Operation<'_>,
        command: RawDocumentBuf,
        finder: &Finder,
        rows: &mut dyn Rows,
    ) -> Result<u64, Outcome> {
        let cursor = self.ask(command, finder).await;
        let mut cursor = cursor.map_err(|cause| failed(operation, &cause))?;
        let mut batches = cursor.stream(&mut self.session);
        let mut found = 0;
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(|cause| failed(operation, &cause))?;
            for document in documents(operation, &batch)? {
                give(document?, rows).ok_or_else(invalid)?;
                found += 1;
            }
        }
        Ok(found)
    }

    /// Runs a `find` to its end and keeps the replies.
    pub async fn replies(
        &mut self,
        command: RawDocumentBuf,
        finder: &Finder,
    ) -> Result<Vec<RawBatch>, Error> {
        let mut cursor = self.ask(command, finder).await?;
        cursor.stream(&mut self.session).try_collect().await
    }

    async fn ask(
        &mut self,
        command: RawDocumentBuf,
        finder: &Finder,
    ) -> Result<SessionRawBatchCursor, Error> {
        self.database
            .run_raw_cursor_command(command)
            .selection_criteria(SelectionCriteria::ReadPreference(finder.from.clone()))
            .session(&mut self.session)
            .batch()
            .await
    }
}

/// The documents of a reply.
pub(super) fn documents<'a>(
    operation: &Operation<'_>,
    reply: &'a RawBatch,
) -> Result<impl Iterator<Item = Result<&'a RawDocument, Outcome>>, Outcome> {
    let documents = reply.doc_slices().map_err(|cause| failed(operation, &cause))?;
    Ok(documents
        .into_iter()
        .map(|element| element.ok().and_then(RawBsonRef::as_document).ok_or_else(invalid)))
}

/// The key of a document; `None` when it isn't valid BSON, or no record of ours.
pub(super) fn key(document: &RawDocument) -> Option<&str> {
    first_is_key(document.iter().next()?.ok()?)
}

/// The server puts `_id` first, whatever order it was inserted in.
fn first_is_key<'a>((name, value): (&CStr, RawBsonRef<'a>)) -> Option<&'a str> {
    if name == "_id" { value.as_str() } else { None }
}

/// Hands over one document; `None` when it isn't valid BSON.
///
/// A field that is no string is handed to nobody, and so found missing.
pub(super) fn give(document: &RawDocument, rows: &mut dyn Rows) -> Option<()> {
    let mut elements = document.iter();
    rows.row(first_is_key(elements.next()?.ok()?)?.as_bytes());
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

pub(super) fn invalid() -> Outcome {
    Outcome::fail(ErrorKind::Other, "a reply isn't valid BSON")
}
