//! What all tables of a client share, and the loop that brings one operation to the right server.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use crate::cell::{Row, rows_of};
use crate::config::Config;
use crate::error::{Advice, Error, Result};
use crate::locate::{
    Region, RegionCache, Replica, TableName, meta_end_key, meta_first_key, meta_region,
    meta_search_key, parse_meta_row,
};
use crate::proto;
use crate::registry::{Registry, parse_masters};
use crate::rpc::{
    CallSpec, Connection, Counters, Deadline, Response, Server, Servers, Service, lock,
};
use crate::wire::{Payload, Plain};

/// Requests for `hbase:meta` go to the servers' own queue for system tables.
const META_PRIORITY: u32 = 200;
const FIRST_BACKOFF: Duration = Duration::from_millis(20);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// Where the regions of one table are.
pub(crate) struct Places {
    pub name: TableName,
    pub cache: RegionCache,
    /// Held while asking `hbase:meta`, so that many callers ask once.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Meta {
    cache: RegionCache,
    asking: tokio::sync::Mutex<()>,
}

/// What all clones of a client share.
pub(crate) struct Core {
    pub config: Config,
    masters: Vec<(String, u16)>,
    pub servers: Servers,
    pub counters: Counters,
    meta: Meta,
    tables: Mutex<HashMap<TableName, Arc<Places>>>,
}

/// What is left of an operation's right to be sent again.
pub(crate) struct Attempts {
    pub deadline: Deadline,
    relocations_left: u32,
    retries_left: u32,
    backoff: Duration,
}

impl Attempts {
    /// Waits a little longer each time; false if the deadline would pass meanwhile.
    async fn pause(&mut self) -> bool {
        let until = Instant::now() + self.backoff;
        self.backoff = (self.backoff * 2).min(LONGEST_BACKOFF);
        if until >= self.deadline.at {
            return false;
        }
        sleep_until(until).await;
        true
    }
}

impl Core {
    pub(crate) fn new(config: Config) -> Result<Self> {
        Ok(Self {
            masters: parse_masters(&config.masters)?,
            config,
            servers: Servers::default(),
            counters: Counters::default(),
            meta: Meta::default(),
            tables: Mutex::default(),
        })
    }

