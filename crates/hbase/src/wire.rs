//! Requests as bytes: `length, header, parameter, cell block`, written straight into the connection's buffer.
//!
//! Reads and writes of single rows are the hot path, so their messages are written by hand, without building
//! [`crate::proto`] structures first. The tests hold both ways of writing against each other.

use prost::Message;
use prost::encoding::{encode_varint, encoded_len_varint};

use crate::cell::{Cell, write_cell};
use crate::error::{Error, Result};
use crate::ops::{Action, Get, Mutation, ReadMode};
use crate::proto;

/// A request's parameter and the cells that go with it. Lengths come first on the wire, so they are asked for first.
pub(crate) trait Payload {
    fn param_len(&self) -> usize;
    fn put_param(&self, out: &mut Vec<u8>);
    fn cells_len(&self) -> usize {
        0
    }
    fn put_cells(&self, _out: &mut Vec<u8>) {}
}

/// Any message without cells.
pub(crate) struct Plain<M>(pub M);

impl<M: Message> Payload for Plain<M> {
    fn param_len(&self) -> usize {
        self.0.encoded_len()
    }

    fn put_param(&self, out: &mut Vec<u8>) {
        self.0.encode_raw(out);
    }
}

const VARINT: u8 = 0;
const BYTES: u8 = 2;

fn tag(out: &mut Vec<u8>, field: u8, kind: u8) {
    out.push(field << 3 | kind); // fields above 15 are not written by hand
}

fn varint_field(out: &mut Vec<u8>, field: u8, value: u64) {
    tag(out, field, VARINT);
    encode_varint(value, out);
}

fn varint_len(value: u64) -> usize {
    1 + encoded_len_varint(value)
}

fn bytes_field(out: &mut Vec<u8>, field: u8, value: &[u8]) {
    open_field(out, field, value.len());
    out.extend_from_slice(value);
}

fn open_field(out: &mut Vec<u8>, field: u8, len: usize) {
    tag(out, field, BYTES);
    encode_varint(len as u64, out);
}

fn bytes_len(len: usize) -> usize {
    1 + encoded_len_varint(len as u64) + len
}

/// What the header of a call says, apart from lengths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallHeader {
    pub id: u32,
    pub method: &'static str,
    pub priority: u32,
    pub timeout_ms: u32,
}

/// Appends one whole request to `out`.
pub(crate) fn put_request<P: Payload>(
    out: &mut Vec<u8>,
    header: CallHeader,
    payload: &P,
) -> Result<()> {
    let cells_len = payload.cells_len();
    let param_len = payload.param_len();
    let meta_len = if cells_len == 0 { 0 } else { varint_len(cells_len as u64) };
    let mut header_len = varint_len(u64::from(header.id)) + bytes_len(header.method.len()) + 2;
    if cells_len > 0 {
        header_len += bytes_len(meta_len);
    }
    if header.priority > 0 {
        header_len += varint_len(u64::from(header.priority));
    }
    if header.timeout_ms > 0 {
        header_len += varint_len(u64::from(header.timeout_ms));
    }
    let total = encoded_len_varint(header_len as u64)
        + header_len
        + encoded_len_varint(param_len as u64)
        + param_len
        + cells_len;
    if total > i32::MAX as usize {
        return Err(Error::Invalid(format!("request of {total} bytes; HBase takes 2 GiB at most")));
    }
    out.reserve(4 + total);
    let start = out.len();
    out.extend_from_slice(&(total as u32).to_be_bytes());
    encode_varint(header_len as u64, out);
    varint_field(out, 1, u64::from(header.id));
    bytes_field(out, 3, header.method.as_bytes());
    varint_field(out, 4, 1);
    if cells_len > 0 {
        open_field(out, 5, meta_len);
        varint_field(out, 1, cells_len as u64);
    }
    if header.priority > 0 {
        varint_field(out, 6, u64::from(header.priority));
    }
    if header.timeout_ms > 0 {
        varint_field(out, 7, u64::from(header.timeout_ms));
    }
    encode_varint(param_len as u64, out);
    payload.put_param(out);
    payload.put_cells(out);
    debug_assert_eq!(out.len() - start, 4 + total, "announced and written lengths differ");
    Ok(())
}

