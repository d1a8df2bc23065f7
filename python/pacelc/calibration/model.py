"""A calibrated model: a configuration's throughput, mean responses and 99th percentiles.

The network is that of :mod:`pacelc.networks.quorum`: waits for the k-th of n copies, at processors
in random order. Besides processor demands it has two delays and one variation, each from runs at
the fewest users, where nothing queues: a *hop* to another machine and back, what a *durable* write
waits for a log on disk, and the squared coefficient of variation of times.

Where nodes and load generator share a machine, there is one processor with the machine's cores and
everybody's demands; else each node has its own.

Start here: :func:`fit_model`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import optimize

from pacelc.calibration.demands import TERMS, Demands, NotIdentified, contended, fit_demands
from pacelc.calibration.runs import KINDS
from pacelc.networks.closed import solve_closed
from pacelc.networks.quorum import Quorum, quorum
from pacelc.networks.simulate import simulate
from pacelc.study.copies import LEVELS, Level, copies_waited_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.runs import Configuration, Point

    Floats = NDArray[np.float64]

__all__ = ["Model", "fit_model", "level_of"]

_PERCENT: Final = 99.0
_QUANTILE_99: Final = 2.3263
_STEP: Final = 1e-3
"""Of a parameter, relative: for derivatives."""
_STEP_S: Final = 1e-7
_FIRST_S: Final = 1e-4
"""Delays that a search begins with."""
_ROUNDS: Final = 4
_HINT: Final = "measure one user, too: pacelc run calibration"


@dataclass(frozen=True, eq=False)
class Model:
    """Demands, delays and variation of a database.

    Attributes
    ----------
    demands
        Of processors.
    delays_s, delay_errors_s
        A hop and a durable write; their standard errors. Nan where the runs don't tell.
    scv
        Squared coefficient of variation of times.
    """

    demands: Demands
    delays_s: tuple[float, float]
    delay_errors_s: tuple[float, float]
    scv: float

    def unknown(self, one: Configuration) -> str | None:
        """Say why a configuration can't be predicted; None if it can."""
        if one.on_disk and one.read_share < 1 and math.isnan(self.delays_s[1]):
            return "the runs don't determine a write's wait for its log on disk"
        return self.demands.unknown(one)

    def settings(self, one: Configuration) -> Quorum:
        """Return the quorum network's settings of a configuration."""
        return self._settings(one, self.parameters)

    @property
    def parameters(self) -> Floats:
        """TERMS, contention, hop, durable write."""
        demands = self.demands
        values = [demands.values[term] for term in TERMS]
        return np.array([*values, demands.contention, *np.nan_to_num(self.delays_s)])

    def _settings(self, one: Configuration, parameters: Floats) -> Quorum:
        known = dict(zip(TERMS, parameters, strict=False))
        contention, hop_s, durable_s = parameters[len(TERMS) :]
        servers = max(round(one.cores), 1)
        # Four tenths of a core are a server that takes two and a half times as long.
        slower = servers / one.cores
        factor = slower * contended(contention, one)
        client = {kind: self.demands.client[kind] * slower * one.shared for kind in KINDS}
        # Of operations that share what one of them takes alone.
        wait_s, wake_s = (known[name] / one.at_a_time**0.5 for name in ("wait", "wake"))
        return Quorum.model_construct(
            users=one.users,
            nodes=one.nodes,
            replication=one.replication,
            read=level_of(one.asked, one.replication),
            write=level_of(one.waited, one.replication),
            read_share=one.read_share,
            coordinator=one.coordinator,
            discipline="siro",
            scv=self.scv,
            cores=servers,
            shared=one.shared,
            read_cpu_s=(known["read"] + wake_s) * factor + client["read"],
            write_cpu_s=(known["write"] + wake_s) * factor + client["write"],
            copy_read_cpu_s=(known["copy_read"] + wake_s) * factor,
            copy_write_cpu_s=(known["copy_write"] + wake_s) * factor,
            acknowledged_cpu_s=wait_s * factor,
            log_cpu_s=wait_s * one.on_disk * factor,
            read_uncached=0.0,
            write_uncached=0.0,
            client_round_trip_s=hop_s,
            node_round_trip_s=hop_s,
            write_wait_s=durable_s * one.on_disk,
        )

    def solved(self, one: Configuration) -> dict[str, float]:
        """Return throughput and mean responses, as runs' measures are named."""
        return _measures(self.settings(one))

    def tails(self, one: Configuration) -> dict[str, float]:
        """Return of each kind its 99th percentile over its mean, simulated."""
        found = simulate(
            quorum(self.settings(one)),
            replications=2,
            precision=1.0,  # tails take far longer than means do
            tails=True,
            percentiles=(_PERCENT,),
        )
        ratios: dict[str, float] = {}
        for tail in found.percentiles:
            value = tail.percentiles[0].response_s
            mean = found.class_estimates(tail.class_name)[1] if tail.class_name in KINDS else None
            if mean is not None and value is not None:
                ratios[tail.class_name] = value / mean.value
        return ratios

    @property
    def covariance(self) -> Floats:
        """Of the parameters: TERMS, contention, hop, durable write."""
        found = np.zeros((len(TERMS) + 3,) * 2)
        found[:-2, :-2] = self.demands.covariance
        found[[-2, -1], [-2, -1]] = np.nan_to_num(self.delay_errors_s) ** 2
        return found

    def variances(self, one: Configuration) -> dict[str, float]:
        """Return the variance of each solved measure's logarithm that the parameters' is."""
        parameters, covariance = self.parameters, self.covariance
        middle = _measures(self._settings(one, parameters))
        slopes = {name: np.zeros(len(parameters)) for name in middle}
        for i in np.flatnonzero(np.diag(covariance) > 0):
            step = max(parameters[i] * _STEP, 1e-9)
            moved = parameters.copy()
            moved[i] += step
            for name, value in _measures(self._settings(one, moved)).items():
                slopes[name][i] = math.log(value / middle[name]) / step
        return {name: float(slope @ covariance @ slope) for name, slope in slopes.items()}


