"""What operations, copies and coordination cost of processors: the utilisation law, by regression.

In each run the processor time used a second is a sum of rates, each times a demand (Lazowska et
al.: Quantitative System Performance, Prentice-Hall 1984, section 3.4)::

    cores used by servers = background
        + coordinator * operations * d              each of its own
        + acknowledged * acknowledgements of writes that wait for more than one copy
        + journal * writes that wait for journals / √w
        + wake_journal * writes that wait for journals
        + (read * reads + digest * reads * (copies asked - 1)) * d
        + write * writes * copies written * d
        + remote * requests to other nodes
        + spread * (operations + 2 * turns of other nodes) * log2(nodes that they arrive at)
        + wake * operations / n^a, or switch * operations * (1 - 1 / (n c)^a)
        + wake_remote * (√ requests of each read to other nodes / r^b + √ those of each write / w^b)
        + wake_acknowledged * √ acknowledgements that each such write waits for / w^b

all but the background times 1 + mixing * 4 * share of reads * share of writes. The background is
what servers do besides, b cores each; where n of them share C cores, it waits for them as all else
does, and they get n b / (1 + (n - 1) b / C).

Waking up for work, a packet, a group of writes that is flushed: such things take processor time
that the n operations under way share, not always by n: those at a node, or all those on a machine
that servers share, since its processors stay awake for any of them; what goes to other nodes, the r
reads at a node, or the w writes whose copies are made together. Those are all at a node, or there
are rounds, in which copies are fetched, or sent once a connection is free: who comes during one
waits for the next, so w is half of the writes under way, or, of writes that don't wait for copies,
as many as come in a round's time; of those who fetch what their leader has written it goes by both
(:meth:`~pacelc.models.observations.Cluster.copied_at_a_time`). The exponents a and b,
whether there are rounds, and their time, are those of a few that leave the least. The requests of
one operation leave a node together, and k of them wake nodes √k times, not k: some are awake
already; those who follow a leader are each woken by itself. k acknowledgements that a write waits
for, which come to one node as they are ready, wake it √k times; those it doesn't wait for find it
at work on what follows. (MongoDB's, which each copy waited for tells each, come to several, and
each wakes one.) A journal is flushed for several writes, of w under way √w; each of those that wait
for it is woken. It is the node's that the write came to: those who follow it flush theirs whatever
writes wait for (MongoDB's secondaries after each batch that they apply), so that this is in what
their copies take.

Where processors wait awake, there is nobody to wake up: an operation alone takes less than one
among others, by ``switch``. Its own copies, of which it asks or writes c, are others, too. Whether
there is waking up or that, is what leaves less.

Servers that share a machine take turns on it, wherever an operation, a request or its answer
arrives, which costs more the more of them have work: ``spread``. So a request is two turns; but
copies of writes that only wait for one gather until their server's turn comes: √w share one. Where
there are more servers than cores, so do requests of operations that wait for several copies, as far
as they come to servers that have no core: √h share one, h half of the operations under way at a
node. What operations and their copies take of their own is dearer among servers by a factor, too, d
= 1 + share * log2(nodes that operations arrive at): they have no caches to themselves. The share is
that of a few that leaves the least, or none where it leaves as much by chance. Writes that copies
are sent many at a time, later (HBase's replicas of regions), are no requests: ``write`` is all that
they take.

Of the load generator: ``read`` and ``write``, each operation's, ``wake`` or ``switch`` and
``wake_acknowledged``, by exponents of its own, and ``spread``: each operation that comes back to it
is a turn, too. How they are fitted is :mod:`pacelc.models.regression`'s; the run is the unit.

Terms whose columns can't be told apart in the runs at hand are left out, the least important first,
and named; reads, writes and a background must be told apart, or there is no model. A prediction
that needs what was left out is refused by :meth:`Work.unknown`: its rates aren't a combination of
those of the runs fitted.

Start here: :func:`fit_work`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import stats

from pacelc.analysis.estimate import CONFIDENCE, Estimate
from pacelc.errors import InputError
from pacelc.models.regression import Background, fit_logarithms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.models.observations import Cluster, Observation

    Floats: TypeAlias = NDArray[np.float64]

__all__ = [
    "LEAST_USERS",
    "NotIdentified",
    "SharedBy",
    "Work",
    "client_rates_of",
    "fit_work",
    "mixed",
    "rates_of",
    "request_turns",
]

_LARGEST_CONDITION: Final = 30.0
"""Of the columns scaled to length 1: above it coefficients are traded for each other (Belsley, Kuh
and Welsch: Regression Diagnostics, Wiley 1980, chapter 3)."""
_LARGEST_OF_ALL: Final = 100.0
"""With the terms that a model can do without: their intervals say how well they are known, and what
is left out is taken for others (from 30 to 100 dependencies are strong, beyond very strong)."""
_LEAST_MIX_RANGE: Final = 0.15
"""By how much the share of reads has to differ between runs: chance alone makes shares differ by a
few points, and would be taken for a mix."""
_UNKNOWN: Final = 0.05
"""Share of a prediction's rates that may be no combination of those fitted."""
_LEAST_DIRECTION: Final = 0.01
"""Of the largest: a mix that differs by chance alone spans no direction of its own."""
_BASE: Final = ("background", "read", "write")
"""Without which there is no model."""
_OPTIONAL: Final = (
    *("wake", "switch", "wake_remote", "wake_acknowledged", "journal", "acknowledged"),
    *("coordinator", "digest", "remote", "spread", "wake_journal"),
)
"""In the order in which they are taken, as far as they can be told from those before."""
_EXPONENTS: Final = tuple(itertools.product((0.5, 1.0, 1.5, 2.0), (0.5, 0.75, 1.0)))
"""Of operations, and of copies, that are tried."""
_ROUNDS_S: Final = (0.0, 0.00025, 0.00035, 0.0005, 0.0007, 0.001, 0.0014, 0.002)
"""Times of a round that are tried."""
_DEARER: Final = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)
"""Shares that are tried, by which servers on one machine make each other's work dearer."""
_OF_REQUEST: Final = 2
"""Turns: where it arrives, and where its answer does."""
_LEAST_MIXES: Final = 3
"""Of which it can be told what reads and writes take together."""
LEAST_USERS: Final = 3
"""Different numbers of users, of which an exponent can be told."""
_KINDS: Final = ("read", "write")
_Rates: TypeAlias = "Callable[[Cluster, float, float, SharedBy], dict[str, float]]"
_HINTS: Final = {
    "coordinator": "measure replication 1 and 3 at several mixes",
    "write": "measure replication 1 and 3 at several mixes",
    "digest": "measure reads that ask one copy and reads that ask more",
    "read": "measure reads that ask one copy and reads that ask more",
    "remote": "measure one node and several, with fewer copies than nodes",
    "acknowledged": "measure writes that wait for one copy and for more",
    "journal": "measure writes that wait for journals and writes that don't",
    "wake": "measure one user and several",
    "switch": "measure one user and several",
    "wake_remote": "measure one copy and three, by one user and by several",
    "wake_acknowledged": "measure writes that wait for one copy and for more, by several users",
    "spread": "measure one node and several, on one machine",
    "wake_journal": "measure writes that wait for journals and writes that don't, by several users",
    "background": "measure several numbers of users",
}
_METHOD: Final = "non-negative least squares of logarithms, Student's t"
_MIX_HINT: Final = "measure other mixes, too: 0, 25, 50, 75 and 100 % reads, for example"
_LOAD_HINT: Final = "measure other numbers of users, too: 1, 4, 16 and 64, for example"


