//! The one error type, and what each error says about the operation's effect.
//!
//! A measuring client must not hide errors and must not guess: every error tells whether the operation certainly had
//! no effect ([`Effect::None`], the product's outcome *fail*) or may have taken effect ([`Effect::Unknown`], *unknown*).
//! When in doubt it is unknown: a write wrongly called failed would later look like a value from nowhere to a checker,
//! while a write wrongly called unknown only costs the checker some work.

use std::fmt;
use std::time::Duration;

use crate::proto;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is known of an operation that ended with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The operation certainly was not applied.
    None,
    /// The operation may have been applied, now or later.
    Unknown,
}

/// An exception that a server threw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    /// The Java class, in full: `org.apache.hadoop.hbase.NotServingRegionException`.
    pub class: String,
    /// The first line of the stack trace, which holds the message.
    pub message: String,
    /// The server says that trying again is of no use.
    pub do_not_retry: bool,
    /// The server says that it is overloaded.
    pub overloaded: bool,
    /// Where the region has moved, when the exception tells.
    pub moved_to: Option<(String, u16)>,
    /// `host:port` of the server that threw it.
    pub server: String,
}

/// What a remote exception means to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The region is not (or not yet) at that server; nothing was done.
    Misplaced,
    /// The server-side scanner is gone; a scan goes on with a new one.
    ScannerGone,
    /// Refused before anything was done: overload, no such family, no such table.
    Refused,
    /// Anything else: the effect isn't known.
    Other,
}

impl RemoteError {
    /// The class without its package.
    #[must_use]
    pub fn simple_class(&self) -> &str {
        let name = self.class.rsplit('.').next().unwrap_or(&self.class);
        name.rsplit('$').next().unwrap_or(name)
    }

    /// Sorts the exception. Each class listed as `Misplaced` or `Refused` is thrown by HBase 2.5 before the operation
    /// touches the memstore or the log (`RSRpcServices::checkOpen`, `getRegion`, `HRegion::startRegionOperation`,
    /// `checkResources`, `checkFamilies`, the call queue), so the operation had no effect.
    pub(crate) fn kind(&self) -> Kind {
        match self.simple_class() {
            "NotServingRegionException"
            | "RegionMovedException"
            | "RegionOpeningException"
            | "WrongRegionException"
            | "UnknownRegionException"
            | "ServerNotRunningYetException"
            | "RegionServerStoppedException"
            | "RegionServerAbortedException" => Kind::Misplaced,
            "UnknownScannerException"
            | "ScannerResetException"
            | "OutOfOrderScannerNextException"
            | "LeaseException" => Kind::ScannerGone,
            "RegionTooBusyException"
            | "CallQueueTooBigException"
            | "CallDroppedException"
            | "RpcThrottlingException"
            | "RequestTooBigException"
            | "NoSuchColumnFamilyException"
            | "TableNotFoundException"
            | "TableNotEnabledException"
            | "TableNotDisabledException"
            | "TableExistsException"
            | "NamespaceNotFoundException"
            | "FailedSanityCheckException"
            | "AccessDeniedException"
            | "UnknownServiceException"
            | "EmptyServiceNameException"
            | "FatalConnectionException"
            | "WrongVersionException"
            | "BadAuthException"
            | "PleaseHoldException"
            | "MasterNotRunningException" => Kind::Refused,
            _ => Kind::Other,
        }
    }

    /// From the exception of a whole call.
    pub(crate) fn from_response(e: proto::ExceptionResponse, server: &str) -> Self {
        let trace = e.stack_trace.unwrap_or_default();
        let moved_to = match (e.hostname, e.port.and_then(|p| u16::try_from(p).ok())) {
            (Some(host), Some(port)) if !host.is_empty() => Some((host, port)),
            _ => parse_moved_to(&trace),
        };
        Self {
            class: e.exception_class_name.unwrap_or_default(),
            message: first_line(&trace),
            do_not_retry: e.do_not_retry.unwrap_or(false),
            overloaded: e.server_overloaded.unwrap_or(false),
            moved_to,
            server: server.to_owned(),
        }
    }

    /// From the exception of one action of a multi.
    pub(crate) fn from_pair(pair: &proto::NameBytesPair, server: &str) -> Self {
        let trace = String::from_utf8_lossy(pair.value.as_deref().unwrap_or_default());
        Self {
            class: pair.name.clone(),
            message: first_line(&trace),
            do_not_retry: false,
            overloaded: false,
            moved_to: parse_moved_to(&trace),
            server: server.to_owned(),
        }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.simple_class(), self.server, self.message)
    }
}

fn first_line(trace: &str) -> String {
    trace.lines().next().unwrap_or_default().to_owned()
}

