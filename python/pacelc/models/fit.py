"""One model of a database across nodes, copies and levels: fitted to runs, checked on others.

1. *Drift*: what runs of a cluster share at a time is taken off: :mod:`pacelc.models.drift`.
2. *Processor time* of operations, copies and coordination: :mod:`pacelc.models.work`; of all
   servers, and of the load generator where it has the same processors.
3. *What else is waited for*: to the coordinator and back, to another node and back, and what a
   written copy waits for besides: :mod:`pacelc.models.delays`. That copies are waited for k of n,
   and late ones go on, is :mod:`pacelc.models.quorum`'s.
4. *What the network misses* of the configurations fitted, carried over to those nearby:
   :mod:`pacelc.models.misses`.
5. *Validation*: the runs of every third scenario, or those asked for, aren't fitted. All
   configurations are simulated, and compared with what was measured.

What is left behind is a :class:`~pacelc.models.calibration.Calibration`, which `pacelc plan` reads:
the network's demands and errors alone, since a plan is of other sizes, on other machines.
Where all nodes and the load generator share a machine, that is one processor with the machine's
cores and everybody's demands; else each node has its own. What goes on in the background takes its
part of the cores beforehand.

Start here: :func:`fit`, :func:`calibrate`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from scipy import special

from pacelc.analysis.estimate import Estimate
from pacelc.errors import InputError
from pacelc.models.calibration import Calibration, Checked, Demand, HeldOut, Host, Machine
from pacelc.models.configuration import (
    Configuration,
    configurations,
    level_of,
    network_of,
    simulated,
)
from pacelc.models.delays import Delays, fit_delays
from pacelc.models.drift import steadied
from pacelc.models.kept import gathered
from pacelc.models.misses import Misses, fit_misses
from pacelc.models.quorum import LEVELS, Quorum
from pacelc.models.work import NotIdentified, Work, fit_work, request_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.models.drift import ByMachine
    from pacelc.models.observations import Cluster, Observation
    from pacelc.models.quorum import Level

    Tell: TypeAlias = Callable[[str, int, int], None]

__all__ = ["Fit", "calibrate", "fit"]

_THIRD: Final = 3
_DEMANDS: Final = (
    *("coordinator", "read", "digest", "write", "remote", "acknowledged"),
    *("journal", "wake_journal"),
)
"""Terms of processor time that a plan has, too."""


@dataclass(frozen=True)
class Fit:
    """A model of a group of runs.

    Attributes
    ----------
    group
        What the runs have in common.
    calibration
        The model; None if there is none.
    work
        Its processor time, term by term.
    table
        One row a configuration: ``configuration, size, fitted, runs, clusters, cores_used,
        reason`` (clusters of its kind, one a directory) and of ``throughput_per_s``,
        ``read.latency_s``, ``write.latency_s``, ``read.p99_s`` and ``write.p99_s`` the ``measured``
        with its ``standard_error`` (null for a single run), the ``predicted`` and its relative
        ``error``, and the ``network_error`` of the network alone; null, with a reason, where the
        fitted runs don't hold what a prediction needs. Of what was fitted, predictions are the
        network's.
    reason, hint
        Why there is no model, and what would help.
    drift
        By which share a run was at most faster or slower, with others of its time; it is taken off.
    anew
        By which share (a standard deviation) clusters of a kind differ that were started anew, in
        another directory; 0 if none were. Means are over all of them.
    apart
        The same beyond what all of a directory differ by together; 0 if it can't be told.
    machines
        How many times as fast as the slowest directory's machine the fastest was; 1 if it isn't
        known.
    unsure
        Clusters that were faster or slower with their machine, to an extent that their own runs
        don't tell well.
    """

    group: Mapping[str, object]
    calibration: Calibration | None
    work: Work | None
    table: pl.DataFrame
    reason: str = ""
    hint: str | None = None
    drift: float = 0.0
    anew: float = 0.0
    apart: float = 0.0
    machines: float = 1.0
    unsure: Sequence[ByMachine] = ()

    @property
    def name(self) -> str:
        """The group, for people."""
        return _name(self.group)

    def errors(self, *, fitted: bool, network: bool = False) -> dict[str, float]:
        """Return the mean absolute relative error of each measure, over runs fitted or not.

        Of predictions, or of the network alone.
        """
        if self.table.is_empty():
            return {}
        part = self.table.filter(pl.col("fitted") == fitted)
        end = ".network_error" if network else ".error"
        names = [name for name in part.columns if name.endswith(end)]
        return {
            name.removesuffix(end): float(np.mean(np.abs(values)))
            for name in names
            if (values := part.get_column(name).drop_nulls().to_numpy()).size
        }

    def chance(self) -> dict[str, float]:
        """Return the mean absolute relative error that a perfect model would have, by measure.

        Of runs that weren't fitted, since they scatter: the mean of a normal error without its sign
        is the square root of 2 / pi standard errors, and those of few runs are too small in the
        mean. Where nothing of a size was fitted its clusters' mean is one of as many, too. Nothing
        where there were single runs.
        """
        if self.table.is_empty():
            return {}
        part = self.table.filter(~pl.col("fitted"))
        sizes = set(self.table.filter("fitted")["size"])
        of_clusters = {
            size: self.apart / clusters**0.5
            for size, clusters in part.select("size", "clusters").iter_rows()
            if size not in sizes
        }
        ends = ".standard_error"
        names = [one.removesuffix(ends) for one in part.columns if one.endswith(ends)]
        known = {name: _chance(part, name, of_clusters) for name in names}
        return {name: share for name, share in known.items() if share is not None}

    def chance_by_size(self) -> dict[str, float]:
        """Return the same of throughput by nodes and copies, of all runs, as they scatter alone."""
        if self.table.is_empty():
            return {}
        parts = {size: part for (size,), part in self.table.group_by("size", maintain_order=True)}
        known = {str(size): _chance(part, "throughput_per_s", {}) for size, part in parts.items()}
        return {size: share for size, share in known.items() if share is not None}


def _chance(part: pl.DataFrame, name: str, of_clusters: Mapping[str, float]) -> float | None:
    """Return the mean absolute relative error that a perfect model would have of a measure.

    Clusters' mean of a size has the standard error given.
    """
    known = part.filter(pl.col(f"{name}.standard_error").is_not_null())
    if known.is_empty():
        return None
    shares = (known[f"{name}.standard_error"] / known[f"{name}.measured"]).to_numpy()
    of_runs = shares / _found_of(known["runs"].to_numpy())
    deviations = np.hypot(of_runs, [of_clusters.get(size, 0.0) for size in known["size"]])
    return float(np.sqrt(2 / np.pi) * np.mean(deviations))


def _found_of(runs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return which share of a normal deviation so many runs have in the mean (Shewhart's c4)."""
    logs = special.gammaln(runs / 2) - special.gammaln((runs - 1) / 2)
    found: NDArray[np.float64] = np.sqrt(2 / (runs - 1)) * np.exp(logs)
    return found


