//! When the k-th of n siblings comes: the order statistic of independent times of which two moments are known.
//!
//! The mean is the integral of the probability that fewer than k have come (David and Nagaraja, *Order Statistics*,
//! chapter 3), by quadrature. Of exponentials with one mean T it is T · (1/n + 1/(n − 1) + … + 1/(n − k + 1)).

use crate::distribution::balanced;
use std::sync::OnceLock;

const POINTS: usize = 40;
/// No more phases than these: less variable times are taken for as variable.
const MOST_PHASES: u32 = 24;
/// Up to so many siblings each is looked at by itself.
const FEW: usize = 8;

/// A time that is partly certain, such as the way to another region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// It takes this at least, in seconds.
    least_s: f64,
    /// The mean of what may come to that.
    more_s: f64,
    more: Phases,
}

/// Time of a mean and a variation, made of phases: mixed Erlang below an exponential's variation, balanced
/// hyperexponential above (Tijms, *Stochastic Models*, 1994, appendix B).
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phases {
    /// None.
    Zero,
    /// Of `phases` phases, or of one less with probability `fewer`.
    Erlang { phases: u32, fewer: f64, rate: f64 },
    /// One of two exponentials.
    Hyperexponential { first: f64, rates: [f64; 2] },
}

impl Time {
    /// With these moments, of which `least_s` is certain.
    pub fn new(least_s: f64, mean_s: f64, variance: f64) -> Self {
        let more_s = (mean_s - least_s).max(0.0);
        Self { least_s, more_s, more: Phases::new(more_s, variance) }
    }

    /// The mean.
    pub fn mean_s(self) -> f64 {
        self.least_s + self.more_s
    }

    /// The probability that it isn't over by then.
    fn survives(self, t: f64) -> f64 {
        if t < self.least_s { 1.0 } else { self.more.survives(t - self.least_s) }
    }
}

impl Phases {
    fn new(mean_s: f64, variance: f64) -> Self {
        if mean_s <= 0.0 {
            return Self::Zero;
        }
        let scv = (variance / (mean_s * mean_s)).max(1.0 / f64::from(MOST_PHASES));
        if scv > 1.0 + 1e-9 {
            let first = balanced(scv);
            let rates = [2.0 * first / mean_s, 2.0 * (1.0 - first) / mean_s];
            return Self::Hyperexponential { first, rates };
        }
        let phases = (1.0 / scv - 1e-9).ceil().max(1.0);
        let root = (phases * (1.0 + scv) - phases * phases * scv).max(0.0).sqrt();
        let fewer = ((phases * scv - root) / (1.0 + scv)).clamp(0.0, 1.0);
        Self::Erlang { phases: phases as u32, fewer, rate: (phases - fewer) / mean_s }
    }

    /// The probability that it isn't over by then.
    fn survives(self, t: f64) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::Erlang { phases, fewer, rate } => {
                let x = rate * t;
                let (mut sum, mut term) = (0.0, 1.0);
                for phase in 1..phases {
                    sum += term;
                    term *= x / f64::from(phase);
                }
                (-x).exp() * (sum + (1.0 - fewer) * term)
            }
            Self::Hyperexponential { first, rates } => {
                first * (-rates[0] * t).exp() + (1.0 - first) * (-rates[1] * t).exp()
            }
        }
    }
}

/// What waiting at a join is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    /// The mean time until enough have come.
    pub mean_s: f64,
    /// By sibling, if it is chosen: its mean time after that.
    pub late_s: Vec<f64>,
}

/// Of siblings, each of which takes one of some times, `copies` are chosen by chance, and `wait_for` of these waited for.
pub fn join(siblings: &[Vec<Time>], means_s: &[f64], copies: usize, wait_for: usize) -> Joined {
    let scale = means_s.iter().sum::<f64>() / means_s.len() as f64;
    let mut joined = Joined { mean_s: 0.0, late_s: vec![0.0; siblings.len()] };
    if scale == 0.0 {
        return joined;
    }
    if let Some(time) = all_alike(siblings) {
        let (until_s, late_s) = join_alike(time, copies, wait_for);
        return Joined { mean_s: until_s, late_s: vec![late_s; siblings.len()] };
    }
    let mut survives = vec![0.0; siblings.len()];
    let mut before = vec![0.0; siblings.len()];
    let mut ways = Vec::new();
    for (t, step) in steps(siblings) {
        for (survives, times) in survives.iter_mut().zip(siblings) {
            *survives = times.iter().map(|time| time.survives(t)).sum::<f64>() / times.len() as f64;
        }
        joined.mean_s += step * fewer(&survives, None, copies, wait_for, &mut ways);
        if wait_for == copies {
            continue;
        }
        // The time that a sibling takes before the join: while it isn't there, nor enough others.
        if siblings.len() <= FEW {
            for (own, before) in before.iter_mut().enumerate() {
                let others = fewer(&survives, Some(own), copies - 1, wait_for, &mut ways);
                *before += step * survives[own] * others;
            }
        } else {
            let mean = survives.iter().sum::<f64>() / survives.len() as f64;
            let others = fewer_alike(mean, copies - 1, wait_for);
            for (before, survives) in before.iter_mut().zip(&survives) {
                *before += step * survives * others;
            }
        }
    }
    if wait_for < copies {
        for ((late, mean), before) in joined.late_s.iter_mut().zip(means_s).zip(&before) {
            *late = (mean - before).max(0.0);
        }
    }
    joined
}