/// `… Region moved to: hostname=10.0.0.2 port=16020 startCode=170. As of locationSeqNum=5.`
fn parse_moved_to(text: &str) -> Option<(String, u16)> {
    let rest = text.get(text.find("Region moved to: hostname=")?..)?;
    let host = rest.split_once("hostname=")?.1.split_whitespace().next()?;
    let port = rest.split_once("port=")?.1.split_whitespace().next()?.parse().ok()?;
    if host.is_empty() || host == "null" {
        return None;
    }
    Some((host.to_owned(), port))
}

/// Why an operation did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No connection could be made.
    #[error(
        "cannot connect to {server}: {reason}; check that the server runs and that the address is right"
    )]
    Connect {
        /// `host:port`.
        server: String,
        /// What the operating system said.
        reason: String,
    },
    /// The connection ended while the operation waited.
    #[error("connection to {server} lost: {reason}")]
    ConnectionLost {
        /// `host:port`.
        server: String,
        /// Why it ended.
        reason: String,
        /// Whether the whole request had been handed to the operating system.
        sent: bool,
    },
    /// The operation's deadline passed.
    #[error("timed out after {after:?} while {doing}")]
    Timeout {
        /// The time-out in force.
        after: Duration,
        /// The stage: locating the region, connecting, or waiting for the answer.
        doing: &'static str,
        /// Whether the request had been queued for sending.
        sent: bool,
    },
    /// A server threw an exception.
    #[error("{0}")]
    Remote(Box<RemoteError>),
    /// `hbase:meta` has no such table.
    #[error("table {0} does not exist")]
    TableNotFound(String),
    /// The region has no server at present.
    #[error("region {region} of table {table} has no server now")]
    NotAssigned {
        /// The table.
        table: String,
        /// The encoded name of the region (or its replica).
        region: String,
    },
    /// The table has fewer replicas than asked for.
    #[error(
        "table {table} has no replica {replica} of that region (it has {replicas}); create it with more replicas"
    )]
    NoSuchReplica {
        /// The table.
        table: String,
        /// The replica asked for, 0 being the primary.
        replica: u32,
        /// How many there are.
        replicas: u32,
    },
    /// A master's procedure failed.
    #[error("the master's procedure failed: {class}: {message}")]
    Procedure {
        /// The Java class of the cause.
        class: String,
        /// Its message.
        message: String,
    },
    /// No master is active, or none answers.
    #[error("no active master among {masters}: {reason}")]
    NoMaster {
        /// The masters asked.
        masters: String,
        /// What the last one said.
        reason: String,
    },
    /// The arguments can't be sent.
    #[error("invalid request: {0}")]
    Invalid(String),
    /// The server sent what the protocol does not allow.
    #[error("protocol error: {0}")]
    Protocol(String),
}

impl Error {
    /// Whether the operation may have taken effect. Reads have no effect; ask this of writes.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Connect { .. }
            | Self::TableNotFound(_)
            | Self::NotAssigned { .. }
            | Self::NoSuchReplica { .. }
            | Self::NoMaster { .. }
            | Self::Invalid(_)
            | Self::ConnectionLost { sent: false, .. }
            | Self::Timeout { sent: false, .. } => Effect::None,
            Self::ConnectionLost { .. }
            | Self::Timeout { .. }
            | Self::Procedure { .. }
            | Self::Protocol(_) => Effect::Unknown,
            Self::Remote(e) => match e.kind() {
                Kind::Misplaced | Kind::Refused => Effect::None,
                Kind::ScannerGone | Kind::Other => Effect::Unknown,
            },
        }
    }

    /// The server's exception, if it is one.
    #[must_use]
    pub fn remote(&self) -> Option<&RemoteError> {
        match self {
            Self::Remote(e) => Some(e),
            _ => None,
        }
    }

    /// A short stable name for counting: the Java class, or the kind of error.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Connect { .. } => "Connect",
            Self::ConnectionLost { .. } => "ConnectionLost",
            Self::Timeout { .. } => "Timeout",
            Self::Remote(e) => e.simple_class(),
            Self::TableNotFound(_) => "TableNotFound",
            Self::NotAssigned { .. } => "NotAssigned",
            Self::NoSuchReplica { .. } => "NoSuchReplica",
            Self::Procedure { .. } => "Procedure",
            Self::NoMaster { .. } => "NoMaster",
            Self::Invalid(_) => "Invalid",
            Self::Protocol(_) => "Protocol",
        }
    }

    /// What the caller's loop may do about it.
    pub(crate) fn advice(&self) -> Advice {
        match self {
            Self::Connect { .. } => Advice::LookAgain,
            Self::ConnectionLost { sent: false, .. } | Self::NotAssigned { .. } => Advice::Relocate,
            Self::ConnectionLost { .. } | Self::Timeout { .. } => Advice::ForgetPlace,
            Self::Remote(e) if e.kind() == Kind::Misplaced => Advice::Relocate,
            _ => Advice::Surface,
        }
    }
}

