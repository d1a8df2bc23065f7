"""What goes wrong in a run, and when: ``faults:`` of a study's settings.

Times count from the beginning of measuring, and every fault ends within it, so that what a fault
costs can be told from how things were before and after.

Map
---
Fault           one entry of the schedule
check_faults    refuse what can't happen to a cluster of that shape
FAULTS          the kinds; NETWORK_FAULTS: those that need an emulated network
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from pydantic import Field, model_validator

from pacelc.names import LINK_FAULTS, PARTITIONS, counted
from pacelc.study.model import Frozen, PositiveSeconds, Seconds
from pacelc.study.values import format_duration, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FAULTS", "NETWORK_FAULTS", "Fault", "FaultKind", "check_faults"]

FaultKind: TypeAlias = Literal[
    "kill", "pause", "isolate", "split", "one-way", "bridge", "slow", "lossy"
]
FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
NETWORK_FAULTS = PARTITIONS | LINK_FAULTS

Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]

# Which of the fields beside at, fault, target and for belong to which fault.
_OWN_FIELDS: dict[str, frozenset[str]] = {
    "kill": frozenset(),
    "pause": frozenset(),
    "isolate": frozenset({"client"}),
    "split": frozenset({"client"}),
    "one-way": frozenset({"client", "direction"}),
    "bridge": frozenset({"client"}),
    "slow": frozenset({"delay", "jitter"}),
    "lossy": frozenset({"loss", "duplicate", "reorder"}),
}
_ALIASES = {"delay_s": "delay", "jitter_s": "jitter"}
_PAIR, _TRIPLE = 2, 3


class Fault(Frozen):
    """One thing that goes wrong."""

    at_s: Annotated[Seconds, Field(alias="at")]
    """When it begins, from the beginning of measuring."""
    fault: FaultKind
    """Kill, pause; isolate, split, one-way, bridge (partitions); slow, lossy (links)."""
    target: Annotated[str, Field(min_length=1)] = "one"
    """Which nodes: one, minority, majority, primary, secondary, region:NAME, all, a node's name."""
    for_s: Annotated[PositiveSeconds | None, Field(alias="for")] = None
    """How long it lasts; without it, until measuring ends. A killed node is then restarted."""
    direction: Literal["in", "out"] = "in"
    """One-way: whether nothing gets in to the target, or nothing out of it."""
    client: Literal["both", "majority", "minority"] = "both"
    """Partitions: the side of the load generator; both: its own links aren't cut."""
    delay_s: Annotated[Seconds, Field(alias="delay")] = 0.0
    """Slow: what the links of the target take longer, each way."""
    jitter_s: Annotated[Seconds, Field(alias="jitter")] = 0.0
    """Slow: how that varies."""
    loss: Share = 0.0
    """Lossy: share of the packets that are lost."""
    duplicate: Share = 0.0
    """Lossy: share of the packets that arrive twice."""
    reorder: Share = 0.0
    """Lossy: share of the packets that overtake others."""

    @model_validator(mode="after")
    def _fields_belong(self) -> Fault:
        own = _OWN_FIELDS[self.fault]
        given = {
            _ALIASES.get(name, name) for name in self.model_fields_set - {"fault", "target"}
        } - {"at_s", "for_s"}
        if strange := sorted(given - own):
            msg = f"{self.fault} has no {strange[0]}"
            if own:
                msg += f"; it has {', '.join(sorted(own))}"
            raise ValueError(msg)
        if self.fault == "slow" and self.delay_s == self.jitter_s == 0:
            msg = "a slow link needs a delay or a jitter"
            raise ValueError(msg)
        if self.fault == "lossy" and self.loss == self.duplicate == self.reorder == 0:
            msg = "a lossy link needs loss, duplicate or reorder"
            raise ValueError(msg)
        if self.fault == "bridge" and self.target in ("minority", "majority", "all"):
            msg = f"a bridge is one node, and the target is {self.target}"
            raise ValueError(msg)
        if self.fault in ("split", "one-way") and self.target == "all":
            msg = f"{self.fault} needs a node on the other side, so the target can't be all"
            raise ValueError(msg)
        return self

    @property
    def end_s(self) -> float | None:
        """When it ends; None where it lasts until measuring ends."""
        return None if self.for_s is None else self.at_s + self.for_s

    def __str__(self) -> str:
        """In a few words: ``kill primary at 5s for 10s``."""
        words = f"{self.fault} {self.target} at {format_duration(self.at_s)}"
        return words if self.for_s is None else f"{words} for {format_duration(self.for_s)}"


def check_faults(
    faults: Sequence[Fault], *, nodes: int, regions: Sequence[str], measure_s: float
) -> None:
    """Refuse what can't happen; names of nodes are checked where they are known.

    Raises
    ------
    ValueError
        With the number of the entry, counted from 1, in a line.
    """
    for number, fault in enumerate(faults, 1):
        problem = _problem(fault, nodes, regions, measure_s)
        if problem is not None:
            msg = f"entry {number} ({fault}): {problem}"
            raise ValueError(msg)


def _problem(fault: Fault, nodes: int, regions: Sequence[str], measure_s: float) -> str | None:
    return _bad_time(fault, measure_s) or _bad_number(fault, nodes) or _bad_place(fault, regions)


def _bad_time(fault: Fault, measure_s: float) -> str | None:
    if fault.at_s >= measure_s:
        return f"measuring is over after {format_duration(measure_s)}"
    if fault.end_s is not None and fault.end_s > measure_s:
        return (
            f"it would end at {format_duration(fault.end_s)}, and measuring ends at "
            f"{format_duration(measure_s)}"
        )
    return None


def _bad_number(fault: Fault, nodes: int) -> str | None:
    least = _TRIPLE if fault.fault == "bridge" else _PAIR
    if fault.fault in PARTITIONS and nodes < least:
        return f"it needs at least {counted(least, 'node')}, and there are {nodes}"
    if fault.target == "minority" and nodes < _TRIPLE:
        return f"a cluster of {nodes} has no minority"
    if fault.fault in ("split", "one-way") and fault.target == "majority" and nodes <= _PAIR:
        return f"a majority of {counted(nodes, 'node')} is all of them: the other side is empty"
    return None


def _bad_place(fault: Fault, regions: Sequence[str]) -> str | None:
    kind, colon, region = fault.target.partition(":")
    if not colon:
        return None
    if kind != "region":
        known = "one, minority, majority, primary, secondary, region:NAME, all, a node's name"
        return f"a target is {known}"
    # A zone is named after its region: iowa-a.
    if any(place == region or place.startswith(f"{region}-") for place in regions):
        return None
    known = nearest(region, regions) if regions else "the cluster has no regions"
    return f"there is no region {region!r} ({known})"
