//! A map inside the process: the reference against which the other bindings are held, and a
//! database for tests that need no server. An update of a record that isn't there finds none.
//!
//! The map belongs to the process and is found by table name, so that the phases of a run (create,
//! load, measure), each with bindings of its own, see the same records.

use crate::{Binding, BindingError, Context, Created, Found, Session};
use pacelc_core::{ErrorKind, FieldValue, Operation, OperationKind, Outcome, Rows};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

type Record = BTreeMap<usize, Vec<u8>>;
type Table = Mutex<BTreeMap<String, Record>>;

static TABLES: LazyLock<Mutex<HashMap<String, Arc<Table>>>> = LazyLock::new(Mutex::default);

/// The binding, and its session: both are a handle to the table.
#[derive(Debug, Clone)]
pub struct Memory {
    table: Arc<Table>,
}

impl Binding for Memory {
    type Session = Self;

    async fn open(context: &Context) -> Result<Self, BindingError> {
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.entry(context.layout.table.clone()).or_default();
        Ok(Self { table: Arc::clone(table) })
    }

    async fn find_table(&self) -> Result<Option<Found>, BindingError> {
        Ok(None)
    }

    async fn drop_table(&self, _found: &Found) -> Result<(), BindingError> {
        Ok(())
    }

    async fn create_table(&self) -> Result<Created, BindingError> {
        self.records().clear();
        Ok(Created::default())
    }

    async fn count_records(&self, _most: u64) -> Result<u64, BindingError> {
        Ok(self.records().len() as u64)
    }

    async fn session(&self) -> Result<Self, BindingError> {
        Ok(self.clone())
    }

    fn in_force(&self) -> Vec<(OperationKind, String)> {
        Vec::new()
    }
}

impl Memory {
    fn records(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Record>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session for Memory {
    async fn execute(&mut self, operation: &Operation<'_>, rows: &mut dyn Rows) -> Outcome {
        let mut records = self.records();
        match *operation {
            Operation::Read { key, field } => {
                if let Some(record) = records.get(key) {
                    give(key, record, field, rows);
                }
            }
            Operation::Update { key, values } => match records.get_mut(key) {
                Some(record) => take(values, record),
                None => return not_found(key),
            },
            Operation::Insert { key, values } => {
                take(values, records.entry(key.to_owned()).or_default());
            }
            Operation::Scan { start, limit, field } => {
                let from = start.map_or(Bound::Unbounded, Bound::Included);
                for (key, record) in
                    records.range::<str, _>((from, Bound::Unbounded)).take(limit as usize)
                {
                    give(key, record, field, rows);
                }
            }
            Operation::Delete { key } => {
                if records.remove(key).is_none() {
                    return not_found(key);
                }
            }
        }
        Outcome::Ok
    }
}

fn give(key: &str, record: &Record, only: Option<usize>, rows: &mut dyn Rows) {
    rows.row(key.as_bytes());
    for (field, value) in record.iter().filter(|(field, _)| only.is_none_or(|n| n == **field)) {
        rows.value(*field, value);
    }
}

fn take(values: &[FieldValue<'_>], record: &mut Record) {
    for FieldValue { field, value } in values {
        record.insert(*field, value.to_vec());
    }
}

fn not_found(key: &str) -> Outcome {
    Outcome::fail(ErrorKind::NotFound, format!("no record {key}"))
}