/// The time of every sibling, if all take the same one: then it is no matter which are chosen.
fn all_alike(siblings: &[Vec<Time>]) -> Option<Time> {
    let first = *siblings.first()?.first()?;
    siblings.iter().flatten().all(|time| *time == first).then_some(first)
}

/// As [`join`] of siblings that are alike: the mean time until enough have come, and each one's after that.
fn join_alike(time: Time, copies: usize, wait_for: usize) -> (f64, f64) {
    let n = copies as f64;
    if let Phases::Erlang { phases: 1, .. } = time.more {
        // After the k-th, each of the others takes its mean once more.
        let joined: f64 = (0..wait_for).map(|come| time.more_s / (n - come as f64)).sum();
        return (time.least_s + joined, time.more_s * (copies - wait_for) as f64 / n);
    }
    // Until they may begin to come, none has.
    let (mut joined_s, mut before_s) = (time.least_s, time.least_s);
    for (more_s, step) in from(0.0, time.more_s) {
        let survives = time.more.survives(more_s);
        joined_s += step * fewer_alike(survives, copies, wait_for);
        if wait_for < copies {
            before_s += step * survives * fewer_alike(survives, copies - 1, wait_for);
        }
    }
    (joined_s, if wait_for < copies { (time.mean_s() - before_s).max(0.0) } else { 0.0 })
}

/// The probability that fewer than `wait_for` of so many have come, each of which hasn't with the same probability.
fn fewer_alike(survives: f64, copies: usize, wait_for: usize) -> f64 {
    let come = 1.0 - survives;
    let power = |base: f64, times: usize| base.powi(i32::try_from(times).unwrap_or(i32::MAX));
    if wait_for == copies {
        return 1.0 - power(come, copies);
    }
    let (mut sum, mut choices) = (0.0, 1.0);
    for n in 0..wait_for {
        sum += choices * power(come, n) * power(survives, copies - n);
        choices *= (copies - n) as f64 / (n + 1) as f64;
    }
    sum
}

/// The probability that fewer than `wait_for` of `copies` siblings, chosen by chance, have come; `ways` is for its
/// own use.
fn fewer(
    survives: &[f64],
    without: Option<usize>,
    copies: usize,
    wait_for: usize,
    ways: &mut Vec<f64>,
) -> f64 {
    let there = survives.len() - usize::from(without.is_some());
    let others = survives.iter().enumerate().filter(|(at, _)| Some(*at) != without);
    if copies == there && wait_for == copies {
        return 1.0 - others.map(|(_, survives)| 1.0 - survives).product::<f64>();
    }
    // ways[chosen][come]: the sum over all choices of the probability that so many have come. Where all are chosen
    // there is only one choice at a time.
    let width = wait_for;
    ways.clear();
    if copies == there {
        ways.resize(width, 0.0);
        ways[0] = 1.0;
        for (_, survives) in others {
            for come in (1..width).rev() {
                ways[come] = ways[come] * survives + ways[come - 1] * (1.0 - survives);
            }
            ways[0] *= survives;
        }
        return ways.iter().sum();
    }
    ways.resize((copies + 1) * width, 0.0);
    ways[0] = 1.0;
    for (seen, (_, survives)) in others.enumerate() {
        for chosen in (1..=copies.min(seen + 1)).rev() {
            for come in (0..width).rev() {
                let stays = ways[(chosen - 1) * width + come] * survives;
                let comes = match come {
                    0 => 0.0,
                    _ => ways[(chosen - 1) * width + come - 1] * (1.0 - survives),
                };
                ways[chosen * width + come] += stays + comes;
            }
        }
    }
    let choices = (0..copies).fold(1.0, |product, i| product * (there - i) as f64 / (i + 1) as f64);
    ways[copies * width..].iter().sum::<f64>() / choices
}

/// Times and their weights, to integrate over all times at which siblings may come: in pieces, at whose ends
/// one may begin to.
fn steps(siblings: &[Vec<Time>]) -> Vec<(f64, f64)> {
    let mut ends_s: Vec<f64> = siblings.iter().flatten().map(|time| time.least_s).collect();
    ends_s.sort_by(f64::total_cmp);
    ends_s.dedup();
    let mut found = Vec::new();
    let mut begin_s = 0.0;
    for end_s in ends_s {
        let long_s = end_s - begin_s;
        if long_s > 0.0 {
            found.extend(quadrature().map(|(x, weight)| (begin_s + long_s * x, weight * long_s)));
        }
        begin_s = end_s;
    }
    let count = siblings.iter().map(Vec::len).sum::<usize>() as f64;
    let scale = siblings.iter().flatten().map(|time| time.more_s).sum::<f64>() / count;
    if scale > 0.0 {
        found.extend(from(begin_s, scale));
    }
    found
}

