//! Packs an operation as a command in raw BSON, at the level of its kind, and reads the level back.

use mongodb::bson::raw::cstr;
use mongodb::bson::{RawBsonRef, RawDocument, RawDocumentBuf, Timestamp, rawdoc};
use mongodb::options::ReadPreference;
use pacelc_core::FieldValue;
use pacelc_core::consistency::{PerKind, mongodb as levels};
use std::borrow::Cow;

/// What a causal session's reads say in `readConcern`: no member answers that isn't as far.
const AFTER: &str = "afterClusterTime";

/// How a kind of read is sent.
#[derive(Debug)]
pub(super) struct Finder {
    /// `readConcern`'s level.
    concern: &'static str,
    /// Whether reads wait until a member has what the user's session has seen.
    causal: bool,
    /// By which members.
    pub from: ReadPreference,
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
        Self { concern, causal: level.causal, from }
    }

    /// Appends `readConcern`; `seen` is the time of the session's last operation, if there was one.
    fn embed_in(&self, command: &mut Writer, seen: Option<Timestamp>) {
        command.document("readConcern", |concern| {
            concern.string("level", self.concern.as_bytes());
            if let (true, Some(seen)) = (self.causal, seen) {
                concern.timestamp(AFTER, seen);
            }
        });
    }
}

/// Packs commands for one table at one level a kind.
#[derive(Debug)]
pub(super) struct Commands {
    pub table: String,
    /// `field0`, `field1`, …
    names: Vec<String>,
    pub read: Finder,
    pub scan: Finder,
    /// `writeConcern` of each kind of write.
    update: RawDocumentBuf,
    insert: RawDocumentBuf,
    delete: RawDocumentBuf,
}

impl Commands {
    pub fn new(table: &str, fields: usize, levels: &PerKind<levels::Read, levels::Write>) -> Self {
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

    pub fn read(&self, key: &str, field: Option<usize>, seen: Option<Timestamp>) -> RawDocumentBuf {
        packed(0, |command| {
            command.string("find", self.table.as_bytes());
            command.document("filter", |filter| filter.string("_id", key.as_bytes()));
            self.projection(command, field);
            command.int32("limit", 1);
            command.boolean("singleBatch", true);
            self.read.embed_in(command, seen);
        })
    }

    pub fn scan(
        &self,
        start: Option<&str>,
        limit: u32,
        field: Option<usize>,
        seen: Option<Timestamp>,
    ) -> RawDocumentBuf {
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
            self.scan.embed_in(command, seen);
        })
    }

    /// Asks for one field only, beside the key.
    fn projection(&self, command: &mut Writer, field: Option<usize>) {
        if let Some(name) = field.and_then(|field| self.names.get(field)) {
            command.document("projection", |projection| projection.int32(name, 1));
        }
    }

    pub fn update(&self, key: &str, values: &[FieldValue<'_>]) -> RawDocumentBuf {
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

    pub fn insert(&self, key: &str, values: &[FieldValue<'_>]) -> RawDocumentBuf {
        packed(size_of_values(values), |command| {
            command.string("insert", self.table.as_bytes());
            command.array_of_one("documents", |document| {
                document.string("_id", key.as_bytes());
                self.fields(document, values);
            });
            command.embed("writeConcern", &self.insert);
        })
    }

    pub fn delete(&self, key: &str) -> RawDocumentBuf {
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
pub(super) fn sent_read(command: &RawDocument, from: &ReadPreference) -> Option<levels::Read> {
    let concern = command.get_document("readConcern").ok()?;
    let level = concern.get_str("level").ok()?;
    let causal = concern.get_timestamp(AFTER).is_ok();
    let preference = match from {
        ReadPreference::Primary => levels::Preference::Primary,
        ReadPreference::PrimaryPreferred { .. } => levels::Preference::PrimaryPreferred,
        ReadPreference::Secondary { .. } => levels::Preference::Secondary,
        ReadPreference::SecondaryPreferred { .. } => levels::Preference::SecondaryPreferred,
        ReadPreference::Nearest { .. } => levels::Preference::Nearest,
        _ => return None,
    };
    Some(levels::Read { concern: serde_json::from_value(level.into()).ok()?, preference, causal })
}

/// The level in a packed write; `None` when there is none.
pub(super) fn sent_write(command: &RawDocument) -> Option<levels::Write> {
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

    fn timestamp(&mut self, name: &str, value: Timestamp) {
        self.name(0x11, name);
        self.0.extend_from_slice(&value.increment.to_le_bytes());
        self.0.extend_from_slice(&value.time.to_le_bytes());
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
