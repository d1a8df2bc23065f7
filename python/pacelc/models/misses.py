"""What a model misses, carried over from the configurations fitted to those nearby.

A network has a form, and what it misses isn't chance alone: it misses neighbours alike. Logarithms
of latencies measured, less those of the network's, are taken as a Gaussian process over users, mix,
size and levels (kriging; Rasmussen and Williams: Gaussian Processes for Machine Learning, MIT Press
2006, equations 2.23 and 5.8), whose mean is added elsewhere. It is smooth (squared exponential
covariance, equation 4.9), but over users as rough as can be, since there is a jump where they are
enough to keep processors awake, and a smooth process would swing beyond it; a few lengths away
nothing is alike any more (piecewise polynomial covariance, 4.21). Reads and writes are missed
together, as far as they are alike. A part is the cluster's own, and is carried over to nothing but
its own configurations: clusters of one size that are started anew differ. Far from all that was
fitted nothing is added, and the network stands alone. That such a pair predicts better than either:
Didona et al.: Enhancing performance prediction robustness by combining analytical modeling and
machine learning, ICPE 2015.

Start here: :func:`fit_misses`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

import numpy as np
from scipy import linalg, optimize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.models.configuration import Configuration
    from pacelc.models.observations import Cluster

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Misses", "fit_misses"]

_KINDS: Final = ("read", "write")
_MEASURES: Final = ("latency_s", "p99_s")
_LEAST: Final = 8
"""Latencies from which it can be told that neighbours are alike."""
_ASPECTS: Final = ((0,), (1,), (2, 3), (4, 5), (6,))
"""What of a place has a length in common: users; share of reads; nodes and copies; how much reads
and writes wait for others; kind of operation."""
_SIZE: Final = _ASPECTS.index((2, 3))
_REACH: Final = 4
"""Lengths, over users, at which nothing is alike any more; the polynomial's power as well, so that
near by it is an exponential's."""
_LIKELY: Final = (
    *((0.2, 1.0), (0.06, 0.5)),
    *((0.6, 0.35), (1.0, 0.35), (5.0, 0.35), (1.0, 0.35), (0.7, 0.35)),
    (0.05, 1.0),
)
"""Before anything is known, of what is missed, of what is a cluster's own, of lengths as shares of
the range measured, and of chance: the middle, and the standard deviation of the logarithm. Users'
is short: few of them leave processors idle, many don't. Sizes are missed much alike, but for a
cluster's own, which is what those of a kind differed by that were started anew."""
_FARTHEST: Final = 4
"""Of such deviations that are looked for."""


class _Process(NamedTuple):
    """A Gaussian process: where it is known, what it is worth there, and by which lengths."""

    places: Floats
    weights: Floats
    scales: Floats

    def at(self, places: Floats) -> Floats:
        apart = _apart(places, self.places)
        alike, own = _alike(_far(apart, self.scales), self.scales), _own(apart, self.scales)
        found: Floats = (alike + own) @ self.weights
        return found


@dataclass(frozen=True)
class Misses:
    """What is missed of means and of 99th percentiles, as far as it can be told."""

    _processes: Mapping[str, _Process]
    _range: Floats

    def added(self, cluster: Cluster, predicted: Mapping[str, float | None]) -> dict[str, float]:
        """Return a configuration's predictions with what is missed nearby.

        Throughput follows from the means, since all its users are there or wait (Little's law).
        """
        found = {name: value for name, value in predicted.items() if value is not None}
        for measure, process in self._processes.items():
            for kind in _KINDS:
                name = f"{kind}.{measure}"
                if name in found:
                    place = _place(cluster, kind)[None, :] / self._range
                    found[name] *= float(np.exp(process.at(place)[0]))
        before, after = (_mean_s(cluster, values) for values in (predicted, found))
        if "throughput_per_s" in found and before is not None and after is not None:
            found["throughput_per_s"] *= before / after
        return found


def fit_misses(
    fitted: Sequence[Configuration], predicted: Sequence[Mapping[str, float | None]]
) -> Misses:
    """Find what predictions of the configurations fitted miss.

    Parameters
    ----------
    fitted, predicted
        What was measured; what the network says of the same, in the same order.
    """
    places = np.array([_place(one.cluster, kind) for one in fitted for kind in _KINDS])
    span: Floats = np.ptp(places, axis=0)
    span[span == 0] = 1.0
    processes: dict[str, _Process] = {}
    for measure in _MEASURES:
        known = [
            (_place(one.cluster, kind), one.measured[name] / value, _chance(one, name))
            for one, said in zip(fitted, predicted, strict=True)
            for kind in _KINDS
            for name in (f"{kind}.{measure}",)
            for value in (said.get(name),)
            if value is not None and name in one.measured
        ]
        if len(known) >= _LEAST:
            at, ratios, chance = (np.array(values) for values in zip(*known, strict=True))
            processes[measure] = _process(at / span, np.log(ratios), chance)
    return Misses(processes, span)