class SharedBy(NamedTuple):
    """How many operations share what one of them takes alone."""

    operations: float = 1.0
    """Exponent a of those under way."""
    copies: float = 1.0
    """Exponent b of those that go to other nodes together."""
    round_s: float | None = None
    """How long a round takes in which copies are made; 0 where no write tells; None: no rounds."""
    awake: bool = False
    """Whether an operation alone takes less than others, instead of what it is to wake up for."""
    dearer: float = 0.0
    """By which share its own work takes more with each doubling of the servers on a machine."""


_PLAIN: Final = SharedBy()
"""Where nothing says more."""


class NotIdentified(InputError):  # noqa: N818 - a reason, not a fault
    """The runs don't hold what would tell the demands apart; the hint says what would."""


def rates_of(
    cluster: Cluster,
    reads_per_s: float,
    writes_per_s: float,
    shared_by: SharedBy = _PLAIN,
) -> dict[str, float]:
    """Return how often in a second each demand of the servers arises; the background a node."""
    cluster = cluster._replace(writing_per_s=writes_per_s)
    by_operation, by_read, by_write = _shared(cluster, shared_by)
    acknowledged = writes_per_s * cluster.acknowledgements
    journaled = writes_per_s if cluster.journaled else 0.0
    total = reads_per_s + writes_per_s
    reads_afar = reads_per_s * _asked(cluster)
    writes_afar = writes_per_s * _sent(cluster)
    read_from = reads_per_s * _read_from(cluster)
    written_to = writes_per_s * _written_to(cluster)
    turns = reads_per_s * _read_turns(cluster)
    turns += writes_per_s * _write_turns(cluster, shared_by.round_s)
    dearer = _dearer(cluster, shared_by)
    return {
        "background": float(cluster.nodes),
        "read": reads_per_s * dearer,
        "write": writes_per_s * cluster.replication * dearer,
        "wake": 0.0 if shared_by.awake else total / by_operation,
        "switch": total * _among_others(cluster, shared_by) if shared_by.awake else 0.0,
        "wake_remote": read_from / by_read + written_to / by_write,
        "wake_acknowledged": writes_per_s * _waited_for(cluster) / by_write,
        "journal": journaled * _of_journal(cluster),
        "acknowledged": acknowledged,
        "coordinator": total * dearer,
        "digest": reads_per_s * (cluster.asked - 1) * dearer,
        "remote": reads_afar + writes_afar,
        "spread": (total + turns) * _spread(cluster),
        "wake_journal": journaled,
    }


