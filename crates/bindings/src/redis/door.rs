//! How a connection to a server of Redis's is made: TCP, TLS where it is asked for, then the login.

use crate::BindingError;
use crate::security::{Login, Security, explain, tls};
use rustls::ClientConfig;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// What all connections of a thread are opened with.
#[derive(Debug)]
pub(super) struct Door {
    /// `None` for a server that asks for nothing.
    pub(super) login: Option<Login>,
    tls: Option<Arc<ClientConfig>>,
}

impl Door {
    pub(super) fn new(security: Option<&Security>) -> Result<Self, BindingError> {
        let Some(security) = security else { return Ok(Self { login: None, tls: None }) };
        let tls = security.tls.as_ref().map(|tls| tls.config(&[])).transpose()?;
        Ok(Self { login: security.login()?, tls })
    }

    pub(super) async fn connect(&self, address: &str) -> io::Result<Stream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Stream::Plain(stream),
            Some(config) => Stream::Tls(Box::new(tls::wrap(stream, address, config).await?)),
        })
    }

    /// Why no connection could be made, or none that the server will talk on.
    pub(super) async fn failed(&self, address: &str, cause: &io::Error) -> BindingError {
        explain::failed("Redis", &[address.to_owned()], self.tls.is_some(), cause).await
    }
}

/// A connection's bytes. Plain TCP, which is what is usually measured, pays one comparison for the
/// choice.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.write_all(bytes).await,
            Self::Tls(stream) => {
                stream.write_all(bytes).await?;
                // What is written may still be in the session's buffer.
                stream.flush().await
            }
        }
    }

    pub(super) async fn receive(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read_buf(into).await,
            Self::Tls(stream) => stream.read_buf(into).await,
        }
    }

    /// Bytes that have come unasked, 0 at the end of the connection; `None` if nothing has.
    ///
    /// The kernel is asked only if the runtime has heard of something to read since the last reply,
    /// so that a connection as it should be costs a look at a flag.
    pub(super) fn unread(&mut self) -> Option<io::Result<usize>> {
        let mut byte = [0];
        match self {
            Self::Plain(stream) => match stream.try_read(&mut byte) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
                read => Some(read),
            },
            // What comes between replies may be the session's own, such as a ticket.
            Self::Tls(stream) => {
                let mut into = ReadBuf::new(&mut byte);
                let mut context = Context::from_waker(Waker::noop());
                match Pin::new(&mut **stream).poll_read(&mut context, &mut into) {
                    Poll::Pending => None,
                    Poll::Ready(read) => Some(read.map(|()| into.filled().len())),
                }
            }
        }
    }
}
