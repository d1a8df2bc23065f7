//! Operations on the rows of one table.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};

use crate::cell::{Row, check_key};
use crate::core::{Attempts, Core, Places, specifier};
use crate::error::{Error, RemoteError, Result};
use crate::hedge::hedged;
use crate::locate::{Region, TableName};
use crate::ops::{Action, Delete, Get, Mutation, Put, ReadMode, Scan};
use crate::proto;
use crate::rpc::{CallSpec, Deadline, Response};
use crate::scan::Scanner;
use crate::wire::{GetPayload, MultiPayload, MutatePayload};

/// A handle on a table: cheap to clone, usable from many tasks at once.
#[derive(Clone)]
pub struct Table {
    core: Arc<Core>,
    places: Arc<Places>,
    timeout: Duration,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.places.name).finish_non_exhaustive()
    }
}

impl Table {
    pub(crate) fn new(core: Arc<Core>, places: Arc<Places>) -> Self {
        let timeout = core.config.operation_timeout;
        Self { core, places, timeout }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &TableName {
        &self.places.name
    }

    /// The same table, with another time-out for each operation.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    fn deadline(&self) -> Deadline {
        Deadline::after(self.timeout)
    }

    /// Reads one row. A row that does not exist is an empty [`Row`].
    pub async fn get(&self, get: &Get) -> Result<Row> {
        check_key(&get.row, b"", b"")?;
        let deadline = self.deadline();
        match get.mode {
            ReadMode::Strong => self.get_from(get, 0, deadline).await,
            ReadMode::Replica(replica) => self.get_from(get, replica, deadline).await,
            ReadMode::PrimaryThenReplicas(after) => {
                let from = |replica| self.get_from(get, replica, deadline);
                hedged(&self.core, &self.places, &get.row, after, deadline, from).await
            }
        }
    }

    async fn get_from(&self, get: &Get, replica: u32, deadline: Deadline) -> Result<Row> {
        let spec = CallSpec { method: "Get", priority: 0, deadline };
        self.core
            .on_replica(
                &self.places,
                &get.row,
                replica,
                deadline,
                |region: Arc<Region>| async move {
                    let copy = region.replica(&self.places.name, replica)?;
                    let payload = GetPayload { region: copy.name_bytes(), get };
                    let mut response =
                        self.core.call_replica(&self.places.name, copy, spec, &payload).await?;
                    let message: proto::GetResponse = response.message()?;
                    let result = message.result.unwrap_or_default();
                    Row::from_proto(&result, &mut response.cells, replica)
                },
            )
            .await
    }

    /// Writes columns of one row.
    pub async fn put(&self, put: &Put) -> Result<()> {
        self.mutate(&put.0).await
    }

    /// Deletes a row, or parts of it.
    pub async fn delete(&self, delete: &Delete) -> Result<()> {
        self.mutate(&delete.0).await
    }

    async fn mutate(&self, mutation: &Mutation) -> Result<()> {
        mutation.check()?;
        let deadline = self.deadline();
        let spec = CallSpec { method: "Mutate", priority: 0, deadline };
        self.core
            .on_replica(
                &self.places,
                &mutation.row,
                0,
                deadline,
                |region: Arc<Region>| async move {
                    let copy = region.replica(&self.places.name, 0)?;
                    let payload = MutatePayload { region: copy.name_bytes(), mutation };
                    // The answer says only that there was no exception.
                    self.core.call_replica(&self.places.name, copy, spec, &payload).await.map(drop)
                },
            )
            .await
    }

    /// Starts a scan. Rows come with [`Scanner::next_batch`].
    #[must_use]
    pub fn scan(&self, scan: Scan) -> Scanner {
        Scanner::new(Arc::clone(&self.core), Arc::clone(&self.places), scan, self.timeout)
    }

