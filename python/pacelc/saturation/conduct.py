"""Conducting a search: the next rung of each scenario, run, stored, read back, until all is said.

Nothing is kept but the runs. Who asks what comes next gets it by replaying the rules on the stored
rungs, so that a search that was killed goes on where it was, and one that is finished answers at
once.

Map
---
Rules           what to try next: `Search`, `Ladder`, `AutoLadder`
Conductor       replays, runs, answers
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from pacelc.files import write_atomically
from pacelc.runner import run_planned
from pacelc.saturation.answer import Answer, conclude
from pacelc.saturation.rung import Rung, read_rung
from pacelc.saturation.search import Search
from pacelc.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pacelc.runner import Lab, Summary
    from pacelc.runner.events import Observer
    from pacelc.saturation.plan import Plan
    from pacelc.saturation.search import Trial
    from pacelc.store import Store
    from pacelc.study import PlannedRun, Scenario

__all__ = ["FORMAT", "Conductor", "Rules"]

FORMAT: Final = 1


class Rules(Protocol):
    """What to try next."""

    def next_rate(self, trials: Sequence[Trial]) -> int | None:
        """Return the next rate; None when there is nothing left to try."""
        ...


@dataclass
class Conductor:
    """Runs what is missing of a plan.

    Attributes
    ----------
    plan, rules
        What is searched, and how.
    store
        Where the rungs are.
    chosen
        Which scenarios this invocation runs.
    tell
        Hears of every rung as it is measured.
    """

    plan: Plan
    rules: Rules
    store: Store
    chosen: Callable[[Scenario], bool] = lambda _scenario: True
    tell: Callable[[Scenario, Rung], None] = lambda _scenario, _rung: None
    _read: dict[str, Rung] = field(default_factory=dict[str, Rung])

    def run(self, lab: Lab, observe: Observer) -> Summary:
        """Run every rung that the rules ask for; scenarios that share a cluster, one by one.

        Raises
        ------
        PacelcError, Interrupted
            As `pacelc.runner.run_study` does.
        """
        chosen = [scenario for scenario in self.plan.scenarios if self.chosen(scenario)]
        missing = [self._replay(scenario)[1] for scenario in chosen]
        firsts = [run for run in missing if run is not None]
        keys = list(dict.fromkeys(run.cluster_key for run in firsts))
        firsts.sort(key=lambda run: keys.index(run.cluster_key))
        return run_planned(
            self.plan.study.name, firsts, self.store, lab, follow=self._follow, observe=observe
        )

    def answers(self) -> list[Answer]:
        """Return what the stored rungs say of each scenario of the plan, chosen or not."""
        answers: list[Answer] = []
        for scenario in self.plan.scenarios:
            rungs, missing = self._replay(scenario)
            answers.append(
                conclude(
                    scenario.number,
                    scenario.label,
                    scenario.factors,
                    rungs,
                    searched=isinstance(self.rules, Search),
                    finished=missing is None,
                )
            )
        return answers

    def document(self, answers: Sequence[Answer]) -> dict[str, Any]:
        """Return the content of ``saturation.json``."""
        return {
            "format": FORMAT,
            "study": self.plan.study.name,
            "saturation": self.store.study["saturation"],
            "scenarios": [answer.as_document() for answer in answers],
        }

    def keep(self, answers: Sequence[Answer]) -> None:
        """Write ``saturation.json``, whole."""
        text = json.dumps(self.document(answers), indent=2, ensure_ascii=False, allow_nan=False)
        try:
            write_atomically(self.store.path / "saturation.json", f"{text}\n".encode())
        except OSError as error:
            raise StoreError(
                f"{self.store.path / 'saturation.json'} can't be written: {error.strerror}"
            ) from error

    def _follow(self, run: PlannedRun) -> PlannedRun | None:
        """Tell of the run that was just measured, and return what follows it."""
        scenario = next(
            scenario
            for scenario in self.plan.scenarios
            if scenario.number == self.plan.base_number(run)
        )
        rungs, following = self._replay(scenario)
        if not rungs or rungs[-1].run != run.run_id:
            # It could not be stored, and was recorded as a failure: this scenario ends here.
            return None
        self.tell(scenario, rungs[-1])
        return following

    def _replay(self, scenario: Scenario) -> tuple[list[Rung], PlannedRun | None]:
        """Return the stored rungs in the order of trial, and the first that is missing."""
        finished = self.store.finished()
        rungs: list[Rung] = []
        while (rate := self.rules.next_rate([rung.trial for rung in rungs])) is not None:
            run = self.plan.run(scenario, [rung.rate_per_s for rung in rungs], rate)
            if run.run_id not in finished:
                return rungs, run
            rung = self._rung(run.run_id)
            if rung.rate_per_s != rate:
                raise StoreError(
                    f"run {run.run_id} in {self.store.path} was measured at {rung.rate_per_s}/s, "
                    f"but the search now asks for {rate}/s",
                    "another version made it: give this search a new directory",
                )
            rungs.append(rung)
        return rungs, None

    def _rung(self, run_id: str) -> Rung:
        if run_id not in self._read:
            folder = self.store.path / "runs" / run_id
            self._read[run_id] = read_rung(folder, self.plan.objective)
        return self._read[run_id]
