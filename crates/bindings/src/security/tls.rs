//! TLS as every binding speaks it: from PEM files to one configuration, and a stream over it.

use crate::BindingError;
use nix::sys::memfd::{MFdFlags, memfd_create};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
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

/// What is said after [`HANDSHAKE_LIMIT`].
pub(super) const NO_TLS_ANSWER: &str = "no answer to the TLS handshake within 5 s";
