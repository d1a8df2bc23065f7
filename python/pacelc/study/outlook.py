"""What a study could tell from chance at best, before it runs: from its design alone.

The report's paired test gives a p-value of at least 2 of all the ways to flip n signs, and Holm's
method multiplies it by the number of tests. With fewer pairs than :func:`least_pairs`, no effect
however large is told from chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pacelc.names import counted
from pacelc.study.compared import load_factor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.study.definition import Scenario, Study

__all__ = ["ALPHA", "TESTED", "least_pairs", "outlook"]

ALPHA: Final = 0.05
TESTED: Final = ("throughput_per_s", "latency_ms_mean")
"""What the question is about. Percentiles are shown, not tested: Holm's family would double."""


def least_pairs(tests: int) -> int:
    """Pairs below which no effect can be told from chance, after Holm over so many tests.

    Examples
    --------
    >>> least_pairs(1), least_pairs(16)
    (6, 10)
    """
    return 2 + math.floor(math.log2(max(1, tests) / ALPHA))


def outlook(study: Study, scenarios: Sequence[Scenario]) -> str | None:
    """Say that a study can't tell what it asks, however large the effect; None if it may.

    With faults, what is asked isn't what a level costs, and nothing is said.

    Parameters
    ----------
    study
        Its repetitions and its order count.
    scenarios
        Those of it that are to run.
    """
    compared = study.compared
    if compared is None or any(scenario.settings.faults for scenario in scenarios):
        return None
    found = [pairs for pairs in _pairs(study, compared, scenarios) for _ in TESTED]
    least = least_pairs(len(found))
    if not found or max(found) >= least:
        return None
    said = (
        f"these runs can't tell any difference from chance: {counted(len(found), 'test')} of "
        f"{compared} with at most {counted(max(found), 'pair')} each, and {least} are needed"
    )
    if study.order != "blocks" and max(found) == 1 < study.repetitions:
        return f"{said}; each level has one cluster (--set order=blocks)"
    return f"{said} (--set repetitions={math.ceil(least * study.repetitions / max(found))})"


def _pairs(study: Study, compared: str, scenarios: Sequence[Scenario]) -> list[int]:
    """Return the pairs of each comparison: a level with the first, all else being equal."""
    levels = list(dict.fromkeys(scenario.factors[compared] for scenario in scenarios))
    load = load_factor({n: _levels(scenarios, n) for n in study.factors if n != compared})
    runs = {run.scenario.number: run for run in study.schedule() if run.repetition == 1}
    # Group → level → load → scenario.
    groups: dict[object, dict[object, dict[object, Scenario]]] = {}
    for scenario in scenarios:
        others = tuple(x for n, x in scenario.factors.items() if n not in (compared, load))
        at = scenario.factors[load] if load is not None else None
        group = groups.setdefault(others, {})
        group.setdefault(scenario.factors[compared], {})[at] = scenario
    found: list[int] = []
    for group in groups.values():
        reference = group.get(levels[0], {})
        for level in levels[1:]:
            shared = [at for at in group.get(level, {}) if at in reference]
            if not shared:
                continue
            one, other = (side[shared[0]] for side in (reference, group[level]))
            if (
                runs[one.number].cluster_key == runs[other.number].cluster_key
                or one.settings.fresh == other.settings.fresh == "cluster"
            ):
                found.append(len(shared) * study.repetitions)
            else:
                found.append(study.repetitions if runs[one.number].takes_turns else 1)
    return found


def _levels(scenarios: Sequence[Scenario], factor: str) -> list[object]:
    """Return the levels of a factor that scenarios have."""
    return list(dict.fromkeys(scenario.factors[factor] for scenario in scenarios))
