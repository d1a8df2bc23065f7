"""One model of a database across nodes, copies and levels: fitted to stored runs, checked on others.

1. *Processor time* of operations, copies and coordination: :mod:`pacelc.models.work`; of all
   servers, and of the load generator where it has the same processors.
2. *What else is waited for*: to the coordinator and back, to a copy and back, and what a written copy
   waits for besides; by least squares on the logarithms of mean latencies of all configurations at
   once. That copies are waited for k of n, and late ones go on, is :mod:`pacelc.models.quorum`'s.
3. *Validation*: the runs of every third scenario, or those asked for, aren't fitted. All
   configurations are simulated, and compared with what was measured.

What is left behind is a :class:`~pacelc.models.calibration.Calibration`, which `pacelc plan` reads.
Where all nodes and the load generator share a machine, that is one processor with the machine's
cores and everybody's demands; else each node has its own. What goes on in the background takes its
part of the cores beforehand.

Start here: :func:`fit`, :func:`calibrate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from scipy import optimize, stats

from pacelc.analysis.estimate import CONFIDENCE
from pacelc.errors import InputError
from pacelc.models.calibration import (
    Calibration,
    Checked,
    Demand,
    HeldOut,
    Host,
    Machine,
)
from pacelc.models.host import on_one_host, quick
from pacelc.models.observations import observations
from pacelc.models.quorum import Quorum, copies_waited_for, quorum
from pacelc.models.simulate import simulate
from pacelc.models.work import NotIdentified, Work, fit_work
from pacelc.store import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.models.network import Network
    from pacelc.models.observations import Cluster, Observation
    from pacelc.models.quorum import Level
    from pacelc.store import Results

__all__ = ["Fit", "calibrate", "fit", "network_of", "settings_of"]

_THIRD: Final = 3
_LEAST_S: Final = 1e-7
"""Delays below a tenth of a microsecond are no network's."""
_PERCENT: Final = 99.0
_REPLICATIONS: Final = 6
_PRECISION: Final = 0.005
_ROUGH: Final = 0.02
"""Of simulations of what was fitted: a percentile isn't asked for."""
_SEARCHES: Final = 2
_LEVELS: Final[tuple[Level, ...]] = ("one", "quorum", "all")


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
        One row a configuration: ``configuration, fitted, runs, reason`` and of ``throughput_per_s``,
        ``read.latency_s``, ``write.latency_s``, ``read.p99_s`` and ``write.p99_s`` the ``measured``,
        the ``predicted`` and the relative ``error``; null, with a reason, where the fitted runs
        don't hold what a prediction needs.
    reason, hint
        Why there is no model, and what would help.
    """

    group: Mapping[str, object]
    calibration: Calibration | None
    work: Work | None
    table: pl.DataFrame
    reason: str = ""
    hint: str | None = None

    @property
    def name(self) -> str:
        """The group, for people."""
        return ", ".join(f"{key} {value}" for key, value in self.group.items()) or "all runs"

    def errors(self, *, fitted: bool) -> dict[str, float]:
        """Return the mean absolute relative error of each measure, over runs fitted or not."""
        if self.table.is_empty():
            return {}
        part = self.table.filter(pl.col("fitted") == fitted)
        names = [name for name in part.columns if name.endswith(".error")]
        return {
            name.removesuffix(".error"): float(np.mean(np.abs(values)))
            for name in names
            if (values := part.get_column(name).drop_nulls().to_numpy()).size
        }


@dataclass(frozen=True)
class _Configuration:
    """Runs of a scenario together: its cluster and the means of what was measured."""

    cluster: Cluster
    fitted: bool
    runs: int
    measured: Mapping[str, float]
    cores_used: float


def fit(directory: str | Path, hold: Sequence[str] = ()) -> tuple[list[Fit], dict[str, int]]:
    """Calibrate a model for each group of runs in a results directory.

    Parameters
    ----------
    directory
        As `pacelc run` wrote it.
    hold
        ``FACTOR=LEVEL`` each: such runs aren't fitted; every third scenario unless said.

    Returns
    -------
    list, dict
        A model for each combination of factors that a model doesn't cover; why how many runs were
        left out.

    Raises
    ------
    InputError
        There are no runs that can be used.
    """
    results = load(Path(directory))
    found, left_out = observations(results)
    if not found:
        why = "; ".join(f"{reason} ({count})" for reason, count in left_out.items())
        raise InputError(f"{directory}: there are no runs that a model can be fitted to", why)
    held = _held(results, found, hold)
    groups: dict[tuple[tuple[str, object], ...], list[Observation]] = {}
    for one in found:
        groups.setdefault((("database", one.database), *one.group), []).append(one)
    source = f"study {results.studies[0].get('name', '')}, {len(found)} runs"
    fits = [calibrate(own, held, source=source) for own in groups.values()]
    return fits, left_out


def _held(results: Results, found: Sequence[Observation], hold: Sequence[str]) -> frozenset[str]:
    """Return the runs that aren't fitted."""
    if not hold:
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
    held: set[str] = set()
    for text in hold:
        key, sign, value = text.partition("=")
        if not sign or key not in results.factors:
            raise InputError(
                f"--hold {text}: should be FACTOR=LEVEL", f"factors: {', '.join(results.factors)}"
            )
        levels = {level.strip() for level in value.split(",")}
        held |= {
            record.run
            for record in results.records
            if str(record.scenario.factors.get(key)) in levels
        }
    return frozenset(held)


