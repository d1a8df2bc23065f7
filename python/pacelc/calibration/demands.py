"""Processor demands by the utilisation law: what servers used, on the rates of what they did.

In each run the processor time used a second is a sum of rates, each times a demand (Lazowska et
al.: Quantitative System Performance, Prentice-Hall 1984, section 3.4)::

    U = (1 + c (n - 1)) (X_r D_r + X_w D_w + Y_r E_r + Y_w E_w + (Z A + V W) / √m)

======== ====================================================================== ===============
symbol   meaning                                                                unit
======== ====================================================================== ===============
U        processors used by all servers                                         s/s
n        servers                                                                1
c        contention: by which share the work of all costs more with each        1
         further server on the same cores; 0 where each has cores of its own
X_r, X_w reads and writes                                                       1/s
D_r, D_w demand of each at its coordinator, with the copy that is there         s
Y_r, Y_w copies read and written elsewhere                                      1/s
E_r, E_w demand of each, with its request and answer                            s
Z, A     acknowledgements and disks that writes wait for; demand of each        1/s, s
V, W     requests at servers (X + Y); what each costs for waking a server       1/s, s
m        operations under way at a server: they share waits and wake-ups        1
======== ====================================================================== ===============

Errors of logarithms count, since runs scatter by shares of what they measure. No demand is
negative. A cluster is faster or slower as a whole: a random effect, whose variance is that between
clusters, by restricted maximum likelihood; the same gives the covariance of the demands (Pinheiro
and Bates: Mixed-Effects Models in S and S-PLUS, Springer 2000, section 2.2).

The load generator's processor time is fitted apart, on reads and writes.

The variance is computed here, not by statsmodels' ``MixedLM``, which stops at a boundary with its
default optimiser; the tests compare the two. Rejected: a term for background work, which takes the
place of contention where processors are saturated; removing a trend from runs; terms found by
searching on the runs that judge the model.

Start here: :func:`fit_demands`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg, optimize

from pacelc.errors import InputError
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.runs import Configuration, Run

    Floats: TypeAlias = NDArray[np.float64]
    _Whiten: TypeAlias = Callable[[Floats], Floats]

__all__ = ["TERMS", "Demands", "NotIdentified", "contended", "fit_demands", "rates_of"]

TERMS: Final = ("read", "write", "copy_read", "copy_write", "wait", "wake")
"""In the order of the columns; contention comes after them."""
_MOST_CONTENTION: Final = 2.0
_LOG_RATIOS: Final = (-16.0, 5.0)
"""Of the variance between clusters to that within."""
_ROUNDS: Final = 30
_REFITS: Final = 2
"""With the variances of the last fit."""
_STEP: Final = 1e-3
"""Of contention."""
_LEAST: Final = 1e-12
_LEAST_DIRECTION: Final = 0.02
"""Of the largest singular value: what varies less than this isn't told from chance."""
_LEFT: Final = 1e-6
"""Of a column, what others leave of it."""
_UNKNOWN: Final = 0.05
"""Share of a prediction's rates that may be no combination of those fitted."""


_HINT: Final = "measure several mixes and numbers of users: pacelc run calibration"


class NotIdentified(InputError):  # noqa: N818 - a reason, not a fault
    """The runs don't hold what would tell the demands; the hint says what would."""


def rates_of(one: Configuration, reads_per_s: float, writes_per_s: float) -> tuple[float, ...]:
    """Return how often in a second each demand of the servers arises, in the order of TERMS."""
    copies_read = reads_per_s * (one.asked - one.own_share)
    copies_written = writes_per_s * (one.replication - one.own_share)
    shared_by = one.at_a_time**0.5
    return (
        reads_per_s,
        writes_per_s,
        copies_read,
        copies_written,
        writes_per_s * (one.waited - 1 + one.on_disk) / shared_by,
        (reads_per_s + writes_per_s + copies_read + copies_written) / shared_by,
    )


def contended(contention: float, one: Configuration) -> float:
    """Return how many times as much work costs as on a server alone."""
    return 1 + contention * (one.nodes - 1) if one.shared else 1.0


