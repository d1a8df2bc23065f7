"""A model calibrated from stored runs, and checked on runs that it hasn't seen.

1. *Demands*, from processor time: :mod:`pacelc.models.demands`, of all servers, and of the client
   where it has the same processors.
2. *What else an operation waits for* (network, disk, copies): a delay a kind, by least squares on
   the logarithms of mean latencies, the network being solved at each step.
3. *Validation*: the runs of every third scenario, or those asked for, aren't fitted; their
   throughput and latencies are predicted, and compared.

The network: users without think time, one operation at a time; a delay; a processor. Where all
nodes and the load generator share a machine, that is one processor with the machine's cores and
everybody's demands (``shared``); else each node has its own, and operations choose one by chance.
What goes on in the background takes its part of the cores beforehand.

Only runs of closed loops are used. Runs that differ in anything but users, mix and the key factors
named here have a model each: one model never mixes databases, sizes or levels.

Start here: :func:`observations`, :func:`calibrate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from scipy import optimize

from pacelc.errors import InputError
from pacelc.models.demands import Demands, NotIdentified, fit_demands
from pacelc.models.distributions import Exponential
from pacelc.models.network import Class, Network, Station
from pacelc.models.solve import Refusal, Solution, solve_all
from pacelc.store import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.models.distributions import Distribution
    from pacelc.store import Results, RunRecord

__all__ = ["Calibration", "Observation", "calibrate", "fit", "observations"]

_VARIED: Final = frozenset({"users", "mix", "workload", "read_share"})
"""Factors whose levels one model predicts; those of others have a model each."""
_THIRD: Final = 3
_CLIENT_ROLE: Final = "client"
_LEAST_S: Final = 1e-7
"""Delays below a tenth of a microsecond are no network's."""


@dataclass(frozen=True)
class Observation:
    """A run, as far as a model needs it.

    Attributes
    ----------
    run, scenario, group
        Which; what it has in common with others of its model.
    users, cores, nodes, shared
        Its load, the processors of a node or of the machine, the nodes; whether they share one.
    rates_per_s, latencies_s
        By kind of operation.
    cores_used
        Processor seconds a second, of the servers, and of the client where it shares.
    """

    run: str
    scenario: int
    group: tuple[tuple[str, object], ...]
    users: int
    cores: float
    nodes: int
    shared: bool
    rates_per_s: Mapping[str, float]
    latencies_s: Mapping[str, float]
    cores_used: float

    @property
    def throughput_per_s(self) -> float:
        """All kinds together."""
        return sum(self.rates_per_s.values())


@dataclass(frozen=True)
class Calibration:
    """A model of a group of runs.

    Attributes
    ----------
    group
        What the runs have in common.
    demands, delays_s
        Processor time, and what else is waited for, by kind.
    network
        The model, with the mix and users of its largest fitted run.
    table
        One row a run: ``run, fitted, users``, and of throughput and each kind's latency the
        measured, the predicted and the relative error.
    reason
        Why there is no model; empty if there is one.
    """

    group: Mapping[str, object]
    demands: Demands | None
    delays_s: Mapping[str, float]
    network: Network | None
    table: pl.DataFrame
    reason: str = ""
    hint: str | None = None

    @property
    def name(self) -> str:
        """The group, for people."""
        return ", ".join(f"{key} {value}" for key, value in self.group.items()) or "all runs"

    def errors(self, *, fitted: bool) -> dict[str, float]:
        """Return the mean absolute relative error of each measure, over runs fitted or not."""
        part = self.table.filter(pl.col("fitted") == fitted)
        names = [name for name in part.columns if name.endswith(".error")]
        return {
            name.removesuffix(".error"): float(np.mean(np.abs(values)))
            for name in names
            if (values := part.get_column(name).drop_nulls().to_numpy()).size
        }


