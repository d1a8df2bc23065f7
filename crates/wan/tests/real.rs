//! Real hosts: namespaces with devices, and TCP and UDP of the kernel's between them.
//!
//! Making a namespace needs a privilege, so a test in Python runs these where it is had.

use nix::sched::{CloneFlags, setns};
use pacelc_wan::{Control, serve};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

/// A network in a thread of this process, and who commands it.
struct Network {
    to: UnixStream,
    from: BufReader<UnixStream>,
    hosts: Value,
}

const A: &str = "10.77.0.1";
const B: &str = "10.77.0.2";

impl Network {
    fn of_two(links: &Value) -> Self {
        let spec = json!({
            "seed": 5,
            "hosts": [{ "name": "a", "address": A }, { "name": "b", "address": B }],
            "links": links,
        });
        let (to, input) = UnixStream::pair().expect("a pair");
        let (output, from) = UnixStream::pair().expect("a pair");
        thread::spawn(move || {
            serve(&spec.to_string(), Control::new(input.into(), output.into())).expect("it serves");
        });
        let mut network = Self { to, from: BufReader::new(from), hosts: Value::Null };
        network.hosts = network.hear()["hosts"].clone();
        network
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    fn ask(&mut self, command: &Value) -> Value {
        writeln!(self.to, "{command}").expect("it listens");
        self.hear()
    }

    fn counter(&mut self, from: &str, to: &str, name: &str) -> u64 {
        let counters = self.ask(&json!({ "do": "counters" }));
        let pairs = counters["pairs"].as_array().expect("pairs").clone();
        let pair = pairs.iter().find(|pair| pair["from"] == from && pair["to"] == to);
        pair.map_or(0, |pair| pair[name].as_u64().expect("a count"))
    }

    /// Does something inside a host.
    fn inside<T: Send + 'static>(
        &self,
        host: &str,
        what: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let path = self.hosts[host].as_str().expect("a path").to_owned();
        thread::spawn(move || {
            setns(File::open(path).expect("a namespace"), CloneFlags::CLONE_NEWNET).expect("enter");
            what()
        })
        .join()
        .expect("no panic")
    }

    /// A server inside a host that answers each byte.
    fn echo(&self, host: &'static str, address: &'static str) -> SocketAddr {
        let listener = self.inside(host, move || TcpListener::bind((address, 0)).expect("listen"));
        let at = listener.local_addr().expect("an address");
        thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                stream.set_nodelay(true).expect("a socket");
                thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
                });
            }
        });
        at
    }

    fn connect(&self, host: &'static str, to: SocketAddr) -> TcpStream {
        let stream = self.inside(host, move || TcpStream::connect(to).expect("a connection"));
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket");
        stream
    }
}

/// Round trips over a connection, sorted.
fn round_trips(stream: &mut TcpStream, count: usize) -> Vec<Duration> {
    let mut times: Vec<Duration> = (0..count)
        .map(|_| {
            let begin = Instant::now();
            stream.write_all(b"x").expect("it is open");
            stream.read_exact(&mut [0]).expect("an answer");
            begin.elapsed()
        })
        .collect();
    times.sort();
    times
}

fn both_ways(properties: &Value) -> Value {
    let mut link = properties.clone();
    link["from"] = json!(["a", "b"]);
    link["to"] = json!(["a", "b"]);
    json!([link])
}

#[test]
#[ignore = "needs the right to make network namespaces"]
fn a_round_trip_takes_what_both_links_take() {
    let links = both_ways(&json!({ "delay_us": 10_000 }));
    let mut network = Network::of_two(&links);
    let mut stream = network.connect("a", network.echo("b", B));
    // Of a busy machine the quickest says how far it is. `benches` has the narrow limits.
    let times = round_trips(&mut stream, 41);
    assert!(times[20] >= Duration::from_millis(20), "{times:?}");
    assert!(times[0] < Duration::from_millis(24), "{times:?}");
    // Changed while a connection is open.
    network.ask(
        &json!({ "do": "links", "links": [{ "from": ["a"], "to": ["b"], "delay_us": 5_000 }] }),
    );
    let times = round_trips(&mut stream, 41);
    assert!(times[20] >= Duration::from_millis(15), "{times:?}");
    assert!(times[0] < Duration::from_millis(19), "{times:?}");
}