def _name(group: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in group.items()) or "all runs"


def _to_nobody(_model: str, _done: int, _all: int) -> None:
    """Say nothing of how far it is."""


def fit(
    paths: str | Path | Sequence[str | Path],
    hold: Sequence[str] = (),
    tell: Tell = _to_nobody,
) -> tuple[list[Fit], dict[str, int]]:
    """Calibrate a model for each group of runs in results directories.

    Parameters
    ----------
    paths
        One or more directories, as `pacelc run` wrote them, or files, as `pacelc model keep` did.
        What was measured in several of them is one configuration, of clusters that were started
        anew.
    hold
        ``FACTOR=LEVEL,…`` each, or several joined by ``and``: runs that have all of one aren't
        fitted; every third scenario unless said.
    tell
        Is called with the model's name, and how many of its configurations are simulated.

    Returns
    -------
    list, dict
        A model for each combination of factors that a model doesn't cover; why how many runs were
        left out.

    Raises
    ------
    InputError
        There are no runs that can be used; a directory, a file or a run is given twice.
    """
    several = [paths] if isinstance(paths, str | Path) else paths
    found, left_out = gathered([Path(path) for path in several])
    held = _held(found, hold)
    groups: dict[tuple[tuple[str, object], ...], list[Observation]] = {}
    steady = steadied(found)
    for one in steady.observations:
        groups.setdefault((("database", one.database), *one.group), []).append(one)
    studies = dict.fromkeys(one.study_name for one in found)
    source = f"study {', '.join(studies)}, {len(found)} runs"
    fits: list[Fit] = []
    for own in groups.values():
        name = own[0].database
        one = calibrate(own, held, source=source, tell=tell)
        fits.append(
            replace(
                one,
                drift=steady.most.get(name, 0.0),
                anew=steady.anew.get(name, 0.0),
                apart=steady.apart.get(name, 0.0),
                machines=steady.machines.get(name, 1.0),
                unsure=tuple(steady.unsure.get(name, ())),
            )
        )
    return fits, left_out