def fit(directory: str | Path, hold: Sequence[str] = ()) -> list[Calibration]:
    """Calibrate a model for each group of runs in a results directory.

    Parameters
    ----------
    directory
        As `pacelc run` wrote it.
    hold
        ``FACTOR=LEVEL`` each: such runs aren't fitted; every third scenario unless said.

    Raises
    ------
    InputError
        There are no runs of a closed loop with processor time.
    """
    results = load(Path(directory))
    found = observations(results)
    if not found:
        raise InputError(
            f"{directory}: there are no runs of a closed loop with their processor time"
        )
    held = _held(results, found, hold)
    groups: dict[tuple[tuple[str, object], ...], list[Observation]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    return [calibrate(own, held) for own in groups.values()]


def observations(results: Results) -> list[Observation]:
    """Return the runs of closed loops whose processor time is known."""
    found: list[Observation] = []
    rows = {(row["source"], row["run"]): row for row in results.runs.iter_rows(named=True)}
    usage: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in results.nodes.iter_rows(named=True):
        usage.setdefault((row["source"], row["run"]), []).append(row)
    for row, record in zip(rows.values(), results.records, strict=True):
        own = usage.get((row["source"], row["run"]), [])
        one = _observation(record, row, own, results.factors)
        if one is not None:
            found.append(one)
    return found


def _observation(
    record: RunRecord,
    row: Mapping[str, Any],
    usage: Sequence[Mapping[str, Any]],
    factors: Sequence[str],
) -> Observation | None:
    settings = record.scenario.settings
    users = record.scenario.factors.get("users", settings.get("users"))
    machine = record.machine.get("cores")
    own_cores = record.sizes.cores if record.sizes is not None else None
    known = [one for one in usage if one["cpu_cores"] is not None]
    # The client's own processors are no node's, unless all share one machine.
    cpu = [one["cpu_cores"] for one in known if own_cores is None or one["role"] != _CLIENT_ROLE]
    if record.result.schedule is not None or not isinstance(users, int) or not cpu:
        return None
    shared = own_cores is None
    if shared and not isinstance(machine, int | float):
        return None
    kinds = [kind for kind, stats in record.result.operations.items() if stats.ok > 0]
    used = float(sum(cpu))
    client = record.result.client
    if shared and all(one["role"] != _CLIENT_ROLE for one in usage):
        used += (client.cpu_user_s + client.cpu_system_s) / record.result.measured_s
    return Observation(
        run=record.run,
        scenario=record.scenario.number,
        group=tuple((name, row[name]) for name in factors if name not in _VARIED),
        users=users,
        cores=float(own_cores or machine or 0),
        nodes=int(settings.get("nodes") or 1),
        shared=shared,
        rates_per_s={kind: float(row[f"{kind}.throughput_per_s"]) for kind in kinds},
        latencies_s={kind: float(row[f"{kind}.latency_ms_mean"]) / 1e3 for kind in kinds},
        cores_used=used,
    )


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


def calibrate(found: Sequence[Observation], held: frozenset[str] = frozenset()) -> Calibration:
    """Fit a model to the runs of a group that aren't held out, and predict all of them."""
    group = dict(found[0].group)
    fitted = [one for one in found if one.run not in held]
    kinds = sorted({kind for one in found for kind in one.rates_per_s})
    rates = {kind: [one.rates_per_s.get(kind, 0.0) for one in fitted] for kind in kinds}
    try:
        demands = fit_demands(rates, [one.cores_used for one in fitted])
    except NotIdentified as reason:
        return Calibration(group, None, {}, None, pl.DataFrame(), reason.message, reason.hint)
    missing = [kind for kind in kinds if kind not in demands.by_kind_s]
    if missing:
        text = f"no fitted run has operations of {', '.join(missing)}"
        return Calibration(group, demands, {}, None, pl.DataFrame(), text)
    delays = _delays(fitted, kinds, demands)
    largest = max(fitted, key=lambda one: one.users)
    return Calibration(
        group,
        demands,
        delays,
        network_of(largest, demands, delays),
        _table(found, held, demands, delays, kinds),
    )


def network_of(one: Observation, demands: Demands, delays_s: Mapping[str, float]) -> Network:
    """Return the model at the users and the mix of a run."""
    total = one.throughput_per_s
    shares = {kind: rate / total for kind, rate in one.rates_per_s.items() if rate > 0}
    kinds = list(shares)
    hosts = 1 if one.shared else one.nodes
    servers = max(round(one.cores), 1)
    # Four tenths of a core are a server that takes two and a half times as long.
    free = one.cores / servers - demands.background_cores.value / (servers * hosts)
    if free <= 0:
        raise InputError("what goes on in the background takes all processors")
    service: dict[str, Distribution] = {
        kind: Exponential(mean_s=demands.by_kind_s[kind].value / free) for kind in kinds
    }
    names = ["cpu"] if hosts == 1 else [f"cpu{i}" for i in range(1, hosts + 1)]
    by_chance = names[0] if hosts == 1 else dict.fromkeys(names, 1 / hosts)
    return Network(
        name="calibrated",
        classes=tuple(
            Class(
                name=kind, users=one.users if i == 0 else 0, reference="client" if i == 0 else None
            )
            for i, kind in enumerate(kinds)
        ),
        stations=(
            Station(name="client", kind="delay", service={"*": Exponential(mean_s=0.0)}),
            Station(
                name="elsewhere",
                kind="delay",
                service={kind: Exponential(mean_s=delays_s[kind]) for kind in kinds},
            ),
            *(
                Station(name=name, servers=servers, discipline="ps", service=service)
                for name in names
            ),
        ),
        routing={
            "client": {"*": {f"elsewhere/{kind}": share for kind, share in shares.items()}},
            "elsewhere": {"*": by_chance},
            **{name: {"*": "client"} for name in names},
        },
    )


def _solutions(
    found: Sequence[Observation], demands: Demands, delays_s: Mapping[str, float]
) -> list[Solution]:
    answers = solve_all([network_of(one, demands, delays_s) for one in found])
    for answer in answers:
        if isinstance(answer, Refusal):
            raise InputError(f"the calibrated network can't be solved: {answer.message}")
    return [answer for answer in answers if isinstance(answer, Solution)]


def _delays(
    fitted: Sequence[Observation], kinds: Sequence[str], demands: Demands
) -> dict[str, float]:
    """Least squares on logarithms of latencies; what latency leaves beyond the demand begins it."""
    pairs = [(i, kind) for i, one in enumerate(fitted) for kind in one.latencies_s]
    measured = np.log([fitted[i].latencies_s[kind] for i, kind in pairs])

    def residuals(log_delays: np.ndarray[Any, np.dtype[np.float64]]) -> Any:
        delays = dict(zip(kinds, np.exp(log_delays).tolist(), strict=True))
        solutions = _solutions(fitted, demands, delays)
        predicted = [solutions[i].of_class(kind).response_s or _LEAST_S for i, kind in pairs]
        return np.log(predicted) - measured

    start = [
        max(
            min(one.latencies_s[kind] for one in fitted if kind in one.latencies_s)
            - demands.by_kind_s[kind].value,
            10 * _LEAST_S,
        )
        for kind in kinds
    ]
    best = optimize.least_squares(
        residuals, np.log(start), bounds=(np.log(_LEAST_S), np.inf), x_scale=1.0, diff_step=[1e-3]
    )
    return dict(zip(kinds, np.exp(best.x).tolist(), strict=True))


def _table(
    found: Sequence[Observation],
    held: frozenset[str],
    demands: Demands,
    delays_s: Mapping[str, float],
    kinds: Sequence[str],
) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    for one, solution in zip(found, _solutions(found, demands, delays_s), strict=True):
        row: dict[str, object] = {"run": one.run, "fitted": one.run not in held, "users": one.users}
        measures = {"throughput_per_s": (one.throughput_per_s, solution.throughput_per_s)}
        for kind in kinds:
            if kind in one.latencies_s:
                predicted = solution.of_class(kind).response_s
                measures[f"{kind}.latency_s"] = (one.latencies_s[kind], predicted or 0.0)
        for name, (measured, predicted) in measures.items():
            row |= {
                f"{name}.measured": measured,
                f"{name}.predicted": predicted,
                f"{name}.error": predicted / measured - 1,
            }
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)
