//! What an answer, or the driver's error, says of an operation: ok, certainly no effect, or unknown.

use crate::lost;
use mongodb::bson::Document;
use mongodb::error::{Error, ErrorKind as DriverError, NO_WRITES_PERFORMED};
use pacelc_core::{ErrorKind, Operation, Outcome};

/// The outcome of a write that the server answered.
pub(super) fn answered(operation: &Operation<'_>, reply: &Document) -> Outcome {
    // An error of the one statement: it was rolled back, so it had no effect.
    if let Some(error) = reply.get_array("writeErrors").ok().and_then(|e| e.first()?.as_document())
    {
        let kind = match error.get_i32("code").unwrap_or_default() {
            50 | 262 => ErrorKind::ServerTimeout,
            112 => ErrorKind::Other,
            11000 => ErrorKind::Exists,
            _ => ErrorKind::Rejected,
        };
        return Outcome::fail(kind, message(error));
    }
    // Nothing matched, so nothing was written, whatever became of the write concern.
    if let (Operation::Update { key, .. } | Operation::Delete { key }, Ok(0)) =
        (*operation, reply.get_i32("n"))
    {
        return not_found(key);
    }
    // The primary has written, and does not take it back: other members may follow yet, or a new
    // primary may undo it.
    if let Ok(error) = reply.get_document("writeConcernError") {
        let kind = match error.get_i32("code").unwrap_or_default() {
            10107 | 11600 | 11602 | 91 | 189 => ErrorKind::NotPrimary,
            _ => ErrorKind::NotEnoughReplicas,
        };
        return Outcome::unknown(kind, message(error));
    }
    Outcome::Ok
}

fn message(error: &Document) -> String {
    let code = error.get_i32("code").unwrap_or_default();
    format!("{} (code {code})", error.get_str("errmsg").unwrap_or("no message"))
}

/// The outcome of an operation for which the driver has an error.
pub(super) fn failed(operation: &Operation<'_>, cause: &Error) -> Outcome {
    use std::io::ErrorKind as Io;
    let text = cause.kind.to_string();
    match &*cause.kind {
        // No member to ask within the limit: nothing was sent.
        DriverError::ServerSelection { .. } | DriverError::DnsResolve { .. } => {
            Outcome::fail(ErrorKind::ConnectionRefused, text)
        }
        // The driver labels network errors so when they come from making a connection.
        DriverError::Io(_) if cause.contains_label("SystemOverloadedError") => {
            Outcome::fail(ErrorKind::ConnectionRefused, text)
        }
        DriverError::Io(io)
            if matches!(
                io.kind(),
                Io::ConnectionRefused | Io::HostUnreachable | Io::NetworkUnreachable
            ) =>
        {
            Outcome::fail(ErrorKind::ConnectionRefused, text)
        }
        // Another user's error cleared the pool. The driver says the same to those who wait for a
        // connection and to those whose command is under way, so the worse must be assumed.
        DriverError::Io(_) | DriverError::ConnectionPoolCleared { .. } => lost(operation, &text),
        DriverError::Command(error) => {
            let unwritten = cause.contains_label(NO_WRITES_PERFORMED);
            refused(operation, error.code, unwritten, text)
        }
        // Found wrong on this side, or when the connection was set up.
        DriverError::InvalidArgument { .. }
        | DriverError::Authentication { .. }
        | DriverError::IncompatibleServer { .. }
        | DriverError::SessionsNotSupported
        | DriverError::InvalidTlsConfig { .. } => Outcome::fail(ErrorKind::Rejected, text),
        _ => may_have_written(operation, ErrorKind::Other, text),
    }
}

/// The outcome of an operation to which the server answered with an error code.
fn refused(operation: &Operation<'_>, code: i32, unwritten: bool, text: String) -> Outcome {
    let kind = match code {
        // Said before the command runs: not writable primary, not primary and no secondaryOk,
        // neither primary nor secondary.
        10058 | 10107 | 13435 | 13436 => return Outcome::fail(ErrorKind::NotPrimary, text),
        // Interrupted by a shutdown or a change of primary, perhaps after the write.
        91 | 189 | 11600 | 11602 => ErrorKind::NotPrimary,
        // MaxTimeMSExpired, NetworkTimeout, NetworkInterfaceExceededTimeLimit, ExceededTimeLimit.
        50 | 89 | 202 | 262 => ErrorKind::ServerTimeout,
        // WriteConcernFailed, UnsatisfiableWriteConcern, LinearizableReadConcernError.
        64 | 100 | 187 => ErrorKind::NotEnoughReplicas,
        // FailedToSatisfyReadPreference, ReadConcernMajorityNotAvailableYet, SnapshotTooOld,
        // SnapshotUnavailable: only reads have these.
        133 | 134 | 239 | 246 => return Outcome::fail(ErrorKind::Unavailable, text),
        // IngressRequestRateLimitExceeded: turned away at the door.
        462 => return Outcome::fail(ErrorKind::Overloaded, text),
        // Found wrong before the command runs: BadValue, FailedToParse, Unauthorized,
        // TypeMismatch, AuthenticationFailed, IllegalOperation, CommandNotFound, InvalidOptions,
        // InvalidNamespace, UnknownReplWriteConcern, BSONObjectTooLarge.
        2 | 9 | 13 | 14 | 18 | 20 | 59 | 72 | 73 | 79 | 10334 => {
            return Outcome::fail(ErrorKind::Rejected, text);
        }
        _ => ErrorKind::Other,
    };
    if unwritten { Outcome::fail(kind, text) } else { may_have_written(operation, kind, text) }
}

fn may_have_written(operation: &Operation<'_>, kind: ErrorKind, text: String) -> Outcome {
    Outcome::interrupted(operation.kind().writes(), kind, text)
}

pub(super) fn not_found(key: &str) -> Outcome {
    Outcome::fail(ErrorKind::NotFound, format!("no record {key}"))
}