def calibrate(
    found: Sequence[Observation], held: frozenset[str] = frozenset(), *, source: str = ""
) -> Fit:
    """Fit a model to the runs of a group that aren't held out, and predict all configurations."""
    group = {"database": found[0].database, **dict(found[0].group)}
    try:
        work = fit_work([one for one in found if one.run not in held])
    except NotIdentified as reason:
        return Fit(group, None, None, pl.DataFrame(), reason.message, reason.hint)
    configurations = _configurations(found, held)
    delays = _delays([one for one in configurations if one.fitted], work)
    rows = [_row(one, work, delays) for one in configurations]
    calibration = _calibration(found, configurations, work, delays, rows)
    calibration = calibration.model_copy(update={"source": source})
    return Fit(group, calibration, work, pl.DataFrame(rows, infer_schema_length=None))


def _configurations(
    found: Sequence[Observation], held: frozenset[str]
) -> list[_Configuration]:
    by_scenario: dict[tuple[int, bool], list[Observation]] = {}
    for one in found:
        by_scenario.setdefault((one.scenario, one.run in held), []).append(one)
    configurations: list[_Configuration] = []
    for (_, is_held), runs in by_scenario.items():
        rate = float(np.mean([one.throughput_per_s for one in runs]))
        reads = float(np.mean([one.reads_per_s for one in runs]))
        measured = {"throughput_per_s": rate}
        for kind in runs[0].latencies_s:
            times = [one.latencies_s[kind] for one in runs if kind in one.latencies_s]
            measured[f"{kind}.latency_s"] = float(np.mean(times))
        for kind in runs[0].p99_s:
            times = [one.p99_s[kind] for one in runs if kind in one.p99_s]
            measured[f"{kind}.p99_s"] = float(np.mean(times))
        cluster = runs[0].cluster._replace(read_share=reads / rate)
        used = float(np.mean([one.server_cores + one.client_cores for one in runs]))
        configurations.append(_Configuration(cluster, not is_held, len(runs), measured, used))
    return configurations


def _level(copies: int, replication: int) -> Level:
    return next(one for one in _LEVELS if copies_waited_for(one, replication) == copies)


def settings_of(cluster: Cluster, work: Work, delays_s: Mapping[str, float]) -> Quorum:
    """Return the quorum model of a configuration, on processors as fast as the machine leaves them.

    Raises
    ------
    InputError
        What goes on in the background takes all processors.
    """
    servers = max(round(cluster.cores), 1)
    busy = work.seconds("background") * (cluster.nodes if cluster.shared else 1)
    # Four tenths of a core are a server that takes two and a half times as long.
    free = (cluster.cores - busy) / servers
    if free <= 0:
        raise InputError("what goes on in the background takes all processors")
    own = work.seconds("coordinator") + work.seconds("wake") / cluster.users
    if cluster.shared:
        own += sum(
            estimate.value / (cluster.users if name == "wake" else 1)
            for name, estimate in work.client.items()
        )
    demands = {
        "coordinator_cpu_s": own,
        "read_cpu_s": work.seconds("read"),
        "write_cpu_s": work.seconds("write"),
        "remote_cpu_s": work.seconds("remote"),
    }
    if "digest" in work.servers:
        demands["digest_cpu_s"] = work.seconds("digest")
    settings: dict[str, Any] = {
        "users": cluster.users,
        "nodes": cluster.nodes,
        "replication": cluster.replication,
        "read": _level(cluster.asked, cluster.replication),
        "write": _level(cluster.waited, cluster.replication),
        "read_share": cluster.read_share,
        "direct": cluster.direct,
        "cores": servers,
        "read_uncached": 0.0,
        "write_uncached": 0.0,
        **{name: value / free for name, value in demands.items()},
        **delays_s,
    }
    return Quorum.model_validate(settings, by_name=True, by_alias=True)


