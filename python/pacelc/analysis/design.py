"""How an analysis reads a study: which factor is the level, which the load, which make groups.

Start here: :meth:`Design.of`, then :attr:`Design.groups` and :meth:`Design.cells`.

A *group* is a combination of all other factors, such as (redis, write, single). Levels are compared
within a group and at the same load, so that what differs between the two sides is the level and
nothing else.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from pacelc.analysis.estimate import Cells
from pacelc.databases import display_name
from pacelc.errors import CannotRun
from pacelc.study.compared import compared_factor, is_numeric
from pacelc.study.compared import load_factor as load_factor_of
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pacelc.store import Results

__all__ = [
    "ALL_OPERATIONS",
    "METRICS",
    "Design",
    "Group",
    "Metric",
    "Side",
    "described",
    "design_of",
]

ALL_OPERATIONS: Final = "all operations"


@dataclass(frozen=True)
class Metric:
    """Something measured of every run.

    Attributes
    ----------
    name
        Its column in ``Results.runs``; with ``<operation>.`` in front, for one operation.
    title, unit
        For people.
    higher_is_better
        Which way costs lie.
    """

    name: str
    title: str
    unit: str
    higher_is_better: bool


METRICS: Final = {
    m.name: m
    for m in (
        Metric("throughput_per_s", "throughput", "operations/s", higher_is_better=True),
        Metric("latency_ms_mean", "mean response time", "ms", higher_is_better=False),
        Metric("latency_ms_p50", "median response time", "ms", higher_is_better=False),
        Metric("latency_ms_p99", "99th percentile of response time", "ms", higher_is_better=False),
    )
}


@dataclass(frozen=True, order=True)
class Group:
    """One combination of the factors that are neither level nor load.

    Attributes
    ----------
    names, labels
        Factors and their labels, in the study's order, as text.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]

    def get(self, name: str, default: str = "") -> str:
        """Label of a factor."""
        return dict(zip(self.names, self.labels, strict=True)).get(name, default)

    def without(self, name: str) -> Group:
        """Return the group with one factor left out."""
        kept = [(n, label) for n, label in zip(self.names, self.labels, strict=True) if n != name]
        return Group(tuple(n for n, _ in kept), tuple(label for _, label in kept))

    def words(self, *, without: str = "") -> list[str]:
        """Labels as they are read: a number with its factor's name, ``nodes 3``; ``MongoDB``.

        ``sharding: client`` too: without its name it could be taken for a sharded cluster.
        """
        shown = zip(self.names, self.labels, strict=True)
        return [_word(name, label) for name, label in shown if name != without]

    def __str__(self) -> str:
        """Labels, comma-separated."""
        return ", ".join(self.words()) or "all runs"


def described(factors: Mapping[str, object]) -> str:
    """Return a scenario in words, from the labels of its factors.

    Examples
    --------
    >>> described({"database": "mongodb", "consistency": "weak", "users": 4})
    'MongoDB, weak, users 4'
    """
    return ", ".join(_word(name, str(label)) for name, label in factors.items())


Side: TypeAlias = tuple[Group, str]
"""What is compared with another: a group at a level."""


def _word(name: str, label: str) -> str:
    if name == "database":
        return display_name(label)
    if name == "sharding":
        return f"{name}: {label}"
    return f"{name} {label}" if label.replace(".", "", 1).isdigit() else label


