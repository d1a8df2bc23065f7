//! Where regions are: names, rows of `hbase:meta`, and the cache of what they said.

use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use md5::{Digest, Md5};
use prost::Message;

use crate::cell::Row;
use crate::config::split_address;
use crate::error::{Error, Result};
use crate::proto;
use crate::rpc::{Server, Servers, Service};

/// The name of a table: `qualifier` in namespace `default`, or `namespace:qualifier`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    namespace: String,
    qualifier: String,
}

impl TableName {
    /// Reads `t` or `ns:t`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a part is empty or has characters that HBase does not allow.
    pub fn new(name: &str) -> Result<Self> {
        let (namespace, qualifier) = name.split_once(':').unwrap_or(("default", name));
        let legal = |s: &str, extra: &str| {
            !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || extra.contains(c))
        };
        if !legal(namespace, "_") || !legal(qualifier, "_-.") || qualifier.starts_with(['.', '-']) {
            return Err(Error::Invalid(format!("{name:?} is not a table name")));
        }
        Ok(Self { namespace: namespace.into(), qualifier: qualifier.into() })
    }

    pub(crate) fn meta() -> Self {
        Self { namespace: "hbase".into(), qualifier: "meta".into() }
    }

    pub(crate) fn to_proto(&self) -> proto::TableName {
        proto::TableName {
            namespace: Bytes::copy_from_slice(self.namespace.as_bytes()),
            qualifier: Bytes::copy_from_slice(self.qualifier.as_bytes()),
        }
    }

    pub(crate) fn is(&self, name: &proto::TableName) -> bool {
        name.namespace == self.namespace && name.qualifier == self.qualifier
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace != "default" {
            write!(f, "{}:", self.namespace)?;
        }
        f.write_str(&self.qualifier)
    }
}

/// One copy of a region.
#[derive(Clone, Debug)]
pub struct Replica {
    id: u32,
    /// `table,start,id[_replica].encoded.`, which region servers want in every request.
    name: Bytes,
    encoded_name: Bytes,
    server: Option<Arc<Server>>,
}

impl Replica {
    /// 0 is the primary.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The short name: the MD5 of the region's name, in 32 hexadecimal digits.
    #[must_use]
    pub fn encoded_name(&self) -> &str {
        std::str::from_utf8(&self.encoded_name).unwrap_or_default()
    }

    /// Host and port of its server, if it has one now.
    #[must_use]
    pub fn server(&self) -> Option<(&str, u16)> {
        self.server.as_deref().map(|s| (s.host(), s.port()))
    }

    pub(crate) fn name_bytes(&self) -> &Bytes {
        &self.name
    }

    pub(crate) fn encoded_name_bytes(&self) -> &Bytes {
        &self.encoded_name
    }

    pub(crate) fn place(&self) -> Option<&Arc<Server>> {
        self.server.as_ref()
    }
}

/// A range of rows of a table, and where its copies are.
#[derive(Clone, Debug)]
pub struct Region {
    start: Bytes,
    end: Bytes,
    id: u64,
    replicas: Vec<Replica>,
}

impl Region {
    /// The first row; empty for the first region.
    #[must_use]
    pub fn start(&self) -> &Bytes {
        &self.start
    }

    /// The row after the last; empty for the last region.
    #[must_use]
    pub fn end(&self) -> &Bytes {
        &self.end
    }

    /// When the region was made, in milliseconds since 1970.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its copies, the primary first.
    #[must_use]
    pub fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    pub(crate) fn replica(&self, table: &TableName, id: u32) -> Result<&Replica> {
        self.replicas.get(id as usize).ok_or_else(|| Error::NoSuchReplica {
            table: table.to_string(),
            replica: id,
            replicas: self.replicas.len() as u32,
        })
    }

    /// Whether the row lies in the range.
    #[must_use]
    pub fn contains(&self, row: &[u8]) -> bool {
        *self.start <= *row && (self.end.is_empty() || *row < *self.end)
    }

    fn overlaps(&self, other: &Self) -> bool {
        (self.end.is_empty() || other.start < self.end)
            && (other.end.is_empty() || self.start < other.end)
    }
}

/// `table,start,id[_replica]`: the name whose MD5 is the encoded name.
fn region_name(table: &TableName, start: &[u8], id: &str, replica: u32) -> Vec<u8> {
    let mut name = table.to_string().into_bytes();
    name.push(b',');
    name.extend_from_slice(start);
    name.push(b',');
    name.extend_from_slice(id.as_bytes());
    if replica > 0 {
        name.extend_from_slice(format!("_{replica:04X}").as_bytes());
    }
    name
}

