//! A cluster inside the test: servers that speak enough of the protocol to answer as a script says, so that what the
//! client does after each kind of answer can be told exactly.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::cell::{Cell, write_cell};
use crate::rpc::lock;
use crate::{Client, Config, Effect, Error, Get, Put, ReadMode, Table, TableName, proto};

/// What a server does with one get or mutation; afterwards (and by default) it serves.
#[derive(Clone, Debug)]
enum Reply {
    Serve,
    Exception(&'static str),
    MovedTo(u16),
    Silence,
    HangUp,
}

/// What all servers of the fake cluster know.
struct World {
    /// What `hbase:meta` says: the port of each replica of the only region.
    places: Mutex<Vec<u16>>,
    /// Port of the registry and of `hbase:meta`.
    home: u16,
}

struct FakeServer {
    port: u16,
    script: Arc<Mutex<VecDeque<Reply>>>,
    served: Arc<Mutex<u32>>,
}

fn cell_block(cells: &[(&[u8], &[u8], &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    for &(family, qualifier, value) in cells {
        let cell = Cell { row: b"row", family, qualifier, timestamp: 1, cell_type: 4, value };
        write_cell(&mut block, &cell);
    }
    block
}

fn meta_answer(world: &World) -> (Vec<u8>, Vec<u8>) {
    let info = proto::RegionInfo {
        region_id: 1,
        table_name: TableName::new("t").unwrap().to_proto(),
        ..Default::default()
    };
    let info = [b"PBUF".to_vec(), info.encode_to_vec()].concat();
    let places = lock(&world.places).clone();
    let columns: Vec<_> = places
        .iter()
        .enumerate()
        .map(|(id, port)| {
            let name = if id == 0 { "server".into() } else { format!("server_{id:04X}") };
            (name, format!("127.0.0.1:{port}"))
        })
        .collect();
    let mut cells: Vec<(&[u8], &[u8], &[u8])> = vec![(b"info", b"regioninfo", &info)];
    cells.extend(columns.iter().map(|(q, v)| (&b"info"[..], q.as_bytes(), v.as_bytes())));
    let message = proto::ScanResponse {
        cells_per_result: vec![cells.len() as u32],
        more_results_in_region: Some(false),
        ..Default::default()
    };
    (message.encode_to_vec(), cell_block(&cells))
}

fn answer(world: &World, method: &str) -> (Vec<u8>, Vec<u8>) {
    match method {
        "GetClusterId" => {
            let m = proto::GetClusterIdResponse { cluster_id: Some("fake".into()) };
            (m.encode_to_vec(), vec![])
        }
        "GetMetaRegionLocations" => {
            let location = proto::RegionLocation {
                server_name: Some(proto::ServerName {
                    host_name: "127.0.0.1".into(),
                    port: Some(u32::from(world.home)),
                    start_code: None,
                }),
                ..Default::default()
            };
            let m = proto::GetMetaRegionLocationsResponse { meta_locations: vec![location] };
            (m.encode_to_vec(), vec![])
        }
        "Scan" => meta_answer(world),
        "Get" => {
            let result = proto::RowResult { associated_cell_count: Some(1), ..Default::default() };
            let m = proto::GetResponse { result: Some(result) };
            (m.encode_to_vec(), cell_block(&[(b"f", b"q", b"v")]))
        }
        _ => (vec![], vec![]),
    }
}

async fn serve(
    mut socket: TcpStream,
    world: Arc<World>,
    script: Arc<Mutex<VecDeque<Reply>>>,
    served: Arc<Mutex<u32>>,
) -> std::io::Result<()> {
    let mut buf = BytesMut::new();
    let mut greeted = false;
    loop {
        let frame_at = if greeted { 0 } else { 6 };
        let length = buf.get(frame_at..frame_at + 4).map(|mut b| b.get_u32() as usize);
        let Some(length) = length.filter(|n| buf.len() >= frame_at + 4 + n) else {
            if socket.read_buf(&mut buf).await? == 0 {
                return Ok(());
            }
            continue;
        };
        buf.advance(frame_at + 4);
        let mut frame = buf.split_to(length).freeze();
        if !greeted {
            greeted = true;
            continue;
        }
        let header = proto::RequestHeader::decode_length_delimited(&mut frame).unwrap();
        let method = header.method_name.unwrap_or_default();
        let mut reply = Reply::Serve;
        if method == "Get" || method == "Mutate" {
            *lock(&served) += 1;
            reply = lock(&script).pop_front().unwrap_or(Reply::Serve);
        }
        let exception = match reply {
            Reply::Serve => None,
            Reply::Exception(class) => Some(proto::ExceptionResponse {
                exception_class_name: Some(class.into()),
                ..Default::default()
            }),
            Reply::MovedTo(port) => Some(proto::ExceptionResponse {
                exception_class_name: Some("x.RegionMovedException".into()),
                hostname: Some("127.0.0.1".into()),
                port: Some(i32::from(port)),
                ..Default::default()
            }),
            Reply::Silence => continue,
            Reply::HangUp => return Ok(()),
        };
        let failed = exception.is_some();
        let (message, cells) = answer(&world, &method);
        let cells = if failed { vec![] } else { cells };
        let header = proto::ResponseHeader {
            call_id: header.call_id,
            exception,
            cell_block_meta: Some(proto::CellBlockMeta { length: Some(cells.len() as u32) }),
        };
        let mut body = header.encode_length_delimited_to_vec();
        if !failed {
            prost::encode_length_delimiter(message.len(), &mut body).unwrap();
            body.extend(message);
        }
        body.extend(cells);
        // In one write: two would wait for each other's acknowledgement (Nagle's algorithm).
        let frame = [&(body.len() as u32).to_be_bytes(), &body[..]].concat();
        socket.write_all(&frame).await?;
    }
}

/// `n` servers, all in one world; the first is home to registry and `hbase:meta`. The region is at the second.
async fn cluster(n: usize) -> (Arc<World>, Vec<FakeServer>) {
    let mut listeners = Vec::new();
    for _ in 0..n {
        listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
    }
    let port = |l: &TcpListener| l.local_addr().unwrap().port();
    let world = Arc::new(World {
        places: Mutex::new(vec![port(&listeners[1])]),
        home: port(&listeners[0]),
    });
    let mut servers = Vec::new();
    for listener in listeners {
        let server =
            FakeServer { port: port(&listener), script: Arc::default(), served: Arc::default() };
        let (script, count) = (Arc::clone(&server.script), Arc::clone(&server.served));
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let parts = (Arc::clone(&world), Arc::clone(&script), Arc::clone(&count));
                tokio::spawn(serve(socket, parts.0, parts.1, parts.2));
            }
        });
        servers.push(server);
    }
    (world, servers)
}

