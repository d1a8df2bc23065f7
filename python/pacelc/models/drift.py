"""What a cluster's runs have in common at a time: it, or its machine, gets faster or slower.

Java machines go on compiling, and neighbours of a virtual machine come and go, for minutes: runs
made one after the other are fast or slow together, whatever they measure. Repetitions tell that
from what scenarios differ by: logarithms of throughput are a scenario's own, plus what they change
by with the machine's own speed (:class:`~pacelc.store.format.MachineSpeed`, where runs have it),
plus a function of time that all runs of a cluster share (an Ornstein-Uhlenbeck process), plus
chance. How large each is comes from differences within scenarios alone (restricted likelihood;
Patterson and Thompson: Recovery of inter-block information when block sizes are unequal, Biometrika
58, 1971). What isn't the scenario's own, nor chance, is taken off: throughput of a slow minute is
put up, and its latencies down (Little's law), as if the machine had been equally fast all the time.
Means of what is left are those of generalized least squares (Henderson: Best linear unbiased
estimation and prediction under a selection model, Biometrics 31, 1975).

A cluster that is started anew, by another study, is another cluster: of those of a kind the mean
counts, and what each is faster or slower by, with all its runs, is taken off. A study that wasn't
made of all kinds may have been made on a faster machine: what all its clusters are faster by,
together, is taken off before.

Start here: :func:`steadied`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from scipy import linalg, optimize, stats
from scipy.sparse import csgraph

from pacelc.analysis.estimate import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.models.observations import Cluster, Observation

    Floats: TypeAlias = NDArray[np.float64]

_Key = TypeVar("_Key")

__all__ = ["ByMachine", "Steadied", "steadied"]

_LEAST: Final = 20
"""Runs beyond one a scenario, of which it can be told what they share."""
_LIKELY: Final = (0.1, 60.0, 0.1)
"""Where the search begins: deviation of what is shared, seconds in which it is forgotten, deviation
of chance."""
_FACTOR: Final = 30.0
"""Of which either way they are looked for."""
_UNSURE: Final = 0.1
"""Share of throughput (95 %, either way): what a machine did to it should be known better."""
_TO_THE_ENDS: Final = float(stats.norm.isf((1 - CONFIDENCE) / 2))
"""Standard deviations from the middle of an interval."""


class Steadied(NamedTuple):
    """Runs without what they share with others at a time; what was taken off, by database."""

    observations: list[Observation]
    most: Mapping[str, float]
    """The largest change of a throughput, as a share; none where nothing was taken off."""
    anew: Mapping[str, float]
    """Standard deviation of what clusters of a kind differ by, as a share; none of single ones."""
    apart: Mapping[str, float]
    """The same beyond what all of a study do together; none of single ones, or of a single kind."""
    machines: Mapping[str, float]
    """How many times as fast as the slowest study's machine the fastest was, in the median; none of
    single studies, or where it isn't known."""
    unsure: Mapping[str, Sequence[ByMachine]]
    """Clusters of which much is put down to the machine's speed that may be something else's."""


class ByMachine(NamedTuple):
    """What of a cluster's throughput is put down to its machine's speed, by its own runs.

    Shares, of what it would be on the mean of its study's machines.
    """

    study: str
    """The directory of its runs."""
    cluster: Cluster
    machine: float
    """By which the machine was faster than in that mean."""
    throughput: float
    """By which the cluster was, which is taken off."""
    low: float
    high: float
    """Between which that is in 95 % of all cases."""


def steadied(found: Sequence[Observation]) -> Steadied:
    """Take off what runs share with others of their cluster at a time.

    What clusters differ by beyond the machine's speed stays, unless they are of one kind, started
    anew. A cluster of which too little was repeated stays as it is.
    """
    steady = {one.run: one for one in found}
    usual = _usual(found)
    most: dict[str, float] = {}
    unsure: dict[str, list[ByMachine]] = {}
    in_order = sorted(found, key=lambda one: one.started_unix_s)
    for _, those in itertools.groupby(in_order, key=_cluster):
        runs = list(those)
        common = _common(runs, usual[runs[0].database, runs[0].study])
        if common is None:
            continue
        if common.deviation * _TO_THE_ENDS > _UNSURE:
            unsure.setdefault(runs[0].database, []).append(_by_machine(runs[0], common))
        for one, shared in zip(runs, common.logs.tolist(), strict=True):
            factor = float(np.exp(-shared))
            most[one.database] = max(most.get(one.database, 0.0), abs(factor - 1))
            steady[one.run] = replace(_faster(one, factor), unseen=common.unseen)
    same, anew, apart = _alike([steady[one.run] for one in found])
    return Steadied(same, most, anew, apart, _machines(found), unsure)


def _by_machine(one: Observation, common: _Common) -> ByMachine:
    ends = [common.faster + sign * _TO_THE_ENDS * common.deviation for sign in (0, -1, 1)]
    machine, *shares = (math.expm1(log) for log in (-common.slower, *ends))
    return ByMachine(one.study, one.cluster, machine, *shares)


