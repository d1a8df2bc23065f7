//! The client: handles on tables and on what the master does, and counts of what it did.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::admin::Admin;
use crate::config::Config;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::locate::TableName;
use crate::rpc::Deadline;
use crate::table::Table;

/// What a client did beside plain calls, since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections opened.
    pub connections: u64,
    /// Questions to `hbase:meta` or the registry.
    pub lookups: u64,
    /// Operations sent to another place after proof that they were not executed.
    pub relocations: u64,
    /// Operations repeated although they may have been executed (only with [`Config::retries`]).
    pub retries: u64,
    /// Calls sent to secondary replicas because the primary was slow or failed.
    pub hedges: u64,
}

/// A client of one cluster. Cheap to clone; clones share connections and what is known of regions.
#[derive(Clone)]
pub struct Client {
    pub(crate) core: Arc<Core>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("masters", &self.core.config.masters).finish_non_exhaustive()
    }
}

impl Client {
    /// Reaches a master and asks it for the cluster's id; everything else is found when it is needed.
    ///
    /// Must be called inside a tokio runtime (a `current_thread` one will do) with I/O and time enabled.
    ///
    /// # Errors
    /// [`Error::NoMaster`] if no master serves, [`Error::Timeout`] if none answers in [`Config::operation_timeout`];
    /// [`Error::Invalid`] if an address can't be read.
    pub async fn connect(config: Config) -> Result<Self> {
        let core = Arc::new(Core::new(config)?);
        let deadline = Deadline::after(core.config.operation_timeout);
        let cluster_id = core.registry().cluster_id(deadline).await?;
        if cluster_id.is_none() {
            return Err(Error::NoMaster {
                masters: core.config.masters.join(","),
                reason: "the cluster has no id yet; its master is still starting".into(),
            });
        }
        Ok(Self { core })
    }

    /// A handle on a table. Nothing is sent: whether the table exists shows with the first operation.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `name` can't be a table's name.
    pub fn table(&self, name: &str) -> Result<Table> {
        let places = self.core.places(TableName::new(name)?);
        Ok(Table::new(Arc::clone(&self.core), places))
    }

    /// Creating and deleting tables, moving regions, the cluster's state.
    #[must_use]
    pub fn admin(&self) -> Admin {
        Admin::new(Arc::clone(&self.core))
    }

    /// What the client did beside plain calls.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let c = &self.core.counters;
        Counts {
            connections: c.connections.load(Ordering::Relaxed),
            lookups: c.lookups.load(Ordering::Relaxed),
            relocations: c.relocations.load(Ordering::Relaxed),
            retries: c.retries.load(Ordering::Relaxed),
            hedges: c.hedges.load(Ordering::Relaxed),
        }
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.core.config
    }
}