def client_rates_of(
    cluster: Cluster,
    reads_per_s: float,
    writes_per_s: float,
    shared_by: SharedBy = _PLAIN,
) -> dict[str, float]:
    """Return how often in a second each demand of the load generator arises."""
    rates = rates_of(_at_client(cluster), reads_per_s, writes_per_s, shared_by)
    return {
        "read": reads_per_s,
        "write": writes_per_s,
        "wake": rates["wake"],
        "switch": rates["switch"],
        "wake_acknowledged": rates["wake_acknowledged"],
        "spread": (reads_per_s + writes_per_s) * _spread(cluster),
    }


def _at_client(cluster: Cluster) -> Cluster:
    """Return a cluster as its load generator sees it: operations of all nodes come back to it."""
    return cluster._replace(entries=1)


def _asked(cluster: Cluster) -> float:
    """Return how many requests to other nodes a read is."""
    return cluster.asked - cluster.own_share


def _sent(cluster: Cluster) -> float:
    """Return how many a write is."""
    return 0.0 if cluster.in_batches else cluster.replication - cluster.own_share


def _together(cluster: Cluster, copies: int) -> float:
    """Return how often requests to so many copies, which leave together, wake nodes."""
    own = cluster.own_share
    return float(own * math.sqrt(copies - 1) + (1 - own) * math.sqrt(copies))


def _read_from(cluster: Cluster) -> float:
    """Return how often a read's requests wake nodes."""
    return _together(cluster, cluster.asked)


def _written_to(cluster: Cluster) -> float:
    """Return how often a write's do: those who follow a leader are each woken."""
    if cluster.in_batches:
        return 0.0
    return _sent(cluster) if cluster.led else _together(cluster, cluster.replication)


def _waited_for(cluster: Cluster) -> float:
    """Return how often acknowledgements of a write that waits for others wake a node."""
    if cluster.acknowledged_to == "everyone":
        return cluster.acknowledgements
    return math.sqrt(cluster.waited - 1)


def _waking(cluster: Cluster) -> float:
    """Return how often each of them wakes a node; where there are none, as one alone would."""
    told = cluster.acknowledgements
    return _waited_for(cluster) / told if told > 0 else 1.0


def _of_journal(cluster: Cluster) -> float:
    """Return which part of a journal's cost a write has."""
    return 1 / math.sqrt(cluster.writes_at_a_time)


