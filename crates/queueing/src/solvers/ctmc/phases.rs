//! Service times as exponential phases.

use crate::Distribution;
use crate::distribution::balanced;
use crate::solvers::Problem;

/// Phases, in which one may begin, and which may follow each other.
pub struct Phases {
    /// Where service begins, with what probability.
    pub begin: Vec<(u16, f64)>,
    /// A second, by phase.
    pub rates: Vec<f64>,
    /// Whether one phase follows the other; else service ends with each.
    pub chained: bool,
}

impl Phases {
    /// Of a time that is made of phases; none of one that takes no time.
    pub fn of(distribution: &Distribution) -> Option<Self> {
        let mean_s = distribution.mean_s();
        if mean_s == 0.0 {
            return None;
        }
        match distribution {
            Distribution::Erlang { shape, .. } => Some(Self {
                begin: vec![(0, 1.0)],
                rates: vec![f64::from(*shape) / mean_s; *shape as usize],
                chained: true,
            }),
            Distribution::Hyperexponential { scv, .. } if *scv > 1.0 => {
                let first = balanced(*scv);
                Some(Self {
                    begin: vec![(0, first), (1, 1.0 - first)],
                    rates: vec![2.0 * first / mean_s, 2.0 * (1.0 - first) / mean_s],
                    chained: false,
                })
            }
            _ => Some(Self { begin: vec![(0, 1.0)], rates: vec![1.0 / mean_s], chained: false }),
        }
    }
}

/// The first service that isn't made of phases.
pub fn unsuited(problem: &Problem<'_>) -> Option<String> {
    (0..problem.stations).find_map(|index| {
        let mut services = problem.station(index).service.iter().enumerate();
        let (class, _) = services.find(|(class, service)| {
            let other = service.as_ref().is_some_and(|service| {
                let phases = matches!(
                    service,
                    Distribution::Exponential { .. }
                        | Distribution::Erlang { .. }
                        | Distribution::Hyperexponential { .. }
                );
                !phases && service.mean_s() > 0.0
            });
            problem.visited(index, *class) && other
        })?;
        Some(format!(
            "station {}: service of {} isn't exponential, Erlang or hyperexponential",
            problem.name(index),
            problem.model.classes[class].name
        ))
    })
}