/// Times and their weights, to integrate from then on what falls off with about this mean.
fn from(begin_s: f64, scale_s: f64) -> impl Iterator<Item = (f64, f64)> {
    quadrature().map(move |(x, weight)| {
        let rest = 1.0 - x;
        (begin_s + scale_s * x / rest, weight * scale_s / (rest * rest))
    })
}

/// Points and weights of Gauss and Legendre on 0 to 1.
fn quadrature() -> impl Iterator<Item = (f64, f64)> {
    static TABLE: OnceLock<Vec<(f64, f64)>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let n = POINTS as f64;
        (0..POINTS)
            .map(|i| {
                let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n + 0.5)).cos();
                let mut slope = 0.0;
                for _ in 0..20 {
                    let (mut last, mut value) = (1.0, x);
                    for k in 2..=POINTS {
                        let k = k as f64;
                        (last, value) =
                            (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * last) / k);
                    }
                    slope = n * (x * value - last) / (x * x - 1.0);
                    x -= value / slope;
                }
                (f64::midpoint(1.0, x), 1.0 / ((1.0 - x * x) * slope * slope))
            })
            .collect()
    });
    table.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponentials(n: usize, copies: usize, wait_for: usize) -> Joined {
        join(&vec![vec![Time::new(0.0, 2.0, 4.0)]; n], &vec![2.0; n], copies, wait_for)
    }

    #[test]
    fn what_is_certain_comes_one_after_the_other() {
        let times: Vec<_> =
            [1.0, 5.0, 9.0].map(|least| vec![Time::new(least, least + 0.1, 0.01)]).into();
        for (wait_for, mean_s) in [(1, 1.1), (2, 5.1), (3, 9.1)] {
            let joined = join(&times, &[1.1, 5.1, 9.1], 3, wait_for);
            assert!((joined.mean_s - mean_s).abs() < 1e-6, "{wait_for}: {joined:?}");
        }
        let alike = vec![vec![Time::new(4.0, 6.0, 4.0)]; 3];
        let joined = join(&alike, &[6.0; 3], 3, 2);
        assert!((joined.mean_s - (4.0 + 2.0 / 3.0 + 1.0)).abs() < 1e-9);
        assert!((joined.late_s[0] - 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn exponentials_have_harmonic_sums() {
        for (n, k) in [(1, 1), (3, 1), (3, 2), (3, 3), (10, 7), (30, 30)] {
            let expected: f64 = (0..k).map(|i| 2.0 / (n - i) as f64).sum();
            let found = exponentials(n, n, k);
            assert!((found.mean_s / expected - 1.0).abs() < 1e-6, "{n} {k} {found:?} {expected}");
        }
        // 3 of 10 by chance are as 3.
        let (chosen, all) = (exponentials(10, 3, 2), exponentials(3, 3, 2));
        assert!((chosen.mean_s / all.mean_s - 1.0).abs() < 1e-9);
        assert!((chosen.late_s[0] / all.late_s[0] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_late_is_what_is_left() {
        // The last of 3 takes 2 more after the second, and each is the last equally often.
        let found = exponentials(3, 3, 2);
        assert!((found.late_s[0] - 2.0 / 3.0).abs() < 1e-6, "{found:?}");
        assert_eq!(exponentials(3, 3, 3).late_s, [0.0; 3]);
    }

    #[test]
    fn siblings_that_are_nearly_alike_are_as_those_that_are() {
        for scv in [1.0, 0.4, 3.0] {
            let with = |last: f64| {
                let times =
                    [1.0, 1.0, last].map(|mean: f64| vec![Time::new(0.0, mean, scv * mean * mean)]);
                join(&times, &[1.0, 1.0, last], 3, 2)
            };
            let (alike, nearly) = (with(1.0), with(1.0 + 1e-9));
            assert!((alike.mean_s / nearly.mean_s - 1.0).abs() < 1e-4, "{alike:?} {nearly:?}");
            assert!(
                (alike.late_s[0] / nearly.late_s[0] - 1.0).abs() < 1e-4,
                "{alike:?} {nearly:?}"
            );
        }
    }

    #[test]
    fn both_moments_are_kept() {
        for (mean, scv) in [(1.0, 1.0), (3.0, 0.5), (2.0, 0.37), (1.0, 0.1), (1e-6, 2.5)] {
            let time = Time::new(0.0, mean, scv * mean * mean);
            let found = join(&[vec![time]], &[mean], 1, 1).mean_s;
            assert!((found / mean - 1.0).abs() < 1e-4, "{mean} {scv} {found}");
        }
    }
}
