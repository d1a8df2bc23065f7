"""Links: what happens to packets on the way from one host to another.

Each ordered pair of hosts has a link. Its delay follows from the regions of the two
(`pacelc.clusters.network.regions`); a mapping from *ways* to `Link` goes over that, later entries
over earlier ones. A way is ``iowa -> oregon``, ``iowa <-> oregon`` (both directions), or ``*``
(all). Its ends are a region, a zone of one, a host (``n1``, ``n2``, …, ``client``) or ``*``.

Map
---
Link            one link, or a change to one
Host            a host of the emulated network, and where it is
Way             a key of such a mapping, read
client_hosts    the load generator's hosts
links_between   hosts and mappings → every pair's link
as_request      every pair's link → what the network's process is told
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from pacelc.clusters.errors import SpecError, nearest
from pacelc.clusters.network.regions import region_of, round_trip_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Distribution: TypeAlias = Literal["uniform", "normal", "exponential", "pareto"]
DISTRIBUTIONS: tuple[str, ...] = get_args(Distribution)

CLIENT = "client"
"""Name of the load generator's host; of several, each has its place behind it."""

MAX_DELAY_S = 60.0
_PROBABILITIES = ("loss", "duplicate", "reorder")
_ARROW = re.compile(r"\s*(<->|->)\s*")


@dataclass(frozen=True)
class Link:
    """What happens to packets of one direction; None: as the regions, or an earlier entry, have it.

    Parameters
    ----------
    delay_s
        How long each packet takes; half of a round trip.
    jitter_s
        How far the delay varies.
    distribution
        How it varies.
    loss, duplicate, reorder
        Share of packets that are lost, arrive twice, or overtake others.
    bandwidth_bps
        Bits a second; infinity: as many as the machine carries.
    queue_bytes
        What waits for the bandwidth at most; more is lost.

    Raises
    ------
    SpecError
        A number that no link can have.
    """

    delay_s: float | None = None
    jitter_s: float | None = None
    distribution: Distribution | None = None
    loss: float | None = None
    duplicate: float | None = None
    reorder: float | None = None
    bandwidth_bps: float | None = None
    queue_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        for name in ("delay_s", "jitter_s"):
            seconds: float | None = getattr(self, name)
            if seconds is not None and not 0 <= seconds <= MAX_DELAY_S:
                raise SpecError(
                    f"a link's {name.removesuffix('_s')} is 0 to {MAX_DELAY_S:g} s, not {seconds:g}"
                )
        for name in _PROBABILITIES:
            share: float | None = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise SpecError(f"a link's {name} is a share from 0 to 1, not {share:g}")
        for name in ("bandwidth_bps", "queue_bytes"):
            size: float | None = getattr(self, name)
            if size is not None and not size > 0:
                raise SpecError(f"a link's {name.partition('_')[0]} is above 0, not {size:g}")
        if self.distribution is not None and self.distribution not in DISTRIBUTIONS:
            raise SpecError(
                f"a link's distribution is {', '.join(DISTRIBUTIONS)}, not {self.distribution!r}"
            )

    def over(self, other: Link) -> Link:
        """Return the other link with what this one says in place of what that one does."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        return Link(
            **{
                name: getattr(other, name) if value is None else value
                for name, value in said.items()
            }
        )

    def as_record(self) -> dict[str, Any]:
        """Return what it says as plain data, units in the names; what it doesn't is left out."""
        return {
            f.name: value
            for f in fields(self)
            if (value := getattr(self, f.name)) is not None and value != math.inf
        }


@dataclass(frozen=True)
class Host:
    """A host of the emulated network.

    Parameters
    ----------
    name
        ``n1``, ``n2``, …, or ``client``.
    address
        Its IPv4 address.
    place
        Region, or zone of one; empty where the network has no regions.
    """

    name: str
    address: str
    place: str

    @property
    def region(self) -> str:
        """Where it is, the zone left out."""
        return region_of(self.place)

    def is_in(self, end: str) -> bool:
        """Tell whether an end of a way means this host, among others."""
        if end == CLIENT:
            return is_client(self.name)
        return end in {"*", self.name} or (self.place != "" and end in {self.place, self.region})


def client_hosts(places: Sequence[str]) -> list[str]:
    """Return the names of the load generator's hosts, one a place.

    Examples
    --------
    >>> client_hosts(["iowa"]), client_hosts(["iowa", "tokyo"])
    (['client'], ['client-iowa', 'client-tokyo'])
    """
    return [CLIENT] if len(places) == 1 else [f"{CLIENT}-{place}" for place in places]


def is_client(host: str) -> bool:
    """Tell whether a host is the load generator's, by its name."""
    return host == CLIENT or host.startswith(f"{CLIENT}-")


