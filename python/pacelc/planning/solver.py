"""Thousands of clusters at once: utilisations, mean responses and percentiles, approximated.

It solves :func:`pacelc.networks.regional.arrivals` for one node of each kind, because nodes that
hold the same copy of their share of the records are alike. What is assumed:

- Arrivals at each station are Poisson, and stations are independent. Utilisations are exact; so are
  mean responses of stations, in a product-form network.
- Processors that are shared (``ps``) are M/M/c. If services are exponential, a response is
  hyperexponential with the squared coefficient of variation 1 + 2 w / (2 - u), where w is the share
  of it that isn't service and u the utilisation; with one core that is M/M/1-PS (Coffman, Muntz and
  Trotter, 1970). Else it is lognormal, as services are, and what is beyond the services' own
  coefficient grows with their second moment.
- At processors that are taken in turn (``fcfs``, ``siro``), the wait has the probability of M/M/c
  (Erlang), and its mean with what services vary by (Lee and Longton, 1959; with one core that is
  Pollaczek and Khinchine). Where there is any it is exponential in order of arrival, and in random
  order hyperexponential with the coefficient (2 + u) / (2 - u), whose second moment is Kingman's
  (1962) for one core.
- A disk is M/G/1, and its wait exponential where there is any.
- Siblings' times are independent; the k-th of them follows from their distributions. Distributions
  are discrete, :data:`BINS` bins each, and convolved by Fourier transform.
- Late copies are served to their end, and load their nodes. Where the model cancels or discards
  them, this is on the safe side.

Where a station is busy for more than :data:`MOST_UTILISATION`, percentiles are NaN: can't tell.

Start here: :func:`solve_many`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtr

from pacelc.networks.regional import chances, recounted
from pacelc.study.copies import copies_waited_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pacelc.networks.regional import Copy
    from pacelc.study.copies import Level

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]

__all__ = ["BINS", "MOST_UTILISATION", "Case", "Solved", "solve_many"]

BINS: Final = 512
"""Of a distribution."""
MOST_UTILISATION: Final = 0.98
"""With more, a response has no end that a distribution of so many bins could hold."""
_SPAN: Final = 22.0
"""How far the bins go, in mean responses: 22 are exceeded once in 10^9 times if exponential."""
_ROWS: Final = 256
"""Clusters at once, so that their distributions stay in the cache."""


@dataclass(frozen=True)
class Case:
    """Clusters with the same copies and levels; one row each, or one for all where arrays have 1.

    Attributes
    ----------
    replication
        Copies of each record; levels count them whether or not they are alive.
    copies
        Where they are, nearest first; without those that all records have lost.
    read, write
        Levels.
    rate_per_s, read_share, nodes_at_home
        Arrivals, the share of reads, nodes that coordinate: the leaders, or those of the clients'
        region.
    nodes_a_copy
        Row and copy → nodes that are there and share the records of that copy.
    cores
        Of a node.
    demands
        Fields of :class:`~pacelc.networks.quorum.Quorum` → values. Processor times are those at the
        coordinator, with acknowledgements (``read_cpu_s``, ``write_cpu_s``), and of a copy
        elsewhere (``copy_read_cpu_s``, ``copy_write_cpu_s``). ``own_share`` is the share of
        operations of which the coordinator holds a copy. ``led``, ``fcfs`` and ``siro`` are 1 where
        one node of a set coordinates, and where processors are taken in order of arrival or in
        random order. ``scv``, the squared coefficient of variation of processor times and delays,
        is that of all rows.
    lost
        Copies (by number) that some records have lost.
    lost_share
        Row → the share of records that have.
    """

    replication: int
    copies: tuple[Copy, ...]
    read: Level
    write: Level
    rate_per_s: Array
    read_share: float
    nodes_at_home: Array
    nodes_a_copy: Array
    cores: Array
    demands: Mapping[str, Array]
    lost: tuple[int, ...] = ()
    lost_share: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def rows(self) -> int:
        """How many clusters."""
        return len(self.nodes_a_copy)

    @property
    def led(self) -> bool:
        """Whether one node leads the others that hold the same records; the first copy is its."""
        return bool(np.any(self.demands["led"] > 0))

    @property
    def processor_sharing(self) -> bool:
        """Whether a processor serves all that is there at a time."""
        return not np.any((self.demands["fcfs"] > 0) | (self.demands["siro"] > 0))

    @property
    def scv(self) -> float:
        """Squared coefficient of variation of processor times and delays."""
        return float(self.demands["scv"][0])

    @property
    def asked(self) -> int:
        """Copies that a read goes to; a leader answers alone."""
        return 1 if self.led else self.waited_for(self.read)

    def waited_for(self, level: Level) -> int:
        """Return how many copies a level waits for."""
        return copies_waited_for(level, self.replication)


@dataclass(frozen=True)
class Solved:
    """One row a cluster.

    Attributes
    ----------
    cpu, disk
        Row and copy → utilisation of a node that holds it.
    mean_s, percentile_s
        ``read`` and ``write``, as far as there are any → mean and percentile; infinite where a
        station can't keep up, NaN where it barely can.
    capacity_per_s
        The rate at which the busiest station is always busy.
    """

    cpu: Array
    disk: Array
    mean_s: dict[str, Array]
    percentile_s: dict[str, Array]
    capacity_per_s: Array

    @property
    def busiest(self) -> Array:
        """Row → the largest utilisation."""
        return np.maximum(self.cpu.max(axis=1), self.disk.max(axis=1))

    @property
    def slowest_s(self) -> Array:
        """Row → the larger of both percentiles."""
        found: Array = np.max(np.stack(list(self.percentile_s.values())), axis=0)
        return found


def solve_many(case: Case, percent: float = 99.0) -> Solved:
    """Solve all clusters of a case.

    Parameters
    ----------
    case
        Which. If copies are lost, responses are those of records that lost them.
    percent
        Which percentile.
    """
    loads = _Loads.of(case)
    busiest = np.maximum(loads.cpu_share.max(axis=1), loads.disk.max(axis=1))
    kinds = [k for k, s in (("read", case.read_share), ("write", 1 - case.read_share)) if s > 0]
    nothing = np.where(busiest >= 1, np.inf, np.nan)
    mean_s = {kind: nothing.copy() for kind in kinds}
    percentile_s = {kind: nothing.copy() for kind in kinds}
    possible = np.flatnonzero(busiest <= MOST_UTILISATION)
    if not _alive(case, case.lost):
        possible = possible[:0]  # nobody answers

    def respond(start: int) -> None:
        rows = possible[start : start + _ROWS]
        one = _Responses(_pick(case, rows), loads.pick(rows))
        for kind in kinds:
            mean_s[kind][rows], percentile_s[kind][rows] = one.of(kind, percent / 100)

    # NumPy lets other threads go on while it works.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        for _ in threads.map(respond, range(0, len(possible), _ROWS)):
            pass
    with np.errstate(divide="ignore"):
        capacity = np.broadcast_to(case.rate_per_s, busiest.shape) / busiest
    return Solved(loads.cpu_share, loads.disk, mean_s, percentile_s, capacity)


def _pick(case: Case, rows: NDArray[np.intp]) -> Case:
    def some(values: Array) -> Array:
        return values[rows] if len(values) == case.rows else values

    return replace(
        case,
        rate_per_s=some(case.rate_per_s),
        nodes_at_home=some(case.nodes_at_home),
        nodes_a_copy=some(case.nodes_a_copy),
        cores=some(case.cores),
        demands={name: some(values) for name, values in case.demands.items()},
        lost_share=some(case.lost_share),
    )


@dataclass(frozen=True)
class _Loads:
    """What gets to a node of each copy, and what that makes of a visit.

    Attributes
    ----------
    cpu_share, disk
        Utilisations.
    stretch
        A response at a shared processor, in services; else 1.
    waits, turn_s
        How often one waits for a processor that isn't shared, and then for how long on average.
    wait_s
        Mean wait at a disk.
    """

    cpu_share: Array
    disk: Array
    stretch: Array
    waits: Array
    turn_s: Array
    wait_s: Array

    def pick(self, rows: NDArray[np.intp]) -> _Loads:
        return _Loads(*(getattr(self, one.name)[rows] for one in fields(self)))

    @classmethod
    def of(cls, case: Case) -> _Loads:
        d: dict[str, Array] = {name: values[:, None] for name, values in case.demands.items()}
        rate: Array = case.rate_per_s[:, None]
        share: Array = case.lost_share[:, None]
        # What an operation is to each copy: on records that lost none, and on the others.
        own, asked, there = (
            (1 - share) * whole + share * less
            for whole, less in zip(_asked(case, ()), _asked(case, case.lost), strict=True)
        )
        if not case.copies[0].region and not case.led:
            # Any node holds any copy.
            own, asked, there = (one.mean(axis=1, keepdims=True) for one in (own, asked, there))
        own = own * d["own_share"]
        each = rate / case.nodes_a_copy
        reads = each * case.read_share
        writes = each * (1 - case.read_share)
        home = np.array([copy.region == case.copies[0].region for copy in case.copies])
        if case.led:
            home[1:] = False
        coordinated: Array = rate / case.nodes_at_home[:, None] * home
        visits = (
            (coordinated * case.read_share, d["read_cpu_s"]),
            (coordinated * (1 - case.read_share), d["write_cpu_s"]),
            (reads * (asked - own), d["copy_read_cpu_s"]),
            (writes * (there - own), d["copy_write_cpu_s"]),
        )
        cpu: Array = np.sum([often * service_s for often, service_s in visits], axis=0)
        residuals: Array = np.sum([often * service_s**2 for often, service_s in visits], axis=0)
        residuals = residuals * (1 + case.scv) / 2
        read_disk = reads * asked * d["read_uncached"]
        write_disk = writes * there * d["write_uncached"]
        disk = read_disk * d["read_disk_s"] + write_disk * d["write_disk_s"]
        squares = read_disk * d["read_disk_s"] ** 2 + write_disk * d["write_disk_s"] ** 2
        cores = np.broadcast_to(case.cores[:, None], cpu.shape)
        waits = np.zeros_like(cpu)
        stretch = np.ones_like(cpu)
        with np.errstate(divide="ignore", invalid="ignore"):
            busy = _erlang_c(cpu, cores)
            if case.processor_sharing:
                stretch = np.where(cpu < cores, 1 + busy / (cores - cpu), np.inf)
            else:
                waits = busy
            turn_s = np.where(cpu > 0, residuals / (cpu * (cores - cpu)), 0.0)
            # Exponential services: half of the second moment is the square.
            wait_s = np.where(disk < 1, squares / (1 - disk), np.inf)
        return cls(cpu / cores, disk, stretch, waits, turn_s, wait_s)


def _alive(case: Case, lost: Sequence[int]) -> list[int]:
    return [j for j in range(len(case.copies)) if j not in lost]


def _asked(case: Case, lost: Sequence[int]) -> tuple[Array, Array, Array]:
    """Return what each copy is to an operation on records without some of them.

    How often it is the one that the coordinator holds, if it holds any; how often a read asks it;
    and whether it is there.
    """
    alive = _alive(case, lost)
    left = recounted([case.copies[j] for j in alive])
    wanted = min(case.asked, len(alive))
    own, asked, there = (np.zeros(len(case.copies)) for _ in range(3))
    there[alive] = 1.0
    if case.led:
        asked[alive[:wanted]] = own[alive[:1]] = 1.0
    else:
        asked[alive], own[alive] = chances(left, wanted), chances(left, 1)
    return own * [copy.distance_s == 0 for copy in case.copies], asked, there


def _erlang_c(load: Array, servers: Array) -> Array:
    """Return the probability that an arrival finds all servers busy; by Erlang's recursion."""
    blocked = np.ones_like(load)
    result = np.ones_like(load)
    for count in range(1, int(servers.max(initial=1)) + 1):
        blocked = load * blocked / (count + load * blocked)
        result = np.where(servers == count, blocked, result)
    u = load / servers
    return result / (1 - u + u * result)


