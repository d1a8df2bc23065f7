//! Why a connection was refused, or got no further than TLS or the login: in one line, and in the
//! same words for every database.

use super::tls::{HANDSHAKE_LIMIT, NO_TLS_ANSWER, Tls, wrap};
use crate::BindingError;
use rustls::ClientConfig;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time;

/// How long a server gets to say after the handshake that it misses a client's certificate: in TLS
/// 1.3 that comes later, and who writes meanwhile may only hear that the connection is broken.
const AFTERTHOUGHT: Duration = Duration::from_millis(200);

/// Words of `rustls` and of the servers, what they mean, and what to do. The first that fits
/// counts.
const MEANINGS: [(&[&str], &str, &str); 9] = [
    (
        &["NotValidForName"],
        ": the server's certificate is for another name",
        "write the certificate's name into the endpoints, or as server_name",
    ),
    (
        &["UnknownIssuer"],
        ": the server's certificate is signed by no authority that is known here",
        "name the authority that signed it as ca_file",
    ),
    (
        &["certificate expired"],
        ": the server's certificate has expired",
        "renew it; if it is new, check this machine's clock",
    ),
    (
        &["certificate not valid yet"],
        ": the server's certificate isn't valid yet",
        "check this machine's clock and the server's",
    ),
    (
        &["CertificateRequired"],
        " asks for a client's certificate",
        "name one as cert_file and its key as key_file",
    ),
    // The address of the page that rustls's words point to. MongoDB goes so.
    (
        &["unexpected-eof"],
        " ends the TLS connection after the handshake, and doesn't say why",
        "if it asks for a client's certificate, name cert_file and key_file; see the server's log",
    ),
    (
        &["received corrupt message", "tls handshake eof", NO_TLS_ANSWER],
        " doesn't answer in TLS",
        "check that the port is the one with TLS, or leave tls out",
    ),
    // Redis, MongoDB, Cassandra's driver.
    (
        &["NOAUTH", "requires authentication", "uthentication is required"],
        " asks for a user or a password",
        "name user, and password_env or password_file",
    ),
    // Redis, older Redis, MongoDB, Cassandra.
    (
        &[
            "WRONGPASS",
            "invalid password",
            "uthentication failed",
            "AuthenticationError",
            "username and/or password are incorrect",
        ],
        " refuses the user or the password",
        "check user, and what password_env or password_file holds",
    ),
];

/// What the words of a failed connection mean, where TLS or a login is the reason, however deep a
/// driver has wrapped them.
#[must_use]
pub fn explain(database: &str, endpoint: &str, cause: &str) -> Option<BindingError> {
    let at = format!("{database} at {endpoint}");
    let say = |message: String, hint: &str| {
        Some(BindingError { message, hint: hint.to_owned(), connection: true })
    };
    if let Some((_, rest)) = cause.split_once("certificate not valid for name ") {
        let names = rest.split_once("certificate is ").map_or("", |(_, names)| names);
        return say(
            format!("{at}: the server's certificate is for another name: it is {}", part(names)),
            "write that name into the endpoints, or as server_name where the database has it",
        );
    }
    let fits = |words: &[&str]| words.iter().any(|word| cause.contains(word));
    if let Some((_, meaning, hint)) = MEANINGS.iter().find(|(words, ..)| fits(words)) {
        return say(format!("{at}{meaning}"), hint);
    }
    if let Some((_, what)) = cause.split_once("invalid peer certificate: ") {
        return say(
            format!("{at}: the server's certificate isn't accepted: {}", part(what)),
            "have the server given a certificate with a subjectAltName, signed by your ca_file",
        );
    }
    if let Some((_, rest)) = cause.split_once("received fatal alert: ") {
        let alert: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        return say(
            format!("{at} ends the TLS handshake: {alert}"),
            "if it asks for a client's certificate, check that its authority signed cert_file; see the server's log",
        );
    }
    None
}

/// The beginning of what a driver goes on with in its own words.
fn part(text: &str) -> &str {
    text.split([',', '}', '\n']).next().unwrap_or_default().trim()
}

/// Shakes hands with the first endpoint that can be reached, so that what is wrong with TLS is
/// said before a driver tries again and again, or wraps it in its own words.
pub async fn shake_hands(
    database: &str,
    endpoints: &[String],
    config: &Arc<ClientConfig>,
) -> Result<(), BindingError> {
    for endpoint in endpoints {
        let connecting = time::timeout(HANDSHAKE_LIMIT, TcpStream::connect(endpoint));
        // That none can be reached is the driver's to say.
        let Ok(Ok(stream)) = connecting.await else { continue };
        let said = match wrap(stream, endpoint, config).await {
            // As long as it isn't asked, it has nothing to say but why it ends.
            Ok(mut there) => time::timeout(AFTERTHOUGHT, there.read_u8()).await.unwrap_or(Ok(0)),
            Err(cause) => Err(cause),
        };
        return said.map(drop).map_err(|cause| {
            explain(database, endpoint, &cause.to_string())
                .unwrap_or_else(|| BindingError::connect(database, endpoint, cause))
        });
    }
    Ok(())
}

/// After a connection without TLS has failed: whether TLS is what the server speaks.
pub async fn speaks_tls(endpoint: &str) -> bool {
    let Ok(config) = Tls::default().config(&[]) else { return false };
    let Ok(Ok(stream)) = time::timeout(HANDSHAKE_LIMIT, TcpStream::connect(endpoint)).await else {
        return false;
    };
    match wrap(stream, endpoint, &config).await {
        Ok(_) => true,
        Err(cause) => {
            let cause = cause.to_string();
            cause.contains("invalid peer certificate") || cause.contains("received fatal alert")
        }
    }
}

/// A failed opening, explained as well as can be: from its words; where they are of an end that
/// came too soon, by asking whether the server wants TLS.
pub async fn failed(
    database: &str,
    endpoints: &[String],
    tls: bool,
    cause: &(dyn fmt::Display + Sync),
) -> BindingError {
    let cause = cause.to_string();
    let address = endpoints.join(",");
    if let Some(error) = explain(database, &address, &cause) {
        return error;
    }
    if !tls {
        for endpoint in endpoints {
            if speaks_tls(endpoint).await {
                return BindingError {
                    message: format!(
                        "{database} at {endpoint} speaks TLS, and wasn't spoken to so"
                    ),
                    hint: "add tls, with the authority that signed its certificate as ca_file"
                        .into(),
                    connection: true,
                };
            }
        }
    }
    BindingError::connect(database, &address, cause)
}