@dataclass(frozen=True)
class Way:
    """From where to where.

    Examples
    --------
    >>> Way.parse("iowa <-> oregon")
    Way(source='iowa', target='oregon', both=True)
    >>> Way.parse("*")
    Way(source='*', target='*', both=False)
    """

    source: str
    target: str
    both: bool

    @classmethod
    def parse(cls, text: str) -> Way:
        """Read a way.

        Raises
        ------
        SpecError
            It is none.
        """
        if text.strip() == "*":
            return cls("*", "*", both=False)
        source, *rest = _ARROW.split(text.strip())
        match rest:
            case [arrow, target] if source and target and " " not in source + target:
                return cls(source, target, both=arrow == "<->")
            case _:
                raise SpecError(
                    f"links: {text!r} is no way from a region to another",
                    hint="write 'iowa -> oregon', 'iowa <-> oregon' for both directions, or '*'",
                )

    @property
    def ends(self) -> tuple[str, str]:
        """Both of them."""
        return (self.source, self.target)

    def leads(self, source: Host, target: Host) -> bool:
        """Tell whether packets from one host to another go this way."""
        return (source.is_in(self.source) and target.is_in(self.target)) or (
            self.both and source.is_in(self.target) and target.is_in(self.source)
        )


def links_between(
    hosts: Sequence[Host], *layers: Mapping[str, Link]
) -> dict[tuple[str, str], Link]:
    """Return the link of every ordered pair of hosts: the regions', and each layer over it.

    Examples
    --------
    >>> hosts = [Host("n1", "10.77.0.1", "iowa"), Host("n2", "10.77.0.2", "oregon")]
    >>> links_between(hosts, {"n1 -> *": Link(loss=0.5)})["n1", "n2"]
    ... # doctest: +NORMALIZE_WHITESPACE
    Link(delay_s=0.0198, jitter_s=None, distribution=None, loss=0.5, duplicate=None, reorder=None,
         bandwidth_bps=None, queue_bytes=None)
    """
    changes = [(Way.parse(text), link) for layer in layers for text, link in layer.items()]
    links: dict[tuple[str, str], Link] = {}
    for source in hosts:
        for target in hosts:
            if source is target:
                continue
            link = Link(delay_s=(round_trip_ms(source.place, target.place) or 0.0) / 2000)
            for way, change in changes:
                if way.leads(source, target):
                    link = change.over(link)
            links[source.name, target.name] = link
    return links


def as_request(links: Mapping[tuple[str, str], Link]) -> list[dict[str, Any]]:
    """Return links as the network's process takes them: every field, in its units."""

    def known(size: float | None) -> int | None:
        return None if size is None or math.isinf(size) else round(size)

    return [
        {
            "from": [source],
            "to": [target],
            "delay_us": round((link.delay_s or 0.0) * 1e6),
            "jitter_us": round((link.jitter_s or 0.0) * 1e6),
            "jitter": link.distribution or "uniform",
            "loss": link.loss or 0.0,
            "duplicate": link.duplicate or 0.0,
            "reorder": link.reorder or 0.0,
            "bandwidth_bps": known(link.bandwidth_bps),
            "queue_bytes": known(link.queue_bytes),
        }
        for (source, target), link in links.items()
    ]


def check_places(
    places: Iterable[str], links: Mapping[str, Link], hosts: Iterable[str], known: Iterable[str]
) -> None:
    """Refuse places and ways that mean nothing.

    A region that is in no preset is the user's own, if links say how far it is from every other.

    Parameters
    ----------
    places
        Of the nodes and of the client.
    links
        Over the presets.
    hosts
        Names of hosts, the client's included.
    known
        The presets' regions.

    Raises
    ------
    SpecError
        An unknown region, or a way with an end that is nowhere.
    """
    used = sorted(set(places))
    regions = {*known, *(region_of(place) for place in used)}
    names = {*hosts, *used, *regions, "*"}
    ways = [(Way.parse(text), link) for text, link in links.items()]
    for way, _ in ways:
        for end in way.ends:
            if end not in names and region_of(end) not in regions:
                raise SpecError(
                    f"links: there is no region {end!r}", hint=nearest(end, names - {"*"})
                )
    for one in used:
        if not re.fullmatch(r"[A-Za-z0-9][\w-]*", one) or one in {CLIENT, *hosts}:
            raise SpecError(f"{one!r} can't be the name of a region")
        if region_of(one) not in known and not any(
            Host("", "", one).is_in(end) and link.delay_s is not None
            for way, link in ways
            for end in way.ends
        ):
            raise SpecError(
                f"unknown region {one!r}",
                hint=f"{nearest(one, known)}; or say how far it is from others: links",
            )
        for other in used:
            here, there = Host("", "", one), Host("", "", other)
            if round_trip_ms(one, other) is None and not any(
                way.leads(here, there) and link.delay_s is not None for way, link in ways
            ):
                unknown = one if region_of(one) not in known else other
                raise SpecError(
                    f"unknown region {unknown!r}",
                    hint=f"{nearest(unknown, known)}; or say how far it is: "
                    f"links: {{'{one} <-> {other}': {{delay: 10ms}}}}",
                )
