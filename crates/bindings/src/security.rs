//! Who we are to a cluster, and how we know that it is the one that is meant: user, password, TLS.
//!
//! A specification holds *references* to secrets, never secrets: the name of an environment
//! variable, the path of a file. They are followed when a binding opens, and again by each of its
//! threads. What is found is a [`Secret`], which can be neither printed nor serialised.
//!
//! | part | for |
//! |---|---|
//! | [`Security`] | what a target says, and its checks before anything starts |
//! | [`Secret`], [`SecretSource`] | a password, and where it is |
//! | [`Tls`] | files, and the one configuration that every binding's TLS is made of |
//! | [`shake_hands`], [`explain`] | what is wrong with a connection, in one line and the same for every database |
//!
//! There is no switch that turns verification off: a benchmark that sends a password to whoever
//! answers isn't worth it. A private authority is named by `ca_file`, a certificate for another
//! name by `server_name`.

use crate::BindingError;
use nix::sys::memfd::{MFdFlags, memfd_create};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long a server may take to shake hands. One without TLS may wait for ever: Redis does, for
/// the end of what it takes for a command.
pub const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);

/// What a target says of users and certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Security {
    /// The user to be. Redis: left out, the default user.
    #[serde(default)]
    pub user: Option<String>,
    /// Where the password is.
    #[serde(default)]
    pub password: Option<SecretSource>,
    /// MongoDB: the database that knows the user; by default `admin`.
    #[serde(default)]
    pub auth_source: Option<String>,
    /// Whether, and how, to speak TLS.
    #[serde(default)]
    pub tls: Option<Tls>,
}

impl Security {
    /// Refuses what `database` can't do, secrets that aren't there, and files that aren't PEM:
    /// all that can be known before anything is connected to.
    pub fn check(&self, database: &str) -> Result<(), BindingError> {
        let refuse = |message: &str, hint: &str| Err(BindingError::target(message, hint));
        match database {
            "redis" | "valkey" => {
                if self.user.is_some() && self.password.is_none() {
                    return refuse(
                        "a user is named, but no password",
                        "add password_env or password_file",
                    );
                }
            }
            "mongodb" | "cassandra" => {
                if self.user.is_some() != self.password.is_some() {
                    return refuse(
                        &format!("{database} wants a user and a password, or neither"),
                        "name both, or leave both out",
                    );
                }
            }
            "hbase" => {
                if self.password.is_some() {
                    return refuse(
                        "pacelc's HBase client has no SASL, so it can't use a password",
                        "leave the password out: servers with SIMPLE authentication believe the user's name",
                    );
                }
                if self.tls.is_some() {
                    return refuse(
                        "pacelc's HBase client has no TLS",
                        "use the cluster's plain ports, over a network that you trust",
                    );
                }
            }
            _ => {
                return refuse(
                    &format!("{database} knows neither users nor TLS"),
                    "leave `security` out",
                );
            }
        }
        if self.auth_source.is_some() && (database != "mongodb" || self.user.is_none()) {
            return refuse(
                "auth_source is for a user of MongoDB's",
                "leave it out, or name the user",
            );
        }
        if let Some(password) = &self.password {
            password.read()?;
        }
        if let Some(tls) = &self.tls {
            if database == "mongodb" && tls.server_name.is_some() {
                return refuse(
                    "MongoDB's driver checks a certificate against the host in the endpoint, so server_name can't be had",
                    "write the name that the certificate has into the endpoints and the replica set's configuration",
                );
            }
            tls.config(&[])?;
        }
        Ok(())
    }

    /// What a person should know of it, but that stops nothing.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let Some(SecretSource::File(path)) = &self.password else { return Vec::new() };
        let others = path.metadata().is_ok_and(|found| found.permissions().mode() & 0o004 != 0);
        let path = path.display();
        others
            .then(|| format!("the password file {path} can be read by every user of this machine"))
            .into_iter()
            .collect()
    }

    /// User and password, where there are any.
    pub fn login(&self) -> Result<Option<Login>, BindingError> {
        let Some(source) = &self.password else { return Ok(None) };
        Ok(Some(Login { user: self.user.clone(), password: source.read()? }))
    }
}

/// A user's name and password.
#[derive(Debug, Clone)]
pub struct Login {
    /// `None`: the server's default user.
    pub user: Option<String>,
    /// The password.
    pub password: Secret,
}