def _process(places: Floats, missed: Floats, chance: Floats) -> _Process:
    """Return the process that is likeliest after what is missed, whose lengths aren't odd ones."""
    middle, width = (np.array(values) for values in zip(*_LIKELY, strict=True))
    apart = _apart(places, places)
    each: Floats = np.eye(missed.size)

    def root(logs: Floats) -> tuple[tuple[Floats, bool], Floats, Floats, Floats]:
        scales = np.exp(logs)
        far = _far(apart, scales)
        alike, own = _alike(far, scales), _own(apart, scales)
        covariance = alike + own + each * (chance**2 + scales[-1] ** 2)
        lower = cast("Floats", linalg.cholesky(covariance, lower=True))
        return (lower, True), far, alike, own

    def unlikely(logs: Floats) -> tuple[float, Floats]:
        """Return the logarithm of how unlikely scales are, and how it changes with them."""
        factor, far, alike, own = root(logs)
        weights = linalg.cho_solve(factor, missed)
        odd = (logs - np.log(middle)) / width
        value = missed @ weights / 2 + np.log(np.diag(factor[0])).sum() + odd @ odd / 2
        slack = linalg.cho_solve(factor, each) - np.outer(weights, weights)
        scales = np.exp(logs)
        ways = (2 * alike, 2 * own, *(alike * _steeper(far)), 2 * each * scales[-1] ** 2)
        return float(value), np.array([(slack * way).sum() / 2 for way in ways]) + odd / width

    ends = list(zip(*(np.log(middle) + way * _FARTHEST * width for way in (-1, 1)), strict=True))
    best: Floats = optimize.minimize(
        unlikely, np.log(middle), jac=True, method="L-BFGS-B", bounds=ends
    ).x
    return _Process(places, linalg.cho_solve(root(best)[0], missed), np.exp(best))


def _apart(one: Floats, other: Floats) -> Floats:
    """Return distances, of shape (lengths, places, other places)."""
    squares = (one[:, None, :] - other[None, :, :]) ** 2
    return np.sqrt([squares[:, :, list(those)].sum(axis=2) for those in _ASPECTS])


def _alike(far: Floats, scales: Floats) -> Floats:
    """Return the covariance of what neighbours miss, at places that are so far apart."""
    found: Floats = scales[0] ** 2 * _near(far) ** _REACH * np.exp(-(far[1:] ** 2).sum(axis=0) / 2)
    return found


def _near(far: Floats) -> Floats:
    """Return how much of the reach is left, over users."""
    left: Floats = np.maximum(1 - far[0] / _REACH, 0.0)
    return left


def _steeper(far: Floats) -> Floats:
    """Return by which share that covariance changes with the logarithm of each length."""
    near = _near(far)
    over_users = np.divide(far[0], near, out=np.zeros_like(near), where=near > 0)
    return np.array([over_users, *far[1:] ** 2])


def _far(apart: Floats, scales: Floats) -> Floats:
    """Return distances in lengths."""
    found: Floats = apart / scales[2:-1, None, None]
    return found


def _own(apart: Floats, scales: Floats) -> Floats:
    """Return the covariance of what is a cluster's own: those of a size are of the same ones."""
    found: Floats = scales[1] ** 2 * (apart[_SIZE] == 0)
    return found


def _place(cluster: Cluster, kind: str) -> Floats:
    """Return where a configuration is.

    Users, nodes and copies count as they double. To wait for two copies is like waiting for three,
    and unlike waiting for one: what counts is the share of those waited for that are others. What
    writes miss that wait for journals, of one copy and of two, says nothing of three.
    """
    return np.array(
        [
            np.log2(cluster.users),
            cluster.read_share,
            np.log2(cluster.nodes),
            np.log2(cluster.replication),
            1 - 1 / cluster.asked,
            1 - 1 / cluster.waited,
            _KINDS.index(kind),
        ],
        dtype=float,
    )


def _chance(one: Configuration, name: str) -> float:
    """Return the standard error of a mean's logarithm; of a single run it isn't known."""
    return one.standard_errors.get(name, 0.0) / one.measured[name]


def _mean_s(cluster: Cluster, predicted: Mapping[str, float | None]) -> float | None:
    shares = {"read": cluster.read_share, "write": 1 - cluster.read_share}
    times = [(share, predicted.get(f"{kind}.latency_s")) for kind, share in shares.items()]
    known = [share * seconds for share, seconds in times if seconds is not None]
    return sum(known) if known else None
