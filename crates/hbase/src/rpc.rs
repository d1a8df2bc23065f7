//! Connections: one TCP connection a server and service, shared by every task.
//!
//! A caller writes its request into the connection's buffer and waits for its entry in the table of pending calls to be
//! filled; one task a connection moves bytes. On a busy runtime the callers of one turn all write into the buffer
//! before that task gets its turn, so their requests leave in one system call, and their answers arrive in one.
//! A call allocates nothing but its place in the table, and starts no timer: the connection's task keeps one timer for
//! the earliest deadline.
//!
//! A connection that breaks fails every pending call at once. Each call knows where its last byte lies in the stream,
//! so a call that had not left completely is told that it *certainly* was not executed.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasherDefault, Hasher};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures::task::AtomicWaker;
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

use crate::config::Config;
use crate::error::{Error, RemoteError, Result};
use crate::proto;
use crate::wire::{CallHeader, Payload, put_request};

/// Call ids are Java's `int`, and -1 is taken.
const MAX_ID: u32 = i32::MAX as u32;
/// Buffers that grew beyond this are given back.
const KEEP_BUFFER_BYTES: usize = 1 << 20;
/// What one read asks for.
const READ_BYTES: usize = 64 << 10;
/// After a failed connection, further attempts fail at once for this long, so that a dead server costs one
/// connection attempt per period and not one per operation.
const FAILED_SERVER_PAUSE: Duration = Duration::from_millis(100);
const CODEC: &str = "org.apache.hadoop.hbase.codec.KeyValueCodec";

/// `lock` on a mutex whose holder never panics between changes that belong together.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The services of HBase that this client speaks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Service {
    Client,
    Admin,
    Master,
    Registry,
}

impl Service {
    fn name(self) -> &'static str {
        match self {
            Self::Client => "ClientService",
            Self::Admin => "AdminService",
            Self::Master => "MasterService",
            Self::Registry => "ClientMetaService",
        }
    }
}

/// One call, before its parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSpec {
    pub method: &'static str,
    pub priority: u32,
    pub deadline: Deadline,
}

/// When an operation gives up, and the time-out that led there (for the error's text).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub at: Instant,
    pub after: Duration,
}

impl Deadline {
    pub(crate) fn after(after: Duration) -> Self {
        Self { at: Instant::now() + after, after }
    }

    /// The earlier of this and `after` from now.
    pub(crate) fn no_later_than(self, after: Duration) -> Self {
        let other = Self::after(after);
        if other.at < self.at { other } else { self }
    }

    pub(crate) fn passed(self) -> bool {
        Instant::now() >= self.at
    }

    pub(crate) fn error(self, doing: &'static str, sent: bool) -> Error {
        Error::Timeout { after: self.after, doing, sent }
    }
}

/// What a server answered: the message's bytes and the cell block.
#[derive(Debug)]
pub(crate) struct Response {
    param: Bytes,
    pub cells: Bytes,
}

impl Response {
    pub(crate) fn message<M: Message + Default>(&mut self) -> Result<M> {
        Ok(M::decode_length_delimited(&mut self.param)?)
    }
}

/// Call ids are small consecutive numbers: spread them by one multiplication.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u32(&mut self, id: u32) {
        self.0 = u64::from(id).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

struct Pending {
    /// Where the request's last byte lies in the stream of all bytes ever queued.
    end: u64,
    deadline: Deadline,
    waker: Option<Waker>,
    done: Option<Result<Response>>,
}

#[derive(Default)]
struct State {
    out: Vec<u8>,
    /// Bytes ever queued.
    queued: u64,
    next_id: u32,
    pending: HashMap<u32, Pending, BuildHasherDefault<IdHasher>>,
    /// No pending call has a deadline before this; the connection's task has its timer on it.
    armed: Option<Instant>,
    /// Why the connection ended, once it has.
    ended: Option<String>,
}

struct Shared {
    server: String,
    max_frame_bytes: usize,
    state: Mutex<State>,
    /// Wakes the connection's task: bytes to write, an earlier deadline, or the end.
    task: AtomicWaker,
    closed: AtomicBool,
}

impl Shared {
    fn lost(&self, reason: &str, sent: bool) -> Error {
        Error::ConnectionLost { server: self.server.clone(), reason: reason.to_owned(), sent }
    }