impl FakeServer {
    fn plays(&self, script: &[Reply]) {
        lock(&self.script).extend(script.iter().cloned());
    }

    fn served(&self) -> u32 {
        *lock(&self.served)
    }
}

async fn table(world: &World, change: impl FnOnce(&mut Config)) -> (Client, Table) {
    let mut config = Config::new([format!("127.0.0.1:{}", world.home)]);
    config.operation_timeout = Duration::from_millis(400);
    change(&mut config);
    let client = Client::connect(config).await.unwrap();
    let table = client.table("t").unwrap();
    (client, table)
}

fn put() -> Put {
    Put::new("row").column("f", "q", "v")
}

const NOT_SERVING: Reply = Reply::Exception("org.apache.hadoop.hbase.NotServingRegionException");
const TOO_BUSY: Reply = Reply::Exception("org.apache.hadoop.hbase.RegionTooBusyException");
const STRANGE: Reply = Reply::Exception("java.io.IOException");

#[tokio::test]
async fn a_known_place_is_asked_directly() {
    let (world, servers) = cluster(2).await;
    let (client, table) = table(&world, |_| ()).await;
    for _ in 0..3 {
        let row = table.get(&Get::new("row")).await.unwrap();
        assert_eq!(row.value(b"f", b"q"), Some(&b"v"[..]));
    }
    let counts = client.counts();
    assert_eq!((servers[1].served(), counts.lookups, counts.relocations), (3, 2, 0)); // registry, hbase:meta
}

#[tokio::test]
async fn an_operation_that_was_not_executed_goes_where_the_region_went() {
    let (world, servers) = cluster(3).await;
    let (client, table) = table(&world, |_| ()).await;
    servers[1].plays(&[NOT_SERVING]);
    table.put(&put()).await.unwrap();
    assert_eq!((servers[1].served(), client.counts().relocations), (2, 1));
    servers[1].plays(&[Reply::MovedTo(servers[2].port)]);
    let lookups = client.counts().lookups;
    table.put(&put()).await.unwrap();
    assert_eq!((servers[1].served(), servers[2].served()), (3, 1));
    assert_eq!(
        client.counts().lookups,
        lookups,
        "the exception told the place; nobody had to be asked"
    );
}

#[tokio::test]
async fn relocations_end_and_the_operation_certainly_failed() {
    let (world, servers) = cluster(2).await;
    let (client, table) = table(&world, |c| c.relocations = 2).await;
    servers[1].plays(&[NOT_SERVING, NOT_SERVING, NOT_SERVING, NOT_SERVING]);
    let e = table.put(&put()).await.unwrap_err();
    assert_eq!((e.name(), e.effect()), ("NotServingRegionException", Effect::None));
    assert_eq!((servers[1].served(), client.counts().relocations), (3, 2));
}