@dataclass(frozen=True, eq=False)
class Design:
    """A study's runs, arranged for comparison.

    Attributes
    ----------
    level_factor, load_factor
        Names of those factors; None where the study has none, and then there is one level, ``""``,
        or one load, 0.
    levels
        Labels of the levels in the study's order. The first one is the reference: in the built-in
        studies, the weak.
    loads
        Loads in ascending order.
    groups
        In the study's order.
    observations
        One row a run and operation: ``source_, run, scenario, repetition, cluster_started_utc``,
        the group's factors (text), ``level`` (text), ``load``, and one column a metric of
        :data:`METRICS`.
    """

    level_factor: str | None
    load_factor: str | None
    levels: tuple[str, ...]
    loads: tuple[float, ...]
    groups: tuple[Group, ...]
    observations: pl.DataFrame

    @classmethod
    def of(cls, results: Results, *, level: str | None = None, load: str | None = None) -> Design:
        """Arrange results.

        Parameters
        ----------
        results
            What :func:`pacelc.store.load` returned.
        level
            The factor whose levels are compared; by default what the study says, see
            `pacelc.study.compared`.
        load
            The factor that scales the load; by default ``rate``, ``users``, ``threads`` or
            ``rate_per_s``, whichever is numeric.

        Raises
        ------
        ValueError
            ``load`` is given and is not a factor with numeric levels.
        """
        factors = results.factors
        if load is not None and not (load in factors and is_numeric(results.levels[load])):
            raise ValueError(f"{load!r} is not a factor with numeric levels")
        said = level or next((name for s in results.studies if (name := s.get("compare"))), None)
        level_factor = compared_factor(results.levels, said)
        load_factor = load or load_factor_of(
            {f: results.levels[f] for f in factors if f != level_factor}
        )
        names = [f for f in factors if f not in (level_factor, load_factor)]
        runs = results.runs
        if "database" not in names and not _is_of_level(runs, level_factor):
            names.insert(0, "database")
        several = (
            runs.height > 0
            and runs.get_column("source").n_unique() > 1
            and len(_distinct(results.studies)) > 1
        )
        if several:
            names.insert(0, "source")
        observations = _observations(runs, names, level_factor, load_factor)
        declared = {_column(name): levels for name, levels in results.levels.items()}
        names = [c for c in observations.columns if c not in _OWN]
        orders = {
            name: _order(
                declared.get(name, ()),
                observations.get_column(name).unique(maintain_order=True),
            )
            for name in names
        }
        present = set(observations.select(names).iter_rows()) if names else {()}
        groups = tuple(
            Group(tuple(names), labels)
            for labels in itertools.product(*(orders[name] for name in names))
            if labels in present and observations.height
        )
        levels = _order(
            results.levels.get(level_factor, ()) if level_factor else (),
            observations.get_column("level").unique(maintain_order=True),
        )
        loads = tuple(sorted(float(x) for x in observations.get_column("load").unique()))
        return cls(level_factor, load_factor, tuple(levels), loads, groups, observations)

    @property
    def reference(self) -> str:
        """The level that the others are compared with."""
        return self.levels[0] if self.levels else ""

    @property
    def whole_groups(self) -> tuple[Group, ...]:
        """Groups but for single kinds of operation where runs mix them.

        Their throughput follows from the mix, so that to test them again would only make Holm's
        family larger.
        """
        mixed = {g.without("operation") for g in self.groups if _of_all(g)}
        return tuple(g for g in self.groups if _of_all(g) or g.without("operation") not in mixed)

    def pairs(self, *, all_pairs: bool = False) -> Iterator[tuple[str, str]]:
        """Levels to compare: each with the reference, or every two of them."""
        if all_pairs:
            yield from itertools.combinations(self.levels, 2)
        else:
            yield from ((self.reference, level) for level in self.levels[1:])

    def of_group(self, group: Group) -> pl.DataFrame:
        """Observations of one group."""
        return self._by_group.get(group.labels, self.observations.clear())

    def of_side(self, side: Side) -> pl.DataFrame:
        """Observations of one level of a group."""
        group, level = side
        return self.of_group(group).filter(pl.col("level") == level)

    @cached_property
    def _by_group(self) -> dict[tuple[str, ...], pl.DataFrame]:
        """Observations by the labels of their group: they are asked for thousands of times."""
        names = self.groups[0].names if self.groups else ()
        if not names:
            return {(): self.observations}
        return self.observations.partition_by(names, as_dict=True, maintain_order=True)

    def cells(self, group: Group, level: str, metric: str) -> Cells:
        """Run values of one group and level by load.

        Runs without a value (no operation was ok) are left out.

        Returns
        -------
        Cells
            Runs in the order of scenario and repetition.
        """
        rows = (
            self.of_side((group, level))
            .filter(pl.col(metric).is_not_null())
            .sort("load", "source_", "scenario", "repetition")
            .group_by("load", maintain_order=True)
            .agg(pl.col(metric))
        )
        return Cells(
            tuple(float(x) for x in rows.get_column("load")),
            tuple(v.to_numpy().astype("float64") for v in rows.get_column(metric)),
        )


