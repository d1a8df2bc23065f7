"""PACELC's letters from what was measured: the rules, and nothing else.

Abadi (2012): if there is a partition, does the system give up availability or consistency; else,
latency or consistency? Here each letter follows from evidence, by the rules below, and is withheld
where the evidence is not enough, or is of runs that are disqualified (`qualified_letter`).
docs/reference/classification.md has them in words, and docs/concepts/pacelc.md their reasons.

Under a partition, of which clients on both sides were asked for:

1. *PA* if consistency was seen to be given up: an acknowledged write was lost, or a read was stale.
2. *PA* if it must have been: one side took writes while the other answered, too.
3. *PC* if a side was refused, and nothing was lost or stale on either.

Else, the price of a level against the study's weakest:

4. *EL* for the weakest, where it is known to wait for no other node.
5. *EC* if reads or writes are slower, and not by less than a tenth.
6. *EL* if neither is slower by a tenth.

Start here: `partition_letter`, `price_letter`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pacelc.analysis.verdict import CANT_TELL, said
from pacelc.databases import facts_of
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.analysis.estimate import Estimate
    from pacelc.analysis.verdict import Reason

__all__ = [
    "ENOUGH",
    "MARGIN_PERCENT",
    "REFUSED",
    "SERVED",
    "Answers",
    "Letter",
    "Side",
    "answers_alone",
    "partition_letter",
    "price_letter",
    "qualified_letter",
]

SERVED: Final = 0.9
"""From this share on, users are served: two sides that are can't both have other records."""
REFUSED: Final = 0.5
"""Up to this share, they are refused: half of the records are, or everybody half of the time."""
ENOUGH: Final = 20
"""Operations of a kind that must have been due, for a share of them to be known."""
UNREAD: Final = 0.01
"""Up to this share of the acknowledged writes may be unread, for none to count as lost."""
MARGIN_PERCENT: Final = 10.0
"""A price below a tenth is no price: the next Java virtual machine may differ by as much."""

Word: TypeAlias = Literal["served", "refused", "partly", "unknown"]
_SAID: Final[dict[Word, str]] = {
    "served": "served",
    "refused": "refused",
    "partly": "served in part",
    "unknown": "asked too little",
}


@dataclass(frozen=True)
class Answers:
    """Of the operations of a kind that were due late in a partition, how many succeeded."""

    due: int = 0
    ok: int = 0

    @property
    def share(self) -> float | None:
        """Share that succeeded; None if nothing was due."""
        return self.ok / self.due if self.due else None

    @property
    def word(self) -> Word:
        """What users would call it."""
        if self.share is None or self.due < ENOUGH:
            return "unknown"
        if self.share >= SERVED:
            return "served"
        return "refused" if self.share <= REFUSED else "partly"


@dataclass(frozen=True)
class Side:
    """What clients on one side of a partition saw, all runs together.

    Attributes
    ----------
    partition
        Which: ``isolate primary``.
    client
        ``minority``, ``majority``, or ``both`` for a client whose own links weren't cut.
    reads, writes
        What was due late in it, when the system had had time to notice.
    acknowledged, lost, unread
        Writes that were acknowledged in these runs; of which lost, or not read back.
    told, stale
        Reads of which the log can tell whether they were stale; of which they were.
    """

    partition: str
    client: str
    reads: Answers = Answers()
    writes: Answers = Answers()
    acknowledged: int = 0
    lost: int = 0
    unread: int = 0
    told: int = 0
    stale: int = 0

    @property
    def word(self) -> Word:
        """Refused if reads or writes are; served if all kinds that were asked for are."""
        words = [a.word for a in (self.reads, self.writes) if a.due]
        if "refused" in words:
            return "refused"
        if not words or "unknown" in words:
            return "unknown"
        return "partly" if "partly" in words else "served"


@dataclass(frozen=True)
class Letter:
    """A letter, and why.

    Attributes
    ----------
    letter
        ``PA``, ``PC``, ``EL``, ``EC``; None where the evidence is not enough.
    why
        The evidence, or what is missing of it, in a line.
    reason
        Why there is no letter; None if there is one.
    """

    letter: str | None
    why: str
    reason: Reason | None = None

    def __str__(self) -> str:
        """Return the letter, or that there is none and the reason's kind."""
        return self.letter or said(CANT_TELL, self.reason)


def partition_letter(sides: Sequence[Side]) -> Letter:
    """Return PA or PC of one database at one level.

    Parameters
    ----------
    sides
        Everything that was seen of it, one a partition and side of the client.
    """
    if not sides:
        return Letter(None, "no run had a partition without other faults", "not measured")
    found = [_of_partition([s for s in sides if s.partition == name]) for name in _names(sides)]
    for letter in ("PA", "PC"):
        reasons = [f.why for f in found if f.letter == letter]
        if reasons:
            return Letter(letter, "; ".join(reasons))
    few = any(f.reason == "too few runs" for f in found)
    reason: Reason = "too few runs" if few else "not measured"
    return Letter(None, "; ".join(f.why for f in found), reason)


def _names(sides: Sequence[Side]) -> list[str]:
    return list(dict.fromkeys(side.partition for side in sides))