/// Where a secret is: what specifications and runs hold in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// In the environment variable of this name.
    Env(String),
    /// In this file, without the line break that may end it.
    File(PathBuf),
}

impl<'de> Deserialize<'de> for SecretSource {
    /// By hand, since a derived one quotes what it doesn't expect: perhaps a password.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = serde_json::Value::deserialize(deserializer)?;
        let only = given.as_object().filter(|fields| fields.len() == 1);
        let only = only.and_then(|fields| fields.iter().next());
        match only.and_then(|(name, value)| Some((name.as_str(), value.as_str()?))) {
            Some(("env", name)) => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) => Ok(Self::File(path.into())),
            _ => Err(D::Error::custom(
                "a password is {\"env\": NAME} or {\"file\": PATH}, and never written out",
            )),
        }
    }
}

impl SecretSource {
    /// Follows the reference.
    pub fn read(&self) -> Result<Secret, BindingError> {
        let (found, place) = match self {
            Self::Env(name) => {
                // The system's error of a value that isn't text would quote it.
                let found = std::env::var_os(name).map(std::ffi::OsString::into_string);
                let problem = match found {
                    Some(Ok(_)) => "",
                    Some(Err(_)) => "isn't text",
                    None => "isn't set",
                };
                let found = found.and_then(Result::ok).ok_or_else(|| {
                    BindingError::target(
                        format!(
                            "the environment's {name}, where the password should be, {problem}"
                        ),
                        format!("export {name}, or name the variable that holds the password"),
                    )
                })?;
                (found, format!("the environment's {name}"))
            }
            Self::File(path) => {
                let place = format!("the password file {}", path.display());
                let found = std::fs::read_to_string(path).map_err(|cause| {
                    // Of bytes that aren't text the system's error says that, and no more.
                    BindingError::target(
                        format!("{place} can't be read: {cause}"),
                        "name a text file that holds the password alone",
                    )
                })?;
                (found, place)
            }
        };
        let found = found.strip_suffix('\n').unwrap_or(&found);
        let found = found.strip_suffix('\r').unwrap_or(found);
        if found.is_empty() {
            return Err(BindingError::target(
                format!("{place} is empty"),
                "put the password there, or leave it out",
            ));
        }
        Ok(Secret(found.to_owned()))
    }
}

/// Something that nobody may see. It prints as `***`, and can't be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the driver that must have it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How to speak TLS. Present and empty: by the public authorities' certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// PEM: the authorities that may have signed the servers' certificates; by default the public
    /// ones, as Mozilla lists them.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// PEM: the client's certificate, and its chain.
    #[serde(default)]
    pub cert_file: Option<PathBuf>,
    /// PEM: the client's key; by default in `cert_file`.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// The name that the servers' certificates must be for, if not the host in the endpoint.
    #[serde(default)]
    pub server_name: Option<String>,
}