    /// Who knows which cluster this is, and where `hbase:meta` is.
    pub(crate) fn registry(&self) -> Registry<'_> {
        Registry {
            masters: &self.masters,
            servers: &self.servers,
            counters: &self.counters,
            config: &self.config,
        }
    }

    /// Where a table's regions are: shared by all handles on it.
    pub(crate) fn places(&self, name: TableName) -> Arc<Places> {
        let mut tables = lock(&self.tables);
        let places = tables.entry(name.clone()).or_insert_with(|| {
            Arc::new(Places {
                name,
                cache: RegionCache::default(),
                asking: tokio::sync::Mutex::default(),
            })
        });
        Arc::clone(places)
    }

    pub(crate) fn attempts(&self, deadline: Deadline) -> Attempts {
        Attempts {
            deadline,
            relocations_left: self.config.relocations,
            retries_left: self.config.retries,
            backoff: FIRST_BACKOFF,
        }
    }

    pub(crate) async fn connection(
        &self,
        server: &Server,
        deadline: Deadline,
    ) -> Result<Arc<Connection>> {
        match server.current() {
            Some(c) => Ok(c),
            None => server.connection(&self.config, &self.counters, deadline).await,
        }
    }

    /// Sends one request to one replica of a region.
    pub(crate) async fn call_replica<P: Payload>(
        &self,
        table: &TableName,
        replica: &Replica,
        spec: CallSpec,
        payload: &P,
    ) -> Result<Response> {
        let server = replica.place().ok_or_else(|| Error::NotAssigned {
            table: table.to_string(),
            region: replica.encoded_name().to_owned(),
        })?;
        let connection = match server.current() {
            Some(c) => c,
            None => self.connection(server, spec.deadline).await?,
        };
        let call = connection.call(spec, payload)?;
        drop(connection);
        call.await
    }

    /// The region with `row`, from the cache or from `hbase:meta`.
    pub(crate) async fn locate(
        &self,
        places: &Places,
        row: &[u8],
        deadline: Deadline,
    ) -> Result<Arc<Region>> {
        if let Some(region) = places.cache.find(row) {
            return Ok(region);
        }
        let _turn = timeout_at(deadline.at, places.asking.lock())
            .await
            .map_err(|_| deadline.error("locating the region", false))?;
        if let Some(region) = places.cache.find(row) {
            return Ok(region);
        }
        let scan = proto::Scan {
            start_row: Some(meta_search_key(&places.name, row)),
            stop_row: Some(meta_first_key(&places.name)),
            include_stop_row: Some(true),
            reversed: Some(true),
            ..meta_scan()
        };
        let regions = self.ask_meta(&places.name, scan, 1, deadline).await?;
        let Some(region) = regions.into_iter().next() else {
            return Err(Error::TableNotFound(places.name.to_string()));
        };
        if !region.contains(row) {
            return Err(Error::Protocol(format!("hbase:meta has a hole in table {}", places.name)));
        }
        let region = Arc::new(region);
        places.cache.insert(Arc::clone(&region));
        Ok(region)
    }

    /// All regions of a table, asked anew.
    pub(crate) async fn locate_all(
        &self,
        places: &Places,
        deadline: Deadline,
    ) -> Result<Vec<Arc<Region>>> {
        let _turn = timeout_at(deadline.at, places.asking.lock())
            .await
            .map_err(|_| deadline.error("locating regions", false))?;
        let scan = proto::Scan {
            start_row: Some(meta_first_key(&places.name)),
            stop_row: Some(meta_end_key(&places.name)),
            ..meta_scan()
        };
        let regions = self.ask_meta(&places.name, scan, u32::MAX >> 1, deadline).await?;
        if regions.is_empty() {
            return Err(Error::TableNotFound(places.name.to_string()));
        }
        let regions: Vec<_> = regions.into_iter().map(Arc::new).collect();
        places.cache.clear();
        for r in &regions {
            places.cache.insert(Arc::clone(r));
        }
        Ok(regions)
    }

    /// Reads regions of a table from `hbase:meta`, in one call after another while the server has more.
    async fn ask_meta(
        &self,
        table: &TableName,
        mut scan: proto::Scan,
        limit: u32,
        deadline: Deadline,
    ) -> Result<Vec<Region>> {
        let mut regions = Vec::new();
        let mut attempts = self.attempts(deadline);
        loop {
            let (rows, more) = match self.ask_meta_once(&scan, limit, deadline).await {
                Ok(answer) => answer,
                // Reading has no effect, so that any trouble with the place of hbase:meta may be tried again.
                Err((e, place))
                    if e.advice() != Advice::Surface || matches!(e, Error::NoMaster { .. }) =>
                {
                    if let Some(region) = place {
                        self.meta.cache.forget(&region);
                    }
                    if !attempts.pause().await {
                        return Err(match e {
                            // The operation itself had not been sent.
                            Error::Timeout { .. } => deadline.error("locating the region", false),
                            Error::ConnectionLost { server, reason, .. } => {
                                Error::ConnectionLost { server, reason, sent: false }
                            }
                            other => other,
                        });
                    }
                    continue;
                }
                Err((e, _)) => return Err(e),
            };
            let last = rows.last().and_then(|r| r.key()).map(bytes::Bytes::copy_from_slice);
            for row in &rows {
                regions.extend(parse_meta_row(table, row, &self.servers)?);
            }
            match last {
                Some(key) if more && (regions.len() as u64) < u64::from(limit) => {
                    scan.start_row = Some(key);
                    scan.include_start_row = Some(false);
                }
                _ => return Ok(regions),
            }
        }
    }

    #[allow(clippy::type_complexity)] // an error with the place it came from, used once
    async fn ask_meta_once(
        &self,
        scan: &proto::Scan,
        limit: u32,
        deadline: Deadline,
    ) -> Result<(Vec<Row>, bool), (Error, Option<Arc<Region>>)> {
        let deadline = deadline.no_later_than(self.config.lookup_timeout);
        let region = self.locate_meta(deadline).await.map_err(|e| (e, None))?;
        let failed = |e| (e, Some(Arc::clone(&region)));
        let replica = region.replica(&TableName::meta(), 0).map_err(failed)?;
        let request = proto::ScanRequest {
            region: Some(specifier(replica)),
            scan: Some(scan.clone()),
            number_of_rows: Some(limit.min(1_000)),
            close_scanner: Some(true),
            client_handles_partials: Some(false),
            ..Default::default()
        };
        let spec = CallSpec { method: "Scan", priority: META_PRIORITY, deadline };
        self.counters.lookups.fetch_add(1, Ordering::Relaxed);
        let mut response = self
            .call_replica(&TableName::meta(), replica, spec, &Plain(request))
            .await
            .map_err(failed)?;
        let message: proto::ScanResponse = response.message().map_err(failed)?;
        let rows = rows_of(&message, response.cells, 0).map_err(failed)?;
        Ok((rows, message.more_results_in_region.unwrap_or(false)))
    }

    async fn locate_meta(&self, deadline: Deadline) -> Result<Arc<Region>> {
        if let Some(region) = self.meta.cache.find(b"") {
            return Ok(region);
        }
        let _turn = timeout_at(deadline.at, self.meta.asking.lock())
            .await
            .map_err(|_| deadline.error("locating hbase:meta", false))?;
        if let Some(region) = self.meta.cache.find(b"") {
            return Ok(region);
        }
        self.counters.lookups.fetch_add(1, Ordering::Relaxed);
        let response = self.registry().meta_locations(deadline).await?;
        let region = Arc::new(meta_region(&response, &self.servers)?);
        self.meta.cache.insert(Arc::clone(&region));
        Ok(region)
    }

    /// What to do after a failed attempt at one replica: `Ok` means "go on", with the place corrected.
    pub(crate) async fn after_failure(
        &self,
        attempts: &mut Attempts,
        places: &Places,
        region: &Arc<Region>,
        replica: u32,
        error: Error,
    ) -> Result<()> {
        let advice = error.advice();
        match advice {
            Advice::Surface => {}
            Advice::ForgetPlace => places.cache.forget(region),
            Advice::Relocate | Advice::LookAgain => {
                return self.relocate(attempts, places, region, replica, error).await;
            }
        }
        if attempts.retries_left == 0 || !worth_repeating(&error) || !attempts.pause().await {
            return Err(error);
        }
        attempts.retries_left -= 1;
        self.counters.retries.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The operation certainly was not executed: correct the place and say whether to go on.
    async fn relocate(
        &self,
        attempts: &mut Attempts,
        places: &Places,
        region: &Arc<Region>,
        replica: u32,
        error: Error,
    ) -> Result<()> {
        let moved_to = error.remote().and_then(|e| e.moved_to.as_ref());
        match moved_to {
            Some((host, port)) => {
                places.cache.moved(region, replica, self.servers.get(host, *port, Service::Client));
            }
            None => places.cache.forget(region),
        }
        if attempts.relocations_left == 0 {
            return Err(error);
        }
        if error.advice() == Advice::LookAgain {
            // Nobody listens there. Going on makes sense only if the region is said to be elsewhere now.
            let place = |r: &Region| r.replicas().get(replica as usize)?.place().map(Arc::clone);
            let now = self.locate(places, region.start(), attempts.deadline).await?;
            match (place(region), place(&now)) {
                (Some(before), Some(after)) if !Arc::ptr_eq(&before, &after) => {}
                _ => return Err(error),
            }
        } else {
            // A first word of where the region went is followed at once. Later ones are not: while the new server opens
            // the region, it sends us to `hbase:meta`, which sends us to the old server, which sends us to the new one.
            let follow = moved_to.is_some() && attempts.relocations_left == self.config.relocations;
            if !follow && !attempts.pause().await {
                return Err(error);
            }
        }
        attempts.relocations_left -= 1;
        self.counters.relocations.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Brings one operation to one replica of the region with `row`, relocating as the configuration allows.
    ///
    /// `send` makes one attempt.
    pub(crate) async fn on_replica<T, F, Fut>(
        &self,
        places: &Places,
        row: &[u8],
        replica: u32,
        deadline: Deadline,
        send: F,
    ) -> Result<T>
    where
        F: Fn(Arc<Region>) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        let mut attempts: Option<Attempts> = None;
        loop {
            let region = match places.cache.find(row) {
                Some(region) => region,
                None => self.locate(places, row, deadline).await?,
            };
            let error = match send(Arc::clone(&region)).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let attempts = attempts.get_or_insert_with(|| self.attempts(deadline));
            Box::pin(self.after_failure(attempts, places, &region, replica, error)).await?;
        }
    }
}

/// Whether doing the same again could end otherwise.
fn worth_repeating(error: &Error) -> bool {
    match error {
        Error::Timeout { .. } | Error::ConnectionLost { .. } => true,
        Error::Remote(e) => !e.do_not_retry,
        _ => false,
    }
}

/// A region (or its replica) by its name, as region servers want it: they would hash an encoded name once more.
pub(crate) fn specifier(replica: &Replica) -> proto::RegionSpecifier {
    proto::RegionSpecifier { r#type: 1, value: replica.name_bytes().clone() }
}

fn meta_scan() -> proto::Scan {
    proto::Scan {
        column: vec![proto::Column { family: "info".into(), qualifier: Vec::new() }],
        max_versions: Some(1),
        read_type: Some(2), // a positioned read: short scans need no read-ahead
        ..Default::default()
    }
}