/// Name and encoded name of a region of a user's table. (`hbase:meta` has its own: `hbase:meta,,1` and `1588230740`.)
pub(crate) fn names(table: &TableName, start: &[u8], id: u64, replica: u32) -> (Bytes, Bytes) {
    let mut name = region_name(table, start, &id.to_string(), replica);
    let mut hex = String::with_capacity(32);
    for byte in Md5::digest(&name) {
        let _ = write!(hex, "{byte:02x}"); // writing to a String does not fail
    }
    name.push(b'.');
    name.extend_from_slice(hex.as_bytes());
    name.push(b'.');
    (Bytes::from(name), Bytes::from(hex))
}

/// The last key that `hbase:meta` could have for the region with `row`: a reverse scan from here finds it first.
pub(crate) fn meta_search_key(table: &TableName, row: &[u8]) -> Bytes {
    Bytes::from(region_name(table, row, "99999999999999", 0))
}

/// First key of `hbase:meta` that belongs to `table`.
pub(crate) fn meta_first_key(table: &TableName) -> Bytes {
    Bytes::from(format!("{table},,"))
}

/// A key of `hbase:meta` behind those of `table` and before the next table's. HBase compares the parts between commas
/// one by one, and the space sorts before every character of a table's name.
pub(crate) fn meta_end_key(table: &TableName) -> Bytes {
    Bytes::from(format!("{table} ,,"))
}

/// `server` → 0, `server_0002` → 2, anything else → none.
fn replica_of<'a>(qualifier: &'a [u8], column: &str) -> Option<u32> {
    let rest: &'a [u8] = qualifier.strip_prefix(column.as_bytes())?;
    match rest {
        [] => Some(0),
        [b'_', hex @ ..] if hex.len() == 4 => {
            u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()
        }
        _ => None,
    }
}

/// Replicas beyond this many are taken for damage; HBase's documentation advises two or three.
const MAX_REPLICAS: u32 = 1_000;

/// Reads a row of `hbase:meta`. `None`: the row isn't a region that serves (a split parent, a table's state).
pub(crate) fn parse_meta_row(
    table: &TableName,
    row: &Row,
    servers: &Servers,
) -> Result<Option<Region>> {
    let Some(value) = row.value(b"info", b"regioninfo") else { return Ok(None) };
    let Some(message) = value.strip_prefix(b"PBUF") else {
        return Err(Error::Protocol("info:regioninfo without its mark".into()));
    };
    let info = proto::RegionInfo::decode(message)?;
    if !table.is(&info.table_name) || info.split == Some(true) {
        return Ok(None);
    }
    let mut count = 1;
    let mut places = Vec::new();
    for cell in row.cells().filter(|c| c.family == b"info") {
        for column in ["server", "sn", "state", "seqnumDuringOpen"] {
            let Some(id) = replica_of(cell.qualifier, column) else { continue };
            if id >= MAX_REPLICAS {
                return Err(Error::Protocol(format!("replica {id} in hbase:meta")));
            }
            count = count.max(id + 1);
            if column == "server"
                && let Ok(text) = std::str::from_utf8(cell.value)
                && let Some((host, port)) = split_address(text, 16020)
            {
                places.push((id, servers.get(host, port, Service::Client)));
            }
        }
    }
    let start = info.start_key.unwrap_or_default();
    let replicas = (0..count)
        .map(|id| {
            let (name, encoded_name) = names(table, &start, info.region_id, id);
            let place = places.iter().find(|(r, _)| *r == id);
            Replica { id, name, encoded_name, server: place.map(|(_, s)| Arc::clone(s)) }
        })
        .collect();
    let end = info.end_key.unwrap_or_default();
    Ok(Some(Region { start, end, id: info.region_id, replicas }))
}

/// The one region of `hbase:meta`, as the registry tells it.
pub(crate) fn meta_region(
    response: &proto::GetMetaRegionLocationsResponse,
    servers: &Servers,
) -> Result<Region> {
    let primary = response
        .meta_locations
        .iter()
        .find(|l| l.region_info.replica_id.unwrap_or(0) == 0)
        .and_then(|l| l.server_name.as_ref())
        .ok_or_else(|| Error::NotAssigned {
            table: TableName::meta().to_string(),
            region: "1588230740".into(),
        })?;
    let port = primary.port.and_then(|p| u16::try_from(p).ok()).unwrap_or(16020);
    Ok(Region {
        start: Bytes::new(),
        end: Bytes::new(),
        id: 1,
        replicas: vec![Replica {
            id: 0,
            name: Bytes::from_static(b"hbase:meta,,1"),
            encoded_name: Bytes::from_static(b"1588230740"),
            server: Some(servers.get(&primary.host_name, port, Service::Client)),
        }],
    })
}