def _beside(cluster: Cluster) -> float:
    """Return how many other servers there are for each core that they share."""
    return (cluster.nodes - 1) / cluster.cores if cluster.shared else 0.0


def _spread(cluster: Cluster) -> float:
    """Return what a turn costs more, the more servers take turns on a machine."""
    return math.log2(cluster.entries) if cluster.shared else 0.0


def _dearer(cluster: Cluster, shared_by: SharedBy) -> float:
    """Return how many times as much an operation's own work takes as on one server alone."""
    return 1 + shared_by.dearer * _spread(cluster)


def _read_turns(cluster: Cluster) -> float:
    """Return how many turns a read's requests and their answers take."""
    turns = _OF_REQUEST * _asked(cluster)
    return turns * _gathered(cluster) if cluster.asked > 1 else turns


def _write_turns(cluster: Cluster, round_s: float | None) -> float:
    """Return how many a write's do."""
    if cluster.waited > 1:
        return _OF_REQUEST * _sent(cluster) * _gathered(cluster)
    if cluster.in_batches or cluster.replication == 1:
        return _OF_REQUEST * _sent(cluster)
    # It is waited for where the node that the write arrives at holds no copy.
    gathered = (cluster.replication - 1) / math.sqrt(cluster.copied_at_a_time(round_s))
    return _OF_REQUEST * (1 - cluster.own_share + gathered)


def _gathered(cluster: Cluster) -> float:
    """Return what counts of a turn, of requests of an operation that waits for several copies."""
    if not cluster.shared:
        return 1.0
    without_core = max(1 - cluster.cores / cluster.nodes, 0.0)
    return 1 - without_core + without_core / math.sqrt(max(cluster.at_a_time / 2, 1.0))


def request_turns(cluster: Cluster) -> float:
    """Return what the turns of a request to another node, which is waited for, count as."""
    return 0.0 if cluster.in_batches else _OF_REQUEST * _spread(cluster)


def _under_way(cluster: Cluster) -> float:
    """Return how many operations keep processors awake: of all that share them, or of a node."""
    return cluster.users if cluster.shared else cluster.at_a_time


def _shared(cluster: Cluster, shared_by: SharedBy) -> tuple[float, float, float]:
    """Return by how much operations share what one takes alone; reads, and writes, of copies."""
    return (
        _under_way(cluster) ** shared_by.operations,
        cluster.reads_at_a_time**shared_by.copies,
        cluster.copied_at_a_time(shared_by.round_s) ** shared_by.copies,
    )


def _among_others(cluster: Cluster, shared_by: SharedBy) -> float:
    """Return which share of an operation isn't alone: others are under way, or several copies."""
    copies = cluster.read_share * cluster.asked + (1 - cluster.read_share) * cluster.replication
    return float(1 - (_under_way(cluster) * copies) ** -shared_by.operations)