def design_of(results: Results, compare: str | None) -> Design:
    """Return the design of results in which a user may have chosen what is compared.

    Raises
    ------
    CannotRun
        There is no such factor.
    """
    if compare is not None and compare not in results.factors:
        raise CannotRun(
            f"these results have no factor {compare!r}",
            nearest(compare, results.factors) if results.factors else None,
        )
    return Design.of(results, level=compare)


_RUN: Final = {
    "source_": pl.String,
    "run": pl.String,
    "scenario": pl.Int64,
    "repetition": pl.Int64,
    "cluster_started_utc": pl.Datetime("us", "UTC"),
}
_OWN: Final = {*_RUN, "level", "load", *METRICS}


_OF_TABLES: Final = {
    *("across", "down", "level", "load", "metric", "reference", "resource", "role", "unit"),
    *("value", "low", "high", "n", "method"),
}


def _column(factor: str) -> str:
    """Return a factor's column; one that is named as a column of tables is has another name."""
    return f"factor {factor}" if factor in _OF_TABLES else factor


def _of_all(group: Group) -> bool:
    return group.get("operation") == ALL_OPERATIONS


def _is_of_level(runs: pl.DataFrame, level: str | None) -> bool:
    """Whether databases are what is compared, or aren't known: groups aren't told apart by them."""
    if "database" not in runs.columns or level == "database":
        return True
    if level is None or runs.get_column("database").n_unique() <= 1:
        return False
    of_a_level = runs.group_by(level).agg(pl.col("database").n_unique())
    return of_a_level.get_column("database").max() == 1


def _observations(
    runs: pl.DataFrame, names: Sequence[str], level: str | None, load: str | None
) -> pl.DataFrame:
    kinds = sorted(c.removesuffix(".ok") for c in runs.columns if c.endswith(".ok"))
    own = [
        pl.col("source").alias("source_"),
        "run",
        "scenario",
        "repetition",
        "cluster_started_utc",
        *(pl.col(name).cast(pl.String).alias(_column(name)) for name in names),
        (pl.col(level).cast(pl.String) if level else pl.lit("")).alias("level"),
        (pl.col(load).cast(pl.Float64) if load else pl.lit(0.0)).alias("load"),
    ]
    if runs.height == 0:
        return pl.DataFrame(
            schema={
                **_RUN,
                **dict.fromkeys(map(_column, names), pl.String),
                "level": pl.String,
                "load": pl.Float64,
                **dict.fromkeys(METRICS, pl.Float64),
            }
        )
    count = sum((pl.col(f"{kind}.ok").is_not_null().cast(pl.Int64) for kind in kinds), pl.lit(0))
    mixed = bool(runs.select((count > 1).any()).item())
    whole = [pl.col(m).cast(pl.Float64) for m in METRICS]
    if "operation" in (*names, level) or not kinds:
        return runs.select(*own, *whole)
    parts = [
        runs.filter(pl.col(f"{kind}.ok").is_not_null()).select(
            *own,
            pl.lit(kind).alias("operation"),
            *(pl.col(f"{kind}.{m}").cast(pl.Float64).alias(m) for m in METRICS),
        )
        for kind in kinds
    ]
    if mixed:
        # Where levels are mixes, one of a single kind stands beside those of several.
        beside = [name for name in names if name in runs.columns]
        groups = runs.filter(count > 1).select(beside).unique()
        rows = runs.join(groups, on=beside, how="semi", maintain_order="left") if beside else runs
        parts.insert(0, rows.select(*own, pl.lit(ALL_OPERATIONS).alias("operation"), *whole))
    return pl.concat(parts)


def _order(levels: Sequence[object], present: pl.Series) -> list[str]:
    found = [str(x) for x in present]
    declared = [str(x) for x in levels if str(x) in found]
    return list(dict.fromkeys((*declared, *found)))


def _distinct(studies: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    return [study for i, study in enumerate(studies) if study not in studies[:i]]
