"""The study in tables: what was measured at every load, what changed between levels, what it used.

Start here: :func:`by_load` (figures 2 to 5 of Ferreira et al. 2024), :func:`changes` (their table
8), :func:`resource_use` (their table 5 and figure 6). Every table is a Polars frame in which an
estimate is the columns ``value, low, high, n, method``; null ends mean that there is no interval,
and ``method`` says why.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from pacelc.analysis.classification import price_letter
from pacelc.analysis.comparison import Comparison, compare
from pacelc.analysis.design import METRICS, Design, Group
from pacelc.analysis.estimate import Cells, Estimate, marginal_mean, mean_estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.store import Results

__all__ = [
    "by_load",
    "changes",
    "comparisons_frame",
    "contradictions",
    "estimate_columns",
    "resource_use",
    "resource_use_by_load",
]

_ESTIMATE: Final = {
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "method": pl.String,
}


def estimate_columns(estimate: Estimate | None) -> dict[str, Any]:
    """Columns of one estimate; all null if there is none."""
    if estimate is None:
        return dict.fromkeys(_ESTIMATE)
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "method": estimate.method,
    }


def by_load(design: Design, metrics: Sequence[str] = tuple(METRICS)) -> pl.DataFrame:
    """Mean of each metric at every load.

    Returns
    -------
    DataFrame
        The groups' factors, ``level, load, metric, unit``, and an estimate; in the study's order.
    """
    rows: list[dict[str, Any]] = []
    for group in design.groups:
        for level in design.levels:
            for metric in metrics:
                cells = design.cells(group, level, metric)
                rows.extend(
                    {
                        **_labels(group),
                        "level": level,
                        "load": load,
                        "metric": metric,
                        "unit": METRICS[metric].unit,
                        **estimate_columns(mean_estimate(values)),
                    }
                    for load, values in zip(cells.loads, cells.values, strict=True)
                )
    return _frame(
        rows,
        design,
        {"level": pl.String, "load": pl.Float64, "metric": pl.String, "unit": pl.String},
    )


def changes(design: Design, *, all_pairs: bool = False, seed: int = 0) -> list[Comparison]:
    """Compare levels in every metric: :func:`compare` with all of :data:`METRICS`."""
    return compare(design, metrics=tuple(METRICS), all_pairs=all_pairs, seed=seed)


def contradictions(comparisons: Sequence[Comparison]) -> list[str]:
    """Say where the mean response time and the median disagree on whether a level is slower.

    By the rules of the second of PACELC's letters: `pacelc.analysis.classification.price_letter`.
    """
    ratios = {
        (c.group, c.reference, c.level, c.metric.name): c.ratio
        for c in comparisons
        if c.ratio is not None
    }
    told: list[str] = []
    for (group, reference, level, metric), ratio in ratios.items():
        other = ratios.get((group, reference, level, "latency_ms_p50"))
        if metric != "latency_ms_mean" or other is None:
            continue
        mean, median = ratio.as_change(), other.as_change()
        by_mean, by_median = (
            price_letter({"": change}, weakest=reference, alone=None).letter
            for change in (mean, median)
        )
        if by_mean and by_median and by_mean != by_median:
            why = (
                "most operations are as quick, and slow ones are slower"
                if by_mean == "EC"
                else "most operations are slower, and the slowest are not"
            )
            told.append(
                f"{group}, {reference} to {level}: the mean response time changes by {mean.text()} "
                f"({by_mean}), the median by {median.text()} ({by_median}): {why}"
            )
    return told


def comparisons_frame(comparisons: Sequence[Comparison]) -> pl.DataFrame:
    """Comparisons as a table.

    Returns
    -------
    DataFrame
        The groups' factors, ``reference, level, metric``; the change in per cent (``change_value``
        …), the ratio (``ratio_value`` …), ``paper_*`` and ``paired_*``, ``disagreement``.
    """
    rows = [
        {
            **_labels(c.group),
            "reference": c.reference,
            "level": c.level,
            "metric": c.metric.name,
            "unit": c.unit,
            **{f"change_{k}": v for k, v in estimate_columns(c.change).items()},
            **{f"ratio_{k}": v for k, v in estimate_columns(c.ratio).items()},
            "paper_normal": c.paper.normal,
            "paper_test": c.paper.test,
            "paper_p": c.paper.p,
            "paper_verdict": c.paper.verdict,
            "paper_reason": c.paper.reason,
            "paper_note": c.paper.note,
            "paired_n": c.paired.n,
            "paired_p": c.paired.p,
            "paired_p_holm": c.paired.p_holm,
            "paired_verdict": c.paired.verdict,
            "paired_reason": c.paired.reason,
            "paired_note": c.paired.note,
            "disagreement": c.disagreement,
        }
        for c in comparisons
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def resource_use(results: Results, design: Design) -> pl.DataFrame:
    """CPU and memory by group, level and role, over the loads at which every level has readings.

    Each load counts the same. Over other loads than another level's, a mean couldn't be compared.

    Source: Ferreira et al. 2024, table 5 (the primary node) and figure 6 (the client).

    Returns
    -------
    DataFrame
        The groups' factors (without ``operation``, unless it is a factor), ``level, role, resource,
        unit, loads``, and an estimate: null where levels share no load. Resources are ``cpu`` (per
        cent of the machine's cores), ``cpu_cores`` and ``memory`` (bytes).
    """
    rows: list[dict[str, Any]] = []
    found = _resource_cells(results, design)
    shared: dict[tuple[str, ...], set[float]] = {}
    for keys, cells, _ in found:
        alike = _but_level(keys)
        shared[alike] = shared.get(alike, set(cells.loads)) & set(cells.loads)
    for keys, cells, most in found:
        loads = shared[_but_level(keys)]
        kept = [
            (load, of) for load, of in zip(cells.loads, cells.values, strict=True) if load in loads
        ]
        estimate = estimate_columns(None) | {
            "n": 0,
            "method": "no load has readings of every level",
        }
        if kept:
            over = Cells(*(tuple(column) for column in zip(*kept, strict=True)))
            estimate = estimate_columns(marginal_mean(over, most=most))
        rows.append({**keys, "loads": ", ".join(f"{x:g}" for x in sorted(loads)), **estimate})
    columns = ("level", "role", "resource", "unit", "loads")
    return _frame(rows, None, dict.fromkeys(columns, pl.String))


def _but_level(keys: dict[str, Any]) -> tuple[str, ...]:
    return tuple(value for name, value in keys.items() if name != "level")


def resource_use_by_load(results: Results, design: Design) -> pl.DataFrame:
    """Like :func:`resource_use`, at every ``load``."""
    rows = [
        {**keys, "load": load, **estimate_columns(mean_estimate(values, most=most))}
        for keys, cells, most in _resource_cells(results, design)
        for load, values in zip(cells.loads, cells.values, strict=True)
    ]
    return _frame(
        rows,
        None,
        {**dict.fromkeys(("level", "role", "resource", "unit"), pl.String), "load": pl.Float64},
    )


def _resource_cells(results: Results, design: Design) -> list[tuple[dict[str, Any], Cells, float]]:
    """Return cells with their keys, and what the resource can't exceed."""
    if results.nodes.height == 0 or not design.groups:
        return []
    # Resources are a run's, not an operation's: where operations are mixed in a run, its groups are
    # one here.
    derived = "operation" in design.groups[0].names and "operation" not in results.factors
    names = [n for n in design.groups[0].names if not (derived and n == "operation")]
    runs = design.observations.select("source_", "run", *names, "level", "load").unique(
        maintain_order=True
    )
    use = (
        results.nodes.group_by("source", "run", "role", maintain_order=True)
        .agg(pl.col("cpu_share", "cpu_cores", "memory_bytes").mean())
        .rename({"source": "source_"})
    )
    joined = runs.join(use, on=["source_", "run"], how="inner", maintain_order="left")
    found: list[tuple[dict[str, Any], Cells, float]] = []
    groups = list(dict.fromkeys(g.without("operation") if derived else g for g in design.groups))
    parts = joined.partition_by(*names, "level", as_dict=True, maintain_order=True)
    for group in groups:
        for level in design.levels:
            mine = parts.get((*group.labels, level), joined.clear())
            for role in mine.get_column("role").unique(maintain_order=True):
                for column, resource, unit, factor, most in (
                    ("cpu_share", "cpu", "%", 100.0, 100.0),
                    ("cpu_cores", "cpu_cores", "cores", 1.0, math.inf),
                    ("memory_bytes", "memory", "bytes", 1.0, math.inf),
                ):
                    rows = (
                        mine.filter((pl.col("role") == role) & pl.col(column).is_not_null())
                        .sort("load", "source_", "run")
                        .group_by("load", maintain_order=True)
                        .agg(pl.col(column) * factor)
                    )
                    if rows.height:
                        cells = Cells(
                            tuple(float(x) for x in rows.get_column("load")),
                            tuple(v.to_numpy().astype("float64") for v in rows.get_column(column)),
                        )
                        keys = {
                            **_labels(group),
                            "level": level,
                            "role": role,
                            "resource": resource,
                            "unit": unit,
                        }
                        found.append((keys, cells, most))
    return found


def _labels(group: Group) -> dict[str, str]:
    return dict(zip(group.names, group.labels, strict=True))


def _frame(
    rows: list[dict[str, Any]], design: Design | None, columns: dict[str, Any]
) -> pl.DataFrame:
    if rows:
        return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=_ESTIMATE)
    names = design.groups[0].names if design and design.groups else ()
    return pl.DataFrame(schema={**dict.fromkeys(names, pl.String), **columns, **_ESTIMATE})
