"""``observed.json``: what the clients of one run observed; and the frames of many runs.

Map
---
OBSERVED_FILE       its name in a run's directory
Observed            what it holds
read_observed       of one run
frames              of many runs: findings, staleness, sessions, visibility
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl
from pydantic import Field, NonNegativeFloat, NonNegativeInt

from pacelc.store.format import Record, read_record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["OBSERVED_FILE", "SESSION_GUARANTEES", "Observed", "frames", "read_observed"]

OBSERVED_FILE: Final = "observed.json"
SESSION_GUARANTEES: Final = (
    "read_your_writes",
    "monotonic_reads",
    "monotonic_writes",
    "writes_follow_reads",
    "monotonic_writes_across_records",
    "writes_follow_reads_across_records",
)


class Operation(Record):
    """One operation of a witness."""

    session: NonNegativeInt
    action: Any
    fate: str
    key: NonNegativeInt
    version: NonNegativeInt
    start_ns: int
    end_ns: int


class Witness(Record):
    """Operations that are a violation by themselves."""

    explanation: str
    operations: list[Operation]


class Finding(Record):
    """How often something that has to hold did."""

    name: str
    verdict: Literal["holds", "violated", "unknown"]
    eligible: NonNegativeInt
    violated: NonNegativeInt
    untold: NonNegativeInt
    witness: Witness | None = None


class Distance(Record):
    """How far the history is from a linearizable one: Γ and Δ; null where nothing helps."""

    gamma_ns: int | None = None
    delta_ns: int | None = None
    at_least: bool = False


class Quantile(Record):
    """A quantile of the reads' staleness, at least and at most."""

    q: NonNegativeFloat
    least_ns: NonNegativeInt
    most_ns: NonNegativeInt | None = None
    least_versions: NonNegativeInt
    most_versions: NonNegativeInt


class Bin(Record):
    """Reads whose staleness is of this size or more, and less than the next bin's."""

    from_ns: NonNegativeFloat
    least: NonNegativeInt
    most: NonNegativeInt


class VersionsBin(Record):
    """Reads that were so many versions behind, or more, and fewer than the next bin's."""

    from_: NonNegativeInt = Field(alias="from")
    least: NonNegativeInt
    most: NonNegativeInt


class Staleness(Record):
    """How stale reads were."""

    reads: NonNegativeInt
    stale: NonNegativeInt
    fresh: NonNegativeInt
    stale_share: NonNegativeFloat | None = None
    """Of the reads of all records, where the log is a sample of them."""
    stale_share_error: NonNegativeFloat = 0.0
    """Its standard error because other records aren't in the sample."""
    fresh_share: NonNegativeFloat | None = None
    """And of those that were fresh for certain."""
    quantiles: list[Quantile]
    bins: list[Bin]
    versions: list[VersionsBin]


class SeenBin(Record):
    """Reads that began so long after the newest acknowledged write, and whether they saw it."""

    from_ns: NonNegativeFloat
    seen: NonNegativeInt
    unseen: NonNegativeInt
    untold: NonNegativeInt


class Observed(Record):
    """What clients observed in a run."""

    operations: NonNegativeInt
    registers: NonNegativeInt
    findings: list[Finding]
    distance: Distance
    staleness: Staleness
    visibility: list[SeenBin]
    missed: NonNegativeInt
    deleted_records: NonNegativeInt

    def finding(self, name: str) -> Finding | None:
        """Return the finding of that name."""
        return next((finding for finding in self.findings if finding.name == name), None)


def read_observed(folder: Path) -> Observed | None:
    """Return what was observed in the run whose directory this is; None if nobody looked."""
    path = folder / OBSERVED_FILE
    return read_record(Observed, path) if path.is_file() else None


_KEY: Final = {"source": pl.String, "run": pl.String}
_COUNTS: Final = dict.fromkeys(("eligible", "violated", "untold"), pl.Int64)
_FINDINGS: Final = pl.Schema(
    {**_KEY, "finding": pl.String, "verdict": pl.String, **_COUNTS, "witness": pl.String}
)
_STALENESS: Final = pl.Schema(
    {
        **_KEY,
        **dict.fromkeys(("reads", "stale", "fresh", "missed"), pl.Int64),
        **dict.fromkeys(("stale_share", "stale_share_error", "q"), pl.Float64),
        **dict.fromkeys(("least_ns", "most_ns", "least_versions", "most_versions"), pl.Int64),
    }
)
_SESSIONS: Final = pl.Schema({**_KEY, "guarantee": pl.String, **_COUNTS, "share": pl.Float64})
_VISIBILITY: Final = pl.Schema(
    {**_KEY, "from_ns": pl.Float64, **dict.fromkeys(("seen", "unseen", "untold"), pl.Int64)}
)


def frames(runs: Iterable[tuple[str, str, Observed]]) -> dict[str, pl.DataFrame]:
    """Return the frames of runs, each given with its source and name.

    Returns
    -------
    dict of str to DataFrame
        Each with ``source, run``:

        ``findings``
            ``finding, verdict, eligible, violated, untold, witness`` (in a sentence).
        ``staleness``
            ``reads, stale, fresh, missed, stale_share, stale_share_error, q, least_ns, most_ns,
            least_versions, most_versions``: a row a quantile.
        ``sessions``
            ``guarantee, eligible, violated, untold, share`` (violated of those that can be told).
        ``visibility``
            ``from_ns, seen, unseen, untold``: a row a bin of the time since the newest write.
    """
    findings: list[dict[str, Any]] = []
    staleness: list[dict[str, Any]] = []
    sessions: list[dict[str, Any]] = []
    visibility: list[dict[str, Any]] = []
    for source, run, observed in runs:
        key = {"source": source, "run": run}
        for finding in observed.findings:
            counts = {name: getattr(finding, name) for name in _COUNTS}
            said = None if finding.witness is None else finding.witness.explanation
            row = {"finding": finding.name, "verdict": finding.verdict, "witness": said}
            findings.append(key | row | counts)
            if finding.name in SESSION_GUARANTEES:
                told = finding.eligible - finding.untold
                share = finding.violated / told if told else None
                sessions.append(key | {"guarantee": finding.name, "share": share} | counts)
        of_all = observed.staleness
        names = ("reads", "stale", "fresh", "stale_share", "stale_share_error")
        reads = {name: getattr(of_all, name) for name in names}
        reads["missed"] = observed.missed
        staleness += [key | reads | quantile.model_dump() for quantile in of_all.quantiles]
        visibility += [key | seen.model_dump() for seen in observed.visibility]
    return {
        "findings": pl.DataFrame(findings, schema=_FINDINGS),
        "staleness": pl.DataFrame(staleness, schema=_STALENESS),
        "sessions": pl.DataFrame(sessions, schema=_SESSIONS),
        "visibility": pl.DataFrame(visibility, schema=_VISIBILITY),
    }
