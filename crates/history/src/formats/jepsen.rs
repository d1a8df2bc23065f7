//! Jepsen's histories in EDN: a map for each start and each end of an operation, one after the other
//! or in one vector or list.
//!
//! ```edn
//! {:process 0, :type :invoke, :f :write, :value 3, :time 100}
//! {:process 0, :type :ok,     :f :write, :value 3, :time 250}
//! ```
//!
//! `:f` is `:read`, `:write` or `:cas`, whose value is `[expected new]`. With values `[key value]`
//! there are many registers (Jepsen's `independent`). `:time` is in nanoseconds; unless every event
//! has one, only the order counts. What `:info` ends may take effect at any time; what `:fail` ends
//! had none. Processes that are no numbers, such as `:nemesis`, are no clients.

use super::edn::{Reader, Value};
use super::events::{Event, Pairing};
use super::{BadLine, Read};

/// Reads a history.
pub fn read(text: &str) -> Result<Read, BadLine> {
    let mut reader = Reader::new(text.trim_start_matches('\u{feff}'), 1);
    let mut pairing = Pairing::default();
    match reader.enter()? {
        None => {
            while let Some((line, map)) = reader.form()? {
                take(&mut pairing, line, &map)?;
            }
        }
        Some(close) => {
            while !reader.leave(close)? {
                let Some((line, map)) = reader.form()? else {
                    let close = char::from(close);
                    return Err(BadLine::new(reader.line(), format!("`{close}` is missing")));
                };
                take(&mut pairing, line, &map)?;
            }
            if let Some((line, _)) = reader.form()? {
                return Err(BadLine::new(line, "the history has ended before"));
            }
        }
    }
    Ok(pairing.finish())
}

fn take(pairing: &mut Pairing, line: u32, form: &Value<'_>) -> Result<(), BadLine> {
    let map = form.untagged();
    let Value::Map(_) = map else {
        let problem = format!("{} is no operation: a map with :process, :type, :f", short(form));
        return Err(BadLine::new(line, problem));
    };
    let needed = |name: &str| {
        map.get(name).ok_or_else(|| BadLine::new(line, format!("this operation has no :{name}")))
    };
    let time_ns = match map.get("time").map(Value::untagged) {
        None | Some(Value::Nil) => None,
        Some(Value::Int(time_ns)) => Some(*time_ns),
        Some(_) => return Err(BadLine::new(line, ":time is no number of nanoseconds")),
    };
    pairing.take(&Event {
        line,
        process: needed("process")?,
        kind: needed("type")?,
        f: needed("f")?,
        value: map.get("value").unwrap_or(&Value::Nil),
        time_ns,
    })
}

fn short(form: &Value<'_>) -> String {
    let text = form.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
