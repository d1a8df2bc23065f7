"""A claim: a published finding, restated so that it can be tested on new runs.

A claim is a list of comparisons, its parts. Each part names what must be true of an interval, never
of a bare mean. The claim holds if every part does, is violated if one is, and otherwise the runs
can't tell.

A claim asks for all that its text names: each database, level, workload and load. What has no runs
is a :class:`Missing` in place of an estimate, and its part can't hold. Where a text says "each
number of users", it means those that the study asks for (:meth:`Evidence.asked`).

Only runs that qualify decide (`pacelc.analysis.qualified`). Where they can't and all runs together
could, the reason is that the others are disqualified.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import polars as pl

from pacelc.analysis import Design, Estimate, ratio_estimate
from pacelc.analysis.comparison import of_blocks, pairs_of
from pacelc.analysis.qualified import Qualified, qualified
from pacelc.analysis.verdict import CANT_TELL
from pacelc.papers.cells import contrast, estimates, runs_where, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pacelc.analysis.verdict import Reason
    from pacelc.papers.cells import Label, Where
    from pacelc.store import Results

__all__ = [
    "Claim",
    "Evidence",
    "Finding",
    "Missing",
    "Part",
    "Verdict",
    "check_claims",
    "judge",
    "over",
]

Verdict = Literal["holds", "violated", "can't tell"]
CLUSTERS_DIFFER: Final = 0.1
"""By less than this share, two clusters of a kind may differ for no reason that is asked about."""
_SHOWN: Final = 3
"""Parts that a finding's evidence has in words; the others are counted."""
_SEVERAL: Final = {"holds": "hold"}


@dataclass(frozen=True)
class Missing:
    """What a claim asked for and has no runs, in words."""

    what: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """One comparison that a claim rests on.

    Attributes
    ----------
    text
        What it is of, and its estimate.
    verdict
        ``can't tell`` if its interval has both sides, if it has none, or if something is missing.
    missing
        What has no runs.
    room
        How often the estimate fits between itself and its bound: below 1 it is on the wrong side.
    """

    text: str
    verdict: Verdict
    missing: tuple[str, ...] = ()
    room: float = 1.0


@dataclass(frozen=True)
class Claim:
    """A published finding.

    Attributes
    ----------
    id
        Short name, for links and tests.
    text
        The finding, in our words, as it is tested.
    source
        Where the paper says it.
    test
        From the evidence to the parts that it rests on.
    """

    id: str
    text: str
    source: str
    test: Callable[[Evidence], Sequence[Part]]


@dataclass(frozen=True)
class Finding:
    """What new runs say of a claim.

    Attributes
    ----------
    claim
        The claim.
    verdict
        ``holds`` if all parts do, ``violated`` if one is, else ``can't tell``.
    evidence
        The parts that decide, in words, and how many others there are; or what is missing.
    reason
        Why these runs can't tell; None if they can.
    """

    claim: Claim
    verdict: Verdict
    evidence: str
    reason: Reason | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """Runs, as claims ask about them: by the labels of their factors."""

    results: Results
    design: Design

    def asked(self, factor: str) -> list[Label]:
        """Return the numbers that the study has for a factor, ascending, with or without runs."""
        factors = (study.get("factors", {}) for study in self.results.studies)
        labels = itertools.chain(*(of.get(factor, ()) for of in factors))
        numbers = {str(x): x for x in labels if str(x).replace(".", "", 1).isdigit()}
        return sorted(numbers.values(), key=float)

    def ends(self, factor: str) -> tuple[Label, Label]:
        """Return the smallest and the largest of those numbers."""
        labels = self.asked(factor)
        return (labels[0], labels[-1]) if labels else ("fewest", "most")

    def mean(self, metric: str, where: Where, *, most: float = math.inf) -> Estimate | Missing:
        """Return the mean over the runs with those labels; ``most`` is what it can't exceed."""
        found = estimates(self.results, (), metric, where, most=most).get(())
        return self._missing(metric, where) if found is None else found

    def ratio(
        self,
        metric: str,
        over: Where,
        under: Where,
        *,
        match: Sequence[str] = (),
        where: Where | None = None,
    ) -> Estimate | Missing:
        """Geometric mean of ``over / under`` among runs that are otherwise alike.

        Parameters are those of :func:`pacelc.papers.cells.contrast`. Where each side had clusters
        of its own, the interval is across clusters. Of one cluster each it is the runs', and a
        tenth wider at both ends: clusters of a kind differ by 3 to 7 %.
        """
        above, below = ({**(where or {}), **side} for side in (over, under))
        if above == below:
            return Missing((f"anything but {words(above)}",))
        sides = self._values(metric, below), self._values(metric, above)
        absent = [
            self._missing(metric, where).what
            for where, runs in zip((below, above), sides, strict=True)
            if runs.height == 0
        ]
        if absent:
            return Missing(tuple(dict.fromkeys(itertools.chain(*absent))))
        of_runs = contrast(self.results, metric, over, under, match=match, where=where)
        if of_runs is None:
            return Missing((f"{words(above)} and {words(below)} that are otherwise alike",))
        unit, pairs = pairs_of(sides, (*match, "repetition"), metric)
        if unit == "run":
            return of_runs
        if len(pairs) > 1 and (of_clusters := ratio_estimate(*of_blocks(pairs))) is not None:
            return of_clusters
        return of_runs.wider(CLUSTERS_DIFFER, "of one cluster each")

    def _values(self, metric: str, where: Where) -> pl.DataFrame:
        runs = runs_where(self.results, where)
        if metric not in runs.columns:
            return runs.clear()
        runs = runs.filter(pl.col(metric).is_not_null()).sort("source", "scenario", "repetition")
        return runs.rename({"source": "source_"})

    def _missing(self, metric: str, where: Where) -> Missing:
        """Name the fewest of those labels that no run has together; the metric if none has it."""
        for size in range(len(where)):
            for names in itertools.combinations(where, size):
                some = {name: where[name] for name in names}
                if self._values(metric, some).height == 0:
                    return Missing((words(some) or metric,))
        return Missing((words(where),))


