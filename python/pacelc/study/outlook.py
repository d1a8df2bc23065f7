"""What a study could tell from chance at best, before it runs: from its design alone.

The report's paired test needs :data:`LEAST_PAIRS` pairs of each comparison.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pacelc.names import counted
from pacelc.study.compared import load_factor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.study.definition import PlannedRun, Study

__all__ = ["ALPHA", "LEAST_PAIRS", "TESTED", "outlook"]

ALPHA: Final = 0.05
LEAST_PAIRS: Final = 5
"""Of fewer, two machines of two speeds look like two levels: `pacelc.analysis.paired_test`."""
TESTED: Final = ("throughput_per_s", "latency_ms_mean")
"""What the question is about. Percentiles are shown, not tested: Holm's family would double."""


def outlook(study: Study, planned: Sequence[PlannedRun]) -> str | None:
    """Say that a study can't tell what it asks, however large the effect; None if it may.

    With faults, what is asked isn't what a level costs, and nothing is said.

    Parameters
    ----------
    study
        Its repetitions and its order count.
    planned
        The runs of its schedule that are asked for.
    """
    runs = [run for run in planned if run.repetition == 1]
    if study.compared is None or any(run.scenario.settings.faults for run in runs):
        return None
    found = _pairs(study, study.compared, runs)
    if not found or max(found) >= LEAST_PAIRS:
        return None
    said = (
        f"these runs can't tell any difference of {study.compared} from chance: at most "
        f"{counted(max(found), 'pair')} a comparison, and {LEAST_PAIRS} are needed"
    )
    if study.order != "blocks" and max(found) == 1 < study.repetitions:
        return f"{said}; each level has one cluster (--set order=blocks)"
    return f"{said} (--set repetitions={math.ceil(LEAST_PAIRS * study.repetitions / max(found))})"


def _pairs(study: Study, compared: str, runs: Sequence[PlannedRun]) -> list[int]:
    """Return the pairs of each comparison: a level with the first, all else being equal."""
    runs = sorted(runs, key=lambda run: run.scenario.number)
    factors = [run.scenario.factors for run in runs]
    levels = {name: list(dict.fromkeys(of[name] for of in factors)) for name in study.factors}
    reference, *others = levels.pop(compared, [None])
    load = load_factor(levels)
    # Group → level → load → run.
    groups: dict[object, dict[object, dict[object, PlannedRun]]] = {}
    for run, of in zip(runs, factors, strict=True):
        group = tuple(x for name, x in of.items() if name not in (compared, load))
        at = of[load] if load is not None else None
        groups.setdefault(group, {}).setdefault(of[compared], {})[at] = run
    found: list[int] = []
    for group in groups.values():
        first = group.get(reference, {})
        for second in (group.get(level, {}) for level in others):
            shared = [(first[at], second[at]) for at in second if at in first]
            if shared:
                found.append(_pairs_of(*shared[0], loads=len(shared), of=study.repetitions))
    return found


def _pairs_of(one: PlannedRun, other: PlannedRun, *, loads: int, of: int) -> int:
    """Return the pairs of two levels that share so many loads, in so many repetitions."""
    fresh = one.scenario.settings.fresh == other.scenario.settings.fresh == "cluster"
    if fresh or one.cluster_key == other.cluster_key:
        return loads * of
    return of if one.takes_turns else 1
