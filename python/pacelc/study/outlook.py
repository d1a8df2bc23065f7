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

    Parameters
    ----------
    study
        Its repetitions and its order count.
    scenarios
        Those of it that are to run.
    """
    compared = study.compared
    if compared is None or not scenarios:
        return None
    labels = {name: [s.factors[name] for s in scenarios] for name in study.factors}
    load = load_factor({name: of for name, of in labels.items() if name != compared})
    groups = {
        tuple(label for name, label in scenario.factors.items() if name not in (compared, load))
        for scenario in scenarios
    }
    tests = len(groups) * (len(set(labels[compared])) - 1) * len(TESTED)
    takes_turns = any(run.takes_turns for run in study.schedule())
    a_repetition = 1 if load is None or takes_turns else len(set(labels[load]))
    pairs, least = a_repetition * study.repetitions, least_pairs(tests)
    if tests == 0 or pairs >= least:
        return None
    return (
        f"these runs can't tell any difference from chance: {counted(tests, 'test')} of "
        f"{compared} with {counted(pairs, 'pair')} each, and at least {least} are needed "
        f"(--set repetitions={math.ceil(least / a_repetition)})"
    )
