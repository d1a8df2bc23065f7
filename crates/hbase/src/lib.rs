//! A native, asynchronous client of HBase 2.5, made to be measured with.
//!
//! It speaks HBase's own RPC protocol over tokio: one connection a region server, calls multiplexed, cells in
//! `KeyValueCodec` blocks, regions found through the masters' registry and `hbase:meta` without ZooKeeper. Each operation
//! carries its consistency ([`ReadMode`]: `STRONG`, or `TIMELINE` with or without hedging) and its [`Durability`]. It costs
//! little, hides nothing (no operation that may have been executed is repeated unless asked), and every error says
//! whether the operation may have taken effect ([`Error::effect`]).
//!
//! # Start here
//!
//! ```no_run
//! # async fn f() -> pacelc_hbase::Result<()> {
//! use pacelc_hbase::{Client, Config, Durability, FamilySpec, Get, Put, ReadMode, Scan, TableSpec};
//!
//! let client = Client::connect(Config::new(["127.0.0.1:16000"])).await?;
//! client.admin().create_table(&TableSpec::new("t").family(FamilySpec::new("f")).replicas(3)).await?;
//!
//! let table = client.table("t")?;
//! table.put(&Put::new("row").column("f", "q", "value").durability(Durability::FsyncWal)).await?;
//! let row = table.get(&Get::new("row").mode(ReadMode::TIMELINE)).await?;
//! println!("{:?} from replica {}, stale: {}", row.value(b"f", b"q"), row.replica(), row.stale());
//! let rows = table.scan_all(Scan::new().start("r").limit(10)).await?;
//! # Ok(()) }
//! ```
//!
//! # Map
//!
//! | file | one reason |
//! |---|---|
//! | `client.rs` | [`Client`] |
//! | `core.rs` | what tables share: locating regions, and the loop that decides what follows an error |
//! | `table.rs` | [`Table`]: get, put, delete, multi |
//! | `hedge.rs` | reads that ask replicas, too |
//! | `scan.rs` | [`Scanner`] |
//! | `admin.rs` | [`Admin`]: tables, regions, cluster state |
//! | `ops.rs` | what can be asked: [`Get`], [`Put`], [`Delete`], [`Scan`], [`ReadMode`], [`Durability`] |
//! | `cell.rs` | cells as bytes, and [`Row`] |
//! | `locate.rs` | [`TableName`], [`Region`], rows of `hbase:meta`, the cache of regions |
//! | `registry.rs` | bootstrap from the masters |
//! | `rpc.rs` | connections, calls, deadlines |
//! | `wire.rs` | requests as bytes, the hot path written by hand |
//! | `proto.rs` | the messages |
//! | `error.rs` | [`Error`], and what each error means |
//!
//! # Limitations
//!
//! SIMPLE authentication only: no Kerberos, no tokens, no TLS. No filters, coprocessors, increments, appends, conditional
//! writes, tags, cell compression or reversed scans. Only the primary of `hbase:meta` is asked. Batches are not hedged.
//! A hedged scan that loses the race leaves its scanner to the server's lease, if the region had more rows. Rows wider
//! than memory can't be scanned (no partial results). Requests of an overloaded server queue in memory until their
//! deadline. Checked against HBase 2.5.12; other 2.x versions speak the same protocol but are not tested.

#![allow(clippy::doc_markdown)] // HBase and ZooKeeper are names, not code

mod admin;
mod cell;
mod client;
mod config;
mod core;
mod error;
#[cfg(test)]
mod fake;
mod hedge;
mod locate;
mod ops;
mod proto;
mod registry;
mod rpc;
mod scan;
mod table;
mod wire;

pub use admin::{Admin, ClusterStatus, FamilySpec, ServerId, TableSpec, TableState};
pub use cell::{Cell, CellType, Cells, LATEST_TIMESTAMP, Row};
pub use client::{Client, Counts};
pub use config::Config;
pub use error::{Effect, Error, RemoteError, Result};
pub use locate::{Region, Replica, TableName};
pub use ops::{Action, Delete, Durability, Get, Put, ReadMode, Scan};
pub use scan::Scanner;
pub use table::Table;