def network_of(cluster: Cluster, work: Work, delays_s: Mapping[str, float]) -> Network:
    """Return the model of a configuration, as it is simulated."""
    network = quorum(settings_of(cluster, work, delays_s))
    return on_one_host(network) if cluster.shared else network


@dataclass(frozen=True)
class _Delays:
    """Field of the quorum model → seconds, with the ends of its interval."""

    values_s: Mapping[str, float]
    ends_s: Mapping[str, tuple[float, float]]


def _delays(fitted: Sequence[_Configuration], work: Work) -> _Delays:
    """Least squares on logarithms of latencies, of all configurations at once.

    The quick solution is searched; by how much the simulation differs from it is found out where
    the search ends, and taken into the next one.
    """
    kinds = ("read", "write")
    pairs = [
        (i, kind)
        for i, one in enumerate(fitted)
        for kind in kinds
        if f"{kind}.latency_s" in one.measured
    ]
    measured = np.log([fitted[i].measured[f"{kind}.latency_s"] for i, kind in pairs])
    names = ["client_round_trip_s"]
    if len({_waits(fitted[i].cluster, kind) for i, kind in pairs}) > 1:
        names.append("node_round_trip_s")
    if len({kind for _, kind in pairs}) > 1:
        names.append("write_wait_s")
    nothing = {"client_round_trip_s": 0.0, "node_round_trip_s": 0.0, "write_wait_s": 0.0}

    def solved(delays_s: Mapping[str, float]) -> Any:
        answers = [
            quick(settings_of(one.cluster, work, delays_s), shared=one.cluster.shared)
            for one in fitted
        ]
        return np.log([answers[i].response_s[kind] for i, kind in pairs])

    least = float(np.exp(measured.min()))
    start = np.log([max(least * share, 10 * _LEAST_S) for share in (0.3, 0.1, 0.1)][: len(names)])
    bias: Any = np.zeros(len(pairs))
    for search in range(_SEARCHES):
        best = optimize.least_squares(
            lambda logs, off: solved(nothing | _named(names, logs)) + off - measured,
            start,
            bounds=(np.log(_LEAST_S), np.log(100.0)),
            diff_step=1e-3,
            args=(bias,),
        )
        start = best.x
        if search + 1 < _SEARCHES:
            here = nothing | _named(names, start)
            found = [_simulated(network_of(one.cluster, work, here), _ROUGH) for one in fitted]
            times = [found[i][f"{kind}.latency_s"] for i, kind in pairs]
            known = solved(here)
            bias = np.array(
                [0.0 if t is None else np.log(t) - k for t, k in zip(times, known, strict=True)]
            )
    ends: dict[str, tuple[float, float]] = {}
    df = len(pairs) - len(names)
    if df > 0:
        variance = float(best.fun @ best.fun) / df
        spread = np.sqrt(variance * np.diag(np.linalg.pinv(best.jac.T @ best.jac)))
        half = np.minimum(spread * stats.t.isf((1 - CONFIDENCE) / 2, df), 10.0)
        low, high = np.exp(best.x - half), np.exp(best.x + half)
        ends = {
            name: (float(low[i]), float(high[i]))
            for i, name in enumerate(names)
            # What has come down to nothing isn't known any better than that.
            if best.x[i] > np.log(2 * _LEAST_S)
        }
    values = nothing | _named(names, best.x)
    return _Delays({k: v if v > 2 * _LEAST_S else 0.0 for k, v in values.items()}, ends)


def _named(names: Sequence[str], logs: Any) -> dict[str, float]:
    return dict(zip(names, np.exp(logs).tolist(), strict=True))


def _waits(cluster: Cluster, kind: str) -> tuple[int, int]:
    """Return how many copies of how many a kind of operation waits for."""
    if kind == "read":
        return cluster.asked, cluster.asked
    return cluster.waited, cluster.replication


def _row(one: _Configuration, work: Work, delays: _Delays) -> dict[str, object]:
    row: dict[str, object] = {
        "configuration": one.cluster.text(),
        "fitted": one.fitted,
        "runs": one.runs,
        "cores_used": one.cores_used,
        "reason": work.unknown(one.cluster),
    }
    predicted: dict[str, float | None] = {}
    if row["reason"] is None:
        try:
            network = network_of(one.cluster, work, delays.values_s)
            predicted = _simulated(network, _ROUGH if one.fitted else _PRECISION)
        except InputError as reason:
            row["reason"] = reason.message
    for name, measured in one.measured.items():
        value = predicted.get(name)
        row |= {
            f"{name}.measured": measured,
            f"{name}.predicted": value,
            f"{name}.error": None if value is None else value / measured - 1,
        }
    return row


