//! Balance equations: the long-run share of time in each state.

use crate::QueueingError;

/// Up to here elimination, which subtracts nothing (Grassmann, Taksar and Heyman 1985); beyond, Gauss and Seidel.
const ELIMINATED: usize = 300;
const MOST_SWEEPS: usize = 50_000;
/// Of the change in a sweep, of a sum of 1.
const CONVERGED: f64 = 1e-14;

/// The probabilities of all states, 0 for those that aren't come back to.
///
/// # Errors
///
/// [`QueueingError::Unsuited`] if the iteration doesn't converge.
pub fn solve(rates: &[Vec<(usize, f64)>]) -> Result<Vec<f64>, QueueingError> {
    let recurrent = recurrent(rates);
    let mut number = vec![usize::MAX; rates.len()];
    for (new, old) in recurrent.iter().enumerate() {
        number[*old] = new;
    }
    let own: Vec<Vec<(usize, f64)>> = recurrent
        .iter()
        .map(|old| rates[*old].iter().map(|(to, rate)| (number[*to], *rate)).collect())
        .collect();
    let solved = if own.len() <= ELIMINATED { eliminate(&own) } else { iterate(&own)? };
    let mut all = vec![0.0; rates.len()];
    for (old, p) in recurrent.iter().zip(solved) {
        all[*old] = p;
    }
    Ok(all)
}

/// The states that are come back to, ascending.
fn recurrent(rates: &[Vec<(usize, f64)>]) -> Vec<usize> {
    let mut into = vec![Vec::new(); rates.len()];
    let mut out = vec![Vec::new(); rates.len()];
    for (from, next) in rates.iter().enumerate() {
        for (to, _) in next {
            into[*to].push(from);
            out[from].push(*to);
        }
    }
    let mut at = 0;
    loop {
        // Whoever can't get back from where one can get to is better to begin at.
        let back = reach(&into, at);
        let forth = reach(&out, at);
        match (0..rates.len()).find(|state| forth[*state] && !back[*state]) {
            Some(state) => at = state,
            None => return (0..rates.len()).filter(|state| forth[*state]).collect(),
        }
    }
}

fn reach(next: &[Vec<usize>], from: usize) -> Vec<bool> {
    let mut seen = vec![false; next.len()];
    seen[from] = true;
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for to in &next[at] {
            if !std::mem::replace(&mut seen[*to], true) {
                open.push(*to);
            }
        }
    }
    seen
}

fn eliminate(rates: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let n = rates.len();
    let mut dense = vec![vec![0.0; n]; n];
    for (from, next) in rates.iter().enumerate() {
        for (to, rate) in next {
            dense[from][*to] += rate;
        }
    }
    for last in (1..n).rev() {
        let (before, own) = dense.split_at_mut(last);
        let own = &own[0];
        let out: f64 = own[..last].iter().sum();
        for row in before {
            let share = row[last] / out;
            row[last] = share;
            if share > 0.0 {
                for (rate, by) in row[..last].iter_mut().zip(own) {
                    *rate += share * by;
                }
            }
        }
    }
    let mut p = vec![1.0];
    for state in 1..n {
        p.push((0..state).map(|from| p[from] * dense[from][state]).sum());
    }
    let sum: f64 = p.iter().sum();
    p.iter().map(|p| p / sum).collect()
}

fn iterate(rates: &[Vec<(usize, f64)>]) -> Result<Vec<f64>, QueueingError> {
    let n = rates.len();
    let mut into: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
    let mut out = vec![0.0; n];
    for (from, next) in rates.iter().enumerate() {
        for (to, rate) in next {
            if from != *to {
                into[*to].push((from, *rate));
                out[from] += rate;
            }
        }
    }
    let mut p = vec![1.0 / n as f64; n];
    for _ in 0..MOST_SWEEPS {
        let mut change = 0.0;
        for state in 0..n {
            let flow: f64 = into[state].iter().map(|(from, rate)| p[*from] * rate).sum();
            let next = flow / out[state];
            change += (next - p[state]).abs();
            p[state] = next;
        }
        let sum: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= sum);
        if change / sum < CONVERGED * (n as f64).sqrt() {
            return Ok(p);
        }
    }
    Err(QueueingError::Unsuited(format!(
        "ctmc can't solve this: {n} states don't settle in {MOST_SWEEPS} sweeps; simulate it"
    )))
}