def _of_partition(sides: Sequence[Side]) -> Letter:
    name = sides[0].partition
    given_up = [text for side in sides for text in _given_up(side)]
    if given_up:
        return Letter("PA", f"{name}: {', '.join(given_up)}")
    ends = {side.client: side for side in sides if side.client in ("minority", "majority")}
    if missing := [end for end in ("minority", "majority") if end not in ends]:
        return Letter(None, f"{name}: no client on the {missing[0]}'s side", "not measured")
    for writer, other in (("minority", "majority"), ("majority", "minority")):
        if ends[writer].writes.word == "served" and (
            "served" in (ends[other].reads.word, ends[other].writes.word)
        ):
            what = "writes" if ends[other].writes.word == "served" else "reads"
            return Letter(
                "PA",
                f"{name}: writes on the {writer}'s side and {what} on the {other}'s were served at "
                "the same time",
            )
    if unread := [s for s in sides if s.unread > UNREAD * s.acknowledged]:
        side = unread[0]
        return Letter(
            None,
            f"{name}: {side.unread:,} of {side.acknowledged:,} acknowledged writes could not be "
            "read back",
            "not measured",
        )
    said = {end: _said(ends[end]) for end in sorted(ends)}
    what = ", ".join(f"the {end}'s side was {text}" for end, text in said.items())
    if len(set(said.values())) == 1:
        what = f"both sides were {next(iter(said.values()))}"
    if any(side.word == "refused" for side in ends.values()):
        return Letter("PC", f"{name}: {what}; {_nothing_lost(sides)}")
    # Of service in part more runs say no more: nobody looked which records each side served.
    few = any(side.word == "unknown" for side in ends.values())
    return Letter(None, f"{name}: {what}", "too few runs" if few else "not measured")


def _given_up(side: Side) -> list[str]:
    where = "" if side.client == "both" else f" (client with the {side.client})"
    found: list[str] = []
    if side.lost:
        found.append(f"{side.lost:,} of {side.acknowledged:,} acknowledged writes lost{where}")
    if side.stale:
        found.append(f"{side.stale:,} of {counted(side.told, 'read')} stale{where}")
    return found


def _said(side: Side) -> str:
    asked = {"reads": side.reads, "writes": side.writes}
    parts = {name: _SAID[answers.word] for name, answers in asked.items() if answers.due}
    if len(set(parts.values())) == 1:
        return next(iter(parts.values()))
    return " and ".join(f"{word} {name}" for name, word in parts.items()) or "not asked"


def _nothing_lost(sides: Sequence[Side]) -> str:
    acknowledged, told = sum(s.acknowledged for s in sides), sum(s.told for s in sides)
    stale = f", none of {counted(told, 'read')} stale" if told else ""
    return f"none of {acknowledged:,} acknowledged writes lost{stale}"


def answers_alone(database: str, in_force: Mapping[str, str]) -> bool:
    """Whether every kind of operation is known to be answered by one node alone.

    Parameters
    ----------
    in_force
        The level of each kind, as it was read back from what was sent.
    """
    known = facts_of(database).answers_alone
    return bool(in_force) and all(
        any(text == word or text.startswith(f"{word} ") for word in known)
        for text in (level.replace(",", " ") for level in in_force.values())
    )


def price_letter(prices: Mapping[str, Estimate], *, weakest: str, alone: bool | None) -> Letter:
    """Return EL or EC of one database at one level.

    Parameters
    ----------
    prices
        By kind of operation, how much longer it takes than at the weakest level, in per cent; of
        pairs of runs. Empty for the weakest itself.
    weakest
        The study's weakest level.
    alone
        Of the weakest level itself, whether it is known to wait for no other node; None for others.
    """
    if alone is not None:
        if alone:
            return Letter("EL", "the weakest level: one node answers, without waiting for others")
        why = "the weakest level measured, and it waits for other nodes"
        return Letter(None, why, "not measured")
    if not prices:
        return Letter(None, f"no runs to compare with those at {weakest}", "not measured")
    known = {kind: price for kind, price in prices.items() if price.has_interval}
    said = ", ".join(f"{kind} {_price(price)}" for kind, price in prices.items())
    why = f"{said} against {weakest}"
    if any(p.above(0.0) and not p.below(MARGIN_PERCENT) for p in known.values()):
        return Letter("EC", why)
    if len(known) == len(prices) and all(p.below(MARGIN_PERCENT) for p in known.values()):
        return Letter("EL", why)
    few = "too few pairs of runs" if len(known) < len(prices) else "the intervals are too wide"
    return Letter(None, f"{why}: {few}", "too few runs")


def qualified_letter(letter: Letter, qualified: Letter, without: str) -> Letter:
    """Return what qualified runs alone say.

    Parameters
    ----------
    letter, qualified
        What all runs say, and those that qualify.
    without
        Why the others don't; empty if all do.
    """
    if not without or qualified == letter or qualified.letter is letter.letter is None:
        return letter
    if qualified.letter is None:
        return Letter(None, f"{without}; with them it is {letter}: {letter.why}", "disqualified")
    return Letter(qualified.letter, f"{qualified.why}; left out: {without}")


def _price(price: Estimate) -> str:
    sign = "+" if price.value >= 0 else ""
    return f"{sign}{price.text()} (n={price.n})"
