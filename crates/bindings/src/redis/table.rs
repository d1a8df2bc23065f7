//! The table as a whole: who made it, which keys are its records, counting and dropping them.
//!
//! Redis has no tables, so one is a key that says whose it is (`<table>_owner`: the marker, and
//! whether there is an index) and the keys of records. On a cluster that is pacelc's own there is
//! no such key.

use super::{Connection, Expected, Ignore, Keys, Redis};
use crate::{BindingError, Created, Found};
use std::collections::BTreeSet;

/// Keys that a page of `SCAN` looks at.
const PAGE: &[u8] = b"10000";

/// What follows the marker where there is an index, too.
const WITH_INDEX: &str = " index";

impl Redis {
    /// What there is of the table's name: the owner's key, the index, a key with its prefix.
    pub(super) async fn find(&self) -> Result<Option<Found>, BindingError> {
        let shared = &self.shared;
        let mut connection = self.admin().await?;
        let owner = owner(&mut connection, &shared.owner_key).await?;
        let foreign = |key: &[u8]| {
            let key = String::from_utf8_lossy(key).escape_debug().to_string();
            Some(Found { what: format!("the key `{key}`"), ..Found::default() })
        };
        let indexed = owner.as_ref().is_some_and(|text| text.ends_with(WITH_INDEX));
        if let Some(index) = shared.index.as_ref().filter(|_| !indexed) {
            connection.pack(&[b"EXISTS", index.as_bytes()]);
            if connection.ask("EXISTS", Expected::Number, &mut Ignore).await? > 0 {
                return Ok(foreign(index.as_bytes()));
            }
        }
        if let Some(text) = owner {
            let marker = text.strip_suffix(WITH_INDEX).unwrap_or(&text).to_owned();
            return Ok(foreign(shared.owner_key.as_bytes())
                .map(|found| Found { marker: Some(marker), ..found }));
        }
        let mut pages = Pages::of(&shared.prefix);
        while let Some(keys) = pages.next(&mut connection).await? {
            if let Some(key) = keys.first() {
                return Ok(foreign(key));
            }
        }
        Ok(None)
    }

    /// Unlinks records and index; of a table that isn't this study's, every key with its prefix.
    pub(super) async fn unlink(&self, found: &Found) -> Result<(), BindingError> {
        let shared = &self.shared;
        let mut connection = self.admin().await?;
        let ours = shared.marker.is_some() && shared.marker == found.marker;
        let indexed = owner(&mut connection, &shared.owner_key)
            .await?
            .is_some_and(|text| text.ends_with(WITH_INDEX));
        let mut pages = Pages::of(&shared.prefix);
        while let Some(mut keys) = pages.next(&mut connection).await? {
            keys.retain(|key| !ours || is_record(key, &shared.prefix));
            connection.unlink(&keys).await?;
        }
        // The owner's key last: until then, what is left is known to be this study's.
        let index = shared.index_key.clone().into_bytes();
        let index = Some(index).filter(|_| indexed || (!ours && shared.index.is_some()));
        let owner = shared.owner_key.clone().into_bytes();
        connection.unlink(&index.into_iter().chain([owner]).collect::<Vec<_>>()).await
    }

    /// Sets the owner's key, which must not be there.
    pub(super) async fn mark(&self) -> Result<Created, BindingError> {
        let Some(marker) = &self.shared.marker else { return Ok(Created::default()) };
        let mut connection = self.admin().await?;
        let indexed = if self.shared.index.is_some() { WITH_INDEX } else { "" };
        let (key, text) = (self.shared.owner_key.as_bytes(), format!("{marker}{indexed}"));
        connection.pack(&[b"SET", key, text.as_bytes(), b"NX"]);
        let mut answer = Keys::default();
        connection.ask("SET NX", Expected::StatusOrNone, &mut answer).await?;
        if answer.found.is_empty() {
            let what = format!("setting `{}`", self.shared.owner_key);
            return Err(BindingError::server(&what, "somebody else has just set it"));
        }
        Ok(Created::default())
    }