impl Tls {
    /// The configuration. A certificate must be for `server_name`; without one, for the name that
    /// is asked for when connecting, or for one of `hosts`.
    pub fn config(&self, hosts: &[String]) -> Result<Arc<ClientConfig>, BindingError> {
        let wrong = |cause: &dyn fmt::Display| {
            BindingError::target(
                format!("TLS can't be set up: {cause}"),
                "check ca_file, cert_file and key_file",
            )
        };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let inner = WebPkiServerVerifier::builder_with_provider(
            Arc::new(self.authorities()?),
            Arc::clone(&provider),
        )
        .build()
        .map_err(|cause| wrong(&cause))?;
        let names = match &self.server_name {
            Some(name) => vec![server_name(name)?],
            None => hosts.iter().filter_map(|host| server_name(host).ok()).collect(),
        };
        let verifier = Verifier { inner, names, fixed: self.server_name.is_some() };
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|cause| wrong(&cause))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let Some((chain, key)) = self.identity()? else {
            return Ok(Arc::new(config.with_no_client_auth()));
        };
        let config = config.with_client_auth_cert(chain, key).map_err(|cause| {
            BindingError::target(
                format!("the client's certificate can't be used: {cause}"),
                "check that key_file is the key of cert_file",
            )
        })?;
        Ok(Arc::new(config))
    }

    fn authorities(&self) -> Result<RootCertStore, BindingError> {
        let mut store = RootCertStore::empty();
        match &self.ca_file {
            None => store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(path) => {
                for certificate in certificates("ca_file", path)? {
                    store.add(certificate).map_err(|cause| {
                        BindingError::target(
                            format!("ca_file {} holds no authority: {cause}", path.display()),
                            "name the certificate of the authority that signed the servers'",
                        )
                    })?;
                }
            }
        }
        Ok(store)
    }

    fn identity(&self) -> Result<Option<Identity>, BindingError> {
        let Some(cert_file) = &self.cert_file else {
            return match &self.key_file {
                None => Ok(None),
                Some(_) => Err(BindingError::target(
                    "key_file is named without cert_file",
                    "name the certificate that the key belongs to",
                )),
            };
        };
        let (name, key_file) = match &self.key_file {
            Some(path) => ("key_file", path),
            None => ("cert_file", cert_file),
        };
        let text = pem("the client's key", name, key_file)?;
        // Never the parser's own words: they could quote the key.
        let key = PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
            BindingError::target(
                format!("{name} {} holds no private key", key_file.display()),
                "name a PEM file with an unencrypted private key as key_file",
            )
        })?;
        Ok(Some((certificates("cert_file", cert_file)?, key)))
    }

    /// Certificate and key in one file, for a driver that wants a path: a file in memory, which no
    /// disk has seen. It is there as long as what is returned is.
    pub fn identity_file(&self) -> Result<Option<IdentityFile>, BindingError> {
        let Some(cert_file) = &self.cert_file else { return Ok(None) };
        let mut text = pem("the client's certificate", "cert_file", cert_file)?;
        if let Some(key_file) = &self.key_file {
            text.push(b'\n');
            text.extend(pem("the client's key", "key_file", key_file)?);
        }
        let failed = |cause: &dyn fmt::Display| {
            BindingError::target(
                format!("a file in memory for the client's certificate can't be made: {cause}"),
                "check the limits of this process",
            )
        };
        let descriptor = memfd_create(c"pacelc", MFdFlags::MFD_CLOEXEC).map_err(|e| failed(&e))?;
        let mut file = File::from(descriptor);
        file.write_all(&text).map_err(|cause| failed(&cause))?;
        Ok(Some(IdentityFile(file)))
    }
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// See [`Tls::identity_file`].
#[derive(Debug)]
pub struct IdentityFile(File);