    /// Ends the connection: what was written completely is unknown, the rest certainly was not executed.
    fn end(&self, reason: &str, written: u64) {
        self.closed.store(true, Ordering::Release);
        let mut state = lock(&self.state);
        if state.ended.is_none() {
            state.ended = Some(reason.to_owned());
        }
        state.out = Vec::new();
        for p in state.pending.values_mut().filter(|p| p.done.is_none()) {
            p.done = Some(Err(self.lost(reason, p.end <= written)));
            if let Some(w) = p.waker.take() {
                w.wake();
            }
        }
    }

    /// Takes every whole response out of `buf` and hands it to its call.
    fn deliver(&self, buf: &mut BytesMut) -> Result<()> {
        let mut state = None;
        while let Some(mut frame) = split_frame(buf, self.max_frame_bytes)? {
            let header = proto::ResponseHeader::decode_length_delimited(&mut frame)?;
            let outcome = match header.exception {
                Some(e) => {
                    Err(Error::Remote(Box::new(RemoteError::from_response(e, &self.server))))
                }
                None => split_response(frame, header.cell_block_meta),
            };
            let Some(id) = header.call_id.filter(|id| i32::try_from(*id).is_ok()) else {
                // Call id -1: the server refuses the connection itself.
                return Err(outcome
                    .err()
                    .unwrap_or(Error::Protocol("response without a call".into())));
            };
            let state = state.get_or_insert_with(|| lock(&self.state));
            // No entry: the caller gave up before, so nobody wants the answer.
            if let Some(p) = state.pending.get_mut(&id) {
                p.done = Some(outcome);
                if let Some(w) = p.waker.take() {
                    w.wake();
                }
            }
        }
        Ok(())
    }

    /// Fails the calls whose time has come, and arms the timer for the next.
    fn expire(&self) {
        let now = Instant::now();
        let mut state = lock(&self.state);
        let mut earliest: Option<Instant> = None;
        for p in state.pending.values_mut().filter(|p| p.done.is_none()) {
            if p.deadline.at <= now {
                p.done = Some(Err(p.deadline.error("waiting for the answer", true)));
                if let Some(w) = p.waker.take() {
                    w.wake();
                }
            } else {
                earliest = Some(earliest.map_or(p.deadline.at, |e| e.min(p.deadline.at)));
            }
        }
        state.armed = earliest;
    }
}

/// The next whole frame, without its length.
fn split_frame(buf: &mut BytesMut, max_bytes: usize) -> Result<Option<Bytes>> {
    let Some(head) = buf.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*head) as usize;
    if length > max_bytes {
        return Err(Error::Protocol(format!("frame of {length} bytes; the limit is {max_bytes}")));
    }
    if buf.len() < 4 + length {
        // Not all at once: a length is only a claim until the bytes arrive.
        buf.reserve((4 + length - buf.len()).min(4 << 20));
        return Ok(None);
    }
    buf.advance(4);
    Ok(Some(buf.split_to(length).freeze()))
}

/// Splits what follows the header in message (with its length) and cell block.
fn split_response(mut body: Bytes, meta: Option<proto::CellBlockMeta>) -> Result<Response> {
    let cells_len = meta.and_then(|m| m.length).unwrap_or(0) as usize;
    let Some(param_len) = body.len().checked_sub(cells_len) else {
        return Err(Error::Protocol(format!(
            "cell block of {cells_len} bytes announced, {} left",
            body.len()
        )));
    };
    let param = body.split_to(param_len);
    Ok(Response { param, cells: body })
}

/// An open connection. Dropping the last handle closes it.
pub(crate) struct Connection {
    shared: Arc<Shared>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        self.shared.task.wake();
    }
}

