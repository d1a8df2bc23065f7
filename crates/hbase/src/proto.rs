//! The subset of HBase 2.5's protocol buffers that this client speaks.
//!
//! Written by hand with `prost`'s derive, so that no `protoc` is needed to build. Names, field numbers and the
//! difference between required and optional follow `hbase-protocol-shaded` 2.5 (`RPC.proto`, `Client.proto`,
//! `HBase.proto`, `Registry.proto`, `Master.proto`, `Admin.proto`, `ClusterStatus.proto`, `ErrorHandling.proto`).
//! Fields that this client neither sends nor reads are left out: protocol buffers skip them.
//!
//! On the hot path (`Get`, `Mutate`, request headers) [`crate::wire`] writes the same bytes without building these
//! structures; its tests hold the two against each other.
#![allow(missing_docs, clippy::struct_field_names)] // the .proto files of HBase document and name them

use bytes::Bytes;
use prost::{Enumeration, Message};

// ---- RPC.proto

#[derive(Clone, PartialEq, Message)]
pub struct UserInformation {
    #[prost(string, required, tag = "1")]
    pub effective_user: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct VersionInfo {
    #[prost(string, required, tag = "1")]
    pub version: String,
    #[prost(string, required, tag = "2")]
    pub url: String,
    #[prost(string, required, tag = "3")]
    pub revision: String,
    #[prost(string, required, tag = "4")]
    pub user: String,
    #[prost(string, required, tag = "5")]
    pub date: String,
    #[prost(string, required, tag = "6")]
    pub src_checksum: String,
    #[prost(uint32, optional, tag = "7")]
    pub version_major: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    pub version_minor: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ConnectionHeader {
    #[prost(message, optional, tag = "1")]
    pub user_info: Option<UserInformation>,
    #[prost(string, optional, tag = "2")]
    pub service_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub cell_block_codec_class: Option<String>,
    #[prost(message, optional, tag = "5")]
    pub version_info: Option<VersionInfo>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct CellBlockMeta {
    #[prost(uint32, optional, tag = "1")]
    pub length: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RequestHeader {
    #[prost(uint32, optional, tag = "1")]
    pub call_id: Option<u32>,
    #[prost(string, optional, tag = "3")]
    pub method_name: Option<String>,
    #[prost(bool, optional, tag = "4")]
    pub request_param: Option<bool>,
    #[prost(message, optional, tag = "5")]
    pub cell_block_meta: Option<CellBlockMeta>,
    #[prost(uint32, optional, tag = "6")]
    pub priority: Option<u32>,
    #[prost(uint32, optional, tag = "7")]
    pub timeout: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExceptionResponse {
    #[prost(string, optional, tag = "1")]
    pub exception_class_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub stack_trace: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub hostname: Option<String>,
    #[prost(int32, optional, tag = "4")]
    pub port: Option<i32>,
    #[prost(bool, optional, tag = "5")]
    pub do_not_retry: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub server_overloaded: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    #[prost(uint32, optional, tag = "1")]
    pub call_id: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub exception: Option<ExceptionResponse>,
    #[prost(message, optional, tag = "3")]
    pub cell_block_meta: Option<CellBlockMeta>,
}

// ---- HBase.proto

#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct TableName {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub namespace: Bytes,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub qualifier: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct BytesBytesPair {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub first: Bytes,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub second: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct NameBytesPair {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ColumnFamilySchema {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub name: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<BytesBytesPair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableSchema {
    #[prost(message, optional, tag = "1")]
    pub table_name: Option<TableName>,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<BytesBytesPair>,
    #[prost(message, repeated, tag = "3")]
    pub column_families: Vec<ColumnFamilySchema>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableState {
    /// 0 enabled, 1 disabled, 2 disabling, 3 enabling.
    #[prost(int32, required, tag = "1")]
    pub state: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionInfo {
    #[prost(uint64, required, tag = "1")]
    pub region_id: u64,
    #[prost(message, required, tag = "2")]
    pub table_name: TableName,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub start_key: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub end_key: Option<Bytes>,
    #[prost(bool, optional, tag = "5")]
    pub offline: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub split: Option<bool>,
    #[prost(int32, optional, tag = "7")]
    pub replica_id: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionSpecifier {
    /// 1 region name, 2 encoded region name.
    #[prost(int32, required, tag = "1")]
    pub r#type: i32,
    #[prost(bytes = "bytes", required, tag = "2")]
    pub value: Bytes,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct ServerName {
    #[prost(string, required, tag = "1")]
    pub host_name: String,
    #[prost(uint32, optional, tag = "2")]
    pub port: Option<u32>,
    #[prost(uint64, optional, tag = "3")]
    pub start_code: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionLocation {
    #[prost(message, required, tag = "1")]
    pub region_info: RegionInfo,
    #[prost(message, optional, tag = "2")]
    pub server_name: Option<ServerName>,
    #[prost(int64, required, tag = "3")]
    pub seq_num: i64,
}

// ---- Registry.proto

#[derive(Clone, PartialEq, Message)]
pub struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub struct GetClusterIdResponse {
    #[prost(string, optional, tag = "1")]
    pub cluster_id: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetActiveMasterResponse {
    #[prost(message, optional, tag = "1")]
    pub server_name: Option<ServerName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetMetaRegionLocationsResponse {
    #[prost(message, repeated, tag = "1")]
    pub meta_locations: Vec<RegionLocation>,
}

// ---- Client.proto

#[derive(Clone, PartialEq, Message)]
pub struct Cell {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub row: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub family: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub qualifier: Option<Bytes>,
    #[prost(uint64, optional, tag = "4")]
    pub timestamp: Option<u64>,
    #[prost(int32, optional, tag = "5")]
    pub cell_type: Option<i32>,
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub value: Option<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Column {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub family: Bytes,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub qualifier: Vec<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum Consistency {
    Strong = 0,
    Timeline = 1,
}

#[derive(Clone, PartialEq, Message)]
pub struct Get {
    #[prost(bytes = "bytes", required, tag = "1")]
    pub row: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub column: Vec<Column>,
    #[prost(uint32, optional, tag = "6")]
    pub max_versions: Option<u32>,
    #[prost(bool, optional, tag = "7")]
    pub cache_blocks: Option<bool>,
    #[prost(bool, optional, tag = "10")]
    pub existence_only: Option<bool>,
    #[prost(enumeration = "Consistency", optional, tag = "12")]
    pub consistency: Option<i32>,
}

/// Written by hand in [`crate::wire`].
#[cfg(test)]
#[derive(Clone, PartialEq, Message)]
pub struct GetRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(message, required, tag = "2")]
    pub get: Get,
}

/// `Result` in HBase's files; renamed, for Rust has another.
#[derive(Clone, PartialEq, Message)]
pub struct RowResult {
    #[prost(message, repeated, tag = "1")]
    pub cell: Vec<Cell>,
    #[prost(int32, optional, tag = "2")]
    pub associated_cell_count: Option<i32>,
    #[prost(bool, optional, tag = "3")]
    pub exists: Option<bool>,
    #[prost(bool, optional, tag = "4")]
    pub stale: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    pub partial: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<RowResult>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MutationProto {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub row: Option<Bytes>,
    /// 0 append, 1 increment, 2 put, 3 delete.
    #[prost(int32, optional, tag = "2")]
    pub mutate_type: Option<i32>,
    #[prost(uint64, optional, tag = "4")]
    pub timestamp: Option<u64>,
    #[prost(int32, optional, tag = "6")]
    pub durability: Option<i32>,
    #[prost(int32, optional, tag = "8")]
    pub associated_cell_count: Option<i32>,
}

/// Written by hand in [`crate::wire`].
#[cfg(test)]
#[derive(Clone, PartialEq, Message)]
pub struct MutateRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(message, required, tag = "2")]
    pub mutation: MutationProto,
}

#[derive(Clone, PartialEq, Message)]
pub struct MutateResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<RowResult>,
    #[prost(bool, optional, tag = "2")]
    pub processed: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Scan {
    #[prost(message, repeated, tag = "1")]
    pub column: Vec<Column>,
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub start_row: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub stop_row: Option<Bytes>,
    #[prost(uint32, optional, tag = "7")]
    pub max_versions: Option<u32>,
    #[prost(bool, optional, tag = "8")]
    pub cache_blocks: Option<bool>,
    #[prost(uint64, optional, tag = "10")]
    pub max_result_size: Option<u64>,
    #[prost(bool, optional, tag = "15")]
    pub reversed: Option<bool>,
    #[prost(enumeration = "Consistency", optional, tag = "16")]
    pub consistency: Option<i32>,
    #[prost(uint32, optional, tag = "17")]
    pub caching: Option<u32>,
    #[prost(bool, optional, tag = "21")]
    pub include_start_row: Option<bool>,
    #[prost(bool, optional, tag = "22")]
    pub include_stop_row: Option<bool>,
    /// 0 default, 1 stream, 2 pread.
    #[prost(int32, optional, tag = "23")]
    pub read_type: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanRequest {
    #[prost(message, optional, tag = "1")]
    pub region: Option<RegionSpecifier>,
    #[prost(message, optional, tag = "2")]
    pub scan: Option<Scan>,
    #[prost(uint64, optional, tag = "3")]
    pub scanner_id: Option<u64>,
    #[prost(uint32, optional, tag = "4")]
    pub number_of_rows: Option<u32>,
    #[prost(bool, optional, tag = "5")]
    pub close_scanner: Option<bool>,
    #[prost(uint64, optional, tag = "6")]
    pub next_call_seq: Option<u64>,
    #[prost(bool, optional, tag = "7")]
    pub client_handles_partials: Option<bool>,
    #[prost(bool, optional, tag = "8")]
    pub client_handles_heartbeats: Option<bool>,
    #[prost(uint32, optional, tag = "11")]
    pub limit_of_rows: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScanResponse {
    #[prost(uint32, repeated, packed = "false", tag = "1")]
    pub cells_per_result: Vec<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub scanner_id: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub more_results: Option<bool>,
    #[prost(message, repeated, tag = "5")]
    pub results: Vec<RowResult>,
    #[prost(bool, optional, tag = "6")]
    pub stale: Option<bool>,
    #[prost(bool, repeated, packed = "false", tag = "7")]
    pub partial_flag_per_result: Vec<bool>,
    #[prost(bool, optional, tag = "8")]
    pub more_results_in_region: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Action {
    #[prost(uint32, optional, tag = "1")]
    pub index: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub mutation: Option<MutationProto>,
    #[prost(message, optional, tag = "3")]
    pub get: Option<Get>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionAction {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(bool, optional, tag = "2")]
    pub atomic: Option<bool>,
    #[prost(message, repeated, tag = "3")]
    pub action: Vec<Action>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MultiRequest {
    #[prost(message, repeated, tag = "1")]
    pub region_action: Vec<RegionAction>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResultOrException {
    #[prost(uint32, optional, tag = "1")]
    pub index: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub result: Option<RowResult>,
    #[prost(message, optional, tag = "3")]
    pub exception: Option<NameBytesPair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RegionActionResult {
    #[prost(message, repeated, tag = "1")]
    pub result_or_exception: Vec<ResultOrException>,
    #[prost(message, optional, tag = "2")]
    pub exception: Option<NameBytesPair>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MultiResponse {
    #[prost(message, repeated, tag = "1")]
    pub region_action_result: Vec<RegionActionResult>,
}

// ---- Master.proto, Admin.proto, ClusterStatus.proto, ErrorHandling.proto

#[derive(Clone, PartialEq, Message)]
pub struct CreateTableRequest {
    #[prost(message, required, tag = "1")]
    pub table_schema: TableSchema,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub split_keys: Vec<Bytes>,
}

/// `DeleteTableRequest`, `DisableTableRequest`, `EnableTableRequest` and `GetTableStateRequest`: one shape.
#[derive(Clone, PartialEq, Message)]
pub struct TableRequest {
    #[prost(message, required, tag = "1")]
    pub table_name: TableName,
}

/// The answer of every master call that starts a procedure.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct ProcedureResponse {
    #[prost(uint64, optional, tag = "1")]
    pub proc_id: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct GetProcedureResultRequest {
    #[prost(uint64, required, tag = "1")]
    pub proc_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub struct GenericExceptionMessage {
    #[prost(string, optional, tag = "1")]
    pub class_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub message: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ForeignExceptionMessage {
    #[prost(string, optional, tag = "1")]
    pub source: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub generic_exception: Option<GenericExceptionMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetProcedureResultResponse {
    /// 0 not found, 1 running, 2 finished.
    #[prost(int32, required, tag = "1")]
    pub state: i32,
    #[prost(message, optional, tag = "5")]
    pub exception: Option<ForeignExceptionMessage>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsRequest {
    #[prost(message, repeated, tag = "1")]
    pub table_names: Vec<TableName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableDescriptorsResponse {
    #[prost(message, repeated, tag = "1")]
    pub table_schema: Vec<TableSchema>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetTableStateResponse {
    #[prost(message, required, tag = "1")]
    pub table_state: TableState,
}

#[derive(Clone, PartialEq, Message)]
pub struct MoveRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(message, optional, tag = "2")]
    pub dest_server_name: Option<ServerName>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct SetBalancerRunningRequest {
    #[prost(bool, required, tag = "1")]
    pub on: bool,
    #[prost(bool, optional, tag = "2")]
    pub synchronous: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct SetBalancerRunningResponse {
    #[prost(bool, optional, tag = "1")]
    pub prev_balance_value: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FlushRegionRequest {
    #[prost(message, required, tag = "1")]
    pub region: RegionSpecifier,
    #[prost(bool, optional, tag = "3")]
    pub write_flush_wal_marker: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetClusterStatusRequest {
    /// 0 version, 1 cluster id, 3 dead servers, 4 master, 5 backup masters, 7 regions in transition, 10 server
    /// names.
    #[prost(int32, repeated, packed = "false", tag = "1")]
    pub options: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct HBaseVersionFileContent {
    #[prost(string, required, tag = "1")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ClusterStatus {
    #[prost(message, optional, tag = "1")]
    pub hbase_version: Option<HBaseVersionFileContent>,
    #[prost(message, repeated, tag = "3")]
    pub dead_servers: Vec<ServerName>,
    /// Which they are isn't read.
    #[prost(message, repeated, tag = "4")]
    pub regions_in_transition: Vec<Empty>,
    #[prost(message, optional, tag = "7")]
    pub master: Option<ServerName>,
    #[prost(message, repeated, tag = "8")]
    pub backup_masters: Vec<ServerName>,
    #[prost(message, repeated, tag = "11")]
    pub servers_name: Vec<ServerName>,
}

#[derive(Clone, PartialEq, Message)]
pub struct GetClusterStatusResponse {
    #[prost(message, required, tag = "1")]
    pub cluster_status: ClusterStatus,
}
