"""The answer of a search or of a ladder, for people and as ``saturation.json``.

Map
---
Answer          of one scenario
conclude        rungs → Answer
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pacelc.names import counted
from pacelc.saturation.knee import Knee, Point, find_knee
from pacelc.saturation.search import MOST_RUNS, Bracket, Tally, tallies
from pacelc.saturation.threshold import threshold_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.saturation.rung import Rung
    from pacelc.study.values import Scalar

__all__ = ["Answer", "Status", "conclude"]

Status: TypeAlias = Literal["found", "at-least", "below", "unsettled", "unfinished", "ladder"]


@dataclass(frozen=True)
class Answer:
    """What was found of one scenario.

    Attributes
    ----------
    status
        ``found``: held at ``low``, failed at ``high``, both repeated. ``at-least``: held at
        ``low``, and nothing above says anything of the database (see ``limit``). ``below``: did
        not hold at the lowest rate that could be judged, for the reason in ``limit``.
        ``unsettled``: runs contradict each other. ``unfinished``: a run is missing. ``ladder``:
        nothing was searched.
    limit
        What ended it at ``high``: a limit of the objective (``p99``, ``errors``), ``client``,
        ``users``, ``operations`` (too few to tell), or ``range``.
    low, high
        Rates, each with how many runs held and how many there were.
    threshold_95
        95 % interval of the rate at which a run is as likely to hold as not.
    knee
        Or why there is none.
    rungs
        All runs, in the order of trial.
    """

    number: int
    label: str
    factors: Mapping[str, Scalar]
    status: Status
    limit: str | None
    low: int | None
    high: int | None
    tally: Mapping[int, Tally]
    threshold_95: tuple[float | None, float | None]
    knee: Knee | str
    rungs: tuple[Rung, ...]

    @property
    def complete(self) -> bool:
        """Whether what was asked is answered."""
        return self.status in ("found", "ladder") or (
            self.status == "at-least" and self.limit == "range"
        )

    def mean_at(self, rate: int, name: str) -> float | None:
        """Mean of a measured column over the runs at a rate."""
        values = [getattr(rung, name) for rung in self.rungs if rung.rate_per_s == rate]
        known = [float(value) for value in values if value is not None]
        return sum(known) / len(known) if known else None

    def sentence(self) -> str:
        """Return the answer as one sentence, its evidence included."""
        match self.status:
            case "found":
                return f"{self._at(self.low)}; {self._not_at(self.high)} ({self.limit})"
            case "at-least":
                return f"{self._at(self.low)}; {_WHY_AT_LEAST[self.limit or 'range']}"
            case "below":
                why = _NOT_THE_DATABASE.get(self.limit or "", self.limit)
                return f"{self._not_at(self.high)}, the lowest rate tried ({why})"
            case "unsettled":
                return (
                    f"unsettled after {counted(len(self.rungs), 'run')}: they contradict each other"
                )
            case "unfinished":
                return "unfinished: a run is missing; the same command tries it again"
            case "ladder":
                return self.knee_sentence()

    def knee_sentence(self) -> str:
        """Return the knee as one sentence."""
        if isinstance(self.knee, str):
            return f"no knee: {self.knee}"
        return (
            f"knee at {self.knee.rate_per_s:,}/s, between {self.knee.low_per_s:,} and "
            f"{self.knee.high_per_s:,}/s"
        )

    def _at(self, rate: int | None) -> str:
        runs = self.tally[rate or 0]
        return f"held in {runs.held} of {counted(runs.runs, 'run')} at {rate:,}/s"

    def _not_at(self, rate: int | None) -> str:
        runs = self.tally[rate or 0]
        return f"not held in {runs.runs - runs.held} of {counted(runs.runs, 'run')} at {rate:,}/s"

    def as_document(self) -> dict[str, Any]:
        """Return it as plain data."""
        knee = {"reason": self.knee} if isinstance(self.knee, str) else asdict(self.knee)
        return {
            "number": self.number,
            "label": self.label,
            "factors": dict(self.factors),
            "status": self.status,
            "limit": self.limit,
            "held": self._end(self.low),
            "not_held": self._end(self.high),
            "threshold_95_per_s": list(self.threshold_95),
            "knee": knee,
            "rungs": [rung.as_document() for rung in self.rungs],
        }

    def _end(self, rate: int | None) -> dict[str, Any] | None:
        if rate is None:
            return None
        runs = self.tally[rate]
        columns = ("throughput_per_s", "mean_ms", "p50_ms", "p99_ms", "p999_ms")
        return {
            "rate_per_s": rate,
            "held": runs.held,
            "runs": runs.runs,
            **{name: self.mean_at(rate, name) for name in columns},
        }


_NOT_THE_DATABASE = {
    "client": "the client was the limit, not the database",
    "users": "all users were busy",
    "operations": "too few operations to tell",
}
_WHY_AT_LEAST = {
    "client": "above it the client is the limit, not the database: more threads or machines",
    "users": "above it all users were busy: allow more with --max-users",
    "operations": "above it there were too few operations to tell: measure longer",
    "range": "the highest rate asked for",
}


def conclude(
    number: int,
    label: str,
    factors: Mapping[str, Scalar],
    rungs: Sequence[Rung],
    *,
    searched: bool,
    finished: bool,
) -> Answer:
    """Return what the rungs of one scenario say."""
    trials = [rung.trial for rung in rungs]
    tally = tallies(trials)
    bracket = Bracket.of(tally)
    limit = _limit(rungs, bracket.high) if bracket.high is not None else "range"
    status: Status
    if not searched:
        status, limit = ("ladder" if finished else "unfinished"), None
    elif not finished or not rungs:
        status, limit = "unfinished", None
    elif len(rungs) >= MOST_RUNS or (bracket.low is None and bracket.high is None):
        status, limit = "unsettled", None
    elif bracket.low is None:
        status = "below"
    elif limit in _WHY_AT_LEAST:
        status = "at-least"
    else:
        status = "found"
    return Answer(
        number=number,
        label=label,
        factors=factors,
        status=status,
        limit=limit,
        low=bracket.low,
        high=bracket.high,
        tally=tally,
        threshold_95=threshold_interval(trials) if status == "found" else (None, None),
        knee=find_knee([_point(rung) for rung in rungs if rung.verdict.outcome != "client"]),
        rungs=tuple(rungs),
    )


def _point(rung: Rung) -> Point:
    latency_s = float("inf") if rung.mean_ms is None else rung.mean_ms / 1000
    return Point(rung.rate_per_s, rung.repetition, rung.throughput_per_s, latency_s)


def _limit(rungs: Sequence[Rung], rate: int) -> str:
    """Return what most runs at a rate say was not kept, or what stood in the way."""
    named = Counter(
        {"failed": rung.verdict.limit or "", "unclear": "operations"}.get(
            rung.verdict.outcome, rung.verdict.outcome
        )
        for rung in rungs
        if rung.rate_per_s == rate and not rung.verdict.held
    )
    return named.most_common(1)[0][0]
