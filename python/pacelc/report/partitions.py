"""What a report says of partitions: PACELC's letters, the evidence behind them, what was lost.

Map
---
Partitions      everything that the template shows of them
partitions      from results
read_back       what became of acknowledged inserts, after any fault
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from pacelc.analysis.estimate import format_number
from pacelc.analysis.partitions import letters, read_back_frame, sides
from pacelc.analysis.verdict import said
from pacelc.databases import display_name, facts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.analysis import Design
    from pacelc.store import Results

__all__ = ["Partitions", "partitions", "read_back"]


@dataclass(frozen=True, eq=False)
class Partitions:
    """Everything that the template shows of partitions.

    Attributes
    ----------
    summary
        Heads and rows: a row a database, a column a level, the letters in the cells, and at the end
        who takes over. No rows where no run had a partition.
    evidence
        Rows (database, level, letters, who takes over, why the first, why the second).
    heads, sides
        What each side of each partition saw.
    tables
        The frames behind them, by the names of their files.
    """

    summary: tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
    evidence: tuple[tuple[str, ...], ...]
    heads: tuple[str, ...]
    sides: tuple[tuple[str, ...], ...]
    tables: dict[str, pl.DataFrame]


def partitions(results: Results, design: Design) -> Partitions:
    """Return what a report says of partitions."""
    seen = sides(results, design)
    found = letters(results, design, seen)
    if found.height == 0:
        return Partitions(((), ()), (), (), (), {})
    databases = found.get_column("database").unique(maintain_order=True).to_list()
    levels = [level for level in design.levels if level in found.get_column("level")]
    pairs = {(row["database"], row["level"]): row["letters"] for row in found.to_dicts()}
    return Partitions(
        summary=(
            ("", *(level or "one level" for level in levels), "failover"),
            tuple(
                (
                    display_name(name),
                    *(pairs.get((name, level), "") for level in levels),
                    facts_of(name).failover,
                )
                for name in databases
            ),
        ),
        evidence=tuple(
            (
                display_name(row["database"]),
                row["level"],
                row["letters"],
                row["failover"],
                f"{said(row['partition'], row['partition_reason'])}: {row['partition_why']}",
                f"{said(row['else'], row['else_reason'])}: {row['else_why']}",
            )
            for row in found.to_dicts()
        ),
        heads=(
            "database",
            "level",
            "partition",
            "client with the",
            "reads served late in it",
            "writes served",
            "reads: longest, total time without success (s)",
            "writes: longest, total",
            "acknowledged writes",
            "lost",
            "not read back",
            "stale reads",
        ),
        sides=tuple(_side(row) for row in seen.to_dicts()),
        tables={"letters": found, "partitions": seen},
    )


def _side(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        display_name(row["database"]),
        row["level"],
        row["partition"],
        "network whole" if row["client"] == "both" else row["client"],
        _share(row["reads_ok"], row["reads_due"]),
        _share(row["writes_ok"], row["writes_due"]),
        _seconds(row["reads_longest_s"], row["reads_total_s"]),
        _seconds(row["writes_longest_s"], row["writes_total_s"]),
        f"{row['acknowledged']:,}",
        f"{row['lost']:,}",
        f"{row['unread']:,}",
        f"{row['stale']:,} of {row['told']:,}" if row["told"] else "not told",
    )


def _share(ok: int, due: int) -> str:
    return f"{100 * ok / due:.0f} % of {due:,}" if due else "none due"


def _seconds(longest_s: float | None, total_s: float | None) -> str:
    if longest_s is None or total_s is None:
        return "none due"
    return f"{format_number(longest_s)}, {format_number(total_s)}"


def read_back(
    results: Results, labels: Mapping[tuple[str, int], str]
) -> tuple[pl.DataFrame, tuple[tuple[str, ...], ...]]:
    """Return what was read back after faults: a row a run; and rows for people, one a scenario.

    Parameters
    ----------
    labels
        Of scenarios, by source and number.
    """
    frame = read_back_frame(results)
    counts = ("acknowledged", "found", "missing", "unread")
    sums = (*counts, "unacknowledged", "unacknowledged_found")
    scenarios = frame.group_by("source", "scenario", maintain_order=True).agg(
        pl.len().alias("runs"),
        *(pl.col(name).sum() for name in sums),
        pl.col("first_missing_s").min(),
        pl.col("last_missing_s").max(),
        pl.col("examples").str.join(" "),
        pl.col("error").drop_nulls().first(),
    )
    rows = tuple(
        (
            labels.get((row["source"], row["scenario"])) or "all runs",
            str(row["runs"]),
            *(f"{row[name]:,}" for name in counts),
            _between(row["first_missing_s"], row["last_missing_s"]),
            " ".join(row["examples"].split()[:5]),
            f"{row['unacknowledged_found']:,} of {row['unacknowledged']:,}",
            row["error"] or "",
        )
        for row in scenarios.to_dicts()
    )
    return frame, rows


def _between(first_s: float | None, last_s: float | None) -> str:
    return "" if first_s is None or last_s is None else f"{first_s:.1f} to {last_s:.1f}"
