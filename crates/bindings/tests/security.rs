//! What is said of secrets and certificates before anything is connected to.

#![allow(clippy::unwrap_used)] // tests

use pacelc_bindings::security::explain::explain;
use pacelc_bindings::security::{SecretSource, Security, Tls, host_of};
use pacelc_bindings::{BindingError, Target};
use proptest::prelude::*;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// A file of this test's, removed when it is dropped.
struct Written(PathBuf);

impl Written {
    fn new(content: impl AsRef<[u8]>) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("pacelc-security-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        Self(path)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn with_password(source: SecretSource) -> Security {
    Security { user: Some("bench".into()), password: Some(source), ..Security::default() }
}

fn check(security: &Security, database: &str) -> Result<(), BindingError> {
    let target = json!({"database": database, "endpoints": ["h:1"], "security": security});
    serde_json::from_value::<Target>(target).unwrap().check()
}

fn refused(security: &Security, database: &str) -> BindingError {
    check(security, database).unwrap_err()
}

proptest! {
    /// The secret is got, and is in nothing that could be printed, logged or stored on the way.
    #[test]
    fn a_secret_is_read_and_never_printed(
        secret in "[!-~]{1,4}[ -~]{4,30}[!-~]",
        ending in prop::sample::select(vec!["", "\n", "\r\n"]),
    ) {
        let file = Written::new(format!("{secret}{ending}"));
        let security = with_password(SecretSource::File(file.0.clone()));
        check(&security, "redis").unwrap();
        let login = security.login().unwrap().unwrap();
        prop_assert_eq!(login.password.expose(), &secret);
        let target: Target = serde_json::from_value(json!({
            "database": "redis", "endpoints": ["h:1"], "security": security,
        })).unwrap();
        let shown = [
            format!("{login:?} {:?}", login.password),
            format!("{security:?} {target:?} {target:#?}"),
            serde_json::to_string(&target).unwrap(),
            target.warnings().join(" "),
            // Refusals that are found after the secret was.
            refused(&Security { tls: Some(Tls { ca_file: Some(file.0.clone()), ..Tls::default() }), ..security.clone() }, "redis").to_string(),
            refused(&Security { tls: Some(Tls { cert_file: Some(file.0.clone()), ..Tls::default() }), ..security.clone() }, "redis").to_string(),
            refused(&security, "hbase").to_string(),
        ];
        for text in shown {
            prop_assert!(!text.contains(&secret), "{text}");
        }
    }

    /// A secret that isn't text is refused without being quoted.
    #[test]
    fn bytes_that_are_no_text_are_not_quoted(bytes in prop::collection::vec(any::<u8>(), 8..40)) {
        prop_assume!(String::from_utf8(bytes.clone()).is_err());
        let file = Written::new(&bytes);
        let error = with_password(SecretSource::File(file.0.clone())).login().unwrap_err();
        prop_assert!(!error.message.contains(&*String::from_utf8_lossy(&bytes)));
    }

    /// Whatever a driver or a server says, explaining it is one line with a hint, or nothing.
    #[test]
    fn explanations_are_one_line(
        before in ".{0,20}",
        cause in prop::sample::select(vec![
            "certificate not valid for name \"a\"; certificate is only valid for b\nor c",
            "invalid peer certificate: UnknownIssuer", "invalid peer certificate: Other\nwise",
            "invalid peer certificate: certificate expired: verification time 1 (UNIX)",
            "received fatal alert: CertificateRequired", "received fatal alert: UnknownCA",
            "received corrupt message of type InvalidContentType", "tls handshake eof",
            "WRONGPASS invalid username-password pair", "NOAUTH Authentication required.", "",
        ]),
        after in ".{0,20}",
    ) {
        if let Some(error) = explain("Redis", "h:1", &format!("{before}{cause}{after}")) {
            prop_assert!(!error.message.contains('\n') && error.message.contains("Redis at h:1"));
            prop_assert!(!error.hint.is_empty());
        }
    }
}

#[test]
fn a_secret_that_is_not_there_is_an_error_that_names_the_place() {
    let error = with_password(SecretSource::Env("PACELC_NOT_SET".into())).login().unwrap_err();
    assert!(error.message.contains("PACELC_NOT_SET, where the password should be, isn't set"));
    let error = with_password(SecretSource::File("/nowhere".into())).login().unwrap_err();
    assert!(error.message.contains("/nowhere can't be read"), "{error}");
    let empty = Written::new("\n");
    let error = with_password(SecretSource::File(empty.0.clone())).login().unwrap_err();
    assert!(error.message.ends_with("is empty"), "{error}");
}

#[test]
fn a_password_that_everybody_can_read_is_a_warning() {
    let file = Written::new("secret");
    let security = with_password(SecretSource::File(file.0.clone()));
    assert!(security.warnings().is_empty());
    fs::set_permissions(&file.0, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(security.warnings()[0].contains("every user of this machine"));
}

#[test]
fn what_a_database_cannot_do_is_refused_with_the_reason() {
    let file = Written::new("secret");
    let password = || Some(SecretSource::File(file.0.clone()));
    let user = || Some("bench".to_owned());
    let tls = || Some(Tls::default());
    let named = || Some(Tls { server_name: Some("db.example".into()), ..Tls::default() });
    for (database, security, says) in [
        ("redis", Security { user: user(), ..Security::default() }, "no password"),
        ("mongodb", Security { user: user(), ..Security::default() }, "a user and a password"),
        ("cassandra", Security { password: password(), ..Security::default() }, "a user and a"),
        ("hbase", Security { password: password(), ..Security::default() }, "SASL"),
        ("hbase", Security { tls: tls(), ..Security::default() }, "no TLS"),
        ("memory", Security::default(), "memory knows neither users nor TLS"),
        ("redis", Security { auth_source: user(), ..Security::default() }, "auth_source"),
        ("mongodb", Security { tls: named(), ..Security::default() }, "server_name"),
    ] {
        let error = refused(&security, database);
        assert!(error.message.contains(says), "{error}");
        assert!(!error.hint.is_empty() && !error.connection);
    }
    check(&Security { user: user(), ..Security::default() }, "hbase").unwrap();
    check(&Security { tls: named(), ..Security::default() }, "cassandra").unwrap();
}

#[test]
fn files_are_checked_before_anything_is_connected_to() {
    let text = Written::new("no certificate");
    let nothing = PathBuf::from("/nowhere");
    let file = || Some(text.0.clone());
    for (tls, says) in [
        (Tls { ca_file: Some(nothing.clone()), ..Tls::default() }, "ca_file /nowhere"),
        (Tls { ca_file: file(), ..Tls::default() }, "no certificate in PEM"),
        (Tls { key_file: file(), ..Tls::default() }, "without cert_file"),
        (Tls { cert_file: file(), ..Tls::default() }, "no private key"),
        (Tls { cert_file: file(), key_file: Some(nothing), ..Tls::default() }, "key_file /nowhere"),
        (Tls { server_name: Some("not a name".into()), ..Tls::default() }, "not a name"),
    ] {
        let security = Security { tls: Some(tls), ..Security::default() };
        let error = refused(&security, "redis");
        assert!(error.message.contains(says), "{error}");
    }
}

#[test]
fn a_secret_in_the_place_of_its_reference_is_no_specification() {
    for security in [
        json!({"password": "hunter2hunter2"}),
        json!({"password": {"text": "hunter2hunter2"}}),
        json!({"tls": {"verify": false}}),
    ] {
        let error = serde_json::from_value::<Security>(security).unwrap_err().to_string();
        assert!(!error.contains("hunter2hunter2"), "{error}");
    }
}

#[test]
fn hosts_are_told_from_ports() {
    for (endpoint, host) in [("h:1", "h"), ("[::1]:2", "::1"), ("10.0.0.1:9042", "10.0.0.1")] {
        assert_eq!(host_of(endpoint), host);
    }
}