@dataclass(frozen=True)
class Work:
    """Processor time of operations.

    Attributes
    ----------
    servers
        Term → seconds; ``background`` in cores, of one alone. Terms that weren't told apart aren't
        there.
    client
        ``read``, ``write`` and, if they could be told, ``wake`` or ``switch``,
        ``wake_acknowledged`` and ``spread``, of the load generator.
    shared_by, client_shared_by
        How many operations share what one takes alone, of either.
    mixing
        What operations take more where half of them are reads, as a share; None if it isn't known.
    runs
        How many were fitted.
    cautions
        What weakens it.
    """

    servers: Mapping[str, Estimate]
    client: Mapping[str, Estimate]
    shared_by: SharedBy
    client_shared_by: SharedBy
    mixing: Estimate | None
    runs: int
    cautions: tuple[str, ...]
    _known: Floats
    _scale: Floats

    def seconds(self, term: str) -> float:
        """Return the demand of a term of the servers; 0 where it couldn't be told."""
        found = self.servers.get(term)
        return found.value if found is not None else 0.0

    def background_cores(self, cluster: Cluster) -> float:
        """Return what servers do besides operations: of each node, or of the machine they share."""
        alone = self.seconds("background")
        servers = cluster.nodes if cluster.shared else 1
        return servers * alone / (1 + _beside(cluster) * alone)

    def journal(self, cluster: Cluster) -> Estimate | None:
        """Return what a journal takes of a write that waits for it; None if it isn't known."""
        alone = self.servers.get("journal")
        if alone is None:
            return None
        ends = ("value", "low", "high")
        values = {name: getattr(alone, name) for name in ends}
        share = _of_journal(cluster)
        return replace(
            alone, **{name: None if s is None else s * share for name, s in values.items()}
        )

    def demands_s(
        self, cluster: Cluster, beside: float = 0.0, later: float = 0.0
    ) -> dict[str, float]:
        """Return the processor times of the quorum model, by its fields' names.

        Where all share a machine, the load generator's are the coordinator's. ``beside`` is the
        share that operations don't wait for, of what waking up takes: at the coordinator, and of
        those who hold the copies of writes; ``later`` that of what writing a copy takes.
        """
        by_operation, by_read, by_write = _shared(cluster, self.shared_by)
        dearer = _dearer(cluster, self.shared_by)
        own = self.seconds("coordinator") * dearer
        own += self.seconds("switch") * _among_others(cluster, self.shared_by)
        woken = self.seconds("wake") / by_operation
        told = self.seconds("wake_acknowledged") / by_write
        afar = self.seconds("wake_remote")
        spread = _spread(cluster)
        turn = self.seconds("spread") * spread
        # Of all copies alike.
        more_read = afar / by_read * _read_from(cluster) + turn * _read_turns(cluster)
        more_read /= cluster.asked
        woken_copies = self.seconds("journal") * _of_journal(cluster) + self.seconds("wake_journal")
        woken_copies *= cluster.journaled / cluster.replication
        woken_others = afar / by_write * _written_to(cluster)
        # A leader's own copy doesn't wait until those who follow it are woken.
        each = woken_others / max(cluster.replication - cluster.led, 1)
        at_copies, at_others = (0.0, each) if cluster.led else (each, 0.0)
        more_write = turn * _write_turns(cluster, self.shared_by.round_s) / cluster.replication
        if cluster.shared:
            client = {name: estimate.value for name, estimate in self.client.items()}
            by_operation, _, by_write = _shared(_at_client(cluster), self.client_shared_by)
            of_client = {kind: client.get(kind, 0.0) for kind in _KINDS}
            least = min(of_client.values())
            own += least + turn + client.get("spread", 0.0) * spread
            own += client.get("switch", 0.0) * _among_others(cluster, self.client_shared_by)
            more_read += (of_client["read"] - least) / cluster.asked
            more_write += (of_client["write"] - least) / cluster.replication
            woken += client.get("wake", 0.0) / by_operation
            told += client.get("wake_acknowledged", 0.0) / by_write
        told *= _waking(cluster)
        after = (
            woken_copies + (woken_others + told * cluster.acknowledgements) / cluster.replication
        )
        waited = 1 - beside
        written = self.seconds("write") * dearer
        found = {
            "coordinator_cpu_s": own + waited * woken,
            "coordinator_after_cpu_s": beside * woken,
            "read_cpu_s": self.seconds("read") * dearer + more_read,
            "write_cpu_s": (1 - later) * written + more_write + waited * (woken_copies + at_copies),
            "write_after_cpu_s": later * written + beside * after,
            "acknowledged_cpu_s": self.seconds("acknowledged") + waited * told,
            "remote_cpu_s": self.seconds("remote") + waited * at_others,
        }
        if "digest" in self.servers:
            found["digest_cpu_s"] = self.seconds("digest") * dearer + more_read
        factor = self._mixed(cluster)
        return {name: seconds * factor for name, seconds in found.items()}

    def _mixed(self, cluster: Cluster) -> float:
        """Return how many times as much operations take as if all were of one kind."""
        mixing = 0.0 if self.mixing is None else self.mixing.value
        return float(1 + mixing * mixed(cluster.read_share))

    def unknown(self, cluster: Cluster) -> str | None:
        """Return what a configuration needs that the fitted runs don't tell, and what would."""
        rates = _alone(cluster, cluster.read_share)
        # Background and waking up differ with how much is done, which isn't known beforehand.
        wanted = np.array([rates[name] for name in _PER_OPERATION]) / self._scale
        rest = wanted - self._known.T @ (self._known @ wanted)
        if np.linalg.norm(rest) <= _UNKNOWN * np.linalg.norm(wanted):
            return None
        missing = dict(zip(_PER_OPERATION, np.abs(rest).tolist(), strict=True))
        name = next(n for n in _RAREST_FIRST if missing[n] >= max(missing.values()) / 4)
        return f"what it costs isn't in the runs fitted: {_HINTS[name]}"