impl IdentityFile {
    /// Where this process finds it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

fn pem(what: &str, name: &str, path: &Path) -> Result<Vec<u8>, BindingError> {
    std::fs::read(path).map_err(|cause| {
        BindingError::target(
            format!("{what} can't be read from {name} {}: {cause}", path.display()),
            format!("name a PEM file that you may read as {name}"),
        )
    })
}

fn certificates(name: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, BindingError> {
    let text = pem("a certificate", name, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(BindingError::target(
            format!("{name} {} holds no certificate in PEM", path.display()),
            "convert it: `openssl x509 -in FILE -inform der` for DER, `openssl pkcs12 -in FILE` for PKCS#12",
        )),
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, BindingError> {
    ServerName::try_from(name.to_owned()).map_err(|_| {
        BindingError::target(
            format!("`{name}` is no name that a certificate can be for"),
            "write a host's name or an IP address",
        )
    })
}

/// Verifies as the web does, but against the names that are meant. Cassandra's driver asks for
/// nodes by their IP addresses alone, which few certificates are for.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    names: Vec<ServerName<'static>>,
    /// Whether only `names` will do.
    fixed: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        asked: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verify = |name: &ServerName<'_>| {
            self.inner.verify_server_cert(end_entity, intermediates, name, ocsp_response, now)
        };
        let mut names = self.names.iter();
        let first = match names.next() {
            Some(name) if self.fixed => return verify(name),
            None => return verify(asked),
            Some(name) => verify(name),
        };
        // Every node's certificate is for some of the names; which node this is, isn't said.
        if first.is_ok() || names.any(|name| verify(name).is_ok()) || verify(asked).is_ok() {
            return Ok(ServerCertVerified::assertion());
        }
        first
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// The host of `host:port`.
#[must_use]
pub fn host_of(endpoint: &str) -> &str {
    let host = endpoint.rsplit_once(':').map_or(endpoint, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Speaks TLS over `stream`, which was connected to `endpoint`.
pub async fn wrap(
    stream: TcpStream,
    endpoint: &str,
    config: &Arc<ClientConfig>,
) -> io::Result<TlsStream<TcpStream>> {
    let name = ServerName::try_from(host_of(endpoint).to_owned()).map_err(io::Error::other)?;
    let connecting = TlsConnector::from(Arc::clone(config)).connect(name, stream);
    time::timeout(HANDSHAKE_LIMIT, connecting)
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, NO_TLS_ANSWER))?
}

const NO_TLS_ANSWER: &str = "no answer to the TLS handshake within 5 s";

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
        return match wrap(stream, endpoint, config).await {
            Ok(_) => Ok(()),
            Err(cause) => Err(explain(database, endpoint, &cause.to_string())
                .unwrap_or_else(|| BindingError::connect(database, endpoint, cause))),
        };
    }
    Ok(())
}

/// What the words of a failed connection mean, where TLS or a login is the reason. They are those
/// of `rustls` and of the servers, however deep a driver has wrapped them.
#[must_use]
pub fn explain(database: &str, endpoint: &str, cause: &str) -> Option<BindingError> {
    let at = format!("{database} at {endpoint}");
    let say = |message: String, hint: &str| {
        Some(BindingError { message, hint: hint.to_owned(), connection: true })
    };
    if let Some((_, rest)) = cause.split_once("certificate not valid for name ") {
        let names = rest.split_once("certificate is ").map_or("", |(_, names)| names);
        let names = names.split([',', '}', '\n']).next().unwrap_or_default().trim();
        return say(
            format!("{at}: the server's certificate is for another name: it is {names}"),
            "write that name into the endpoints, or as server_name where the database has it",
        );
    }
    if cause.contains("NotValidForName") {
        return say(
            format!("{at}: the server's certificate is for another name"),
            "write the certificate's name into the endpoints, or as server_name where the database has it",
        );
    }
    if cause.contains("UnknownIssuer") {
        return say(
            format!("{at}: the server's certificate is signed by no authority that is known here"),
            "name the authority that signed it as ca_file",
        );
    }
    if cause.contains("certificate expired") {
        return say(
            format!("{at}: the server's certificate has expired"),
            "renew it; if it is new, check this machine's clock",
        );
    }
    if cause.contains("certificate not valid yet") {
        return say(
            format!("{at}: the server's certificate isn't valid yet"),
            "check this machine's clock and the server's",
        );
    }
    if cause.contains("invalid peer certificate") {
        let what = cause.split("invalid peer certificate: ").nth(1).unwrap_or_default();
        let what = what.split([',', '}', '\n']).next().unwrap_or_default().trim();
        return say(
            format!("{at}: the server's certificate isn't accepted: {what}"),
            "have the server given a certificate with a subjectAltName, signed by your ca_file",
        );
    }
    if cause.contains("CertificateRequired") {
        return say(
            format!("{at} asks for a client's certificate"),
            "name one as cert_file and its key as key_file",
        );
    }
    if let Some((_, rest)) = cause.split_once("received fatal alert: ") {
        let alert: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        return say(
            format!("{at} ends the TLS handshake: {alert}"),
            "if it asks for a client's certificate, check that its authority signed cert_file; see the server's log",
        );
    }
    // The address of the page that rustls's words point to. MongoDB goes so.
    if cause.contains("unexpected-eof") {
        return say(
            format!("{at} ends the TLS connection after the handshake, and doesn't say why"),
            "if it asks for a client's certificate, name cert_file and key_file; see the server's log",
        );
    }
    if cause.contains("received corrupt message")
        || cause.contains("tls handshake eof")
        || cause.contains(NO_TLS_ANSWER)
    {
        return say(
            format!("{at} doesn't answer in TLS"),
            "check that the port is the one with TLS, or leave tls out",
        );
    }
    // Redis's NOAUTH and WRONGPASS, MongoDB's code 18, Cassandra's bad credentials.
    if cause.contains("NOAUTH")
        || cause.contains("requires authentication")
        || cause.contains("uthentication is required")
    {
        return say(
            format!("{at} asks for a user or a password"),
            "name user, and password_env or password_file",
        );
    }
    if cause.contains("WRONGPASS")
        || cause.contains("invalid password")
        || cause.contains("uthentication failed")
        || cause.contains("AuthenticationError")
        || cause.contains("username and/or password are incorrect")
    {
        return say(
            format!("{at} refuses the user or the password"),
            "check user, and what password_env or password_file holds",
        );
    }
    None
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