impl Connection {
    async fn open(
        host: &str,
        port: u16,
        service: Service,
        config: &Config,
        deadline: Deadline,
    ) -> Result<Self> {
        let server = format!("{host}:{port}");
        let refused =
            |e: std::io::Error| Error::Connect { server: server.clone(), reason: e.to_string() };
        let deadline = deadline.no_later_than(config.connect_timeout);
        let stream = timeout_at(deadline.at, TcpStream::connect((host, port)))
            .await
            .map_err(|_| deadline.error("connecting", false))?
            .map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        let out = preamble(service, &config.user);
        let shared = Arc::new(Shared {
            server,
            max_frame_bytes: config.max_frame_bytes,
            state: Mutex::new(State { queued: out.len() as u64, out, ..State::default() }),
            task: AtomicWaker::new(),
            closed: AtomicBool::new(false),
        });
        tokio::spawn(Mover::new(stream, Arc::clone(&shared)).run());
        Ok(Self { shared })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    fn queue<P: Payload>(&self, spec: CallSpec, payload: &P, wait: bool) -> Result<u32> {
        let shared = &*self.shared;
        let left = spec.deadline.at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(spec.deadline.error("about to send", false));
        }
        let timeout_ms = u32::try_from(left.as_millis()).unwrap_or(u32::MAX).clamp(1, MAX_ID);
        let mut guard = lock(&shared.state);
        let state = &mut *guard;
        if let Some(reason) = &state.ended {
            return Err(shared.lost(reason, false));
        }
        let mut id = state.next_id;
        while state.pending.contains_key(&id) {
            id = (id + 1) & MAX_ID;
        }
        state.next_id = (id + 1) & MAX_ID;
        let before = state.out.len();
        let header = CallHeader { id, method: spec.method, priority: spec.priority, timeout_ms };
        put_request(&mut state.out, header, payload)?;
        state.queued += (state.out.len() - before) as u64;
        let mut wake = before == 0;
        if wait {
            let pending =
                Pending { end: state.queued, deadline: spec.deadline, waker: None, done: None };
            state.pending.insert(id, pending);
            if state.armed.is_none_or(|armed| spec.deadline.at < armed) {
                state.armed = Some(spec.deadline.at);
                wake = true;
            }
        }
        drop(guard);
        if wake {
            shared.task.wake();
        }
        Ok(id)
    }

    /// Queues a request; the call ends with its answer, its deadline, or the connection.
    pub(crate) fn call<P: Payload>(&self, spec: CallSpec, payload: &P) -> Result<Call> {
        let id = self.queue(spec, payload, true)?;
        Ok(Call { shared: Arc::clone(&self.shared), id, taken: false })
    }

    /// Queues a request whose answer nobody waits for.
    pub(crate) fn send<P: Payload>(&self, spec: CallSpec, payload: &P) {
        // Nobody waits, so nobody can be told: a broken connection has ended what this would have ended.
        let _ = self.queue(spec, payload, false);
    }
}

/// `HBas`, version 0, SIMPLE authentication (80), then the connection header with its length.
fn preamble(service: Service, user: &str) -> Vec<u8> {
    let unknown = || "unknown".to_owned();
    let header = proto::ConnectionHeader {
        user_info: Some(proto::UserInformation { effective_user: user.to_owned() }),
        service_name: Some(service.name().to_owned()),
        cell_block_codec_class: Some(CODEC.to_owned()),
        // Servers send results as cell blocks only to clients that say they are of version 1.3 or later.
        version_info: Some(proto::VersionInfo {
            version: "2.5.12".to_owned(),
            url: unknown(),
            revision: unknown(),
            user: "pacelc".to_owned(),
            date: unknown(),
            src_checksum: unknown(),
            version_major: Some(2),
            version_minor: Some(5),
        }),
    };
    let mut out = b"HBas\x00\x50".to_vec();
    out.extend_from_slice(&(header.encoded_len() as u32).to_be_bytes());
    header.encode_raw(&mut out);
    out
}

/// A call that waits for its answer. Dropping it forgets the answer, not the effect.
pub(crate) struct Call {
    shared: Arc<Shared>,
    id: u32,
    taken: bool,
}

impl Future for Call {
    type Output = Result<Response>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let shared = Arc::clone(&self.shared);
        let mut state = lock(&shared.state);
        let Some(pending) = state.pending.get_mut(&self.id) else {
            return Poll::Ready(Err(Error::Protocol("call polled after its end".into())));
        };
        if let Some(outcome) = pending.done.take() {
            state.pending.remove(&self.id);
            self.taken = true;
            return Poll::Ready(outcome);
        }
        match &mut pending.waker {
            Some(w) => w.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.taken {
            lock(&self.shared.state).pending.remove(&self.id);
        }
    }
}

/// The connection's task: moves bytes both ways and keeps the deadlines.
struct Mover {
    stream: TcpStream,
    shared: Arc<Shared>,
    out: Vec<u8>,
    out_at: usize,
    written: u64,
    input: BytesMut,
    timer: Pin<Box<Sleep>>,
    armed: Option<Instant>,
}

impl Mover {
    fn new(stream: TcpStream, shared: Arc<Shared>) -> Self {
        Self {
            stream,
            shared,
            out: Vec::new(),
            out_at: 0,
            written: 0,
            input: BytesMut::with_capacity(READ_BYTES),
            timer: Box::pin(sleep_until(Instant::now())),
            armed: None,
        }
    }

