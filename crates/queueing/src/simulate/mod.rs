//! A discrete-event simulator of everything that a [`Model`] can hold.
//!
//! - [`simulate`]: means in the long run, with intervals, and percentiles.
//! - [`transient::transient`]: what happens when something changes at a given time.
//! - [`trace::trace`]: where a single customer spends its time.
//!
//! | module | holds |
//! |---|---|
//! | `random` | distributions, ready to be drawn from; choices by weight |
//! | `calendar` | what happens next |
//! | `plan` | a model laid out for the simulator |
//! | `jobs`, `gathering`, `places` | data: slots and lines; siblings; who is in a pool |
//! | `station`, `fork`, `pool` | the rules: who is served how fast; when siblings meet; who gets a place |
//! | `engine` | one replication: events, and the moves that follow from them |
//! | `tally`, `histogram` | what is counted |
//! | `interval`, `summary` | replications as one result |
//! | `warm_up` | when a beginning is over; whether queues grow for ever |
//! | `run` | how many replications run how long |
//! | `watch`, [`trace`] | single jobs |
//! | [`transient`] | changes at given times |
//!
//! # What the simulator decides where the network leaves it open
//!
//! - Replications are independent: each has a stream of random numbers of its own, so the same seed gives the same
//!   result on any number of threads.
//! - A job that is split at a fork gives its places in pools back until its siblings have met.
//! - A job that needs places in several pools takes them in the order of the network, and keeps those
//!   that it has while it waits for the next.
//! - Who is turned away from a pool isn't counted in throughput; a sibling that is turned away goes to its join at once.
//! - `late: timeout` cancels siblings that haven't come when the time is out; where the join hasn't
//!   gone on by then, as soon as it does.
//! - `late: discard` lets a sibling finish the visit at which it is served, and no further one.
//! - Where a server is lost, its customer goes back to the head of the line and keeps what was done.

mod calendar;
mod engine;
mod fork;
mod gathering;
mod histogram;
mod interval;
mod jobs;
mod places;
mod plan;
mod pool;
mod random;
mod run;
mod station;
mod summary;
mod tally;
pub mod trace;
pub mod transient;
mod warm_up;
mod watch;

#[cfg(doc)]
use crate::Model;

pub use run::{Options, simulate};
pub use summary::{ClassPercentiles, HalfWidths, Percentile, Simulated, StoppedBy};
pub use tally::PoolResult;