#[tokio::test]
async fn what_may_have_been_executed_is_not_repeated_unless_asked() {
    for (reply, name) in
        [(Reply::Silence, "Timeout"), (Reply::HangUp, "ConnectionLost"), (STRANGE, "IOException")]
    {
        let (world, servers) = cluster(2).await;
        let (client, table) = table(&world, |_| ()).await;
        servers[1].plays(std::slice::from_ref(&reply));
        let e = table.put(&put()).await.unwrap_err();
        assert_eq!((e.name(), e.effect()), (name, Effect::Unknown));
        assert_eq!((servers[1].served(), client.counts().retries), (1, 0));
        table.put(&put()).await.unwrap(); // the next operation finds its way
    }
    for reply in [Reply::HangUp, STRANGE] {
        let (world, servers) = cluster(2).await;
        let (client, table) = table(&world, |c| c.retries = 1).await;
        servers[1].plays(&[reply]);
        table.put(&put()).await.unwrap();
        assert_eq!((servers[1].served(), client.counts().retries), (2, 1));
    }
}

#[tokio::test]
async fn overload_is_told_and_not_hidden() {
    let (world, servers) = cluster(2).await;
    let (_client, table) = table(&world, |c| c.retries = 0).await;
    servers[1].plays(&[TOO_BUSY]);
    let e = table.put(&put()).await.unwrap_err();
    assert_eq!((e.name(), e.effect()), ("RegionTooBusyException", Effect::None));
    assert_eq!(servers[1].served(), 1);
}

#[tokio::test]
async fn nobody_at_the_place_that_meta_names_is_an_error_at_once() {
    let (world, servers) = cluster(3).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    *lock(&world.places) = vec![closed];
    let (client, table) = table(&world, |_| ()).await;
    let e = table.put(&put()).await.unwrap_err();
    assert!(matches!(e, Error::Connect { .. }), "{e:?}");
    assert_eq!((e.effect(), client.counts().relocations), (Effect::None, 0));
    // Once hbase:meta names another place, the operation goes there.
    *lock(&world.places) = vec![servers[2].port];
    table.put(&put()).await.unwrap();
    assert_eq!(servers[2].served(), 1);
}

#[tokio::test]
async fn a_slow_primary_is_hedged_and_a_fast_one_is_not() {
    let (world, servers) = cluster(4).await;
    *lock(&world.places) = servers[1..].iter().map(|s| s.port).collect();
    let (client, table) = table(&world, |c| c.operation_timeout = Duration::from_secs(5)).await;
    let get = Get::new("row").mode(ReadMode::PrimaryThenReplicas(Duration::from_millis(300)));
    let row = table.get(&get).await.unwrap();
    assert_eq!((row.replica(), client.counts().hedges), (0, 0));
    servers[1].plays(&[Reply::Silence]);
    let row = table.get(&get).await.unwrap();
    assert!(row.replica() > 0);
    assert_eq!(client.counts().hedges, 2);
    // Nobody answers but the primary, late: its answer counts.
    servers[2].plays(&[STRANGE]);
    servers[3].plays(&[STRANGE]);
    let now = Get::new("row").mode(ReadMode::PrimaryThenReplicas(Duration::ZERO));
    assert_eq!(table.get(&now).await.unwrap().replica(), 0);
}

#[tokio::test]
async fn if_no_replica_answers_the_primarys_error_is_told() {
    let (world, servers) = cluster(3).await;
    *lock(&world.places) = servers[1..].iter().map(|s| s.port).collect();
    let (_client, table) = table(&world, |_| ()).await;
    servers[1].plays(&[TOO_BUSY]);
    servers[2].plays(&[STRANGE]);
    let get = Get::new("row").mode(ReadMode::PrimaryThenReplicas(Duration::from_millis(40)));
    assert_eq!(table.get(&get).await.unwrap_err().name(), "RegionTooBusyException");
}

#[tokio::test]
async fn a_batch_to_a_silent_server_is_unknown_action_by_action() {
    let (world, _servers) = cluster(2).await;
    let (_client, table) = table(&world, |_| ()).await;
    // The fake server answers a multi with an empty message: no region answered.
    let answers = table.multi(vec![put().into(), Get::new("row").into()]).await;
    assert_eq!(answers.len(), 2);
    for a in answers {
        let e = a.unwrap_err();
        assert_eq!((e.name(), e.effect()), ("Protocol", Effect::Unknown));
    }
}

#[tokio::test]
async fn a_thousand_tasks_ask_for_the_place_once() {
    let (world, servers) = cluster(2).await;
    let (client, table) = table(&world, |c| c.operation_timeout = Duration::from_secs(20)).await;
    let get = Get::new(Bytes::from_static(b"row"));
    let gets = (0..1_000).map(|_| table.get(&get));
    let rows = futures::future::join_all(gets).await;
    assert!(rows.iter().all(|r| r.as_ref().is_ok_and(|r| r.len() == 1)));
    assert_eq!((servers[1].served(), client.counts().lookups), (1_000, 2));
    assert_eq!(client.counts().connections, 3); // registry, hbase:meta, the region
}
