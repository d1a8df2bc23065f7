//! Redis's binding against servers that break the protocol.
//!
//! What holds for every binding is checked by the conformance suite, against real servers; those
//! don't send a reply too many.

#![allow(clippy::unwrap_used)] // tests

use pacelc_bindings::redis::{Redis, RedisSession, resp};
use pacelc_bindings::{Binding, Context, Layout, Session};
use pacelc_core::{ErrorKind, FieldValue, Operation, Outcome, Rows, Shape, consistency};
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};
use tokio::time;

/// What a server does besides serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The reply comes twice, in one packet.
    Twice,
    /// The reply comes again a little later, and a while before the next one.
    TwiceLater,
    /// What comes instead of the reply.
    Instead(&'static [u8]),
    /// What comes instead, and again and again until the client hangs up.
    Flood(&'static [u8]),
    /// The connection is closed after the reply.
    Close,
}

/// A server of hashes of one field, and what its next command meets.
#[derive(Debug)]
struct Server {
    address: String,
    next: Rc<Cell<Fault>>,
    connections: Rc<Cell<u32>>,
    flooded_bytes: Rc<Cell<usize>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap().to_string(),
            next: Rc::new(Cell::new(Fault::None)),
            connections: Rc::default(),
            flooded_bytes: Rc::default(),
        };
        let (next, connections) = (Rc::clone(&server.next), Rc::clone(&server.connections));
        let flooded = Rc::clone(&server.flooded_bytes);
        let records: Rc<RefCell<HashMap<String, String>>> = Rc::default();
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.set(connections.get() + 1);
                let (next, records) = (Rc::clone(&next), Rc::clone(&records));
                spawn_local(serve(stream, next, records, Rc::clone(&flooded)));
            }
        });
        server
    }

    async fn user(&self) -> RedisSession {
        let target = json!({"database": "redis", "endpoints": [self.address]});
        let shape = Shape { nodes: 1, replication: 1 };
        let context = Context {
            target: serde_json::from_value(target).unwrap(),
            layout: Layout { table: "t".into(), fields: 1, record_bytes: 100, scan_records: 1 },
            consistency: consistency::resolve("redis", &"weak".into(), shape).unwrap(),
            users: 1,
            operation_timeout: Duration::from_secs(5),
        };
        Redis::open(&context).await.unwrap().session().await.unwrap()
    }
}

async fn serve(
    mut stream: TcpStream,
    next: Rc<Cell<Fault>>,
    records: Rc<RefCell<HashMap<String, String>>>,
    flooded: Rc<Cell<usize>>,
) {
    let mut received = Vec::new();
    loop {
        let Ok(Some(end)) = resp::end_of_reply(&received, 1 << 20) else {
            match stream.read_buf(&mut received).await {
                Ok(1..) => continue,
                _ => return,
            }
        };
        let words = resp::words(&received[..end]);
        received.drain(..end);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let reply = match words[..] {
            ["PING"] => b"+PONG\r\n".to_vec(),
            ["PING", word] => packed(&[word]),
            ["HSET", key, _, value] => {
                records.borrow_mut().insert(key.into(), value.into());
                b":1\r\n".to_vec()
            }
            ["HGETALL", key] => match records.borrow().get(key) {
                Some(value) => {
                    let mut reply = Vec::new();
                    resp::pack(&[b"field0", value.as_bytes()], &mut reply);
                    reply
                }
                None => b"*0\r\n".to_vec(),
            },
            _ => b"-ERR unknown command\r\n".to_vec(),
        };
        let fault = next.replace(Fault::None);
        let sent = match fault {
            Fault::None | Fault::Close => stream.write_all(&reply).await,
            Fault::Twice => stream.write_all(&[reply.as_slice(), &reply].concat()).await,
            Fault::TwiceLater => {
                stream.set_nodelay(true).unwrap();
                stream.write_all(&reply).await.unwrap();
                time::sleep(Duration::from_millis(20)).await;
                let sent = stream.write_all(&reply).await;
                time::sleep(Duration::from_millis(20)).await;
                sent
            }
            Fault::Instead(bytes) => stream.write_all(bytes).await,
            Fault::Flood(bytes) => {
                stream.write_all(bytes).await.unwrap();
                while stream.write_all(&[b'x'; 4096]).await.is_ok() {
                    flooded.set(flooded.get() + 4096);
                }
                return;
            }
        };
        if sent.is_err() || fault == Fault::Close {
            return;
        }
    }
}

/// One string as a reply of its own.
fn packed(words: &[&str]) -> Vec<u8> {
    let mut reply = Vec::new();
    resp::argument(words[0].as_bytes(), &mut reply);
    reply
}

/// The last value that was read.
#[derive(Debug, Default)]
struct Seen(String);

impl Rows for Seen {
    fn row(&mut self, _key: &[u8]) {}
    fn value(&mut self, _field: usize, value: &[u8]) {
        self.0 = String::from_utf8_lossy(value).into_owned();
    }
}

async fn read(user: &mut RedisSession, key: &str) -> (Outcome, String) {
    let mut seen = Seen::default();
    let outcome = user.execute(&Operation::Read { key, field: None }, &mut seen).await;
    (outcome, seen.0)
}

