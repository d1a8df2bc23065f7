//! Lines of Jepsen's log, as its test of etcd wrote them and Porcupine's test data has them.
//!
//! ```text
//! INFO  jepsen.util - 4   :invoke :cas    [1 3]
//! INFO  jepsen.util - 4   :info   :cas    :timed-out
//! ```
//!
//! Only their order counts. Other lines of a log are left out.

use super::edn::{Reader, Value};
use super::events::{Event, Pairing};
use super::{BadLine, Read};

const MARK: &str = "jepsen.util - ";
/// A log begins with an operation soon, or it is none.
const LOOKED_AT: usize = 1 << 16;

/// Whether this looks like such a log.
#[must_use]
pub fn is_log(data: &[u8]) -> bool {
    let start = &data[..data.len().min(LOOKED_AT)];
    start.windows(MARK.len()).any(|window| window == MARK.as_bytes())
}

/// Reads a history.
pub fn read(text: &str) -> Result<Read, BadLine> {
    let mut pairing = Pairing::default();
    for (number, line) in (1..).zip(text.lines()) {
        let Some((_, event)) = line.split_once(MARK) else { continue };
        let mut reader = Reader::new(event, number);
        let mut next = || Ok(reader.form()?.map(|(_, value)| value));
        // A client has a number; everybody else writes what they like.
        let Ok(Some(process @ Value::Int(_))) = next() else { continue };
        let missing = || BadLine::new(number, "process, type, function and value are expected");
        let kind = next()?.ok_or_else(missing)?;
        let f = next()?.ok_or_else(missing)?;
        let value = next()?.ok_or_else(missing)?;
        pairing.take(&Event {
            line: number,
            process: &process,
            kind: &kind,
            f: &f,
            value: &value,
            time_ns: None,
        })?;
    }
    Ok(pairing.finish())
}