#[test]
#[ignore = "needs the right to make network namespaces"]
fn a_cut_holds_from_the_next_packet_on_and_heals() {
    let mut network = Network::of_two(&json!([]));
    let mut stream = network.connect("a", network.echo("b", B));
    round_trips(&mut stream, 10);
    network.ask(&json!({ "do": "cut", "cut": [["a", "b"], ["b", "a"]] }));
    let (from_a, from_b) =
        (network.counter("a", "b", "delivered"), network.counter("b", "a", "delivered"));
    stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a socket");
    stream.write_all(b"x").expect("it is buffered");
    assert!(stream.read_exact(&mut [0]).is_err(), "nothing comes back");
    assert_eq!(network.counter("a", "b", "delivered"), from_a);
    assert_eq!(network.counter("b", "a", "delivered"), from_b);
    assert!(network.counter("a", "b", "cut") > 0);
    network.ask(&json!({ "do": "cut", "cut": [] }));
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
    stream.read_exact(&mut [0]).expect("it was sent again");
    round_trips(&mut stream, 10);
}

#[test]
#[ignore = "needs the right to make network namespaces"]
fn one_way_is_one_way() {
    let mut network = Network::of_two(&json!([]));
    let (a, b) = (
        network.inside("a", || UdpSocket::bind((A, 0)).expect("a socket")),
        network.inside("b", || UdpSocket::bind((B, 0)).expect("a socket")),
    );
    let wait = Some(Duration::from_millis(300));
    a.set_read_timeout(wait).expect("a socket");
    b.set_read_timeout(wait).expect("a socket");
    network.ask(&json!({ "do": "cut", "cut": [["a", "b"]] }));
    a.send_to(b"x", b.local_addr().expect("an address")).expect("sent");
    assert!(b.recv(&mut [0]).is_err());
    b.send_to(b"x", a.local_addr().expect("an address")).expect("sent");
    assert_eq!(a.recv(&mut [0]).expect("it comes"), 1);
}

/// Sends 20 MB; how long the last byte took to come.
fn transfer(network: &Network) -> Duration {
    const BYTES: usize = 20_000_000;
    let listener = network.inside("b", || TcpListener::bind((B, 0)).expect("listen"));
    let to = listener.local_addr().expect("an address");
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut hash = 0_u64;
        let mut buffer = vec![0; 1 << 16];
        let mut total = 0;
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            for byte in &buffer[..count] {
                hash = hash.wrapping_mul(31).wrapping_add(u64::from(*byte));
            }
            total += count;
        }
        (total, hash)
    });
    let sent: Vec<u8> = (0..BYTES).map(|index| ((index * index) >> 7) as u8).collect();
    let expected =
        sent.iter().fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let begin = Instant::now();
    let mut stream = network.connect("a", to);
    stream.write_all(&sent).expect("it takes all");
    drop(stream);
    assert_eq!(receiver.join().expect("no panic"), (BYTES, expected));
    begin.elapsed()
}

#[test]
#[ignore = "needs the right to make network namespaces"]
fn every_byte_arrives_whatever_the_link_does_to_packets() {
    for properties in [
        json!({}),
        json!({ "delay_us": 500, "jitter_us": 300, "jitter": "normal" }),
        json!({ "loss": 0.01, "duplicate": 0.02, "reorder": 0.02, "delay_us": 100 }),
    ] {
        let mut network = Network::of_two(&both_ways(&properties));
        transfer(&network);
        let lost = network.counter("a", "b", "lost");
        assert_eq!(lost > 0, properties.get("loss").is_some(), "{properties}: {lost}");
        assert_eq!(network.counter("a", "b", "overflowed"), 0, "{properties}");
    }
}

#[test]
#[ignore = "needs the right to make network namespaces"]
fn a_narrow_link_is_as_narrow_as_it_says() {
    let links = both_ways(&json!({ "bandwidth_bps": 200e6 }));
    let network = Network::of_two(&links);
    let took_s = [(); 3].map(|()| transfer(&network).as_secs_f64());
    // 20 MB, and 4 % of headers: 0.83 s at 200 Mbit/s; longer where the machine stands still.
    assert!(took_s.iter().all(|s| *s >= 0.8), "{took_s:?}");
    assert!(took_s.iter().any(|s| *s < 2.0), "{took_s:?}");
}

#[test]
#[ignore = "needs the right to make network namespaces"]
fn what_cannot_be_is_said_and_changes_nothing() {
    let mut network = Network::of_two(&json!([]));
    for (command, says) in [
        (json!({ "do": "cut", "cut": [["a", "c"]] }), "no host \"c\""),
        (
            json!({ "do": "links", "links": [{ "from": ["a"], "to": ["b"], "loss": 2 }] }),
            "probability",
        ),
        (
            json!({ "do": "links", "links": [{ "from": ["a"], "to": ["b"], "los": 1 }] }),
            "unknown field",
        ),
        (json!({ "do": "dance" }), "unknown variant"),
        (json!([1]), ""),
    ] {
        let reply = network.ask(&command);
        assert!(reply["error"].as_str().is_some_and(|e| e.contains(says)), "{command}: {reply}");
    }
    let mut stream = network.connect("a", network.echo("b", B));
    round_trips(&mut stream, 3);
}