def _held(found: Sequence[Observation], hold: Sequence[str]) -> frozenset[str]:
    """Return the runs that aren't fitted."""
    if hold:
        return frozenset[str]().union(*(_having(found, text) for text in hold))
    by_group: dict[object, list[int]] = {}
    for one in found:
        numbers = by_group.setdefault(one.group, [])
        if one.scenario not in numbers:
            numbers.append(one.scenario)
    third = {
        (group, number)
        for group, numbers in by_group.items()
        for number in sorted(numbers)[_THIRD - 2 :: _THIRD]
    }
    return frozenset(one.run for one in found if (one.group, one.scenario) in third)


def _having(found: Sequence[Observation], text: str) -> frozenset[str]:
    """Return the runs that have all levels of ``FACTOR=LEVEL,… and …``."""
    factors = list(dict.fromkeys(name for one in found for name in one.factors))
    runs = {one.run for one in found}
    for part in text.split(" and "):
        factor, sign, value = part.strip().partition("=")
        if not sign or factor not in factors:
            raise InputError(
                f"--hold {text}: should be FACTOR=LEVEL", f"factors: {', '.join(factors)}"
            )
        levels = {level.strip() for level in value.split(",")}
        known = {one.factors[factor] for one in found if factor in one.factors}
        for level in sorted(levels - known):
            raise InputError(
                f"--hold {text}: no run has {factor} {level}",
                f"there are {', '.join(sorted(known))}",
            )
        runs &= {one.run for one in found if one.factors.get(factor) in levels}
    if not runs:
        raise InputError(f"--hold {text}: no run has all of these")
    return frozenset(runs)


def calibrate(
    found: Sequence[Observation],
    held: frozenset[str] = frozenset(),
    *,
    source: str = "",
    tell: Tell = _to_nobody,
) -> Fit:
    """Fit a model to the runs of a group that aren't held out, and predict all configurations."""
    group = {"database": found[0].database, **dict(found[0].group)}
    try:
        work = fit_work([one for one in found if one.run not in held])
    except NotIdentified as reason:
        return Fit(group, None, None, pl.DataFrame(), reason.message, reason.hint)
    seen = configurations(found, held)
    fitted = [i for i, one in enumerate(seen) if one.fitted]
    tell(_name(group), 0, len(seen))
    delays = fit_delays([seen[i] for i in fitted], work)
    said: list[_Said] = []
    for one in seen:
        said.append(_simulated(one, work, delays))
        tell(_name(group), len(said), len(seen))
    misses = fit_misses([seen[i] for i in fitted], [said[i].values for i in fitted])
    rows = [_row(one, its, misses) for one, its in zip(seen, said, strict=True)]
    calibration = _calibration(found, work, delays).model_copy(
        update={
            "checked": _checked(seen, rows),
            "errors": tuple(_held_out(row) for row in rows if _is_checked(row)),
            "source": source,
        }
    )
    return Fit(group, calibration, work, pl.DataFrame(rows, infer_schema_length=None))