    async fn run(mut self) {
        let reason = poll_fn(|cx| self.step(cx)).await;
        self.shared.end(&reason, self.written);
    }

    /// Ready, with the reason, when the connection is over.
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        self.shared.task.register(cx.waker());
        if self.shared.closed.load(Ordering::Acquire) {
            return Poll::Ready("closed by this client".to_owned());
        }
        if let Poll::Ready(Err(e)) = self.write(cx) {
            return Poll::Ready(format!("cannot write: {e}"));
        }
        if let Poll::Ready(reason) = self.read(cx) {
            return Poll::Ready(reason);
        }
        self.keep_deadlines(cx);
        Poll::Pending
    }

    fn write(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        loop {
            if self.out_at == self.out.len() {
                self.out_at = 0;
                self.out.clear();
                if self.out.capacity() > KEEP_BUFFER_BYTES {
                    self.out = Vec::new();
                }
                let mut state = lock(&self.shared.state);
                if state.out.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                std::mem::swap(&mut state.out, &mut self.out);
            }
            let stream = Pin::new(&mut self.stream);
            match stream.poll_write(cx, &self.out[self.out_at..]) {
                Poll::Ready(Ok(0)) => {
                    return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into()));
                }
                Poll::Ready(Ok(n)) => {
                    self.out_at += n;
                    self.written += n as u64;
                }
                other => return other.map_ok(|_| ()),
            }
        }
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        loop {
            if self.input.capacity() - self.input.len() < READ_BYTES / 4 {
                self.input.reserve(READ_BYTES);
            }
            match pin!(self.stream.read_buf(&mut self.input)).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => return Poll::Ready("closed by the server".to_owned()),
                Poll::Ready(Ok(_)) => {
                    if let Err(e) = self.shared.deliver(&mut self.input) {
                        return Poll::Ready(e.to_string());
                    }
                }
                Poll::Ready(Err(e)) => return Poll::Ready(format!("cannot read: {e}")),
            }
        }
    }

    fn keep_deadlines(&mut self, cx: &mut Context<'_>) {
        loop {
            let wanted = lock(&self.shared.state).armed;
            let Some(at) = wanted else { return };
            if self.armed != wanted {
                self.timer.as_mut().reset(at);
                self.armed = wanted;
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.shared.expire();
            self.armed = None;
        }
    }
}

/// A server that may be connected to, shared by all regions it serves.
pub(crate) struct Server {
    host: String,
    port: u16,
    service: Service,
    slot: Mutex<Slot>,
    /// Held while connecting, so that many callers make one connection.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Slot {
    connection: Option<Arc<Connection>>,
    failed: Option<(Instant, Error)>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Server {
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The open connection, if there is one.
    pub(crate) fn current(&self) -> Option<Arc<Connection>> {
        lock(&self.slot).connection.as_ref().filter(|c| !c.is_closed()).map(Arc::clone)
    }

    /// The open connection, or a new one.
    pub(crate) async fn connection(
        &self,
        config: &Config,
        counters: &Counters,
        deadline: Deadline,
    ) -> Result<Arc<Connection>> {
        if let Some(c) = self.current() {
            return Ok(c);
        }
        let _turn = timeout_at(deadline.at, self.connecting.lock())
            .await
            .map_err(|_| deadline.error("connecting", false))?;
        if let Some(c) = self.current() {
            return Ok(c);
        }
        if let Some((when, error)) = &lock(&self.slot).failed
            && when.elapsed() < FAILED_SERVER_PAUSE
        {
            return Err(error.clone());
        }
        let opened = Connection::open(&self.host, self.port, self.service, config, deadline).await;
        let mut slot = lock(&self.slot);
        match opened {
            Ok(c) => {
                counters.connections.fetch_add(1, Ordering::Relaxed);
                let c = Arc::new(c);
                *slot = Slot { connection: Some(Arc::clone(&c)), failed: None };
                Ok(c)
            }
            // That this caller had no time left is nothing that the server did.
            Err(error @ Error::Timeout { .. }) if deadline.passed() => Err(error),
            Err(error) => {
                *slot = Slot { connection: None, failed: Some((Instant::now(), error.clone())) };
                Err(error)
            }
        }
    }
}

/// All servers that this client has heard of.
#[derive(Default)]
pub(crate) struct Servers {
    known: Mutex<HashMap<(String, u16, Service), Arc<Server>>>,
}

impl Servers {
    pub(crate) fn get(&self, host: &str, port: u16, service: Service) -> Arc<Server> {
        let mut known = lock(&self.known);
        let entry = known.entry((host.to_owned(), port, service)).or_insert_with(|| {
            Arc::new(Server {
                host: host.to_owned(),
                port,
                service,
                slot: Mutex::default(),
                connecting: tokio::sync::Mutex::default(),
            })
        });
        Arc::clone(entry)
    }
}

/// What the client did beside plain calls, counted since it was made.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub connections: AtomicU64,
    pub lookups: AtomicU64,
    pub relocations: AtomicU64,
    pub retries: AtomicU64,
    pub hedges: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Plain;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    fn shared() -> Shared {
        Shared {
            server: "h:1".into(),
            max_frame_bytes: 1 << 16,
            state: Mutex::default(),
            task: AtomicWaker::new(),
            closed: AtomicBool::new(false),
        }
    }

