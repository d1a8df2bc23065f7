"""Do two levels differ? Asked twice: as the paper asked, and as the design allows.

Start here: :func:`compare`, which gives one :class:`Comparison` a group, metric and pair of levels.

The paper's way (Ferreira et al. 2024, tables 6 and 7) pools the runs of all user counts on each
side, tests each side for normality, and compares the sides with Student's t test or the
Mann-Whitney U test. Pooled, the spread between one user and ten counts as noise, and a difference
that is there at every single user count can drown in it. The paired way takes the runs of the two
levels at the same load and repetition as a pair, so that the load cancels: Student's t test on log
ratios, adjusted over the whole family of tests by Holm's method. Where levels had clusters of their
own, a pair is of two clusters, with the mean log ratio of their runs: clusters of a kind differ,
and all runs on one share its difference. Where the two ways disagree,
:attr:`Comparison.disagreement` says so in a sentence.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import polars as pl
from scipy import stats

from pacelc.analysis.design import METRICS, Design, Group, Metric, Side
from pacelc.analysis.estimate import Cells, Estimate, change_estimate, ratio_estimate
from pacelc.analysis.verdict import CANT_TELL
from pacelc.connected import connected
from pacelc.names import counted
from pacelc.study.outlook import ALPHA, LEAST_PAIRS, TESTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pacelc.analysis.verdict import Reason

__all__ = [
    "Comparison",
    "PairedTest",
    "PaperTest",
    "Unit",
    "Verdict",
    "compare",
    "compared_pairs",
    "holm",
    "normality",
    "of_blocks",
    "paired_test",
    "pairs_of",
    "paper_test",
]

Verdict = Literal["differs", "no difference shown", "can't tell"]
"""``no difference shown`` is not "no difference": the effect's interval says what is still
possible."""

Unit = Literal["run", "cluster"]
"""What is counted: runs, or clusters where each level had its own."""

_NORMALITY_MIN: Final = 8
_NORMALITY_VALID: Final = 20
_NO_INTERVAL: Final = "no interval: runs of a cluster aren't independent"
_CLUSTER: Final = "cluster_started_utc"
_SMALL_P: Final = 0.001
_ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class PaperTest:
    """The outcome of the paper's procedure.

    Attributes
    ----------
    n_reference, n_level
        Runs pooled on each side.
    normal
        Whether D'Agostino and Pearson's test let both sides pass as normal, at 95 %; None below 8
        runs a side.
    test
        The test then used; None if there was none to use.
    p
        Its two-sided p-value.
    verdict
        At 0.05, unadjusted, as in the paper.
    note
        What to know about this use.
    reason
        Why it can't tell; None if it can.
    """

    n_reference: int
    n_level: int
    normal: bool | None
    test: Literal["Student's t", "Mann-Whitney U"] | None
    p: float | None
    verdict: Verdict
    note: str = ""
    reason: Reason | None = None


@dataclass(frozen=True)
class PairedTest:
    """The outcome of the test that respects the design.

    Attributes
    ----------
    n
        Pairs of runs: same group, load and repetition. Of clusters, where levels had their own.
    p, p_holm
        Two-sided, as it is and adjusted for the family.
    verdict
        From ``p_holm`` at 0.05.
    note
        Why there is no p-value, if there is none.
    reason
        Why it can't tell; None if it can.
    """

    n: int
    p: float | None
    p_holm: float | None
    verdict: Verdict
    note: str = ""
    reason: Reason | None = None


@dataclass(frozen=True)
class Comparison:
    """Two levels of one group, in one metric.

    Attributes
    ----------
    change
        Mean of the changes at each load, in per cent (the paper's table 8); None if it can't be
        formed.
    ratio
        Geometric mean ratio ``level / reference``: the effect size that the paired test is about.
    paper, paired
        Both tests.
    unit
        What ``ratio`` and ``paired`` count: runs, or clusters.
    disagreement
        A sentence, if the verdicts differ; else None.
    """

    group: Group
    metric: Metric
    reference: str
    level: str
    change: Estimate | None
    ratio: Estimate | None
    paper: PaperTest
    paired: PairedTest
    unit: Unit = "run"
    disagreement: str | None = None


def compare(
    design: Design,
    *,
    metrics: Sequence[str] = TESTED,
    groups: Sequence[Group] | None = None,
    all_pairs: bool = False,
    seed: int = 0,
) -> list[Comparison]:
    """Compare levels within every group, in every metric.

    Parameters
    ----------
    design
        The runs.
    metrics
        Names in :data:`pacelc.analysis.design.METRICS`. Holm's adjustment is over all groups,
        metrics and pairs.
    groups
        By default all of the design's.
    all_pairs
        Every two levels, and not only each with the reference.
    seed
        Of the bootstrap.

    Returns
    -------
    list of Comparison
        In the order of groups, then pairs, then metrics; without those where a side has no run.
    """
    found: list[Comparison] = []
    for group in design.groups if groups is None else groups:
        for reference, level in design.pairs(all_pairs=all_pairs):
            for metric in metrics:
                before, after = (design.cells(group, x, metric) for x in (reference, level))
                if before.n == 0 or after.n == 0:
                    continue
                sides = (group, reference), (group, level)
                unit, pairs = compared_pairs(design, sides, metric)
                pooled = paper_test(_pooled(before), _pooled(after))
                change = change_estimate(before, after, seed=seed)
                if unit == "cluster":
                    before, after = of_blocks(pairs)
                    change = None if change is None else change.without_interval(_NO_INTERVAL)
                found.append(
                    Comparison(
                        group=group,
                        metric=METRICS[metric],
                        reference=reference,
                        level=level,
                        change=change,
                        ratio=ratio_estimate(before, after, seed=seed),
                        unit=unit,
                        paper=pooled,
                        paired=paired_test(pairs, unit=unit),
                    )
                )
    tested = [c.paired.p for c in found if c.paired.p is not None]
    adjusted = iter(holm(tested))
    result: list[Comparison] = []
    for unadjusted in found:
        paired = unadjusted.paired
        if paired.p is not None:
            p_holm = next(adjusted)
            verdict: Verdict = "differs" if p_holm < ALPHA else "no difference shown"
            paired = replace(paired, p_holm=p_holm, verdict=verdict)
        comparison = replace(unadjusted, paired=paired)
        result.append(replace(comparison, disagreement=_disagreement(comparison)))
    return result


def compared_pairs(
    design: Design, sides: tuple[Side, Side], metric: str
) -> tuple[Unit, NDArray[np.float64]]:
    """Return the pairs that the paired test is about, (n, 2), and what they are pairs of.

    Parameters
    ----------
    design
        The runs.
    sides
        What is compared with what.
    metric
        Their column.
    """
    rows = [design.of_side(side).filter(pl.col(metric).is_not_null()) for side in sides]
    return pairs_of((rows[0], rows[1]), ("load", "repetition"), metric)


def pairs_of(
    sides: tuple[pl.DataFrame, pl.DataFrame], alike: Sequence[str], value: str
) -> tuple[Unit, NDArray[np.float64]]:
    """Return the pairs of runs, or of clusters, of two sides, (n, 2), and which of both they are.

    Where sides had clusters of their own and several runs shared one of them, these also share what
    sets it apart from others of its kind, so that the cluster is the unit. Of older runs the
    cluster isn't known, and the run is.

    Parameters
    ----------
    sides
        A row a run: ``source_``, ``cluster_started_utc``, ``alike`` and ``value``.
    alike
        What the runs of a pair have in common.
    value
        Geometric means of it are a cluster's.
    """
    unit: Unit = "cluster" if _have_own_clusters(sides) else "run"
    key = ["source_", *alike, "place"]  # two scenarios of the same levels make two pairs, not four
    place = pl.int_range(pl.len()).over("source_", *alike).alias("place")
    rows = [of.with_columns(place).select(*key, _CLUSTER, value) for of in sides]
    joined = rows[0].join(rows[1], on=key, suffix="_other").sort(key)
    both = [value, f"{value}_other"]
    if unit == "cluster":
        joined = (
            joined.with_columns(_block(joined))
            .group_by("block", maintain_order=True)
            .agg(
                pl.when(pl.col(name).min() > 0).then(pl.col(name).log().mean().exp()).otherwise(0.0)
                for name in both
            )
        )
    return unit, joined.select(both).to_numpy().astype(np.float64)


def _have_own_clusters(sides: tuple[pl.DataFrame, pl.DataFrame]) -> bool:
    clusters = [of.select("source_", _CLUSTER) for of in sides]
    known = all(not of[_CLUSTER].is_null().any() for of in clusters)
    apart = clusters[0].join(clusters[1], on=clusters[0].columns, how="semi").height == 0
    return known and apart and any(of.is_duplicated().any() for of in clusters)


def of_blocks(pairs: NDArray[np.float64]) -> tuple[Cells, Cells]:
    """Return both sides of pairs of clusters, loads together."""
    sides = [Cells((0.0,), (side,)) if side.size else Cells((), ()) for side in pairs.T]
    return sides[0], sides[1]


def _block(joined: pl.DataFrame) -> pl.Series:
    """Return the number of each pair's block: pairs of one block share a cluster, on either side.

    A cluster that took the place of one that failed is in the block of the same other side.
    """
    sides = [
        ((source, one), (source, other))
        for source, one, other in joined.select("source_", _CLUSTER, f"{_CLUSTER}_other").rows()
    ]
    together = connected(sides)
    blocks: dict[object, int] = {}
    numbers = [blocks.setdefault(together[one], len(blocks)) for one, _ in sides]
    return pl.Series("block", numbers, dtype=pl.Int64)


def normality(values: NDArray[np.float64]) -> tuple[float | None, str]:
    """D'Agostino and Pearson's omnibus test of normality.

    Parameters
    ----------
    values : (n,)
        One value a run.

    Returns
    -------
    p : float or None
        None below 8 values, for which the test of skewness is not defined, or if all are equal.
    note : str
        From 8 to 19 values, that the test is only approximate: its kurtosis part assumes 20. The
        paper applied it to ten values a side.
    """
    if values.size < _NORMALITY_MIN:
        return (
            None,
            f"normality can't be tested below {_NORMALITY_MIN} runs a side (n={values.size})",
        )
    if np.ptp(values) <= 1e-12 * float(np.abs(values).max()):
        return None, "all values are equal"
    with warnings.catch_warnings():
        # SciPy warns below 20 values; we say the same in the note.
        warnings.simplefilter("ignore")
        p = float(stats.normaltest(values).pvalue)
    note = (
        f"the normality test is approximate below {_NORMALITY_VALID} runs a side"
        if values.size < _NORMALITY_VALID
        else ""
    )
    return p, note


def paper_test(reference: NDArray[np.float64], level: NDArray[np.float64]) -> PaperTest:
    """Pool, test for normality, then Student's t or Mann-Whitney U.

    Source: Ferreira et al. 2024, tables 6 and 7.

    Each side is tested for normality on its own, and both must pass. The paper does not say, but
    its table 7 settles it: MongoDB's multi-region response times (about 4 ms against 74 ms) are
    called normal, which the two sides together, two heaps far apart, never are. The U test's
    p-value is the asymptotic one with correction for continuity, without which the paper's
    1.827e-04 for ten runs wholly below ten others does not come out.

    Parameters
    ----------
    reference, level : (n,), (m,)
        Run values, of all loads.
    """
    sizes = int(reference.size), int(level.size)
    checks = [normality(reference), normality(level)]
    note = next((text for _, text in checks if text), "")
    ps = [p for p, _ in checks]
    if ps[0] is None or ps[1] is None:
        return PaperTest(*sizes, None, None, None, CANT_TELL, note, "too few runs")
    normal = min(ps[0], ps[1]) >= ALPHA
    if normal:
        p = float(stats.ttest_ind(reference, level, equal_var=True).pvalue)
    else:
        p = float(stats.mannwhitneyu(reference, level, method="asymptotic").pvalue)
    return PaperTest(
        *sizes,
        normal=normal,
        test="Student's t" if normal else "Mann-Whitney U",
        p=p,
        verdict="differs" if p < ALPHA else "no difference shown",
        note=note,
    )


def paired_test(pairs: NDArray[np.float64], *, unit: Unit = "run") -> PairedTest:
    """Student's t test on the log ratios of pairs.

    Where levels don't differ, both sides of a pair have one distribution and log ratios are
    symmetric, whatever it is; then the test hardly shows more than it should. In simulations
    (200,000 samples each; noise that is normal, Student's with 3 degrees of freedom, exponential,
    with rare slow runs, or of machines with two speeds) it showed a difference at most 1.1 times as
    often as it should at 0.05, and with five pairs or more at most twice as often at 0.001. With
    three or four pairs of a machine with two speeds it was up to 14 times as often.

    Parameters
    ----------
    pairs : (n, 2)
        Values of reference and level, one row a pair.
    unit
        Of the pairs.
    """
    n = int(pairs.shape[0])
    if n < LEAST_PAIRS:
        note = f"can't tell: {counted(n, 'pair')} of {unit}s, and it takes {LEAST_PAIRS}"
        return PairedTest(n, None, None, CANT_TELL, note, "too few runs")
    if bool((pairs <= 0).any()):
        note = "can't tell: a value of 0 has no ratio"
        return PairedTest(n, None, None, CANT_TELL, note, "not measured")
    ratios = np.log(pairs[:, 1] / pairs[:, 0])
    error = float(ratios.std(ddof=1)) / math.sqrt(n)
    mean = abs(float(ratios.mean()))
    # Equal but for rounding: none differs, or all by the same.
    if error <= _ROUNDING * max(mean, _ROUNDING):
        p = 0.0 if mean > _ROUNDING else 1.0
    else:
        p = 2 * float(stats.t.sf(mean / error, n - 1))
    return PairedTest(n, p, p, "differs" if p < ALPHA else "no difference shown")


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the size of their family by Holm's step-down method.

    Parameters
    ----------
    p_values
        In any order.

    Returns
    -------
    list of float
        In the same order; none below its input, none above 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def _pooled(cells: Cells) -> NDArray[np.float64]:
    return np.concatenate(cells.values) if cells.values else np.zeros(0)


def _disagreement(c: Comparison) -> str | None:
    paper, paired = c.paper.verdict, c.paired.verdict
    if paper == paired or "can't tell" in (paper, paired):
        return None
    effect = f"{c.ratio.as_change().text()}" if c.ratio else "unknown"
    what = f"{c.group}, {c.metric.title}, {c.reference} to {c.level}"
    ps = f"pooled p = {_p(c.paper.p)}; paired p = {_p(c.paired.p_holm)} after Holm, "
    ps += f"n={counted(c.paired.n, 'pair')}"
    ps += f"; the change is {effect}"
    if paired == "differs":
        why = "pooling counts the variation between loads as noise, which hides the difference"
        return f"{what}: the paper's test shows no difference, the paired test does ({ps}): {why}."
    why = (
        "the paper's way does not adjust for the number of tests"
        if c.paired.p is not None and c.paired.p < ALPHA
        else "at the same load the difference is not consistent"
    )
    return f"{what}: the paper's test shows a difference, the paired test doesn't ({ps}): {why}."


def _p(p: float | None) -> str:
    if p is None:
        return "none"
    return f"{p:.3f}" if p >= _SMALL_P else f"{p:.1e}"
