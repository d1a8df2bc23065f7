"""A claim: a published finding, restated so that it can be tested on new runs.

A claim names what must be true of intervals, never of bare means: it holds if every interval lies
on its side, is violated if one lies wholly on the other side, and otherwise the runs can't tell.

Only runs that qualify decide (`pacelc.analysis.qualified`). Where they can't and all runs together
could, the reason is that the others are disqualified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from pacelc.analysis import Design, Estimate, Group, ratio_estimate
from pacelc.analysis.comparison import compared_pairs, of_blocks
from pacelc.analysis.qualified import Qualified, qualified
from pacelc.analysis.verdict import CANT_TELL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pacelc.analysis.design import Side
    from pacelc.analysis.verdict import Reason
    from pacelc.store import Results

__all__ = ["Claim", "Evidence", "Finding", "Part", "Verdict", "check_claims", "judge"]

Verdict = Literal["holds", "violated", "can't tell"]
CLUSTERS_DIFFER: Final = 0.1
"""By less than this share, two clusters of a kind may differ for no reason that is asked about."""


@dataclass(frozen=True)
class Part:
    """One comparison that a claim rests on."""

    text: str
    verdict: Verdict


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
        From the evidence to the parts that it rests on; none if the runs hold nothing that it is
        about.
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
        The parts' numbers, in words; or what is missing.
    reason
        Why these runs can't tell; None if they can.
    """

    claim: Claim
    verdict: Verdict
    evidence: str
    reason: Reason | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """Runs, as claims ask about them: by database, operation, deployment and level.

    Labels are compared without case; ``single-region`` is ``single``. A study without a factor for
    the deployment is a single-region one.
    """

    results: Results
    design: Design

    def group(self, database: str, operation: str, deployment: str = "single") -> Group | None:
        """Return the group of those labels, if there were runs."""
        for group in self.design.groups:
            mine = group.get("deployment", "single").lower()
            if (
                group.get("database").lower() == database
                and group.get("operation").lower() == operation
                and mine.startswith(deployment)
            ):
                return group
        return None

    def groups(
        self, databases: Iterable[str], operation: str, deployment: str = "single"
    ) -> dict[str, Group]:
        """Return those groups that had runs, by database."""
        found = {name: self.group(name, operation, deployment) for name in databases}
        return {name: group for name, group in found.items() if group is not None}

    def ratio(
        self,
        over: Side,
        under: Side,
        metric: str,
        loads: Sequence[float] | None = None,
    ) -> Estimate | None:
        """Geometric mean, over shared loads, of one group and level over another.

        Where each had clusters of its own, the interval is across clusters. Of one cluster each it
        is the runs', and a tenth wider at both ends: clusters of a kind differ by 3 to 7 %.
        """
        top, bottom = (self.design.cells(group, level, metric) for group, level in (over, under))
        if loads is not None:
            if any(load not in cells.loads for cells in (top, bottom) for load in loads):
                return None
            top, bottom = top.at(loads), bottom.at(loads)
        of_runs = ratio_estimate(bottom, top)
        unit, pairs = compared_pairs(self.design, (under, over), metric, loads)
        if of_runs is None or unit == "run":
            return of_runs
        if len(pairs) > 1:
            return ratio_estimate(*of_blocks(pairs))
        return of_runs.wider(CLUSTERS_DIFFER, "of one cluster each")

    def change(
        self, group: Group, metric: str, loads: Sequence[float] | None = None
    ) -> Estimate | None:
        """Ratio of the strong to the weak level (last over first of the study)."""
        if len(self.design.levels) <= 1:
            return None
        return self.ratio(
            (group, self.design.levels[-1]), (group, self.design.levels[0]), metric, loads
        )


def judge(
    estimate: Estimate | None, text: str, *, below: float | None = None, above: float | None = None
) -> list[Part]:
    """Make a part of an estimate: its interval must lie below, or above, a value, or between two.

    Parameters
    ----------
    estimate
        None makes no part: the runs don't hold it.
    text
        What it is of; the estimate is put behind it.
    below, above
        One of them, or both.
    """
    if estimate is None:
        return []
    if below is None and above is None:
        raise ValueError("a part is judged against a bound")
    inside = (below is None or estimate.below(below)) and (above is None or estimate.above(above))
    outside = (below is not None and estimate.above(below)) or (
        above is not None and estimate.below(above)
    )
    verdict: Verdict = "holds" if inside else "violated" if outside else CANT_TELL
    return [Part(f"{text} {estimate}", verdict)]


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
    if not parts:
        nothing = "these results hold no runs that it is about"
        return Finding(claim, CANT_TELL, nothing, "not measured")
    verdict = _verdict(qualified)
    same = list(qualified) == list(parts)
    undecided = verdict == CANT_TELL and bool(qualified) and _verdict(parts) == CANT_TELL
    # What holds for some parts may not for those that are gone; a violated one is enough.
    lost = verdict == CANT_TELL or (verdict == "holds" and len(qualified) < len(parts))
    if lost and not same and not undecided:
        return Finding(claim, CANT_TELL, f"{without}; with them: {_words(parts)}", "disqualified")
    reason: Reason | None = "too few runs" if verdict == CANT_TELL else None
    left_out = "" if same else f"; left out: {without}"
    return Finding(claim, verdict, f"{_words(qualified)}{left_out}", reason)


def _verdict(parts: Sequence[Part]) -> Verdict:
    verdicts = {part.verdict for part in parts}
    if "violated" in verdicts:
        return "violated"
    return "holds" if verdicts == {"holds"} else CANT_TELL


def _words(parts: Sequence[Part]) -> str:
    several = len({part.verdict for part in parts}) > 1
    return "; ".join(f"{part.text}: {part.verdict}" if several else part.text for part in parts)