    /// Counts the records; no further than just above `most`.
    pub(super) async fn count(&self, most: u64) -> Result<u64, BindingError> {
        let mut connection = self.admin().await?;
        let mut records = BTreeSet::new(); // SCAN may return a key twice
        let mut pages = Pages::of(&self.shared.prefix);
        while let Some(mut keys) = pages.next(&mut connection).await? {
            keys.retain(|key| is_record(key, &self.shared.prefix));
            records.extend(keys);
            if records.len() as u64 > most {
                break;
            }
        }
        Ok(records.len() as u64)
    }
}

/// What the owner's key holds; nothing that begins with a marker where it is no string.
async fn owner(connection: &mut Connection, key: &str) -> Result<Option<String>, BindingError> {
    connection.pack(&[b"TYPE", key.as_bytes()]);
    let mut kind = Keys::default();
    connection.ask("TYPE", Expected::Status, &mut kind).await?;
    match kind.found.first().map(Vec::as_slice) {
        None | Some(b"none") => return Ok(None),
        Some(b"string") => {}
        Some(_) => return Ok(Some(String::new())),
    }
    connection.pack(&[b"GET", key.as_bytes()]);
    let mut value = Keys::default();
    connection.ask("GET", Expected::String, &mut value).await?;
    Ok(value.found.first().map(|text| String::from_utf8_lossy(text).into_owned()))
}

/// Whether a key is one that a workload gives to a record: the prefix, `user`, and digits.
fn is_record(key: &[u8], prefix: &str) -> bool {
    let digits = key.strip_prefix(prefix.as_bytes()).and_then(|key| key.strip_prefix(b"user"));
    digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// A pattern that `prefix` alone begins: what means something in one is escaped.
pub(super) fn beginning_with(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len() + 1);
    for letter in prefix.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('*');
    pattern
}

/// The keys that begin with a prefix, page by page.
struct Pages {
    pattern: String,
    /// `None` after the last page.
    cursor: Option<Vec<u8>>,
}

impl Pages {
    fn of(prefix: &str) -> Self {
        Self { pattern: beginning_with(prefix), cursor: Some(b"0".to_vec()) }
    }

    async fn next(
        &mut self,
        connection: &mut Connection,
    ) -> Result<Option<Vec<Vec<u8>>>, BindingError> {
        let Some(cursor) = self.cursor.take() else { return Ok(None) };
        connection.pack(&[b"SCAN", &cursor, b"MATCH", self.pattern.as_bytes(), b"COUNT", PAGE]);
        let mut page = Keys::default();
        connection.ask("SCAN", Expected::Array, &mut page).await?;
        self.cursor = Some(page.cursor).filter(|cursor| cursor != b"0");
        Ok(Some(page.found))
    }
}

impl Connection {
    async fn unlink(&mut self, keys: &[Vec<u8>]) -> Result<(), BindingError> {
        for batch in keys.chunks(1_000) {
            let command: Vec<&[u8]> =
                [b"UNLINK".as_slice()].into_iter().chain(batch.iter().map(Vec::as_slice)).collect();
            self.pack(&command);
            self.ask("UNLINK", Expected::Number, &mut Ignore).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_prefix_user_and_digits() {
        for (key, record) in [
            ("t:user0", true),
            ("t:user6284781860667377211", true),
            ("t:user", false),
            ("t:user1a", false),
            ("t:mine", false),
            ("tt:user1", false),
            ("user1", false),
        ] {
            assert_eq!(is_record(key.as_bytes(), "t:"), record, "{key}");
        }
    }

    #[test]
    fn a_pattern_means_its_prefix_alone() {
        assert_eq!(beginning_with("t:"), "t:*");
        assert_eq!(beginning_with("a*[b]\\?:"), "a\\*\\[b\\]\\\\\\?:*");
    }
}