/// What to do about an error of one attempt, as far as places are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Certainly not executed, and the region is elsewhere or on its way: forget the place, wait a little, go on.
    Relocate,
    /// Certainly not executed: look the place up again; going on makes sense only if it has changed.
    LookAgain,
    /// May have been executed: forget the place for the next operation, tell the caller now.
    ForgetPlace,
    /// The place is right; tell the caller.
    Surface,
}

impl From<prost::DecodeError> for Error {
    fn from(e: prost::DecodeError) -> Self {
        Self::Protocol(e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn remote(class: &str) -> Error {
        let e = proto::ExceptionResponse {
            exception_class_name: Some(class.into()),
            ..Default::default()
        };
        Error::Remote(Box::new(RemoteError::from_response(e, "h:1")))
    }

    #[test]
    fn exceptions_are_sorted_by_their_effect() {
        // class, effect, advice
        let table = [
            ("org.apache.hadoop.hbase.NotServingRegionException", Effect::None, Advice::Relocate),
            (
                "org.apache.hadoop.hbase.exceptions.RegionMovedException",
                Effect::None,
                Advice::Relocate,
            ),
            (
                "org.apache.hadoop.hbase.exceptions.RegionOpeningException",
                Effect::None,
                Advice::Relocate,
            ),
            (
                "org.apache.hadoop.hbase.regionserver.WrongRegionException",
                Effect::None,
                Advice::Relocate,
            ),
            (
                "org.apache.hadoop.hbase.ipc.ServerNotRunningYetException",
                Effect::None,
                Advice::Relocate,
            ),
            (
                "org.apache.hadoop.hbase.regionserver.RegionServerStoppedException",
                Effect::None,
                Advice::Relocate,
            ),
            (
                "org.apache.hadoop.hbase.regionserver.RegionServerAbortedException",
                Effect::None,
                Advice::Relocate,
            ),
            ("org.apache.hadoop.hbase.RegionTooBusyException", Effect::None, Advice::Surface),
            ("org.apache.hadoop.hbase.CallQueueTooBigException", Effect::None, Advice::Surface),
            (
                "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
                Effect::None,
                Advice::Surface,
            ),
            ("org.apache.hadoop.hbase.UnknownScannerException", Effect::Unknown, Advice::Surface),
            ("org.apache.hadoop.hbase.DoNotRetryIOException", Effect::Unknown, Advice::Surface),
            ("java.io.IOException", Effect::Unknown, Advice::Surface),
            ("", Effect::Unknown, Advice::Surface),
        ];
        for (class, effect, advice) in table {
            let e = remote(class);
            assert_eq!(e.effect(), effect, "{class}");
            assert_eq!(e.advice(), advice, "{class}");
        }
    }

    #[test]
    fn a_write_that_may_have_left_is_unknown() {
        let lost =
            |sent| Error::ConnectionLost { server: "h:1".into(), reason: String::new(), sent };
        assert_eq!(lost(true).effect(), Effect::Unknown);
        assert_eq!(lost(false).effect(), Effect::None);
        let late = |sent| Error::Timeout { after: Duration::from_secs(1), doing: "waiting", sent };
        assert_eq!(late(true).effect(), Effect::Unknown);
        assert_eq!(late(false).effect(), Effect::None);
    }

    #[test]
    fn a_moved_region_tells_where_it_went() {
        let e = proto::ExceptionResponse {
            exception_class_name: Some(
                "org.apache.hadoop.hbase.exceptions.RegionMovedException".into(),
            ),
            hostname: Some("n2".into()),
            port: Some(16020),
            ..Default::default()
        };
        assert_eq!(RemoteError::from_response(e, "h:1").moved_to, Some(("n2".into(), 16020)));
        let pair = proto::NameBytesPair {
            name: "org.apache.hadoop.hbase.exceptions.RegionMovedException".into(),
            value: Some(
                "org…RegionMovedException: Region moved to: hostname=10.0.0.3 port=16021 startCode=17. As of locationSeqNum=5.\n\tat x"
                    .into(),
            ),
        };
        let e = RemoteError::from_pair(&pair, "h:1");
        assert_eq!(e.moved_to, Some(("10.0.0.3".into(), 16021)));
        assert!(!e.message.contains('\n'));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*", host in "[a-z0-9.]{0,9}", port in 0u32..99_999) {
            let _ = parse_moved_to(&text);
            let _ = parse_moved_to(&format!("{text}Region moved to: hostname={host}{text} port={port} "));
        }
    }
}