    /// Runs a scan to its end and returns all rows.
    pub async fn scan_all(&self, scan: Scan) -> Result<Vec<Row>> {
        let mut scanner = self.scan(scan);
        let mut rows = Vec::new();
        while let Some(batch) = scanner.next_batch().await? {
            rows.extend(batch);
        }
        Ok(rows)
    }

    /// All regions of the table, asked anew; later operations find them in the cache.
    pub async fn regions(&self) -> Result<Vec<Arc<Region>>> {
        self.core.locate_all(&self.places, self.deadline()).await
    }

    /// Runs a batch: one call a server, all at once. Each action has its own outcome, in the order of `actions`;
    /// writes give an empty [`Row`]. Actions are atomic one by one, not together.
    pub async fn multi(&self, actions: Vec<Action>) -> Vec<Result<Row>> {
        let deadline = self.deadline();
        let mut outcomes: Vec<Option<Result<Row>>> =
            actions.iter().map(|a| a.check().err().map(Err)).collect();
        let mut attempts: HashMap<usize, Attempts> = HashMap::new();
        loop {
            let open: Vec<usize> = (0..actions.len()).filter(|i| outcomes[*i].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let mut failed = Vec::new();
            for (i, region, outcome) in self.multi_once(&actions, &open, deadline).await {
                match outcome {
                    Ok(row) => outcomes[i] = Some(Ok(row)),
                    Err(e) => failed.push((i, region, e)),
                }
            }
            // Each failed action asks for itself whether it may go on; the pauses run together.
            let mut waiting = FuturesUnordered::new();
            for (i, region, error) in failed {
                let Some(region) = region else {
                    outcomes[i] = Some(Err(error)); // could not even be located
                    continue;
                };
                let mut state = attempts.remove(&i).unwrap_or_else(|| self.core.attempts(deadline));
                let replica = actions[i].replica();
                waiting.push(async move {
                    let next = self
                        .core
                        .after_failure(&mut state, &self.places, &region, replica, error)
                        .await;
                    (i, state, next)
                });
            }
            while let Some((i, state, next)) = waiting.next().await {
                match next {
                    Ok(()) => drop(attempts.insert(i, state)),
                    Err(e) => outcomes[i] = Some(Err(e)),
                }
            }
        }
        outcomes.into_iter().flatten().collect()
    }

    /// One attempt at every open action: its index, where it was sent, what came of it.
    async fn multi_once(
        &self,
        actions: &[Action],
        open: &[usize],
        deadline: Deadline,
    ) -> Vec<(usize, Option<Arc<Region>>, Result<Row>)> {
        let mut out = Vec::with_capacity(open.len());
        let mut batches: Vec<Batch> = Vec::new();
        for &i in open {
            let action = &actions[i];
            let region = match self.core.locate(&self.places, action.row(), deadline).await {
                Ok(region) => region,
                Err(e) => {
                    out.push((i, None, Err(e)));
                    continue;
                }
            };
            let replica = match region.replica(&self.places.name, action.replica()) {
                Ok(replica) => replica,
                Err(e) => {
                    out.push((i, None, Err(e)));
                    continue;
                }
            };
            let place = replica.place().map(|s| Arc::as_ptr(s) as usize);
            let at = batches.iter().position(|b| b.place == place).unwrap_or_else(|| {
                batches.push(Batch { place, parts: Vec::new() });
                batches.len() - 1
            });
            let parts = &mut batches[at].parts;
            let same = |p: &Part| p.replica == action.replica() && Arc::ptr_eq(&p.region, &region);
            match parts.iter_mut().find(|p| same(p)) {
                Some(part) => part.indices.push(i),
                None => parts.push(Part { region, replica: action.replica(), indices: vec![i] }),
            }
        }
        let mut calls: FuturesUnordered<_> = batches
            .into_iter()
            .map(|batch| async {
                let outcome = self.send_batch(actions, &batch.parts, deadline).await;
                (batch.parts, outcome)
            })
            .collect();
        while let Some((parts, outcome)) = calls.next().await {
            match outcome {
                Ok(results) => {
                    for (part, results) in parts.into_iter().zip(results) {
                        for (i, r) in part.indices.into_iter().zip(results) {
                            out.push((i, Some(Arc::clone(&part.region)), r));
                        }
                    }
                }
                Err(e) => {
                    for part in parts {
                        for i in part.indices {
                            out.push((i, Some(Arc::clone(&part.region)), Err(e.clone())));
                        }
                    }
                }
            }
        }
        out
    }

    /// Sends the parts, all of one server, and sorts the answer by part and action.
    async fn send_batch(
        &self,
        actions: &[Action],
        parts: &[Part],
        deadline: Deadline,
    ) -> Result<Vec<Vec<Result<Row>>>> {
        let mut region_action = Vec::with_capacity(parts.len());
        for part in parts {
            let copy = part.region.replica(&self.places.name, part.replica)?;
            let action = part.indices.iter().enumerate().map(|(n, i)| proto::Action {
                index: Some(n as u32),
                mutation: actions[*i].mutation().map(Mutation::to_proto),
                get: match &actions[*i] {
                    Action::Get(get) => Some(get.to_proto()),
                    _ => None,
                },
            });
            region_action.push(proto::RegionAction {
                region: specifier(copy),
                atomic: None,
                action: action.collect(),
            });
        }
        let payload = MultiPayload {
            request: proto::MultiRequest { region_action },
            actions: parts.iter().flat_map(|p| &p.indices).map(|i| &actions[*i]).collect(),
        };
        let Some(first) = parts.first() else { return Ok(Vec::new()) };
        let copy = first.region.replica(&self.places.name, first.replica)?;
        let spec = CallSpec { method: "Multi", priority: 0, deadline };
        let server = copy.place().map(|s| format!("{s:?}")).unwrap_or_default();
        let response = self.core.call_replica(&self.places.name, copy, spec, &payload).await?;
        let shape: Vec<(usize, u32)> = parts.iter().map(|p| (p.indices.len(), p.replica)).collect();
        read_multi(response, &shape, &server)
    }
}

struct Batch {
    /// The server's address in memory, to tell servers apart.
    place: Option<usize>,
    parts: Vec<Part>,
}

struct Part {
    region: Arc<Region>,
    replica: u32,
    indices: Vec<usize>,
}

/// Sorts the answer to a multi by part and action. `shape` holds, for each part, how many actions it has and which
/// replica it was sent to.
fn read_multi(
    mut response: Response,
    shape: &[(usize, u32)],
    server: &str,
) -> Result<Vec<Vec<Result<Row>>>> {
    let message: proto::MultiResponse = response.message()?;
    if message.region_action_result.len() != shape.len() {
        return Err(Error::Protocol(format!(
            "{} regions answered of {}",
            message.region_action_result.len(),
            shape.len()
        )));
    }
    let remote = |pair| Error::Remote(Box::new(RemoteError::from_pair(pair, server)));
    let mut out = Vec::with_capacity(shape.len());
    for (part, &(count, replica)) in message.region_action_result.iter().zip(shape) {
        let missing = match &part.exception {
            Some(pair) => remote(pair),
            None => Error::Protocol("an action of the batch has no answer".into()),
        };
        let mut rows: Vec<Result<Row>> = vec![Err(missing); count];
        for answer in &part.result_or_exception {
            let row = match (&answer.exception, &answer.result) {
                (Some(pair), _) => Err(remote(pair)),
                (None, Some(result)) => Ok(Row::from_proto(result, &mut response.cells, replica)?),
                (None, None) => Ok(Row::default()),
            };
            match rows.get_mut(answer.index.unwrap_or(0) as usize) {
                Some(slot) => *slot = row,
                None => return Err(Error::Protocol("an answer to no action of the batch".into())),
            }
        }
        out.push(rows);
    }
    Ok(out)
}
