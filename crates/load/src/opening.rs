//! Connections that open, and steps that end, within a time limit or when they are told to stop.

use crate::{LoadError, Plan};
use pacelc_bindings::{Binding, BindingError, Context, table};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time;

/// How long a binding or a session may take to open.
pub const OPEN_TIMEOUT: Duration = Duration::from_secs(30);

/// For a step that is a few requests: opening, creating, dropping.
pub(crate) const STEP_LIMIT: Duration = Duration::from_secs(300);

/// How often a step looks whether it is to stop.
const HEARING: Duration = Duration::from_millis(50);

/// Opens a binding, or says that it took too long.
pub(crate) async fn open<B: Binding>(plan: &Plan) -> Result<B, LoadError> {
    open_context(&plan.context).await
}

/// The same, where there is no plan yet.
pub(crate) async fn open_context<B: Binding>(context: &Context) -> Result<B, LoadError> {
    let target = &context.target;
    time::timeout(OPEN_TIMEOUT, B::open(context)).await.map_or_else(
        |_| {
            let address = target.endpoints.first().map_or("", String::as_str);
            Err(BindingError::connect(&target.database, address, "no answer in 30 s").into())
        },
        |opened| opened.map_err(LoadError::from),
    )
}

/// The result of `step`, unless it takes longer than `limit` or is told to stop.
pub(crate) async fn in_time<T>(
    what: &str,
    limit: Duration,
    is_stopped: &AtomicBool,
    step: impl Future<Output = Result<T, LoadError>>,
) -> Result<T, LoadError> {
    let end = time::Instant::now() + limit;
    let mut step = pin!(step);
    loop {
        if let Ok(result) = time::timeout(HEARING, step.as_mut()).await {
            return result;
        }
        if is_stopped.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        if time::Instant::now() > end {
            return Err(BindingError::late(what, limit).into());
        }
    }
}

/// Refuses to go on without this study's own table.
pub(crate) async fn require_ours<B: Binding>(binding: &B, plan: &Plan) -> Result<(), LoadError> {
    if table::require_ours(binding, &plan.context).await? {
        return Ok(());
    }
    let table = &plan.context.layout.table;
    Err(LoadError::Lost(format!("`{table}`, which this study made, is gone")))
}
