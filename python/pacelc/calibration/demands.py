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

Start here: :func:`fit_demands`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy import linalg, optimize

from pacelc.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.runs import Configuration, Run

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["TERMS", "Demands", "NotIdentified", "fit_demands", "rates_of"]

TERMS: Final = ("read", "write", "copy_read", "copy_write", "wait", "wake")
"""In the order of the columns; contention comes after them."""
_MOST_CONTENTION: Final = 2.0
_LOG_RATIOS: Final = (-16.0, 5.0)
"""Of the variance between clusters to that within."""
_ROUNDS: Final = 30
_LEAST: Final = 1e-12
_LEAST_DIRECTION: Final = 0.02
"""Of the largest singular value: what varies less than this isn't told from chance."""
_LEAST_COLUMN: Final = 1e-6
"""Of a column, what others leave of it."""
_UNKNOWN: Final = 0.05
"""Share of a prediction's rates that may be no combination of those fitted."""


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
        clusters.
    runs, clusters
        How many were fitted.
    seen
        (directions, terms): rates that the runs had, as an orthonormal basis of scaled columns.
    scale
        (terms,): of the columns.
    servers
        Numbers of servers in the runs.
    """

    values: Mapping[str, float]
    contention: float
    client: Mapping[str, float]
    covariance: Floats
    within: float
    between: float
    runs: int
    clusters: int
    seen: Floats
    scale: Floats
    servers: frozenset[int]

    def unknown(self, one: Configuration) -> str | None:
        """Say why a configuration can't be predicted; None if it can.

        Its rates have to be a combination of those of the runs fitted.
        """
        row = np.array(rates_of(one, one.read_share, 1 - one.read_share)) / self.scale
        beyond = row - self.seen.T @ (self.seen @ row)
        if np.linalg.norm(beyond) > _UNKNOWN * np.linalg.norm(row):
            term = TERMS[int(np.argmax(np.abs(beyond)))]
            return f"the runs don't tell what {_WORDS[term]} costs"
        if (
            one.shared
            and one.nodes > 1
            and len(self.servers) == 1
            and one.nodes not in self.servers
        ):
            return "the runs don't tell what servers cost each other: all have as many"
        return None

    def factor(self, one: Configuration) -> float:
        """Return how many times as much work costs as on a server alone."""
        return 1 + self.contention * (one.nodes - 1) if one.shared else 1.0


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
    if len(runs) <= len(TERMS) or len({one.configuration.users for one in runs}) == 1:
        raise NotIdentified(
            "there are too few runs to tell demands apart",
            "measure several mixes and numbers of users: pacelc run calibration",
        )
    rows = [rates_of(one.configuration, one.reads_per_s, one.writes_per_s) for one in runs]
    rates = np.array(rows)
    used = np.array([one.server_cores for one in runs])
    beside = np.array([(one.configuration.nodes - 1) * one.configuration.shared for one in runs])
    contention = 0.0
    if beside.any():
        found = optimize.minimize_scalar(
            lambda c: _squares(used, _fitted(_columns(rates, beside, c), used)[1]),
            bounds=(0.0, _MOST_CONTENTION),
            method="bounded",
            options={"xatol": 1e-3},
        )
        contention = float(found.x) if found.x > 2e-3 else 0.0  # noqa: PLR2004 - at its bound
    columns = _columns(rates, beside, contention)
    values, fitted = _fitted(columns, used)
    slopes = np.column_stack([columns, beside * (rates @ values)])
    names = [one.cluster for one in runs]
    free = _independent(slopes / fitted[:, None] * (np.append(values, contention) > 0))
    slopes = (slopes / fitted[:, None])[:, free]
    scale = np.linalg.norm(slopes, axis=0)
    own, within, between = _mixed(slopes / scale, np.log(used / fitted), names)
    covariance = np.zeros((len(TERMS) + 1,) * 2)
    covariance[np.ix_(free, free)] = own / np.outer(scale, scale)
    client = np.array([one.client_cores for one in runs])
    of_client, _ = _fitted(rates[:, :2], client) if client.any() else (np.zeros(2), client)
    seen, columns_scale = _directions(rates)
    return Demands(
        values=dict(zip(TERMS, values.tolist(), strict=True)),
        contention=contention,
        client=dict(zip(("read", "write"), of_client.tolist(), strict=True)),
        covariance=covariance,
        within=within,
        between=between,
        runs=len(runs),
        clusters=len(set(names)),
        seen=seen,
        scale=columns_scale,
        servers=frozenset(one.configuration.nodes for one in runs),
    )


def _columns(rates: Floats, beside: Floats, contention: float) -> Floats:
    return rates * (1 + contention * beside)[:, None]


def _fitted(columns: Floats, used: Floats) -> tuple[Floats, Floats]:
    """Return demands of 0 or more, and what they say was used: errors of logarithms are least."""
    known = used = np.maximum(used, _LEAST)
    values = np.zeros(columns.shape[1])
    for _ in range(_ROUNDS):
        before = values
        # Gauss and Newton's step: near enough, log(used / known) is used / known - 1.
        values = optimize.nnls(columns / known[:, None], 1 + np.log(used / known))[0]
        known = np.maximum(columns @ values, _LEAST)
        if np.allclose(values, before, rtol=1e-6):
            break
    return values, known


def _squares(used: Floats, fitted: Floats) -> float:
    return float(np.sum(np.log(np.maximum(used, _LEAST) / fitted) ** 2))


def _independent(columns: Floats) -> NDArray[np.intp]:
    """Return which columns are no combinations of others; of those that are, some are left out."""
    scale = np.maximum(np.linalg.norm(columns, axis=0), _LEAST)
    _, rest, order = linalg.qr(columns / scale, mode="economic", pivoting=True)
    found: NDArray[np.intp] = np.sort(order[np.abs(np.diag(rest)) > _LEAST_COLUMN])
    return found


def _mixed(
    slopes: Floats, errors: Floats, clusters: Sequence[object]
) -> tuple[Floats, float, float]:
    """Return the demands' covariance, and standard deviations within and between clusters.

    The restricted likelihood of one random effect, over the ratio of both variances alone: the
    rest of it has a closed form. (statsmodels' ``MixedLM`` says the same where it converges.)
    """
    names = np.unique([hash(name) for name in clusters], return_inverse=True)[1]
    parts = [np.flatnonzero(names == name) for name in range(names.max() + 1)]
    counts = np.array([len(rows) for rows in parts])
    sums = np.array([slopes[rows].sum(axis=0) for rows in parts])
    totals = np.array([errors[rows].sum() for rows in parts])
    freedom = max(len(errors) - slopes.shape[1], 1)

    def at(log_ratio: float) -> tuple[float, float, Floats]:
        ratio = math.exp(log_ratio)
        weights = ratio / (1 + ratio * counts)
        inner = slopes.T @ slopes - (sums.T * weights) @ sums
        cross = slopes.T @ errors - sums.T @ (weights * totals)
        squares = errors @ errors - weights @ totals**2 - cross @ np.linalg.solve(inner, cross)
        scatter = max(float(squares), _LEAST) / freedom
        determinants = np.log1p(ratio * counts).sum() + np.linalg.slogdet(inner)[1]
        return freedom * math.log(scatter) + float(determinants), scatter, inner

    found = optimize.minimize_scalar(
        lambda ratio: at(ratio)[0], bounds=_LOG_RATIOS, method="bounded"
    )
    _, scatter, inner = at(float(found.x))
    between = math.sqrt(scatter * math.exp(found.x))
    covariance = np.asarray(scatter * np.linalg.inv(inner), dtype=np.float64)
    return covariance, math.sqrt(scatter), between


def _directions(rates: Floats) -> tuple[Floats, Floats]:
    """Return an orthonormal basis of the rates of an operation, and the scales of their columns."""
    each = rates / (rates[:, 0] + rates[:, 1])[:, None]
    scale = np.maximum(each.max(axis=0), _LEAST)
    _, sizes, directions = np.linalg.svd(each / scale, full_matrices=False)
    return directions[sizes > _LEAST_DIRECTION * sizes[0]], scale
