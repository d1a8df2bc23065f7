//! Which node serves a user's next operation, where a level leaves a choice.
//!
//! By default each binding does as its database's clients do; see `docs/reference/sessions.md`. A
//! study may ask for one or the other where the binding can have it, and is refused elsewhere: a
//! word that changed nothing would be recorded as if it had.

use crate::{BindingError, Sharding, Target};
use pacelc_core::Consistency;
use pacelc_core::consistency::{hbase, mongodb, redis};
use serde::{Deserialize, Serialize};

/// Where a user's operations go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    /// All to one node.
    Sticky,
    /// Each to any node that may serve it.
    Roaming,
}

/// Refuses what the database's clients can't be told, or what would change nothing.
///
/// # Errors
/// With what to do instead.
pub fn check(target: &Target, consistency: &Consistency) -> Result<(), BindingError> {
    if let Consistency::MongoDb(levels) = consistency
        && (levels.read.causal || levels.scan.causal)
        && target.sharding == Sharding::Client
    {
        return Err(BindingError::target(
            "a causal session is one replica set's, or that of routers: the sets of sharding \
             client have no time in common",
            "use sharding: mongos, or one set",
        ));
    }
    let Some(routing) = target.session else { return Ok(()) };
    let word = if routing == Routing::Sticky { "sticky" } else { "roaming" };
    let refused = |why: &str, hint: &str| {
        Err(BindingError::target(format!("session: {word}: {why}"), hint.to_owned()))
    };
    match consistency {
        Consistency::Redis(levels) => {
            if levels.read == redis::Read::Primary && levels.scan == redis::Read::Primary {
                return refused(
                    "at this level the primary alone serves",
                    "leave session out, or read from a replica: consistency: {read: replica}",
                );
            }
            Ok(())
        }
        Consistency::Cassandra(_) => {
            let Some(coordinator) = target.options.get("coordinator") else { return Ok(()) };
            refused(
                &format!(
                    "the option coordinator is {coordinator}, and says the same thing or another"
                ),
                "leave out session, or client_options.coordinator",
            )
        }
        Consistency::MongoDb(levels) => {
            let of_primary =
                |level: &mongodb::Read| level.preference == mongodb::Preference::Primary;
            if routing == Routing::Sticky {
                return refused(
                    "MongoDB's driver has no such choice: it reads from any eligible member within \
                     15 ms of the nearest",
                    "leave session out: where each region has one member, its users stay with it",
                );
            }
            if of_primary(&levels.read) && of_primary(&levels.scan) {
                return refused(
                    "at this level the primary alone serves",
                    "leave session out, or read with preference: nearest or secondary",
                );
            }
            if target.sharding == Sharding::Mongos {
                return refused("members are chosen by mongos", "leave session out");
            }
            Ok(())
        }
        Consistency::HBase(levels) => {
            if levels.read == hbase::Read::Strong && levels.scan == hbase::Read::Strong {
                return refused(
                    "at this level a region's primary alone serves",
                    "leave session out, or read at TIMELINE",
                );
            }
            if target.options.contains_key("timeline") {
                return refused(
                    "the option timeline says the same thing or another",
                    "leave out session, or client_options.timeline",
                );
            }
            Ok(())
        }
        Consistency::Local => refused("there is one node, the engine itself", "leave session out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pacelc_core::{Shape, consistency};
    use serde_json::{Value, json};

    fn said(database: &str, level: &Value, more: &Value) -> Result<(), String> {
        let mut target = json!({"database": database, "nodes": 3, "replication": 3});
        for (name, value) in more.as_object().unwrap() {
            target[name] = value.clone();
        }
        let target: Target = serde_json::from_value(target).unwrap();
        let shape = Shape { nodes: 3, replication: 3 };
        let levels = consistency::resolve(database, level, shape).unwrap();
        check(&target, &levels).map_err(|error| error.message)
    }

    #[test]
    fn a_session_is_routed_where_there_is_a_choice_and_refused_elsewhere() {
        let (sticky, roaming) = (json!({"session": "sticky"}), json!({"session": "roaming"}));
        let secondary = json!({"read": {"concern": "local", "preference": "secondary"}});
        let causal = json!({"read": "quorum", "session": "causal"});
        let fixed = json!({"session": "sticky", "options": {"coordinator": "round-robin"}});
        let hashed = json!({"sharding": "client"});
        for (database, level, more, expected) in [
            ("redis", json!({"read": "replica"}), &sticky, ""),
            ("redis", json!({"read": "replica"}), &roaming, ""),
            ("redis", json!("strong"), &roaming, "primary alone"),
            ("cassandra", json!("weak"), &roaming, ""),
            ("cassandra", json!("weak"), &sticky, ""),
            ("cassandra", json!("weak"), &fixed, "coordinator is \"round-robin\""),
            ("mongodb", secondary.clone(), &roaming, ""),
            ("mongodb", secondary, &sticky, "within 15 ms"),
            ("mongodb", json!("weak"), &roaming, "primary alone"),
            ("mongodb", causal.clone(), &json!({}), ""),
            ("mongodb", causal, &hashed, "no time in common"),
            ("hbase", json!("weak"), &roaming, ""),
            ("hbase", json!("weak"), &sticky, ""),
            ("hbase", json!("strong"), &roaming, "primary alone"),
            ("memory", json!("weak"), &sticky, "one node"),
        ] {
            match said(database, &level, more) {
                Ok(()) => assert!(expected.is_empty(), "{database} {level} {more}"),
                Err(message) => {
                    let is_as_expected = !expected.is_empty() && message.contains(expected);
                    assert!(is_as_expected, "{database} {level} {more}: {message}");
                }
            }
        }
    }
}