_PER_OPERATION: Final = (
    *("read", "write", "coordinator", "digest", "remote", "acknowledged", "journal", "spread"),
)
"""But for ``wake_journal``, of which runs say as much as of ``journal``."""
_RAREST_FIRST: Final = (
    *("journal", "remote", "spread", "digest", "acknowledged", "write", "coordinator", "read"),
)
"""What fewer runs have tells better what to measure."""


def fit_work(runs: Sequence[Observation]) -> Work:
    """Regress processor time on rates.

    Raises
    ------
    NotIdentified
        Too few runs, or runs that differ too little in mix or in load.
    """
    used = np.array([one.server_cores for one in runs])
    spent = np.array([one.client_cores for one in runs])
    _refuse_the_same(runs, used)
    users = {one.cluster.users for one in runs}
    ways = [SharedBy(*one) for one in _EXPONENTS] if len(users) >= LEAST_USERS else [_PLAIN]
    timed = [one._replace(round_s=round_s) for one in ways for round_s in _rounds_s(runs)]
    awake = [one._replace(awake=True) for one in timed if len(users) >= LEAST_USERS]
    sides = [_of_servers(runs, used, one) for one in [*timed, *awake]]
    best = _chosen([*sides, *_dearer_sides(runs, used, sides)], used.size)
    servers, cautions = best.demands, list(best.cautions)
    client, client_shared_by = dict[str, Estimate](), best.shared_by
    if (spent > 0).all():
        # It shares what it does as it likes, whatever servers do, on the same machine.
        same = {"round_s": best.shared_by.round_s, "awake": best.shared_by.awake}
        its_ways = [one._replace(**same) for one in ways]
        its = _chosen([_of_client(runs, spent, best, one) for one in its_ways], spent.size)
        client, client_shared_by = its.demands, its.shared_by
    if len(users) < LEAST_USERS:
        cautions.append(
            "how many operations share what one takes alone isn't known: measure three numbers of "
            "users, or more"
        )
    if best.mixing is None:
        cautions.append(
            "what reads and writes at a time take more isn't known: measure three mixes, or more"
        )
    for name, estimate in servers.items():
        if estimate.value == 0:
            cautions.append(f"{name}: would be below 0, and was taken as 0")
        elif estimate.low == 0:
            cautions.append(f"{name}: can't be told from 0")
    known, scale = _span(runs)
    return Work(
        *(servers, client, best.shared_by, client_shared_by, best.mixing),
        *(used.size, tuple(cautions), known, scale),
    )


def _rounds_s(runs: Sequence[Observation]) -> tuple[float | None, ...]:
    """Return times of rounds that can be told, and None: writes that wait tell them from none.

    How long they take is told by writes that don't wait, and by those of databases that fetch.
    """
    copied = [
        one.cluster
        for one in runs
        if one.cluster.replication > 1 and not one.cluster.in_batches and one.writes_per_s > 0
    ]
    if len({one.users for one in copied}) < LEAST_USERS:
        return (None,)
    told = any(one.waited == 1 or one.fetched for one in copied)
    return (None, *(_ROUNDS_S if told else (0.0,)))


def _dearer_sides(runs: Sequence[Observation], used: Floats, sides: Sequence[_Side]) -> list[_Side]:
    """Return what is left if servers make each other's work dearer; none if as much, by chance.

    How work is shared is chosen anew with the share that leaves the least.
    """
    if not any(_spread(one.cluster) for one in runs):
        return []
    nearest = min(sides, key=_left)
    ways = [nearest.shared_by._replace(dearer=share) for share in _DEARER]
    found = [_of_servers(runs, used, one) for one in ways]
    best = min(found, key=_left)
    if _left(best) * _as_likely(used.size) > _left(nearest):
        return []
    alike = [one.shared_by for one in sides if one.shared_by.awake == best.shared_by.awake]
    others = [one._replace(dearer=best.shared_by.dearer) for one in alike]
    others.remove(best.shared_by)  # is among those found
    return found + [_of_servers(runs, used, one) for one in others]