/// `RegionSpecifier` by name, as field 1 of a request.
fn region_field(out: &mut Vec<u8>, name: &[u8]) {
    open_field(out, 1, region_len(name));
    varint_field(out, 1, 1);
    bytes_field(out, 2, name);
}

fn region_len(name: &[u8]) -> usize {
    2 + bytes_len(name.len())
}

/// `GetRequest`.
pub(crate) struct GetPayload<'a> {
    pub region: &'a [u8],
    pub get: &'a Get,
}

fn column_len(column: &proto::Column) -> usize {
    bytes_len(column.family.len())
        + column.qualifier.iter().map(|q| bytes_len(q.len())).sum::<usize>()
}

impl GetPayload<'_> {
    fn get_len(&self) -> usize {
        let get = self.get;
        let mut len = bytes_len(get.row.len());
        len += get.columns.iter().map(|c| bytes_len(column_len(c))).sum::<usize>();
        if get.max_versions != 1 {
            len += varint_len(u64::from(get.max_versions));
        }
        len + 2 * usize::from(!get.cache_blocks)
            + 2 * usize::from(get.existence_only)
            + 2 * usize::from(get.mode != ReadMode::Strong)
    }
}

impl Payload for GetPayload<'_> {
    fn param_len(&self) -> usize {
        bytes_len(region_len(self.region)) + bytes_len(self.get_len())
    }

    fn put_param(&self, out: &mut Vec<u8>) {
        let get = self.get;
        region_field(out, self.region);
        open_field(out, 2, self.get_len());
        bytes_field(out, 1, &get.row);
        for column in &get.columns {
            open_field(out, 2, column_len(column));
            bytes_field(out, 1, &column.family);
            for q in &column.qualifier {
                bytes_field(out, 2, q);
            }
        }
        if get.max_versions != 1 {
            varint_field(out, 6, u64::from(get.max_versions));
        }
        if !get.cache_blocks {
            varint_field(out, 7, 0);
        }
        if get.existence_only {
            varint_field(out, 10, 1);
        }
        if get.mode != ReadMode::Strong {
            varint_field(out, 12, get.mode.consistency() as u64);
        }
    }
}

/// `MutateRequest`, its cells in the cell block.
pub(crate) struct MutatePayload<'a> {
    pub region: &'a [u8],
    pub mutation: &'a Mutation,
}

impl MutatePayload<'_> {
    fn mutation_len(&self) -> usize {
        bytes_len(self.mutation.row.len()) + 4 + varint_len(self.mutation.cells.len() as u64)
    }
}

fn put_mutation_cells(out: &mut Vec<u8>, m: &Mutation) {
    for c in &m.cells {
        let cell = Cell {
            row: &m.row,
            family: &c.family,
            qualifier: &c.qualifier,
            timestamp: c.timestamp,
            cell_type: c.cell_type as u8,
            value: &c.value,
        };
        write_cell(out, &cell);
    }
}

impl Payload for MutatePayload<'_> {
    fn param_len(&self) -> usize {
        bytes_len(region_len(self.region)) + bytes_len(self.mutation_len())
    }

    fn put_param(&self, out: &mut Vec<u8>) {
        let m = self.mutation;
        region_field(out, self.region);
        open_field(out, 2, self.mutation_len());
        bytes_field(out, 1, &m.row);
        varint_field(out, 2, u64::from(m.kind));
        varint_field(out, 6, m.durability as u64);
        varint_field(out, 8, m.cells.len() as u64);
    }

    fn cells_len(&self) -> usize {
        self.mutation.cells_size()
    }

    fn put_cells(&self, out: &mut Vec<u8>) {
        put_mutation_cells(out, self.mutation);
    }
}

/// `MultiRequest`, the cells of its mutations in the cell block, in order.
pub(crate) struct MultiPayload<'a> {
    pub request: proto::MultiRequest,
    pub actions: Vec<&'a Action>,
}

