//! Hedged reads: the primary is asked, and its replicas too where it is late or fails.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::sleep;

use crate::core::{Core, Places};
use crate::error::{Error, Result};
use crate::rpc::Deadline;

/// Asks the primary; if it has not answered after `after` (or has failed), asks the other replicas too. The first
/// success wins; if nobody succeeds, the primary's error is reported.
pub(crate) async fn hedged<T, F, Fut>(
    core: &Core,
    places: &Places,
    row: &Bytes,
    after: Duration,
    deadline: Deadline,
    from: F,
) -> Result<T>
where
    F: Fn(u32) -> Fut,
    Fut: Future<Output = Result<T>>,
{
    let mut primary = std::pin::pin!(from(0));
    let mut first_error = None;
    tokio::select! {
        biased;
        outcome = &mut primary => match outcome {
            Ok(value) => return Ok(value),
            Err(e) if matches!(e, Error::Invalid(_) | Error::TableNotFound(_)) => return Err(e),
            Err(e) => first_error = Some(e),
        },
        () = sleep(after) => {}
    }
    // One future for all that the replicas need, polled beside the primary: the primary's call may hold the turn to ask
    // hbase:meta, so that waiting for the turn alone would wait for ever.
    let mut others = std::pin::pin!(async {
        let region = core.locate(places, row, deadline).await.ok()?;
        let mut calls: FuturesUnordered<_> =
            region.replicas().iter().skip(1).map(|replica| from(replica.id())).collect();
        core.counters.hedges.fetch_add(calls.len() as u64, Ordering::Relaxed);
        while let Some(outcome) = calls.next().await {
            if let Ok(value) = outcome {
                return Some(value);
            }
        }
        None
    });
    let mut others_failed = false;
    loop {
        tokio::select! {
            biased;
            outcome = &mut primary, if first_error.is_none() => match outcome {
                Ok(value) => return Ok(value),
                Err(e) => first_error = Some(e),
            },
            answer = &mut others, if !others_failed => match answer {
                Some(value) => return Ok(value),
                None => others_failed = true,
            },
            else => {
                let late = || deadline.error("waiting for replicas", false);
                return Err(first_error.unwrap_or_else(late));
            }
        }
    }
}
