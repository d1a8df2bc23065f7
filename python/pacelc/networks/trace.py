"""One customer's way through a simulated network, stay by stay: what a response time is made of.

Start here: :func:`trace_customer`, :class:`Trace`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import polars as pl
from pydantic import Field, TypeAdapter

from pacelc import _engine
from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.networks.result import Result
from pacelc.networks.solve import asked, check
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from pacelc.networks.network import Network

__all__ = ["Cycle", "Stay", "Trace", "trace_customer"]


class Stay(Result):
    """A stay somewhere."""

    job: int
    """0 is the customer; its siblings are counted as they set out."""
    at: str
    """A station; ``pool NAME``, where a place is waited for; ``fork NAME``, where siblings are."""
    class_: Annotated[str, Field(alias="class")]
    """In which class."""
    from_s: float
    """When it began."""
    waited_s: float | None
    """None if it was never served, or the cycle was over before."""
    served_s: float | None
    """From begin to end, so with others at a processor that is shared; None as above."""
    cancelled: bool
    """Whether it ended before its end, for a join had gone on."""


class Cycle(Result):
    """From leaving the reference (open: from arriving) until coming back (leaving)."""

    from_s: float
    response_s: float
    turned_away: bool
    """Whether the customer came back because a pool was full."""
    stays: tuple[Stay, ...]
    """In the order in which they began."""

    @property
    def own(self) -> tuple[Stay, ...]:
        """The customer's own stays, without its siblings'; their times add up to the response."""
        return tuple(stay for stay in self.stays if stay.job == 0)

    @property
    def class_name(self) -> str:
        """The class of the customer's last own stay."""
        return self.own[-1].class_ if self.own else ""


_CYCLES: Final = TypeAdapter(tuple[Cycle, ...])
_LEAST: Final = 10_000
_RARE: Final = 100
"""To find cycles of a rare class, at most so many times those that are asked for are followed, or
:data:`_LEAST`."""
_MORE: Final = 4
"""So many times as many are followed when some are missing."""


@dataclass(frozen=True)
class Trace:
    """Cycles of one customer; of an open class, of customers one after the other."""

    cycles: tuple[Cycle, ...]

    def slowest(self, count: int) -> Trace:
        """Return the slowest cycles, in the order of time."""
        chosen = sorted(self.cycles, key=lambda one: one.response_s, reverse=True)[:count]
        return Trace(tuple(sorted(chosen, key=lambda one: one.from_s)))

    def frame(self) -> pl.DataFrame:
        """Return one row a stay.

        ``cycle, job, at, class, from_s, waited_s, served_s, cancelled``.
        """
        return pl.DataFrame(
            [
                (number, *(getattr(stay, name) for name in _FIELDS))
                for number, cycle in enumerate(self.cycles, start=1)
                for stay in cycle.stays
            ],
            schema=_SCHEMA,
            orient="row",
        )

    def time_frame(self) -> pl.DataFrame:
        """Return where the customer's own time went, one row a place in the order of first stays.

        ``at, stays, waited_s, served_s`` a cycle, and ``share`` of the mean response.
        """
        if not self.cycles:
            return pl.DataFrame(schema=_TIMES)
        own = self.frame().filter(pl.col("job") == 0)
        number = len(self.cycles)
        whole_s = sum(cycle.response_s for cycle in self.cycles)
        time_s = pl.col("waited_s").sum() + pl.col("served_s").sum()
        found = own.group_by("at", maintain_order=True).agg(
            (pl.len() / number).alias("stays"),
            (pl.col("waited_s").sum() / number).alias("waited_s"),
            (pl.col("served_s").sum() / number).alias("served_s"),
            (time_s / whole_s if whole_s else pl.lit(0.0)).alias("share"),
        )
        return found.cast(_TIMES)


_FIELDS: Final = ("job", "at", "class_", "from_s", "waited_s", "served_s", "cancelled")
_SCHEMA: Final = pl.Schema(
    {
        "cycle": pl.Int64,
        "job": pl.Int64,
        "at": pl.String,
        "class": pl.String,
        "from_s": pl.Float64,
        "waited_s": pl.Float64,
        "served_s": pl.Float64,
        "cancelled": pl.Boolean,
    }
)
_TIMES: Final = pl.Schema(
    {
        "at": pl.String,
        "stays": pl.Float64,
        "waited_s": pl.Float64,
        "served_s": pl.Float64,
        "share": pl.Float64,
    }
)


def trace_customer(
    network: Network,
    class_name: str | None = None,
    *,
    after_s: float = 0.0,
    cycles: int = 1,
    seed: int = 1,
) -> Trace:
    """Follow one customer of a simulated network.

    Parameters
    ----------
    network
        Which.
    class_name
        Follow a customer that can be of this class, and keep only cycles that end in it; else the
        first class that has customers, and all of its cycles.
    after_s
        The customer is the first to set out at this time or later.
    cycles
        How many.
    seed
        The same seed gives the same way.

    Raises
    ------
    InputError
        The network can't be, there is no such class, or nobody comes back in it.
    """
    if cycles < 1:
        raise InputError(f"{counted(cycles, 'cycle')}: should be 1 or more")
    begins = _class_that_sets_out(network, class_name)
    wanted, most = cycles, max(_LEAST, _RARE * cycles)
    while True:
        options = {"seed": seed, "class": begins, "after": after_s, "cycles": wanted}
        answer = asked(_engine.trace_customer, network.to_json(), json.dumps(options))
        found = _CYCLES.validate_json(answer)
        if class_name is not None:
            found = tuple(one for one in found if one.class_name == class_name)
        if len(found) >= cycles:
            return Trace(found[:cycles])
        if wanted == most:
            raise InputError(
                f"class {class_name}: {len(found)} of {counted(wanted, 'cycle')} ended in it",
                "what counts is the class at the last station before the cycle ends",
            )
        wanted = min(_MORE * wanted, most)


def _class_that_sets_out(network: Network, class_name: str | None) -> str:
    """Return the class with customers in the chain of ``class_name``, or the first of all."""
    names = [one.name for one in network.classes]
    if class_name is not None and class_name not in names:
        raise InputError(f"there is no class {class_name!r}", nearest(class_name, names))
    chains = check(network).chains
    chain = next((one.classes for one in chains if class_name in one.classes), ())
    if class_name is not None and not chain:
        raise InputError(
            f"class {class_name}: only siblings are of it", "follow their customer's class"
        )
    for one in network.classes:
        if (one.users or one.interarrival) and (class_name is None or one.name in chain):
            return one.name
    raise InputError("the network has no customers")
