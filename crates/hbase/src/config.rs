//! What a client is told at its start.

use std::time::Duration;

/// Settings of a [`crate::Client`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `host:port` of masters; any that answers will do. The port is 16000 if left out.
    pub masters: Vec<String>,
    /// The user that servers are told (SIMPLE authentication believes it).
    pub user: String,
    /// An operation gives up after this, everything included: locating, connecting, waiting.
    pub operation_timeout: Duration,
    /// A connection attempt gives up after this.
    pub connect_timeout: Duration,
    /// One question to `hbase:meta` or a master's registry gives up after this, and is asked again while the
    /// operation's deadline allows.
    pub lookup_timeout: Duration,
    /// Master procedures (creating a table, say) are waited for this long.
    pub admin_timeout: Duration,
    /// How often one operation may be sent to another place after an answer (or a broken connection) that proves it
    /// was *not* executed: the region moved, is opening, its server stops. Pauses between grow from 20 ms
    /// to 1 s, all within the operation's time-out, and count as its latency. Counted in
    /// [`crate::Counts::relocations`].
    pub relocations: u32,
    /// How often one operation is repeated after an error that leaves open whether it was executed. Zero, for a
    /// measuring client must not hide errors. Counted in [`crate::Counts::retries`].
    pub retries: u32,
    /// A response longer than this ends the connection.
    pub max_frame_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            masters: vec!["127.0.0.1:16000".into()],
            user: std::env::var("USER").unwrap_or_else(|_| "pacelc".into()),
            operation_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(3),
            lookup_timeout: Duration::from_secs(2),
            admin_timeout: Duration::from_secs(60),
            relocations: 10,
            retries: 0,
            max_frame_bytes: 256 << 20,
        }
    }
}

impl Config {
    /// The defaults, with these masters.
    pub fn new<I, S>(masters: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Self { masters: masters.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

/// Splits `host:port`, `[v6]:port` or a bare host.
pub(crate) fn split_address(address: &str, default_port: u16) -> Option<(&str, u16)> {
    let address = address.trim();
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, port.parse().ok()?)
        }
        _ => (address, default_port),
    };
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_split() {
        let table = [
            ("h:1", Some(("h", 1))),
            (" h ", Some(("h", 16000))),
            ("[::1]:2", Some(("::1", 2))),
            ("::1", Some(("::1", 16000))),
            ("h:x", None),
            ("h:70000", None),
            (":1", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(split_address(text, 16000), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_split_or_refused(text in ".*") {
            let _ = split_address(&text, 1);
        }
    }
}
