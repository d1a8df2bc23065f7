//! How many customers wait where there are several servers, from means alone.
//!
//! A customer that comes to c servers waits until all but c − 1 of those that it finds are gone: E[(n − c +
//! 1)⁺] = queue − busy + P(n ≥ c). The probabilities are taken in proportion to bⁿ / n!, where b is the
//! mean number of busy servers, and so that c − b are idle in the mean: as in a product form, p(n) is b / n
//! times p(n − 1) with one customer less. In M/M/c that is exact.

/// How many departures a customer has to wait for before it is served.
pub fn before(queue: f64, busy: f64, servers: u32) -> f64 {
    let busy = busy.clamp(0.0, f64::from(servers));
    // All but c − 1 of those that are found, were all servers busy; else none.
    if servers == 1 { queue } else { (queue - busy + 1.0 - free(busy, servers)).max(0.0) }
}

/// The probability that a customer finds a free server, where so many are busy in the mean.
pub fn free(busy: f64, servers: u32) -> f64 {
    if busy <= 0.0 {
        return 1.0;
    }
    let c = f64::from(servers);
    // Σ over n < c of bⁿ/n!, and of (c − n) bⁿ/n!, as multiples of the last term.
    let (mut states, mut idle, mut term) = (1.0, 1.0, 1.0);
    for n in (0..servers - 1).rev() {
        term *= f64::from(n + 1) / busy;
        states += term;
        idle += (c - f64::from(n)) * term;
        if term > 1e200 {
            (states, idle, term) = (states * 1e-200, idle * 1e-200, term * 1e-200);
        }
    }
    ((c - busy) * states / idle).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::before;

    /// Erlang's C formula by its definition, and the queue that belongs to it.
    fn erlang(load: f64, servers: u32) -> f64 {
        let mut term = 1.0;
        let mut sum = 0.0;
        for n in 0..servers {
            sum += term;
            term *= load / f64::from(n + 1);
        }
        let rest = 1.0 - load / f64::from(servers);
        term / rest / (sum + term / rest)
    }

    #[test]
    fn open_stations_are_exact() {
        for (load, servers) in [(0.1, 2), (1.5, 2), (3.9, 4), (50.0, 64), (0.5, 1)] {
            let c = f64::from(servers);
            let waits = erlang(load, servers);
            let queue = load + waits * load / (c - load);
            // Mean wait over the time between departures: waits / (c − load).
            let expected = waits * c / (c - load);
            assert!(
                (before(queue, load, servers) - expected).abs() < 1e-9 * (1.0 + expected),
                "{load} {servers}: {} {expected}",
                before(queue, load, servers)
            );
        }
    }

    #[test]
    fn no_one_waits_where_all_is_idle() {
        assert!(before(0.0, 0.0, 8).abs() < 1e-300);
        assert!(before(1e-9, 1e-9, 1_000) < 1e-12);
    }
}