impl Payload for MultiPayload<'_> {
    fn param_len(&self) -> usize {
        self.request.encoded_len()
    }

    fn put_param(&self, out: &mut Vec<u8>) {
        self.request.encode_raw(out);
    }

    fn cells_len(&self) -> usize {
        self.actions.iter().filter_map(|a| a.mutation()).map(Mutation::cells_size).sum()
    }

    fn put_cells(&self, out: &mut Vec<u8>) {
        for m in self.actions.iter().filter_map(|a| a.mutation()) {
            put_mutation_cells(out, m);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{Delete, Durability, Put};
    use bytes::Bytes;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::time::Duration;

    fn specifier(name: &[u8]) -> proto::RegionSpecifier {
        proto::RegionSpecifier { r#type: 1, value: Bytes::copy_from_slice(name) }
    }

    fn written<P: Payload>(payload: &P) -> Vec<u8> {
        let mut out = Vec::new();
        payload.put_param(&mut out);
        assert_eq!(out.len(), payload.param_len());
        out
    }

    fn short() -> impl Strategy<Value = Vec<u8>> {
        vec(any::<u8>(), 0..200)
    }

    fn modes() -> impl Strategy<Value = ReadMode> {
        prop_oneof![
            Just(ReadMode::Strong),
            (0u32..4).prop_map(ReadMode::Replica),
            (0u64..99).prop_map(|ms| ReadMode::PrimaryThenReplicas(Duration::from_millis(ms)))
        ]
    }

    proptest! {
        #[test]
        fn a_get_written_by_hand_is_the_message(
            row in short(), columns in vec((short(), short()), 0..4), families in vec(short(), 0..3),
            versions in 0u32..300, exists in any::<bool>(), cache in any::<bool>(), mode in modes(), region in short(),
        ) {
            let mut get = Get::new(row).max_versions(versions).mode(mode).cache_blocks(cache);
            for (f, q) in columns {
                get = get.column(f, q);
            }
            for f in families {
                get = get.family(f);
            }
            if exists {
                get = get.existence_only();
            }
            let message = proto::GetRequest { region: specifier(&region), get: get.to_proto() };
            prop_assert_eq!(written(&GetPayload { region: &region, get: &get }), message.encode_to_vec());
        }

        #[test]
        fn a_mutation_written_by_hand_is_the_message(
            row in vec(any::<u8>(), 1..200), cells in vec((vec(any::<u8>(), 0..100), short(), short()), 0..200),
            d in 0usize..5, delete in any::<bool>(), region in short(),
        ) {
            let mutation = if delete {
                let mut m = Delete::new(row).durability(Durability::ALL[d]);
                for (f, q, _) in cells {
                    m = m.column(f, q);
                }
                m.0
            } else {
                let mut m = Put::new(row).durability(Durability::ALL[d]);
                for (f, q, v) in cells {
                    m = m.column(f, q, v);
                }
                m.0
            };
            let message = proto::MutateRequest { region: specifier(&region), mutation: mutation.to_proto() };
            let payload = MutatePayload { region: &region, mutation: &mutation };
            prop_assert_eq!(written(&payload), message.encode_to_vec());
            let mut cells = Vec::new();
            payload.put_cells(&mut cells);
            prop_assert_eq!(cells.len(), payload.cells_len());
        }

        #[test]
        fn a_request_is_length_header_parameter_cells(
            id in 0u32..i32::MAX as u32, priority in 0u32..300, timeout_ms in 0u32..100_000, value in short(),
        ) {
            let put = Put::new("row").column("f", "q", value);
            let payload = MutatePayload { region: b"0123456789abcdef", mutation: &put.0 };
            let mut out = vec![7; 3];
            put_request(&mut out, CallHeader { id, method: "Mutate", priority, timeout_ms }, &payload).unwrap();
            let mut rest = &out[3..];
            let total = u32::from_be_bytes(*rest.first_chunk().unwrap()) as usize;
            rest = &rest[4..];
            prop_assert_eq!(total, rest.len());
            let header = proto::RequestHeader::decode_length_delimited(&mut rest).unwrap();
            prop_assert_eq!(header, proto::RequestHeader {
                call_id: Some(id),
                method_name: Some("Mutate".into()),
                request_param: Some(true),
                cell_block_meta: Some(proto::CellBlockMeta { length: Some(put.0.cells_size() as u32) }),
                priority: (priority > 0).then_some(priority),
                timeout: (timeout_ms > 0).then_some(timeout_ms),
            });
            let message = proto::MutateRequest::decode_length_delimited(&mut rest).unwrap();
            prop_assert_eq!(message.mutation, put.0.to_proto());
            prop_assert_eq!(rest.len(), put.0.cells_size());
        }
    }
}