    fn response(id: u32, exception: Option<&str>, cells: &[u8]) -> Vec<u8> {
        let header = proto::ResponseHeader {
            call_id: Some(id),
            exception: exception.map(|class| proto::ExceptionResponse {
                exception_class_name: Some(class.into()),
                ..Default::default()
            }),
            cell_block_meta: Some(proto::CellBlockMeta { length: Some(cells.len() as u32) }),
        };
        let mut body = header.encode_length_delimited_to_vec();
        if exception.is_none() {
            body.extend(proto::GetResponse::default().encode_length_delimited_to_vec());
        }
        body.extend_from_slice(cells);
        let mut frame = (body.len() as u32).to_be_bytes().to_vec();
        frame.extend(body);
        frame
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
            let _ = shared().deliver(&mut BytesMut::from(&bytes[..]));
            let mut framed = BytesMut::from(&(bytes.len() as u32).to_be_bytes()[..]);
            framed.extend_from_slice(&bytes);
            let _ = shared().deliver(&mut framed);
        }

        #[test]
        fn a_damaged_response_never_panics(at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let mut bytes = response(0, Some("x.Y"), b"cells");
            let i = at.index(bytes.len());
            bytes[i] = with;
            let _ = shared().deliver(&mut BytesMut::from(&bytes[..]));
        }

        #[test]
        fn frames_are_found_wherever_the_stream_is_cut(cuts in vec(1usize..40, 1..20)) {
            let shared = shared();
            let deadline = Deadline::after(Duration::from_secs(9));
            for id in 0..3 {
                let p = Pending { end: 0, deadline, waker: None, done: None };
                lock(&shared.state).pending.insert(id, p);
            }
            let stream: Vec<u8> = (0..3).flat_map(|id| response(id, None, &[id as u8; 5])).collect();
            let (mut buf, mut rest, mut cut) = (BytesMut::new(), &stream[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let n = (*cut.next().unwrap()).min(rest.len());
                buf.extend_from_slice(&rest[..n]);
                rest = &rest[n..];
                shared.deliver(&mut buf).unwrap();
            }
            for id in 0..3 {
                let done = lock(&shared.state).pending.remove(&id).unwrap().done.unwrap().unwrap();
                prop_assert_eq!(done.cells, vec![id as u8; 5]);
            }
        }
    }

    #[test]
    fn a_frame_beyond_the_limit_is_refused() {
        let mut buf = BytesMut::from(&[0xff; 8][..]);
        assert!(matches!(split_frame(&mut buf, 1 << 20), Err(Error::Protocol(_))));
    }