class _Said(NamedTuple):
    """What the network says of a configuration, or why it doesn't."""

    values: Mapping[str, float | None]
    reason: str | None


def _simulated(one: Configuration, work: Work, delays: Delays) -> _Said:
    reason = work.unknown(one.cluster)
    if reason is not None:
        return _Said({}, reason)
    try:
        network = network_of(one.cluster, work, delays.waits)
        return _Said(simulated(network), None)
    except InputError as refusal:
        return _Said({}, refusal.message)


def _row(one: Configuration, said: _Said, misses: Misses) -> dict[str, object]:
    row: dict[str, object] = {
        "configuration": one.cluster.text(),
        "size": one.cluster.size,
        "fitted": one.fitted,
        "runs": one.runs,
        "clusters": one.clusters,
        "cores_used": one.cores_used,
        "reason": said.reason,
    }
    predicted = said.values if one.fitted else misses.added(one.cluster, said.values)
    for name, measured in one.measured.items():
        row |= {
            f"{name}.measured": measured,
            f"{name}.standard_error": one.standard_errors.get(name),
            f"{name}.predicted": predicted.get(name),
            f"{name}.error": _off(predicted.get(name), measured),
            f"{name}.network_error": _off(said.values.get(name), measured),
        }
    return row


def _off(predicted: float | None, measured: float) -> float | None:
    return None if predicted is None else predicted / measured - 1


def _calibration(found: Sequence[Observation], work: Work, delays: Delays) -> Calibration:
    """Return what a plan needs, without how it was checked."""
    first = found[0]
    cluster = first.cluster
    demands = _at_the_busiest(work, [one.cluster for one in found])
    for name in ("read_uncached", "write_uncached"):
        demands[name] = Demand(value=0.0)
    for field, value in delays.waits.delays_s.items():
        if value == Quorum.model_fields[field].default:
            continue
        low, high = delays.ends_s.get(field, (None, None))
        demands[field.removesuffix("_s")] = Demand(value=value, low=low, high=high)
    client = {name: estimate.value for name, estimate in work.client.items()}
    left = float(np.mean([one.cluster.cores for one in found]))
    levels = ", ".join(f"{key} {value}" for key, value in first.group if key != "database")
    return Calibration(
        name=f"{first.database}, measured by pacelc" + (f" ({levels})" if levels else ""),
        database=first.database or "unknown",
        versions=dict(first.versions),
        machine=Machine(cores=max(round(cluster.built_cores), 1)),
        demands=demands,
        mixing=0.0 if work.mixing is None else work.mixing.value,
        coordinator=cluster.coordinator,
        acknowledged_to=cluster.acknowledged_to,
        journaled=_journaled([one.cluster for one in found]),
        discipline=delays.waits.discipline,
        scv=delays.waits.scv,
        host=Host(
            shared=cluster.shared,
            available_cores=delays.waits.available * left if cluster.shared else None,
            scattered=delays.waits.scattered,
            background_cores=work.seconds("background"),
            client_cpu=(client.get("read", 0.0) + client.get("write", 0.0)) / 2,
            wake_cpu=work.seconds("wake") + client.get("wake", 0.0),
            woken_beside=delays.waits.woken_beside,
            written_later=delays.waits.written_later,
        ),
    )


def _journaled(clusters: Sequence[Cluster]) -> tuple[Level, ...]:
    """Return the levels at which more runs' writes waited for journals than didn't.

    Of one copy all levels wait for the same one.
    """
    counts: Counter[Level] = Counter()
    for one in clusters:
        if one.replication > 1 and one.read_share < 1:
            counts[level_of(one.waited, one.replication)] += 1 if one.journaled else -1
    return tuple(level for level in LEVELS if counts[level] > 0)