class _Side(NamedTuple):
    """Demands of servers, or of their client, by a way to share, and what they leave."""

    demands: dict[str, Estimate]
    shared_by: SharedBy
    mixing: Estimate | None
    cautions: tuple[str, ...]
    misfit: float


def _left(side: _Side) -> float:
    return side.misfit


def _as_likely(runs: int) -> float:
    """Return how many times the least misfit is as likely by so many runs (:func:`_chosen`)."""
    return float(np.exp(stats.chi2.isf(1 - CONFIDENCE, 1) / runs))


def _chosen(sides: Sequence[_Side], runs: int) -> _Side:
    """Return the side that leaves the least; its intervals have those of others as likely in them.

    As likely are those in the 95 % region by the ratio of likelihoods (Wilks: The large-sample
    distribution of the likelihood ratio, Annals of Mathematical Statistics 9, 1938), with a single
    degree of freedom: exponents are few.
    """
    best = min(sides, key=_left)
    most = _left(best) * _as_likely(runs)
    likely = [side for side in sides if side.misfit <= most]
    demands = {
        name: _wider(value, [side.demands.get(name) for side in likely])
        for name, value in best.demands.items()
    }
    mixing = best.mixing and _wider(best.mixing, [side.mixing for side in likely])
    return best._replace(demands=demands, mixing=mixing)


def _wider(value: Estimate, others: Sequence[Estimate | None]) -> Estimate:
    """Return a value with the ends of all intervals."""
    if value.high is None:
        return value
    known = [one for one in others if one is not None]
    low = min(one.low for one in known if one.low is not None)
    high = max(one.high for one in known if one.high is not None)
    return replace(value, low=low, high=high)


def _of_servers(runs: Sequence[Observation], used: Floats, shared_by: SharedBy) -> _Side:
    columns = _columns(runs, shared_by)
    if not _differ(columns["digest"], columns["read"]):
        columns = _digests_as_reads(columns)
    terms, cautions = _told_apart(columns, used)
    if "digest" not in terms and columns["digest"].any():
        # As a plan takes them, too.
        columns = _digests_as_reads(columns)
        terms, _ = _told_apart(columns, used)
    shares = _read_shares(runs)
    half = mixed(shares) if _mixes(shares) >= _LEAST_MIXES else None
    of_work = {name: columns[name] for name in terms if name != "background"}
    beside = np.array([_beside(one.cluster) for one in runs])
    background = Background(columns["background"], beside)
    found, mixing, misfit = _fitted(of_work, used, background, half)
    return _Side(found, shared_by, mixing, tuple(cautions), misfit)


def _of_client(
    runs: Sequence[Observation], spent: Floats, servers: _Side, shared_by: SharedBy
) -> _Side:
    columns = _columns(runs, shared_by, client_rates_of)
    told = {*_KINDS, *servers.demands}
    terms = {name: column for name, column in columns.items() if name in told}
    mixing = 0.0 if servers.mixing is None else servers.mixing.value
    found, _, misfit = _fitted(terms, spent / (1 + mixing * mixed(_read_shares(runs))))
    return _Side(found, shared_by, None, (), misfit)


def mixed(read_share: Floats | float) -> Any:
    """Return 1 where half of the operations are reads, 0 where all are of one kind."""
    return 4 * read_share * (1 - read_share)


def _mixes(shares: Floats) -> int:
    """Return how many mixes differ from each other by more than chance makes them differ."""
    count, last = 0, -np.inf
    for share in np.sort(shares).tolist():
        if share - last > _LEAST_MIX_RANGE:
            count, last = count + 1, share
    return count


def _read_shares(runs: Sequence[Observation]) -> Floats:
    return np.array([one.reads_per_s / one.throughput_per_s for one in runs])