def over(one: Estimate | Missing, other: Estimate | Missing) -> Estimate | Missing:
    """Return one estimate over another that is independent of it, such as a ratio of ratios."""
    if isinstance(one, Estimate) and isinstance(other, Estimate):
        return one.over(other)
    absent = (x.what for x in (one, other) if isinstance(x, Missing))
    return Missing(tuple(dict.fromkeys(itertools.chain(*absent))))


def judge(
    estimate: Estimate | Missing,
    of: str,
    *,
    below: float | None = None,
    above: float | None = None,
) -> Part:
    """Make a part of an estimate: its interval must lie below, or above, a value, or between two.

    Parameters
    ----------
    estimate
        Positive: a ratio, or what has a unit.
    of
        What it is of; the estimate is put behind it.
    below, above
        One of them, or both.
    """
    if below is None and above is None:
        raise ValueError("a part is judged against a bound")
    if isinstance(estimate, Missing):
        return Part(of, CANT_TELL, estimate.what)
    inside = (below is None or estimate.below(below)) and (above is None or estimate.above(above))
    outside = (below is not None and estimate.above(below)) or (
        above is not None and estimate.below(above)
    )
    verdict: Verdict = "holds" if inside else "violated" if outside else CANT_TELL
    rooms = [
        *([] if below is None else [below / (estimate.value or math.nan)]),
        *([] if above is None else [estimate.value / above]),
    ]
    sign = "" if estimate.unit else "× "  # noqa: RUF001 - typography
    return Part(f"{of}: {sign}{estimate}", verdict, room=min(rooms))


def check_claims(
    claims: Iterable[Claim],
    results: Results,
    design: Design,
    rest: Qualified | None = None,
) -> list[Finding]:
    """Test claims on runs.

    ``rest`` is what :func:`pacelc.analysis.qualified.qualified` returned of speed, if it is there
    already.

    Returns
    -------
    list of Finding
        One a claim, in order.
    """
    rest = rest or qualified(results, design, "speed")
    whole, evidence = Evidence(results, design), Evidence(rest.results, rest.design)
    return [
        _finding(claim, claim.test(whole), claim.test(evidence), rest.without) for claim in claims
    ]


def _finding(
    claim: Claim, parts: Sequence[Part], qualified: Sequence[Part], without: str
) -> Finding:
    """Judge a claim by the parts that qualified runs have; ``without`` says why others don't."""
    verdict, with_them = _verdict(qualified), _verdict(parts)
    left_out = "" if list(qualified) == list(parts) else f"; left out: {without}"
    if verdict != CANT_TELL:
        return Finding(claim, verdict, f"{_words(qualified, parts)}{left_out}")
    if with_them == CANT_TELL and (not parts or any(part.missing for part in parts)):
        return Finding(claim, CANT_TELL, _words(parts), "not measured")
    if with_them != CANT_TELL or any(part.missing for part in qualified):
        evidence = f"{without}; with them: {_words(parts)}"
        return Finding(claim, CANT_TELL, evidence, "disqualified")
    return Finding(claim, CANT_TELL, f"{_words(qualified, parts)}{left_out}", "too few runs")


def _verdict(parts: Sequence[Part]) -> Verdict:
    verdicts = {part.verdict for part in parts}
    if "violated" in verdicts:
        return "violated"
    return "holds" if verdicts == {"holds"} else CANT_TELL


def _words(parts: Sequence[Part], of_all: Sequence[Part] = ()) -> str:
    """Return the parts that decide, those nearest to their bounds first, and count the others.

    ``of_all`` are the same parts of all runs, where ``parts`` are of those that qualify.
    """
    verdict = _verdict(parts)
    missing = list(dict.fromkeys(what for part in parts for what in part.missing))
    if not parts:
        return "these results hold no runs that it is about"
    if verdict == CANT_TELL and missing:
        decide = [part for part in parts if part.missing]
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        texts = [f"no runs with {'; '.join(missing[:_SHOWN])}{more}"]
    else:
        decide = sorted(
            (part for part in parts if part.verdict == verdict), key=lambda part: part.room
        )[:_SHOWN]
        texts = [part.text for part in decide]
    measured = [not part.missing for part in of_all or parts]
    others = Counter(
        part.verdict if not part.missing else "disqualified" if known else "not measured"
        for part, known in zip(parts, measured, strict=True)
        if part not in decide
    )
    if others:
        counts = (
            f"{n} {_SEVERAL.get(name, name) if n > 1 else name}" for name, n in others.items()
        )
        texts.append(f"others: {', '.join(counts)}")
    return "; ".join(texts)
