//! Which tables may be dropped: one rule for all databases.
//!
//! On a cluster that others use too, a table is dropped only if this study made it, or if the user
//! says so (`replace_table`). Whatever else has the name is refused, whatever its shape: other
//! columns, no record, a view.
//!
//! A study knows its own tables by a *marker*: a random id that its results directory keeps, and
//! that the statement which creates a table writes into the table's metadata. Where the database
//! gives tables an id of their own, that must be the one noted when the table was created, too: a
//! copy of a table has its marker.
//!
//! | database | the marker is | the table's own id |
//! |---|---|---|
//! | Cassandra | the table's comment | `id` in `system_schema.tables` |
//! | MongoDB | a comment in the collection's validator, with validation off | `uuid` |
//! | HBase | the table's attribute `PACELC_OWNER` | – |
//! | Redis | the key `<table>_owner`, set before the first record | – |
//!
//! Marker and id are read in the request before the one that drops. A table that takes the place of
//! ours between the two is lost: none of the databases can drop a table on a condition.

use crate::{Binding, BindingError, Context, Target};
use serde::{Deserialize, Serialize};

/// How a study knows the tables that it made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The random id of the study's results; `None`: no table is this study's.
    #[serde(default)]
    pub marker: Option<String>,
    /// The id that the database gave the table; `None` where it gives none, or it wasn't noted.
    #[serde(default)]
    pub table_id: Option<String>,
    /// Whether a table that is somebody else's may be dropped, too.
    #[serde(default)]
    pub replace: bool,
}

impl Owner {
    /// Refuses a marker that is no plain word: it becomes part of statements.
    pub(crate) fn check(&self) -> Result<(), BindingError> {
        let plain = |marker: &str| {
            (8..=64).contains(&marker.len()) && marker.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        match &self.marker {
            Some(marker) if !plain(marker) => Err(BindingError::target(
                "an owner's marker is 8 to 64 letters and digits",
                "the results directory's load.json holds it",
            )),
            _ => Ok(()),
        }
    }

    /// Whether this study made what was found.
    #[must_use]
    pub fn made(&self, found: &Found) -> bool {
        // Of several sets' tables some may have been dropped already.
        let same_table = match (&self.table_id, &found.id) {
            (Some(noted), Some(id)) => id.split(' ').all(|id| noted.split(' ').any(|n| n == id)),
            _ => true,
        };
        self.marker.is_some() && self.marker == found.marker && same_table
    }
}

/// Something that has a table's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// What it is, for an error: "a table with the columns id, name".
    pub what: String,
    /// The marker in its metadata.
    pub marker: Option<String>,
    /// The id that the database gave it; of several sets, those of each, with blanks between them.
    pub id: Option<String>,
}

/// What came of creating a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Created {
    /// The id that the database gave the table.
    pub table_id: Option<String>,
    /// Whether what holds the table (a keyspace) had to be made, too.
    pub container: bool,
}

/// Makes the table anew, empty, where the rule allows that.
///
/// # Errors
/// Something has its name and is somebody else's; or the server refuses.
pub async fn make_anew<B: Binding>(
    binding: &B,
    context: &Context,
) -> Result<Created, BindingError> {
    drop_ours(binding, context).await?;
    binding.create_table().await
}

/// Drops what has the table's name, where the rule allows that; whether there was anything.
///
/// # Errors
/// It is somebody else's; or the server refuses.
pub async fn drop_ours<B: Binding>(binding: &B, context: &Context) -> Result<bool, BindingError> {
    let Some(found) = binding.find_table().await? else { return Ok(false) };
    context.target.may_drop(&context.layout.table, &found)?;
    binding.drop_table(&found).await?;
    Ok(true)
}

/// Refuses to write into a table that this study didn't make: what was loaded into a server says
/// nothing of another one that answers at the same address. Whether there is a table at all.
///
/// # Errors
/// It isn't this study's.
pub async fn require_ours<B: Binding>(
    binding: &B,
    context: &Context,
) -> Result<bool, BindingError> {
    if context.target.owner.is_none() {
        return Ok(true);
    }
    match binding.find_table().await? {
        Some(found) if !context.target.made(&found) => Err(BindingError::target(
            format!("`{}` isn't this study's: {}", context.layout.table, found.what),
            "check that this is the server that the study was begun on",
        )),
        found => Ok(found.is_some()),
    }
}

impl Target {
    /// Whether this study made what was found.
    #[must_use]
    pub fn made(&self, found: &Found) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.made(found))
    }

    /// Refuses to drop what was found, unless the rule allows it.
    ///
    /// # Errors
    /// It is somebody else's.
    pub fn may_drop(&self, table: &str, found: &Found) -> Result<(), BindingError> {
        match &self.owner {
            Some(owner) if !owner.replace && !owner.made(found) => Err(BindingError::target(
                format!("`{table}` is there and isn't this study's: {}", found.what),
                "name another table (workload: table), remove it yourself, or say \
                 replace_table: true in a study with a new results directory",
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::option;
    use proptest::prelude::*;

    fn word() -> impl Strategy<Value = Option<String>> {
        option::of(prop_oneof![Just("aaaaaaaa".to_owned()), Just("bbbbbbbb".to_owned())])
    }

    fn target(owner: Option<Owner>) -> Target {
        Target { owner, ..serde_json::from_str(r#"{"database": "memory"}"#).unwrap() }
    }

    proptest! {
        #[test]
        fn only_what_carries_the_marker_and_the_id_noted_is_dropped_unasked(
            marker in word(), table_id in word(), found in word(), id in word(), replace: bool,
        ) {
            let owner = Owner { marker: marker.clone(), table_id: table_id.clone(), replace };
            let there = Found { what: "a table".into(), marker: found.clone(), id: id.clone() };
            let another = table_id.is_some() && id.is_some() && table_id != id;
            let ours = marker.is_some() && marker == found && !another;
            prop_assert_eq!(target(Some(owner)).may_drop("t", &there).is_ok(), ours || replace);
        }
    }

    #[test]
    fn what_is_left_of_tables_in_several_sets_is_still_this_studys() {
        let marker = Some("0123456789abcdef".to_owned());
        let owner = Owner { marker: marker.clone(), table_id: Some("a b".into()), replace: false };
        for (id, ours) in [("a b", true), ("b", true), ("a c", false), ("c", false)] {
            let found = Found { marker: marker.clone(), id: Some(id.into()), ..Found::default() };
            assert_eq!(owner.made(&found), ours, "{id}");
        }
    }

    #[test]
    fn in_a_cluster_of_pacelcs_own_everything_may_be_dropped() {
        assert!(target(None).may_drop("t", &Found::default()).is_ok());
    }

    #[test]
    fn a_marker_that_could_end_a_statement_is_refused() {
        for (marker, fits) in [("0123456789abcdef", true), ("'; DROP", false), ("", false)] {
            let owner = Owner { marker: Some(marker.into()), ..Owner::default() };
            assert_eq!(target(Some(owner)).check().is_ok(), fits, "{marker}");
        }
    }
}
