//! MongoDB's read concern, read preference and write concern.

use super::{Alias, Refused, Shape, parse_term};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// What a read guarantees about the data that it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names are MongoDB's
pub enum ReadConcern {
    Local,
    Available,
    Majority,
    Linearizable,
    Snapshot,
}

/// Which member answers a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // the names are MongoDB's
pub enum Preference {
    #[default]
    Primary,
    PrimaryPreferred,
    Secondary,
    SecondaryPreferred,
    Nearest,
}

/// How a read is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The read concern.
    pub concern: ReadConcern,
    /// The read preference.
    #[serde(default)]
    pub preference: Preference,
}

/// How many members acknowledge a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Acknowledged {
    /// This many, the primary included. 0 asks for none and isn't offered: it can't be measured.
    Nodes(u32),
    /// A majority of the voting members.
    Majority(MajorityWord),
}

/// The word `majority`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MajorityWord {
    /// `w: "majority"`.
    Majority,
}

/// How a write is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// `w`.
    pub w: Acknowledged,
    /// `j`; unset leaves it to the server (which journals majority writes by default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub j: Option<bool>,
    /// How long the server waits for the members before it says that they did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wtimeout_ms: Option<u64>,
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |v: Value| v.as_str().unwrap_or_default().to_owned();
        let concern = word(serde_json::json!(self.concern));
        write!(f, "{concern} from {}", word(serde_json::json!(self.preference)))
    }
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.w {
            Acknowledged::Nodes(n) => write!(f, "w: {n}")?,
            Acknowledged::Majority(_) => write!(f, "w: majority")?,
        }
        if let Some(journal) = self.j {
            write!(f, ", j: {journal}")?;
        }
        if let Some(limit) = self.wtimeout_ms {
            write!(f, ", wtimeout: {limit} ms")?;
        }
        Ok(())
    }
}

pub(super) struct Terms;

impl super::Terms for Terms {
    type Read = Read;
    type Write = Write;

    fn alias_read(alias: Alias, _shape: Shape) -> Read {
        let concern = match alias {
            Alias::Weak => ReadConcern::Local,
            Alias::Quorum => ReadConcern::Majority,
            Alias::Strong => ReadConcern::Linearizable,
        };
        Read { concern, preference: Preference::Primary }
    }

    fn alias_write(alias: Alias, shape: Shape) -> Write {
        let w = match alias {
            Alias::Weak => Acknowledged::Nodes(1),
            Alias::Quorum => Acknowledged::Majority(MajorityWord::Majority),
            Alias::Strong => Acknowledged::Nodes(shape.replication),
        };
        Write { w, j: None, wtimeout_ms: None }
    }

    fn parse_read(value: &Value) -> Result<Read, Refused> {
        // A bare word is the concern: `read: majority`.
        let mapping = match value {
            Value::String(word) => serde_json::json!({ "concern": word }),
            other => other.clone(),
        };
        parse_term(
            "MongoDB",
            "read",
            &mapping,
            "{concern: local|available|majority|linearizable|snapshot, preference: \
             primary|primaryPreferred|secondary|secondaryPreferred|nearest}",
        )
    }

    fn parse_write(value: &Value) -> Result<Write, Refused> {
        parse_term(
            "MongoDB",
            "write",
            value,
            "{w: 1|2|…|majority, j: true|false, wtimeout_ms: 1000}",
        )
    }

    fn check_read(level: &Read, shape: Shape) -> Result<(), Refused> {
        if level.concern == ReadConcern::Linearizable && level.preference != Preference::Primary {
            return Err(Refused::new(
                format!("MongoDB can't satisfy a read that is {level}: only a primary can"),
                "use preference: primary, or concern: majority",
            ));
        }
        if level.preference == Preference::Secondary && shape.replication < 2 {
            return Err(Refused::new(
                "MongoDB can't read from a secondary: the replica set has one member",
                "set `replication: 2` or more, or preference: primary",
            ));
        }
        Ok(())
    }

    fn check_write(level: &Write, shape: Shape) -> Result<(), Refused> {
        match level.w {
            Acknowledged::Nodes(0) => Err(Refused::new(
                "MongoDB writes with w: 0 are not acknowledged, so they can't be measured",
                "use w: 1",
            )),
            Acknowledged::Nodes(n) if n > shape.replication => Err(Refused::new(
                format!(
                    "MongoDB can't satisfy w: {n}: the replica set has {} members",
                    shape.replication
                ),
                format!("set `replication: {n}` or more, or a lower w"),
            )),
            _ => Ok(()),
        }
    }
}