def _simulated(network: Network, precision: float) -> dict[str, float | None]:
    found = simulate(
        network, replications=_REPLICATIONS, precision=precision, percentiles=(_PERCENT,)
    )
    rate = found.throughput_per_s
    predicted = {"throughput_per_s": None if rate is None else rate.value}
    of = {one.class_name: one.percentiles[0].response_s for one in found.percentiles}
    for kind in ("read", "write"):
        if kind in of:
            mean = found.class_estimates(kind)[1]
            predicted[f"{kind}.latency_s"] = None if mean is None else mean.value
            predicted[f"{kind}.p99_s"] = of[kind]
    return predicted


def _calibration(
    found: Sequence[Observation],
    configurations: Sequence[_Configuration],
    work: Work,
    delays: _Delays,
    rows: Sequence[Mapping[str, Any]],
) -> Calibration:
    first = found[0]
    cluster = first.cluster
    demands = {
        name: Demand(value=estimate.value, low=estimate.low, high=estimate.high)
        for name, term in (
            ("coordinator_cpu", "coordinator"),
            ("read_cpu", "read"),
            ("digest_cpu", "digest"),
            ("write_cpu", "write"),
            ("remote_cpu", "remote"),
        )
        if (estimate := work.servers.get(term)) is not None
    }
    for name in ("read_uncached", "write_uncached"):
        demands[name] = Demand(value=0.0)
    for field, value in delays.values_s.items():
        low, high = delays.ends_s.get(field, (None, None))
        demands[field.removesuffix("_s")] = Demand(value=value, low=low, high=high)
    client = {name: estimate.value for name, estimate in work.client.items()}
    levels = ", ".join(f"{key} {value}" for key, value in first.group if key != "database")
    return Calibration(
        name=f"{first.database}, measured by pacelc" + (f" ({levels})" if levels else ""),
        database=first.database or "unknown",
        versions=dict(first.versions),
        machine=Machine(cores=max(round(cluster.cores), 1)),
        demands=demands,
        direct=cluster.direct,
        host=Host(
            shared=cluster.shared,
            background_cores=work.seconds("background"),
            client_cpu=client.get("client", 0.0),
            wake_cpu=work.seconds("wake") + client.get("wake", 0.0),
        ),
        checked=_checked(configurations, rows),
        errors=tuple(_held_out(row) for row in rows if _is_checked(row)),
    )


def _is_checked(row: Mapping[str, Any]) -> bool:
    return not row["fitted"] and row["throughput_per_s.predicted"] is not None


def _checked(
    configurations: Sequence[_Configuration], rows: Sequence[Mapping[str, Any]]
) -> Checked:
    """Return the ranges of the configurations that were predicted, and not fitted."""
    seen = [one for one, row in zip(configurations, rows, strict=True) if _is_checked(row)]
    if not seen:
        return Checked()
    ranges: dict[str, list[float]] = {
        "users": [one.cluster.users for one in seen],
        "nodes": [one.cluster.nodes for one in seen],
        "replication": [one.cluster.replication for one in seen],
        "cores": [one.cluster.cores for one in seen],
        "read_share": [one.cluster.read_share for one in seen],
        "rate_per_s": [one.measured["throughput_per_s"] for one in seen],
    }
    waited = {
        _level(copies, one.cluster.replication)
        for one in seen
        for copies in (one.cluster.asked, one.cluster.waited)
    }
    ends: dict[str, Any] = {name: (min(values), max(values)) for name, values in ranges.items()}
    return Checked(**ends, levels=tuple(one for one in _LEVELS if one in waited))


def _held_out(row: Mapping[str, Any]) -> HeldOut:
    kinds = {"read": "read p99", "write": "write p99"}
    shares = {kind: row.get(f"{kind}.latency_s.error") for kind in kinds}
    known = [error for error in shares.values() if error is not None]
    percentiles = {
        name: float(error)
        for kind, name in kinds.items()
        if (error := row.get(f"{kind}.p99_s.error")) is not None
    }
    return HeldOut(
        configuration=row["configuration"],
        throughput=row["throughput_per_s.error"],
        response=max(known, key=abs) if known else None,
        percentiles=percentiles,
    )