    /// Serves one connection: answers what `script` says, in order, after reading something.
    async fn server(script: Vec<Option<Vec<u8>>>) -> (String, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut s, _) = listener.accept().await.unwrap();
            let mut buf = BytesMut::new();
            for answer in script {
                s.read_buf(&mut buf).await.unwrap();
                match answer {
                    Some(bytes) => s.write_all(&bytes).await.unwrap(),
                    None => tokio::time::sleep(Duration::from_secs(60)).await,
                }
            }
        });
        ("127.0.0.1".into(), port)
    }

    async fn one_call(script: Vec<Option<Vec<u8>>>, timeout_ms: u64) -> Result<Response> {
        let (host, port) = server(script).await;
        let server = Servers::default().get(&host, port, Service::Client);
        let deadline = Deadline::after(Duration::from_millis(timeout_ms));
        let c = server.connection(&Config::default(), &Counters::default(), deadline).await?;
        c.call(CallSpec { method: "Get", priority: 0, deadline }, &Plain(proto::Empty {}))?.await
    }

    #[tokio::test]
    async fn an_answer_finds_its_call() {
        // An answer nobody waits for comes first.
        let bytes = [response(7, None, b""), response(0, None, b"cells")].concat();
        let mut r = one_call(vec![Some(bytes)], 5_000).await.unwrap();
        assert_eq!(r.cells, &b"cells"[..]);
        assert_eq!(r.message::<proto::GetResponse>().unwrap(), proto::GetResponse::default());
    }

    #[tokio::test]
    async fn an_exception_carries_its_class() {
        let e = one_call(vec![Some(response(0, Some("a.b.C"), b""))], 5_000).await.unwrap_err();
        assert_eq!(e.remote().unwrap().simple_class(), "C");
    }

    #[tokio::test]
    async fn a_silent_server_makes_a_timeout_of_unknown_effect() {
        let e = one_call(vec![None], 1_000).await.unwrap_err();
        assert!(matches!(e, Error::Timeout { sent: true, .. }), "{e:?}");
    }

    #[tokio::test]
    async fn a_server_that_hangs_up_leaves_the_effect_unknown() {
        let e = one_call(vec![Some(vec![])], 5_000).await.unwrap_err();
        assert!(matches!(e, Error::ConnectionLost { sent: true, .. }), "{e:?}");
    }

    #[tokio::test]
    async fn a_server_that_refuses_the_connection_says_why() {
        let bytes =
            response(u32::MAX, Some("org.apache.hadoop.hbase.ipc.FatalConnectionException"), b"");
        let e = one_call(vec![Some(bytes)], 5_000).await.unwrap_err();
        assert!(e.to_string().contains("FatalConnectionException"), "{e}");
    }

    #[tokio::test]
    async fn a_request_that_did_not_leave_certainly_had_no_effect() {
        // The server never reads: a request larger than the socket's buffers stays behind.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Servers::default().get("127.0.0.1", port, Service::Client);
        let deadline = Deadline::after(Duration::from_secs(20));
        let c =
            server.connection(&Config::default(), &Counters::default(), deadline).await.unwrap();
        let (socket, _) = listener.accept().await.unwrap();
        let spec = CallSpec { method: "Get", priority: 0, deadline };
        let big = proto::GetClusterIdResponse { cluster_id: Some("x".repeat(64 << 20)) };
        let call = c.call(spec, &Plain(big)).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        socket.set_zero_linger().unwrap();
        drop(socket);
        let e = call.await.unwrap_err();
        assert!(matches!(e, Error::ConnectionLost { sent: false, .. }), "{e:?}");
    }

    #[tokio::test]
    async fn a_port_without_a_server_is_refused_and_remembered() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let server = Servers::default().get("127.0.0.1", port, Service::Client);
        for _ in 0..2 {
            let deadline = Deadline::after(Duration::from_secs(5));
            let e =
                server.connection(&Config::default(), &Counters::default(), deadline).await.err();
            assert!(matches!(e, Some(Error::Connect { .. })), "{e:?}");
        }
    }

    #[tokio::test]
    async fn a_caller_without_time_is_no_failure_of_the_server() {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Servers::default().get("127.0.0.1", port, Service::Client);
        let open = async |after| {
            let deadline = Deadline::after(after);
            server.connection(&Config::default(), &Counters::default(), deadline).await.err()
        };
        // A listener whose queue is full answers nobody, until somebody is accepted.
        let mut queue = Vec::new();
        let connect = || TcpStream::connect(("127.0.0.1", port));
        while let Ok(stream) = tokio::time::timeout(Duration::from_millis(50), connect()).await {
            queue.push(stream.unwrap());
        }
        let late = open(Duration::from_millis(20)).await;
        assert!(matches!(late, Some(Error::Timeout { sent: false, .. })), "{late:?}");
        for _ in &queue {
            listener.accept().await.unwrap();
        }
        assert_eq!(open(Duration::from_secs(5)).await, None);
    }

    #[tokio::test]
    async fn dropping_the_connection_ends_its_task() {
        let (host, port) = server(vec![None]).await;
        let server = Servers::default().get(&host, port, Service::Client);
        let deadline = Deadline::after(Duration::from_secs(5));
        let c =
            server.connection(&Config::default(), &Counters::default(), deadline).await.unwrap();
        let shared = Arc::downgrade(&c.shared);
        drop((server, c));
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if shared.upgrade().is_none() {
                return;
            }
        }
        panic!("the task goes on");
    }
}