async fn update(user: &mut RedisSession, key: &str) -> Outcome {
    let values = [FieldValue { field: 0, value: key.as_bytes() }];
    user.execute(&Operation::Update { key, values: &values }, &mut ()).await
}

/// Each of the two records reads as itself.
async fn is_well(user: &mut RedisSession) {
    for key in ["a", "b", "a", "b"] {
        assert_eq!(read(user, key).await, (Outcome::Ok, key.to_owned()));
        assert_eq!(update(user, key).await, Outcome::Ok);
    }
}

fn run(test: impl AsyncFn(Server, RedisSession)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let server = Server::start().await;
        let mut user = server.user().await;
        for key in ["a", "b"] {
            assert_eq!(update(&mut user, key).await, Outcome::Ok);
        }
        is_well(&mut user).await;
        time::timeout(Duration::from_secs(10), test(server, user)).await.unwrap();
    });
}

fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.failure().map(|failure| failure.kind)
}

/// That one operation is in doubt, and none after it.
#[test]
fn a_reply_too_many_costs_the_operation_that_it_came_with_and_no_other() {
    run(async |server, mut user| {
        let before = server.connections.get();
        server.next.set(Fault::Twice);
        let (outcome, _) = read(&mut user, "a").await;
        assert_eq!(kind(&outcome), Some(ErrorKind::ConnectionLost));
        assert!(matches!(outcome, Outcome::Fail(_)), "{outcome:?}");
        is_well(&mut user).await;
        server.next.set(Fault::Twice);
        let outcome = update(&mut user, "a").await;
        assert_eq!(kind(&outcome), Some(ErrorKind::ConnectionLost));
        assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
        is_well(&mut user).await;
        assert_eq!(server.connections.get(), before + 2);
    });
}

#[test]
fn a_reply_that_comes_while_nobody_asks_is_found_before_the_next_command() {
    run(async |server, mut user| {
        server.next.set(Fault::TwiceLater);
        assert_eq!(read(&mut user, "a").await, (Outcome::Ok, "a".into()));
        time::sleep(Duration::from_millis(60)).await;
        // Nothing was sent, so that even an update certainly had no effect.
        let outcome = update(&mut user, "b").await;
        assert_eq!(kind(&outcome), Some(ErrorKind::ConnectionLost));
        assert!(matches!(outcome, Outcome::Fail(_)), "{outcome:?}");
        is_well(&mut user).await;
    });
}

/// It is taken for the answer, since nothing tells it from one; whoever proves what was read says so.
#[test]
fn a_reply_in_between_is_found_when_the_record_proves_to_be_another() {
    run(async |server, mut user| {
        server.next.set(Fault::TwiceLater);
        assert_eq!(read(&mut user, "a").await, (Outcome::Ok, "a".into()));
        assert_eq!(read(&mut user, "b").await, (Outcome::Ok, "a".into()));
        user.distrust();
        is_well(&mut user).await;
        // A connection that is in step is kept.
        let before = server.connections.get();
        user.distrust();
        is_well(&mut user).await;
        assert_eq!(server.connections.get(), before);
    });
}

#[test]
fn a_reply_of_another_type_is_no_answer() {
    let wrong: [&[u8]; 5] = [
        b"+OK\r\n",
        b":1\r\n",
        b"$1\r\na\r\n",
        b"*1\r\n$1\r\na\r\n",
        b"*2\r\n$1\r\na\r\n$1\r\nb\r\n",
    ];
    run(async |server, mut user| {
        for reply in &wrong[..4] {
            server.next.set(Fault::Instead(reply));
            let (outcome, _) = read(&mut user, "a").await;
            assert_eq!(kind(&outcome), Some(ErrorKind::ConnectionLost), "{reply:?}");
            assert!(matches!(outcome, Outcome::Fail(_)), "{outcome:?}");
            is_well(&mut user).await;
        }
        for reply in wrong.iter().filter(|reply| reply[0] != b':') {
            server.next.set(Fault::Instead(reply));
            let outcome = update(&mut user, "a").await;
            assert_eq!(kind(&outcome), Some(ErrorKind::ConnectionLost), "{reply:?}");
            assert!(matches!(outcome, Outcome::Unknown(_)), "{outcome:?}");
            is_well(&mut user).await;
        }
    });
}

#[test]
fn a_reply_of_absurd_length_is_given_up_when_it_says_so() {
    run(async |server, mut user| {
        for reply in [&b"*2\r\n$6\r\nfield0\r\n$536870000\r\n"[..], b"*536870000\r\n"] {
            server.next.set(Fault::Flood(reply));
            let (outcome, _) = read(&mut user, "a").await;
            assert_eq!(kind(&outcome), Some(ErrorKind::ConnectionLost));
            is_well(&mut user).await;
        }
        // What the sockets hold, not half a gigabyte.
        assert!(server.flooded_bytes.get() < 64 << 20, "{}", server.flooded_bytes.get());
    });
}

#[test]
fn a_connection_that_was_closed_meanwhile_costs_no_operation() {
    run(async |server, mut user| {
        server.next.set(Fault::Close);
        assert_eq!(update(&mut user, "a").await, Outcome::Ok);
        time::sleep(Duration::from_millis(20)).await;
        is_well(&mut user).await;
    });
}