def _columns(
    runs: Sequence[Observation], shared_by: SharedBy = _PLAIN, of: _Rates = rates_of
) -> dict[str, Floats]:
    rates = [of(one.cluster, one.reads_per_s, one.writes_per_s, shared_by) for one in runs]
    return {name: np.array([one[name] for one in rates]) for name in rates[0]}


def _differ(digests: Floats, reads: Floats) -> bool:
    """Tell whether reads ask different numbers of copies."""
    some = reads > 0
    return bool(some.any()) and float(np.ptp(digests[some] / reads[some])) > 0


def _digests_as_reads(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    read = columns["read"] + columns["digest"]
    return {**columns, "read": read, "digest": np.zeros(read.size)}


def _refuse_the_same(runs: Sequence[Observation], used: Floats) -> None:
    least = 4
    if used.size < least:
        raise NotIdentified(
            f"{used.size} runs can't give a background and demands of reads and writes with "
            "their errors",
            "measure more mixes and numbers of users",
        )
    if not (np.isfinite(used) & (used > 0)).all():
        raise NotIdentified("processor time isn't known of every run", "leave out such runs")
    columns = _columns(runs)
    for name in ("read", "write"):
        if not columns[name].any():
            raise NotIdentified(f"no run has {name}s", _MIX_HINT)
    if np.ptp(_read_shares(runs)) < _LEAST_MIX_RANGE:
        raise NotIdentified(
            "demands of reads and writes can't be told apart: runs have too similar mixes",
            _MIX_HINT,
        )
    base = [columns[name] for name in _BASE]
    if _condition(base, used) > _LARGEST_CONDITION:
        raise NotIdentified(
            "the background can't be told from the operations: runs were too similarly busy",
            _LOAD_HINT,
        )


def _condition(columns: Sequence[Floats], used: Floats) -> float:
    weighted = np.column_stack(columns) / used[:, None]
    return float(np.linalg.cond(weighted / np.linalg.norm(weighted, axis=0)))


def _told_apart(columns: Mapping[str, Floats], used: Floats) -> tuple[list[str], list[str]]:
    """Return the terms that can be told apart, and a word on each other."""
    terms: list[str] = list(_BASE)
    cautions: list[str] = []
    for name in _OPTIONAL:
        if not columns[name].any():
            continue
        wanted = [*terms, name]
        condition = _condition([columns[one] for one in wanted], used)
        if condition <= _LARGEST_OF_ALL and len(wanted) < used.size:
            terms = wanted
        else:
            cautions.append(f"{name}: can't be told from the others; {_HINTS[name]}")
    return terms, cautions


def _fitted(
    columns: Mapping[str, Floats],
    used: Floats,
    background: Background | None = None,
    half: Floats | None = None,
) -> tuple[dict[str, Estimate], Estimate | None, float]:
    """Return demands, what mixing takes more, and the sum of squares of logarithms they leave."""
    fit = fit_logarithms(np.column_stack(list(columns.values())), used, background, half)
    names = [*(["background"] if background is not None else []), *columns]
    names += ["mixing"] if half is not None else []
    found: dict[str, Estimate] = {}
    widths = fit.half_widths.tolist()
    for name, value, width in zip(names, fit.values.tolist(), widths, strict=True):
        ends = (max(value - width, 0.0), value + width) if width > 0 else (None, None)
        found[name] = Estimate(value, *ends, used.size, method=_METHOD)
    return found, found.pop("mixing", None), fit.misfit


def _alone(cluster: Cluster, read_share: float) -> dict[str, float]:
    """Return the rates of one operation a second that shares nothing with others."""
    return rates_of(cluster._replace(users=1), read_share, 1 - read_share)


def _span(runs: Sequence[Observation]) -> tuple[Floats, Floats]:
    """Return directions in which operations' costs are known, and the columns' scales."""
    rows = np.array(
        [
            [_alone(one.cluster, share)[name] for name in _PER_OPERATION]
            for one in runs
            for share in (one.reads_per_s / one.throughput_per_s,)
        ]
    )
    scale = np.maximum(rows.max(axis=0), 1.0)
    _, sizes, directions = np.linalg.svd(rows / scale, full_matrices=False)
    return directions[sizes > sizes[0] * _LEAST_DIRECTION], scale