def _at_the_busiest(work: Work, clusters: Sequence[Cluster]) -> dict[str, Demand]:
    """Return the servers' demands where operations under way share the most, as far as is known.

    A plan is of a busy cluster; that more of them would share more isn't known, and isn't assumed.
    Its records have copies: what waking up other nodes takes is seen where there are the most.
    """
    busiest = max(clusters, key=lambda one: (one.replication, one.at_a_time))
    busiest = busiest._replace(shared=False, journaled=False)
    of_reads, of_writes = (
        work.demands_s(busiest._replace(reading=share, read_share=share)) for share in (1.0, 0.0)
    )
    shared_s = of_writes | {
        name: of_reads[name] for name in ("read_cpu_s", "digest_cpu_s") if name in of_reads
    }
    estimates = dict(work.servers)
    if (request := _request(work, max(clusters, key=request_turns))) is not None:
        estimates["remote"] = request
        # With what wakes those who follow a leader.
        shared_s["remote_cpu_s"] += request.value - work.seconds("remote")
    if (journal := work.journal(busiest._replace(read_share=0.0, reading=0.0))) is not None:
        estimates["journal"] = journal
        shared_s["journal_cpu_s"] = journal.value
        shared_s["wake_journal_cpu_s"] = work.seconds("wake_journal")
    demands: dict[str, Demand] = {}
    for term in _DEMANDS:
        value = shared_s.get(f"{term}_cpu_s", 0.0)
        estimate = estimates.get(term)
        if estimate is None and value == 0:
            continue
        own, low, high = (
            (0.0, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
        )
        demands[f"{term}_cpu"] = Demand(
            value=value,
            low=None if low is None else value - own + low,
            high=None if high is None else value - own + high,
        )
    return demands


def _request(work: Work, cluster: Cluster) -> Estimate | None:
    """Return what a request to another node takes, with the turn that its server takes.

    On a machine that all share it was never seen without one.
    """
    turns = request_turns(cluster)
    parts = ((work.servers.get("remote"), 1.0), (work.servers.get("spread"), turns))
    known = [(one, share) for one, share in parts if one is not None and share > 0]
    if not known:
        return None
    value = sum(share * one.value for one, share in known)
    widths = [share * (one.high - one.value) for one, share in known if one.high is not None]
    if not widths:
        return Estimate(value, None, None, work.runs)
    return Estimate(value, max(value - sum(widths), 0.0), value + sum(widths), work.runs)


def _is_checked(row: Mapping[str, Any]) -> bool:
    return not row["fitted"] and row["throughput_per_s.predicted"] is not None


def _checked(configurations: Sequence[Configuration], rows: Sequence[Mapping[str, Any]]) -> Checked:
    """Return the ranges of the configurations that were predicted, and not fitted."""
    seen = [one for one, row in zip(configurations, rows, strict=True) if _is_checked(row)]
    if not seen:
        return Checked()
    ranges: dict[str, list[float]] = {
        "users": [one.cluster.users for one in seen],
        "nodes": [one.cluster.nodes for one in seen],
        "replication": [one.cluster.replication for one in seen],
        "read_share": [one.cluster.read_share for one in seen],
        "rate_per_s": [one.measured["throughput_per_s"] for one in seen],
    }
    waited = {
        level_of(copies, one.cluster.replication)
        for one in seen
        for copies in (one.cluster.asked, one.cluster.waited)
    }
    if not any(one.cluster.shared for one in seen):
        ranges["cores"] = [one.cluster.cores for one in seen]
    ends: dict[str, Any] = {name: (min(values), max(values)) for name, values in ranges.items()}
    return Checked(**ends, levels=tuple(one for one in LEVELS if one in waited))


def _held_out(row: Mapping[str, Any]) -> HeldOut:
    """Return how far off the network was, which is what a plan has."""
    kinds = {"read": "read p99", "write": "write p99"}
    shares = {kind: row.get(f"{kind}.latency_s.network_error") for kind in kinds}
    known = [error for error in shares.values() if error is not None]
    percentiles = {
        name: float(error)
        for kind, name in kinds.items()
        if (error := row.get(f"{kind}.p99_s.network_error")) is not None
    }
    return HeldOut(
        configuration=row["configuration"],
        throughput=row["throughput_per_s.network_error"],
        response=max(known, key=abs) if known else None,
        percentiles=percentiles,
    )