class _Responses:
    """Distributions of responses of some clusters, none of which is overloaded."""

    def __init__(self, case: Case, loads: _Loads) -> None:
        self.case, self.loads = case, loads
        self.d = d = case.demands
        self.rows = len(loads.disk)
        self.known: dict[tuple[str, bool, str, bool], Array] = {}
        self.alive = _alive(case, case.lost)
        turn_s = loads.waits * loads.turn_s
        copy_cpu_s = np.maximum(d["copy_read_cpu_s"], d["copy_write_cpu_s"])
        cpu_s = copy_cpu_s[:, None] * loads.stretch + turn_s
        disk_s = loads.wait_s + np.maximum(d["read_disk_s"], d["write_disk_s"])[:, None]
        used = np.maximum(d["read_uncached"], d["write_uncached"])[:, None] > 0
        at_copy_s = (cpu_s + disk_s * used)[:, self.alive].max(axis=1)
        chance_s = at_copy_s + d["node_round_trip_s"] + d["client_round_trip_s"]
        chance_s = chance_s + d["write_wait_s"]
        home = self._home()
        home_cpu_s = np.maximum(d["read_cpu_s"], d["write_cpu_s"])
        chance_s = chance_s + home_cpu_s * loads.stretch[:, home] + turn_s[:, home]
        far_s = max(case.copies[j].distance_s for j in self.alive)
        self.bin_s: Array = ((far_s + _span(case.scv) * chance_s) / BINS)[:, None]
        self.z: Complex = np.exp(-2j * np.pi * np.arange(BINS // 2 + 1) / BINS)[None, :]

    def _home(self) -> int:
        """Return a copy whose nodes coordinate."""
        here = self.case.copies[0].region
        return next((j for j in self.alive if self.case.copies[j].region == here), 0)

    def of(self, kind: str, share: float) -> tuple[Array, Array]:
        """Return mean and percentile of a kind of operation."""
        way = self._time(self.d["client_round_trip_s"], self.case.scv)
        way = way * self._processor(self.d[f"{kind}_cpu_s"], self._home())
        joined = self._joined(kind)
        mass = np.fft.irfft(way * np.fft.rfft(np.diff(joined, prepend=0.0)), BINS)
        mean_s = (mass * np.arange(BINS)).sum(axis=1) * self.bin_s[:, 0]
        return mean_s, self._percentile(mass, share)

    def _joined(self, kind: str) -> Array:
        """Return the distribution of the time until as many copies are back as are waited for."""
        case, alive = self.case, self.alive
        asked, waited, level = case.asked, case.asked, case.read
        if kind == "write":
            asked, waited, level = len(alive), case.waited_for(case.write), case.write
        if case.waited_for(level) > len(alive):
            return np.zeros((self.rows, BINS))
        # Of a region that is asked in part, all copies are alike.
        return _kth([self._sibling(j, kind, first=j == alive[0]) for j in alive[:asked]], waited)

    def _sibling(self, copy: int, kind: str, *, first: bool) -> Array:
        """Return the distribution of the time of a request at a copy, there and back."""
        # Copies in one region are alike, but for a leader's.
        key = (self.case.copies[copy].region, copy == 0 and self.case.led, kind, first)
        if key not in self.known:
            self.known[key] = self._distribution(copy, kind, first=first)
        return self.known[key]

    def _distribution(self, copy: int, kind: str, *, first: bool) -> Array:
        uncached = self.d[f"{kind}_uncached"][:, None]
        disk = self._disk(self.d[f"{kind}_disk_s"], copy)
        hop = self._time(self.d["node_round_trip_s"], self.case.scv)
        cpu = self._processor(self.d[f"copy_{kind}_cpu_s"], copy)
        if first and self.case.copies[copy].distance_s == 0:
            # The coordinator's own copy, if it holds one: drawn apart, as in the network.
            own = self.d["own_share"][:, None]
            hop, cpu = own + (1 - own) * hop, own + (1 - own) * cpu
        time = hop * cpu * (1 - uncached + uncached * disk)
        if kind == "write":
            time = time * self._time(self.d["write_wait_s"], self.case.scv)
        time = time * self._constant(self.case.copies[copy].distance_s)
        mass = np.fft.irfft(np.broadcast_to(time, (self.rows, self.z.shape[1])), BINS)
        found: Array = np.clip(np.cumsum(mass, axis=1), 0.0, 1.0)
        return found

    def _exponential(self, mean_s: Array) -> Complex:
        """Return the transform of an exponential whose times are rounded to bins."""
        mean = np.maximum(mean_s.reshape(-1, 1), 1e-300)
        half = np.exp(-np.minimum(self.bin_s / 2 / mean, 700.0))
        q = half * half
        found: Complex = 1 - half + half * (1 - q) * self.z / (1 - q * self.z)
        return found

    def _time(self, mean_s: Array, scv: float) -> Complex:
        """Return the transform of a processor time or a delay, as the network has it."""
        return self._exponential(mean_s) if scv == 1 else self._lognormal(mean_s, scv)

    def _lognormal(self, mean_s: Array, scv: float | Array) -> Complex:
        """Return the transform of a lognormal whose times are rounded to bins."""
        variance = np.maximum(np.log1p(np.reshape(scv, (-1, 1))), 1e-12)
        mean = np.maximum(mean_s.reshape(-1, 1), 1e-300)
        ends = (np.arange(BINS) + 0.5) * self.bin_s
        below = ndtr((np.log(ends / mean) + variance / 2) / np.sqrt(variance))
        found: Complex = np.fft.rfft(np.diff(below, prepend=0.0))
        return found

    def _hyperexponential(self, mean_s: Array, scv: Array) -> Complex:
        """Return the transform of two exponentials, each of which holds half of the mean."""
        often = (0.5 * (1 + np.sqrt((scv - 1) / (scv + 1))))[:, None]
        fast = self._exponential(mean_s / (2 * often[:, 0]))
        slow = self._exponential(mean_s / (2 * (1 - often[:, 0])))
        found: Complex = often * fast + (1 - often) * slow
        return found

    def _processor(self, service_s: Array, copy: int) -> Complex:
        scv, u = self.case.scv, self.loads.cpu_share[:, copy]
        if not self.case.processor_sharing:
            # Who needs no time there waits as well, as in the network.
            waits = self.loads.waits[:, copy][:, None]
            return (1 - waits + waits * self._turn(copy)) * self._time(service_s, scv)
        if not np.any(service_s > 0):
            return np.ones((1, 1), dtype=np.complex128)
        mean = service_s * self.loads.stretch[:, copy]
        beyond = (1 - 1 / self.loads.stretch[:, copy]) / (2 - u)
        if scv == 1:
            return self._hyperexponential(mean, 1 + 2 * beyond)
        return self._lognormal(mean, scv + (1 + scv) * beyond)

    def _turn(self, copy: int) -> Complex:
        """Return the transform of the wait for a processor where there is any."""
        mean, u = self.loads.turn_s[:, copy], self.loads.cpu_share[:, copy]
        if np.any(self.d["fcfs"] > 0):
            return self._exponential(mean)
        return self._hyperexponential(mean, (2 + u) / (2 - u))

    def _disk(self, service_s: Array, copy: int) -> Complex:
        u = self.loads.disk[:, copy]
        with np.errstate(invalid="ignore", divide="ignore"):
            waiting = np.where(u > 0, self.loads.wait_s[:, copy] / u, 0.0)
        wait = 1 - u[:, None] + u[:, None] * self._exponential(waiting)
        return wait * self._exponential(service_s)

    def _constant(self, seconds: float) -> Complex | float:
        if seconds == 0:
            return 1.0
        whole, part = np.divmod(seconds / self.bin_s, 1.0)
        k: Array = np.arange(self.z.shape[1], dtype=np.float64)[None, :]
        found: Complex = np.exp(-2j * np.pi * k * whole / BINS) * (1 - part + part * self.z)
        return found

    def _percentile(self, mass: Array, share: float) -> Array:
        below = np.cumsum(mass, axis=1)
        at = np.minimum((below < share).sum(axis=1), BINS - 1)
        rows = np.arange(self.rows)
        before = np.where(at > 0, below[rows, at - 1], 0.0)
        within = (share - before) / np.maximum(mass[rows, at], 1e-300)
        found = (at - 0.5 + within) * self.bin_s[:, 0]
        # Where the bins end before so many operations do, it can't be told.
        told = (below[:, -1] >= share) & (at < BINS - 1)
        return np.where(told, np.maximum(found, 0.0), np.nan)


def _span(scv: float) -> float:
    """Return how far bins go, in mean responses: as far as lognormals have 3 in 100,000 times."""
    if scv <= 1:
        return _SPAN
    variance = np.log1p(scv)
    return max(_SPAN, float(np.exp(4 * np.sqrt(variance) - variance / 2)))


def _kth(copies: Sequence[Array], wanted: int) -> Array:
    """Return the distribution of the time until so many of independent siblings are back."""
    # back[k]: the probability that exactly k are.
    back = [np.ones_like(copies[0]), *(np.zeros_like(copies[0]) for _ in range(wanted))]
    for one in copies:
        for k in range(wanted, 0, -1):
            stay = 1.0 if k == wanted else 1 - one
            back[k] = back[k] * stay + back[k - 1] * one
        back[0] = back[0] * (1 - one)
    return back[wanted]