def _faster(one: Observation, factor: float) -> Observation:
    """Return a run as it would be if its users' operations took a factor less."""
    return replace(
        one,
        reads_per_s=one.reads_per_s * factor,
        writes_per_s=one.writes_per_s * factor,
        latencies_s={kind: value / factor for kind, value in one.latencies_s.items()},
        p99_s={kind: value / factor for kind, value in one.p99_s.items()},
    )


def _cluster(one: Observation) -> tuple[object, ...]:
    """Return what runs have in common that came one after the other on the same servers."""
    return one.study, *one.kind


def _by_study(
    found: Sequence[Observation], key: Callable[[Observation], _Key]
) -> dict[_Key, dict[str, list[Observation]]]:
    """Return runs by what they have in common, and by study."""
    common: dict[_Key, dict[str, list[Observation]]] = {}
    for one in found:
        common.setdefault(key(one), {}).setdefault(one.study, []).append(one)
    return common


def _database(one: Observation) -> str:
    return one.database


def _alike(
    found: Sequence[Observation],
) -> tuple[list[Observation], dict[str, float], dict[str, float]]:
    """Take off what clusters differ by from others of their kind.

    Return that by database: all of it, and beyond what all of a study differ by together.
    """
    factors: dict[tuple[object, ...], float] = {}
    variances: dict[str, list[float]] = {}
    beyond: dict[str, list[list[float]]] = {}
    whole = _of_studies(found)
    for kind, studies in _by_study(found, lambda one: one.kind).items():
        database = next(iter(studies.values()))[0].database
        for levels in _levels(studies):
            # Not all kinds were measured in all studies, one of which was of a faster machine.
            usual = float(np.mean([whole[database, study] for study in levels]))
            factors |= {(study, *kind): math.exp(-level - usual) for study, level in levels.items()}
            if len(levels) > 1:
                variance = float(np.var(list(levels.values()), ddof=1))
                variances.setdefault(database, []).append(variance)
                rest = [level - whole[database, study] for study, level in levels.items()]
                beyond.setdefault(database, []).append(rest)
    same = [_faster(one, factors[_cluster(one)]) for one in found]
    anew = {name: float(np.mean(those)) ** 0.5 for name, those in variances.items()}
    return same, anew, {name: _apart(of) for name, of in beyond.items() if len(of) > 1}