/// What is known of one table's regions: disjoint, sorted by start.
#[derive(Debug, Default)]
pub(crate) struct RegionCache {
    regions: RwLock<Vec<Arc<Region>>>,
}

impl RegionCache {
    /// The region with this row, if known.
    pub(crate) fn find(&self, row: &[u8]) -> Option<Arc<Region>> {
        let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
        let at = regions.partition_point(|r| *r.start <= *row).checked_sub(1)?;
        let region = regions.get(at)?;
        region.contains(row).then(|| Arc::clone(region))
    }

    /// Learns a region; what it overlaps (from before a split or a merge) is forgotten.
    pub(crate) fn insert(&self, region: Arc<Region>) {
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        regions.retain(|r| !r.overlaps(&region));
        let at = regions.partition_point(|r| r.start < region.start);
        regions.insert(at, region);
    }

    /// Forgets this very entry; one that another task has learnt since stays.
    pub(crate) fn forget(&self, region: &Arc<Region>) {
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        regions.retain(|r| !Arc::ptr_eq(r, region));
    }

    /// Replaces this very entry by one whose replica is elsewhere.
    pub(crate) fn moved(&self, region: &Arc<Region>, replica: u32, server: Arc<Server>) {
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = regions.iter_mut().find(|r| Arc::ptr_eq(r, region)) {
            let mut changed = Region::clone(region);
            if let Some(r) = changed.replicas.get_mut(replica as usize) {
                r.server = Some(server);
            }
            *entry = Arc::new(changed);
        }
    }

    pub(crate) fn clear(&self) {
        self.regions.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Cell, write_cell};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn region(start: &[u8], end: &[u8]) -> Arc<Region> {
        Arc::new(Region {
            start: Bytes::copy_from_slice(start),
            end: Bytes::copy_from_slice(end),
            id: 1,
            replicas: Vec::new(),
        })
    }

    fn meta_row(columns: &[(&str, Vec<u8>)]) -> Row {
        let mut block = Vec::new();
        for (q, v) in columns {
            let cell = Cell {
                row: b"t,,1.x.",
                family: b"info",
                qualifier: q.as_bytes(),
                timestamp: 1,
                cell_type: 4,
                value: v,
            };
            write_cell(&mut block, &cell);
        }
        Row::new(&mut Bytes::from(block), columns.len(), false, 0).unwrap()
    }

    fn region_info(table: &TableName, split: bool) -> Vec<u8> {
        let info = proto::RegionInfo {
            region_id: 1_700_000_000_000,
            table_name: table.to_proto(),
            start_key: Some("b".into()),
            end_key: Some("d".into()),
            split: Some(split),
            ..Default::default()
        };
        [b"PBUF".to_vec(), info.encode_to_vec()].concat()
    }

    #[test]
    fn a_meta_row_names_range_and_servers() {
        let t = TableName::new("t").unwrap();
        let row = meta_row(&[
            ("regioninfo", region_info(&t, false)),
            ("server", b"10.0.0.1:16020".to_vec()),
            ("server_0002", b"n3:16022".to_vec()),
            ("serverstartcode", vec![0; 8]),
            ("state_0001", b"CLOSED".to_vec()),
        ]);
        let r = parse_meta_row(&t, &row, &Servers::default()).unwrap().unwrap();
        assert_eq!((&r.start[..], &r.end[..]), (&b"b"[..], &b"d"[..]));
        let places: Vec<_> = r.replicas().iter().map(Replica::server).collect();
        assert_eq!(places, [Some(("10.0.0.1", 16020)), None, Some(("n3", 16022))]);
        assert!(matches!(r.replica(&t, 3), Err(Error::NoSuchReplica { replicas: 3, .. })));
    }

    #[test]
    fn rows_of_other_tables_and_split_parents_are_no_regions() {
        let (t, u) = (TableName::new("t").unwrap(), TableName::new("ns:t").unwrap());
        let servers = Servers::default();
        let row = meta_row(&[("regioninfo", region_info(&u, false))]);
        assert!(parse_meta_row(&t, &row, &servers).unwrap().is_none());
        let row = meta_row(&[("regioninfo", region_info(&t, true))]);
        assert!(parse_meta_row(&t, &row, &servers).unwrap().is_none());
        let row = meta_row(&[("regioninfo", b"nonsense".to_vec())]);
        assert!(parse_meta_row(&t, &row, &servers).is_err());
    }