def _measures(s: Quorum) -> dict[str, float]:
    found = solve_closed(s)
    means = {f"{kind}.latency_s": value for kind, value in found.response_s.items()}
    return {"throughput_per_s": found.throughput_per_s, **means}


def level_of(copies: int, replication: int) -> Level:
    """Return the level that waits for so many copies."""
    return next(one for one in LEVELS if copies_waited_for(one, replication) == copies)


def fit_model(points: Sequence[Point]) -> Model:
    """Fit a model to runs.

    Raises
    ------
    NotIdentified
        There are too few runs, or all have the same load.
    """
    demands = fit_demands([run for one in points for run in one.runs])
    fewest: dict[str, int] = {}
    for one in points:
        size, users = one.configuration.size, one.configuration.users
        fewest[size] = min(users, fewest.get(size, users))
    quiet = [one for one in points if one.configuration.users == fewest[one.configuration.size]]
    model = Model(demands, (_FIRST_S, _FIRST_S), (0.0, 0.0), 1.0)
    for _ in range(_ROUNDS):
        model = replace(model, **_delays(model, quiet))
    return replace(model, scv=_variation(quiet))


def _delays(model: Model, quiet: Sequence[Point]) -> dict[str, tuple[float, float]]:
    """Return delays that leave the least relative errors of means, and their standard errors.

    A step of Gauss and Newton: how often a mean has each delay is the network's to say.
    """
    now = np.nan_to_num(model.delays_s)
    moved = [replace(model, delays_s=tuple(now + step)) for step in np.eye(2) * _STEP_S]
    columns: list[list[float]] = []
    left: list[float] = []
    for one in quiet:
        solved, *others = (each.solved(one.configuration) for each in (model, *moved))
        for name in solved.keys() & one.measured.keys() - {"throughput_per_s"}:
            slopes = [(other[name] - solved[name]) / _STEP_S for other in others]
            rest = one.measured[name] - solved[name] + float(np.dot(slopes, now))
            columns.append([slope / one.measured[name] for slope in slopes])
            left.append(rest / one.measured[name])
    table, rests = np.array(columns), np.array(left)
    told = table.any(axis=0)
    if len(rests) <= told.sum():
        raise NotIdentified("there are too few runs at the fewest users to tell delays", _HINT)
    values = optimize.nnls(table, rests)[0]
    scatter = float(np.sum((rests - table @ values) ** 2)) / (len(rests) - told.sum())
    errors = np.full(2, np.nan)
    own = table[:, told]
    errors[told] = np.sqrt(np.diag(scatter * np.linalg.pinv(own.T @ own)))
    found = np.where(told, values, np.nan)
    return {"delays_s": tuple(found.tolist()), "delay_errors_s": tuple(errors.tolist())}


def _variation(quiet: Sequence[Point]) -> float:
    """Return the squared coefficient of variation: that of lognormal times with their p99."""
    found: list[float] = []
    for one in quiet:
        for kind in KINDS:
            mean, slow = (one.measured.get(f"{kind}.{what}") for what in ("latency_s", "p99_s"))
            if mean and slow and slow > mean:
                # log(p99 / mean) = z s - s^2 / 2; the smaller root.
                height = min(math.log(slow / mean), _QUANTILE_99**2 / 2)
                s = _QUANTILE_99 - math.sqrt(_QUANTILE_99**2 - 2 * height)
                found.append(math.expm1(s**2))
    return float(np.median(found)) if found else 1.0
