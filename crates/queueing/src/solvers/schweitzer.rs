//! Schweitzer's approximation: one customer less takes as much from every queue as its share.
//!
//! Schweitzer, "Approximate analysis of multiclass closed networks of queues", 1979; Bard 1979; Lazowska et al., section
//! 6.4 and 7.4. Errors of a few percent, mostly of long queues with few customers; the cost doesn't depend on how many
//! there are.

use super::approximate::{self, Equations};
use super::report::{Found, solution};
use super::{Problem, Solver};
use crate::{QueueingError, Solution};

/// See the module.
pub struct Schweitzer;

impl Solver for Schweitzer {
    fn name(&self) -> &'static str {
        "schweitzer"
    }

    fn unsuited(&self, problem: &Problem<'_>) -> Option<String> {
        approximate::unsuited(problem)
    }

    fn solve(&self, problem: &Problem<'_>) -> Result<Solution, QueueingError> {
        let users: Vec<f64> = problem.chains.iter().map(|c| f64::from(c.users)).collect();
        let equations = Equations::new(problem);
        let point = equations.solve(&users, &Vec::new(), equations.begin(&users))?;
        let found = Found {
            throughput_per_s: point.throughput_per_s,
            queue: point.queue,
            busy: vec![None; problem.stations],
        };
        let queues = "with one customer less, each queue is shorter by that customer's share of it";
        Ok(solution(problem, self.name(), true, approximate::assumed(problem, queues), &found))
    }
}