    #[test]
    fn encoded_names_are_those_of_hbase() {
        // tests/real_server.rs asks a server by these names.
        let t = TableName::new("t").unwrap();
        assert_eq!(region_name(&t, b"k", "17", 0), b"t,k,17");
        assert_eq!(region_name(&t, b"k", "17", 26), b"t,k,17_001A");
        let (name, encoded) = names(&t, b"", 0, 0);
        assert_eq!(encoded, "19984d68fb75eaec7ecbe4c7f0ea0601");
        assert_eq!(name, "t,,0.19984d68fb75eaec7ecbe4c7f0ea0601.");
        let u = TableName::new("ns:t").unwrap();
        assert_eq!(region_name(&u, b"", "17", 0), b"ns:t,,17");
    }

    #[test]
    fn table_names_are_checked() {
        for bad in ["", ":", "a:", ":b", "a b", ".x", "-x", "a:b:c", "x,y"] {
            assert!(TableName::new(bad).is_err(), "{bad}");
        }
        for good in ["t", "a:b", "user_table-1.2"] {
            assert_eq!(TableName::new(good).unwrap().to_string(), good);
        }
        assert_eq!(TableName::new("default:t").unwrap().to_string(), "t");
    }

    #[test]
    fn replicas_are_read_from_column_names() {
        let table = [
            ("server", Some(0)),
            ("server_0001", Some(1)),
            ("server_001A", Some(26)),
            ("serverstartcode", None),
            ("server_1", None),
            ("server_zzzz", None),
            ("x", None),
        ];
        for (name, expected) in table {
            assert_eq!(replica_of(name.as_bytes(), "server"), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_meta_rows_never_panic(q in "[a-z_0-9]{0,16}", v in vec(any::<u8>(), 0..60), info in vec(any::<u8>(), 0..60)) {
            let t = TableName::new("t").unwrap();
            let marked = [b"PBUF".to_vec(), info].concat();
            let row = meta_row(&[("regioninfo", marked), (&q, v)]);
            let _ = parse_meta_row(&t, &row, &Servers::default());
        }

        /// Whatever is learnt and forgotten in whatever order: the cache is disjoint and sorted, and agrees with a
        /// model that keeps, for each of 16 rows, the last region learnt that covers it, unless a later one cut into
        /// that region or it was forgotten.
        #[test]
        fn the_cache_agrees_with_a_model(steps in vec((0u8..16, 0u8..17, prop::bool::weighted(0.2)), 0..40)) {
            let cache = RegionCache::default();
            let mut model: BTreeMap<u8, Arc<Region>> = BTreeMap::new();
            for (start, end, forget) in steps {
                if forget {
                    if let Some(r) = cache.find(&[start]) {
                        cache.forget(&r);
                        model.retain(|_, m| !Arc::ptr_eq(m, &r));
                    }
                    continue;
                }
                // 16 stands for the end of the table; row 0 for its beginning.
                if end <= start { continue; }
                let from: &[u8] = if start == 0 { &[] } else { &[start] };
                let to: &[u8] = if end == 16 { &[] } else { &[end] };
                let r = region(from, to);
                let cut: Vec<_> = (start..end).filter_map(|k| model.get(&k).cloned()).collect();
                model.retain(|_, m| !cut.iter().any(|c| Arc::ptr_eq(c, m)));
                for k in start..end { model.insert(k, Arc::clone(&r)); }
                cache.insert(r);
            }
            for k in 0..16 {
                let (found, expected) = (cache.find(&[k]), model.get(&k));
                prop_assert_eq!(found.is_some(), expected.is_some());
                if let (Some(f), Some(e)) = (&found, expected) {
                    prop_assert!(Arc::ptr_eq(f, e));
                    prop_assert!(f.contains(&[k]));
                }
            }
            let regions = cache.regions.read().unwrap();
            for w in regions.windows(2) {
                prop_assert!(!w[0].end.is_empty() && w[0].end <= w[1].start);
            }
        }
    }

    #[test]
    fn a_moved_replica_changes_only_the_entry_that_was_seen() {
        let cache = RegionCache::default();
        let servers = Servers::default();
        let mut r = Region::clone(&region(b"", b""));
        r.replicas =
            vec![Replica { id: 0, name: Bytes::new(), encoded_name: Bytes::new(), server: None }];
        let old = Arc::new(r);
        cache.insert(Arc::clone(&old));
        cache.moved(&old, 0, servers.get("a", 1, Service::Client));
        cache.moved(&old, 0, servers.get("b", 2, Service::Client));
        cache.forget(&old);
        assert_eq!(cache.find(b"x").unwrap().replicas()[0].server(), Some(("a", 1)));
    }
}
