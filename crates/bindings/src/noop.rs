//! Speaks to nothing: every operation is ok at once. What is left to measure is the engine.

use crate::{Binding, BindingError, Context, Created, Found, Session};
use pacelc_core::{Operation, OperationKind, Outcome, Rows};

/// The binding.
#[derive(Debug)]
pub struct Noop;

impl Binding for Noop {
    type Session = Self;

    const KEEPS_RECORDS: bool = false;

    async fn open(_context: &Context) -> Result<Self, BindingError> {
        Ok(Self)
    }

    async fn find_table(&self) -> Result<Option<Found>, BindingError> {
        Ok(None)
    }

    async fn drop_table(&self, _found: &Found) -> Result<(), BindingError> {
        Ok(())
    }

    async fn create_table(&self) -> Result<Created, BindingError> {
        Ok(Created::default())
    }

    async fn count_records(&self, _most: u64) -> Result<u64, BindingError> {
        Ok(0)
    }

    async fn session(&self) -> Result<Self, BindingError> {
        Ok(Self)
    }

    fn in_force(&self) -> Vec<(OperationKind, String)> {
        Vec::new()
    }
}

impl Session for Noop {
    async fn execute(&mut self, operation: &Operation<'_>, _rows: &mut dyn Rows) -> Outcome {
        // The optimiser must not see that nobody looks at the operation.
        std::hint::black_box(operation);
        Outcome::Ok
    }
}