def _apart(of_kinds: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation of what is left when kinds' own parts are gone, too."""
    squares = sum(len(those) * float(np.var(those)) for those in of_kinds)
    # Studies' parts, that are gone, were those of all kinds together.
    free = sum(len(those) - 1 for those in of_kinds) * (1 - 1 / len(of_kinds))
    return math.sqrt(squares / free)


def _of_studies(found: Sequence[Observation]) -> dict[tuple[str, str], float]:
    """Return by how much each study's clusters are faster, together, by database and study."""
    return {
        (database, study): level
        for database, studies in _by_study(found, _database).items()
        for levels in _levels(studies)
        for study, level in levels.items()
    }


def _machines(found: Sequence[Observation]) -> dict[str, float]:
    """Return how many times as fast as the slowest study's machine the fastest was, by database."""
    steps_ns: dict[str, dict[str, list[float]]] = {}
    for one in found:
        if one.machine_step_ns is not None:
            by_study = steps_ns.setdefault(one.database, {})
            by_study.setdefault(one.study, []).append(one.machine_step_ns)
    medians = {name: [np.median(those) for those in of.values()] for name, of in steps_ns.items()}
    return {name: float(max(of) / min(of)) for name, of in medians.items() if len(of) > 1}


def _levels(studies: Mapping[str, Sequence[Observation]]) -> list[dict[str, float]]:
    """Return logarithms of throughput by study, less what scenarios have; of those that compare.

    Least squares of studies' and scenarios' own parts: two studies compare by scenarios that both
    have, or by others that compare with both. Levels of some that do have the mean 0, and so has
    that of one that compares with none.
    """
    means: dict[tuple[str, int], list[float]] = {}
    for study, runs in studies.items():
        for one in runs:
            of = means.setdefault((study, one.scenario), [])
            of.append(float(np.log(one.throughput_per_s)))
    names = list(studies)
    scenarios = {number: i for i, number in enumerate(dict.fromkeys(own for _, own in means))}
    columns = np.zeros((len(means), len(names) + len(scenarios)))
    for row, (study, scenario) in zip(columns, means, strict=True):
        row[[names.index(study), len(names) + scenarios[scenario]]] = 1
    rates = np.array([np.mean(those) for those in means.values()])
    found, *_ = np.linalg.lstsq(columns, rates)
    _, groups = csgraph.connected_components(columns.T @ columns)
    together: dict[int, dict[str, float]] = {}
    for name, level, group in zip(names, found.tolist(), groups.tolist(), strict=False):
        together.setdefault(group, {})[name] = level
    return [
        {name: level - float(np.mean(list(of.values()))) for name, level in of.items()}
        for of in together.values()
    ]


class _Common(NamedTuple):
    """What runs share: its logarithms, and what of means' variance no longer shows without it."""

    logs: Floats
    unseen: float
    slower: float
    """Logarithm of what the machine took for its arithmetic, over its usual one; the mean."""
    faster: float
    """Logarithm of throughput that is put down to that, and its standard deviation."""
    deviation: float


def _slowness(runs: Sequence[Observation]) -> Floats:
    """Return logarithms of what the machine took for its arithmetic; nan where that isn't known."""
    return np.log([one.machine_step_ns or np.nan for one in runs])


def _usual(found: Sequence[Observation]) -> dict[tuple[str, str], float]:
    """Return the mean of that by database and study.

    What a cluster's own runs say of a machine's speed holds nearby. It would have to be carried far
    to another study's machine, and what studies are faster by is taken off anyway.
    """
    usual: dict[tuple[str, str], float] = {}
    for database, studies in _by_study(found, _database).items():
        for study, runs in studies.items():
            speeds = _slowness(runs)
            known = speeds[~np.isnan(speeds)]
            usual[database, study] = float(known.mean()) if known.size else np.nan
    return usual


def _common(runs: Sequence[Observation], usual: float) -> _Common | None:
    """Return what runs of a cluster share, in their order; None if it can't be told."""
    of = {number: i for i, number in enumerate(dict.fromkeys(one.scenario for one in runs))}
    if len(runs) - len(of) < _LEAST:
        return None
    scenarios = np.zeros((len(runs), len(of)))
    for i, one in enumerate(runs):
        scenarios[i, of[one.scenario]] = 1
    rates = np.log([one.throughput_per_s for one in runs])
    times = np.array([one.started_unix_s for one in runs])
    apart = np.abs(times[:, None] - times[None, :])
    slow = (_slowness(runs) - usual)[:, None]
    part = _part(scenarios, slow, rates, apart) if np.ptp(slow) > 0 else None
    slower = 0.0 if part is None else float(slow.mean())
    deviation = 0.0 if part is None else abs(slower) * part.deviation
    if part is None or part.slopes[0] >= 0:
        # Nobody knows, or it would be faster on a slower machine, which is chance.
        slow = slow[:, :0]
        part = _part(scenarios, slow, rates, apart)
    by_machine = slow @ part.slopes
    rest = rates - by_machine - part.shared - scenarios @ part.means
    shared = part.shared - part.shared.mean() + by_machine
    unseen = _unseen(scenarios, part.variance, rest)
    return _Common(shared, unseen, slower, float(by_machine.mean()), deviation)


class _Part(NamedTuple):
    """Of logarithms of throughput: the scenarios' own, by the machine's speed, and by the time."""

    means: Floats
    variance: Floats
    """Of the means."""
    slopes: Floats
    shared: Floats
    deviation: float
    """Of the slope; 0 if there is none."""


def _part(scenarios: Floats, slow: Floats, rates: Floats, apart: Floats) -> _Part:
    fixed = np.column_stack([scenarios, slow])
    alike, chance = _likeliest(fixed, rates, apart)
    precision = linalg.inv(alike + chance**2 * np.eye(rates.size))
    variance = linalg.inv(fixed.T @ precision @ fixed)
    found = variance @ fixed.T @ precision @ rates
    count = scenarios.shape[1]
    shared = alike @ precision @ (rates - fixed @ found)
    deviation = math.sqrt(variance[count:, count:].sum())
    return _Part(found[:count], variance[:count, :count], found[count:], shared, deviation)


def _likeliest(fixed: Floats, rates: Floats, apart: Floats) -> tuple[Floats, float]:
    """Return the likeliest covariance of what runs share, and the deviation of chance."""
    # Of all contrasts between runs, those in which scenarios' own parts and the speed are gone.
    within = linalg.null_space(fixed.T)
    seen = within.T @ rates
    own: Floats = np.eye(seen.size)

    def alike(logs: Floats) -> Floats:
        shared, seconds, _ = np.exp(logs)
        found: Floats = shared**2 * np.exp(-apart / seconds)
        return found

    def unlikely(logs: Floats) -> float:
        covariance = within.T @ alike(logs) @ within + np.exp(2 * logs[2]) * own
        lower = cast("Floats", linalg.cholesky(covariance, lower=True))
        rest = linalg.solve_triangular(lower, seen, lower=True)
        return float(rest @ rest / 2 + np.log(np.diag(lower)).sum())

    middle = np.log(_LIKELY)
    ends = [(one - np.log(_FACTOR), one + np.log(_FACTOR)) for one in middle]
    best: Floats = optimize.minimize(unlikely, middle, method="L-BFGS-B", bounds=ends).x
    return alike(best), float(np.exp(best[2]))


def _unseen(scenarios: Floats, variance: Floats, rest: Floats) -> float:
    """Return the variance of means, beyond what runs scatter by when what is shared is gone.

    Between scenarios: how certain they are together is nothing that they differ by.
    """
    runs = scenarios.sum(axis=0)
    several = runs > 1
    sums = scenarios.T @ rest**2
    looks = float((sums[several] / ((runs - 1) * runs)[several]).mean())
    level = variance.mean(axis=0)
    between = np.diag(variance) - 2 * level + variance.mean()
    return max(float(between[several].mean()) - looks, 0.0)