@dataclass(frozen=True, eq=False)
class Demands:
    """Fitted demands.

    Attributes
    ----------
    values
        Term → seconds.
    contention
        By which share demands grow with each further server on the same cores.
    client
        ``read`` and ``write`` → seconds of the load generator.
    covariance
        (terms + 1,) * 2: of the demands in the order of TERMS, and contention; 0 of those at 0.
    within, between
        Standard deviations of the logarithm of processor time: of runs in a cluster, and of
        clusters; 0 of one cluster.
    clusters
        How many were fitted.
    seen
        (directions, terms): rates that the runs had, as an orthonormal basis of scaled columns.
    scale
        (terms,): of the columns.
    servers
        Numbers of servers that shared a machine's cores in the runs.
    """

    values: Mapping[str, float]
    contention: float
    client: Mapping[str, float]
    covariance: Floats
    within: float
    between: float
    clusters: int
    seen: Floats
    scale: Floats
    servers: frozenset[int]

    def unknown(self, one: Configuration) -> str | None:
        """Say why a configuration can't be predicted; None if it can.

        Its rates have to be a combination of those of the runs fitted.
        """
        row = np.array(rates_of(one, one.read_share, 1 - one.read_share))
        beyond = self._beyond(row)
        if beyond.any():
            term = TERMS[int(np.argmax(np.abs(beyond)))]
            return f"the runs don't determine the cost of {_WORDS[term]}"
        if one.shared and len(self.servers) == 1 and one.nodes not in self.servers:
            return "the runs don't determine contention: all have the same number of servers"
        return None

    def tells(self, combination: Floats) -> bool:
        """Tell whether the runs tell a combination of demands, (terms,), of a server alone."""
        alone = len(self.servers) != 1 or 1 in self.servers
        return alone and not self._beyond(combination).any()

    def _beyond(self, row: Floats) -> Floats:
        """Return what of a row is no combination of the runs' rates; 0 where that is next to none.

        So a demand is estimable (Searle: Linear Models, Wiley 1971, section 5.4).
        """
        scaled = row / self.scale
        beyond = scaled - self.seen.T @ (self.seen @ scaled)
        little = np.linalg.norm(beyond) <= _UNKNOWN * np.linalg.norm(scaled)
        return np.zeros_like(beyond) if little else beyond


_WORDS: Final = {
    "read": "a read",
    "write": "a write",
    "copy_read": "a copy read elsewhere",
    "copy_write": "a copy written elsewhere",
    "wait": "a copy or a disk that a write waits for",
    "wake": "waking a server",
}


def fit_demands(runs: Sequence[Run]) -> Demands:
    """Fit demands to runs.

    Raises
    ------
    NotIdentified
        There are too few runs, or all have the same load.
    """
    if len(runs) <= len(TERMS):
        raise NotIdentified(
            f"of these, {counted(len(runs), 'run')} can be fitted, and there are "
            f"{counted(len(TERMS), 'demand')} to tell",
            _HINT,
        )
    if len({one.configuration.users for one in runs}) == 1:
        raise NotIdentified(f"all runs have {counted(runs[0].configuration.users, 'user')}", _HINT)
    rows = [rates_of(one.configuration, one.reads_per_s, one.writes_per_s) for one in runs]
    rates, used = np.array(rows), np.array([one.server_cores for one in runs])
    client = np.array([one.client_cores for one in runs])
    clusters = np.unique([repr(one.cluster) for one in runs], return_inverse=True)[1]
    beside = np.array([(one.configuration.nodes - 1) * one.configuration.shared for one in runs])
    seen, scale = _directions(rates)
    found = _step(rates, used, beside, clusters, np.copy)
    for _ in range(_REFITS):
        whiten = _whitened(clusters, (found.between / found.within) ** 2)
        found = _step(rates, used, beside, clusters, whiten)
    covariance = np.zeros((len(TERMS) + 1,) * 2)
    covariance[np.ix_(found.free, found.free)] = found.covariance
    metered = client > 0
    of_client = _fitted(rates[metered, :2], client[metered])[0] if metered.any() else np.zeros(2)
    return Demands(
        values=dict(zip(TERMS, found.values.tolist(), strict=True)),
        contention=found.contention,
        client=dict(zip(("read", "write"), of_client.tolist(), strict=True)),
        covariance=covariance,
        within=found.within,
        between=found.between,
        clusters=int(clusters.max()) + 1,
        seen=seen,
        scale=scale,
        servers=frozenset(one.configuration.nodes for one in runs if one.configuration.shared),
    )


class _Step(NamedTuple):
    values: Floats
    contention: float
    free: list[int]
    """Terms, and contention after them, that the runs tell and that aren't 0."""
    covariance: Floats
    """Of these."""
    within: float
    between: float


def _step(
    rates: Floats, used: Floats, beside: Floats, clusters: NDArray[np.intp], whiten: _Whiten
) -> _Step:
    # What all servers have in common can't be told from their demands.
    contention = 0.0 if np.ptp(beside) == 0 else _contention(rates, used, beside, whiten)
    columns = _columns(rates, beside, contention)
    values, fitted = _fitted(columns, used, whiten)
    slopes = np.column_stack([columns, beside * (rates @ values)]) / fitted[:, None]
    free = _independent(slopes * (np.append(values, contention) > 0))
    mixed = _mixed(slopes[:, free], np.log(used / fitted), clusters)
    return _Step(values, contention, free, *mixed)


def _contention(rates: Floats, used: Floats, beside: Floats, whiten: _Whiten) -> float:
    def squares(contention: float) -> float:
        fitted = _fitted(_columns(rates, beside, contention), used, whiten)[1]
        return float(np.sum(whiten(np.log(np.maximum(used, _LEAST) / fitted)) ** 2))

    found = optimize.minimize_scalar(
        squares, bounds=(0.0, _MOST_CONTENTION), method="bounded", options={"xatol": _STEP}
    )
    return float(found.x) if found.x > 2 * _STEP else 0.0  # at its bound


def _columns(rates: Floats, beside: Floats, contention: float) -> Floats:
    return rates * (1 + contention * beside)[:, None]


def _fitted(columns: Floats, used: Floats, whiten: _Whiten = np.copy) -> tuple[Floats, Floats]:
    """Return demands of 0 or more, and what they say was used: errors of logarithms are least."""
    known = used = np.maximum(used, _LEAST)
    values = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        before = values
        # Gauss and Newton's step: near enough, log(used / known) is used / known - 1.
        slopes, target = columns / known[:, None], 1 + np.log(used / known)
        values = optimize.nnls(whiten(slopes), whiten(target))[0]
        known = np.maximum(columns @ values, _LEAST)
        if np.allclose(values, before, rtol=1e-6):
            break
    return values, known


def _whitened(clusters: NDArray[np.intp], ratio: float) -> _Whiten:
    """Return what makes errors of a cluster independent: part of its mean is taken off.

    So least squares are generalised ones (Baltagi: Econometric Analysis of Panel Data, Wiley 2005,
    equation 2.20). The ratio is of variances, between clusters to within.
    """
    counts = np.bincount(clusters)
    part = 1 - 1 / np.sqrt(1 + ratio * counts)

    def whiten(rows: Floats) -> Floats:
        sums = np.zeros((len(counts), *rows.shape[1:]))
        np.add.at(sums, clusters, rows)
        shape = (-1,) + (1,) * (rows.ndim - 1)
        means: Floats = sums * (part / counts).reshape(shape)
        return rows - means[clusters]

    return whiten


def _independent(columns: Floats) -> list[int]:
    """Return which columns are no combinations of others; of those that are, some are left out."""
    scale = np.maximum(np.linalg.norm(columns, axis=0), _LEAST)
    _, rest, order = linalg.qr(columns / scale, mode="economic", pivoting=True)
    left = np.abs(np.diag(np.asarray(rest)))
    return sorted(int(i) for i, rest in zip(np.asarray(order), left, strict=False) if rest > _LEFT)


def _mixed(
    slopes: Floats, errors: Floats, clusters: NDArray[np.intp]
) -> tuple[Floats, float, float]:
    """Return the demands' covariance, and standard deviations within and between clusters.

    The restricted likelihood of one random effect, over the ratio of both variances alone: the
    rest of it has a closed form. (statsmodels' ``MixedLM`` says the same where it converges.)
    """
    scale = np.linalg.norm(slopes, axis=0)
    columns = slopes / scale
    counts = np.bincount(clusters)
    sums = np.zeros((len(counts), columns.shape[1]))
    np.add.at(sums, clusters, columns)
    totals = np.bincount(clusters, weights=errors)
    freedom = max(len(errors) - columns.shape[1], 1)

    def at(ratio: float) -> tuple[float, float, Floats]:
        weights = ratio / (1 + ratio * counts)
        inner: Floats = columns.T @ columns - (sums.T * weights) @ sums
        cross: Floats = columns.T @ errors - sums.T @ (weights * totals)
        effects = np.asarray(np.linalg.solve(inner, cross), dtype=np.float64)
        squares = float(np.sum(errors**2) - np.sum(weights * totals**2) - np.sum(cross * effects))
        scatter = max(squares, _LEAST) / freedom
        determinants = np.log1p(ratio * counts).sum() + np.linalg.slogdet(inner)[1]
        return freedom * math.log(scatter) + float(determinants), scatter, inner

    ratio = 0.0
    if len(counts) > 1:  # of one cluster nothing is between
        found = optimize.minimize_scalar(
            lambda log: at(math.exp(log))[0], bounds=_LOG_RATIOS, method="bounded"
        )
        ratio = math.exp(float(found.x))
    _, scatter, inner = at(ratio)
    covariance = scatter * np.linalg.inv(inner) / np.outer(scale, scale)
    return np.asarray(covariance, dtype=np.float64), scatter**0.5, (scatter * ratio) ** 0.5


def _directions(rates: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis of the rates of an operation, and the scales of their columns."""
    each = rates / (rates[:, 0] + rates[:, 1])[:, None]
    scale = np.maximum(each.max(axis=0), _LEAST)
    _, sizes, directions = np.linalg.svd(each / scale, full_matrices=False)
    return directions[sizes > _LEAST_DIRECTION * sizes[0]], scale
