"""From a study to the runs of a search: rates are scenarios, numbered as they come to be tried.

Scenario 3's fifth rate is scenario 3005, and its repeats are that scenario's repetitions, so that
a rung is an ordinary run: ``runs/3005-r2``. Which rate that is follows from the runs before it.

Map
---
Load            how rungs are run: process, users, durations
Plan            the searched study; ``run`` makes a rung's planned run
one_scenario    a study from a database's name
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pacelc.errors import InputError
from pacelc.study import ListedScenario, PlannedRun, Scenario, Study
from pacelc.study.settings import settable_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pacelc.saturation.objective import Objective
    from pacelc.study.values import Json

__all__ = ["Load", "Plan", "one_scenario"]

_RATES_PER_SCENARIO: Final = 1000

_LOAD: Final = frozenset(
    {"users", "arrivals", "rate", "schedule", "think_time", "think", "spawn_rate"}
)
"""Settings that a search makes its own. A factor of nothing else is not varied any more."""


@dataclass(frozen=True)
class Load:
    """How every rung is run."""

    process: Literal["poisson", "constant"] = "poisson"
    least_users: int = 16
    most_users: int = 1000
    warm_up_s: float = 5.0
    measure_s: float = 10.0
    measure_ceiling_s: float = 60.0

    def as_document(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "process": self.process,
            "users": self.least_users,
            "max_users": self.most_users,
            "warm_up_s": self.warm_up_s,
            "measure_s": self.measure_s,
            "measure_ceiling_s": self.measure_ceiling_s,
        }


@dataclass(frozen=True)
class Plan:
    """A study whose rates are searched.

    Attributes
    ----------
    study
        With the factor ``rate`` in place of whatever factors varied the load.
    scenarios
        Its scenarios, without ``rate``.
    """

    study: Study
    scenarios: tuple[Scenario, ...]
    objective: Objective
    load: Load

    @classmethod
    def of(
        cls, study: Study, objective: Objective, load: Load, *, first: int, repeats: int
    ) -> Plan:
        """Return the plan of searching ``study``.

        Raises
        ------
        InputError
            If the study lists its scenarios, which leaves a rate no place, or gives regions their
            numbers of users.
        """
        if study.listed:
            raise InputError(
                f"study {study.name} lists its scenarios one by one", "give it factors instead"
            )
        searched = Study.from_document(
            _document(study, load, first=first, repeats=repeats), study.name
        )
        scenarios = tuple(
            Scenario(
                scenario.number,
                {name: label for name, label in scenario.factors.items() if name != "rate"},
                scenario.settings,
            )
            for scenario in searched.scenarios()
        )
        if any(scenario.settings.clients for scenario in scenarios):
            raise InputError(
                f"study {study.name} has users in several regions, and a search chooses the users",
                "leave out `clients`; `client_region` says where all users are",
            )
        return cls(searched, scenarios, objective, load)

    def document(self, what: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a results directory is made for: the study, and what was asked of it."""
        saturation = {
            **what,
            "objective": self.objective.as_document(),
            "load": self.load.as_document(),
        }
        return {**self.study.as_document(), "saturation": saturation}

    @staticmethod
    def base_number(run: PlannedRun) -> int:
        """Return the number of the scenario whose rate a run is at."""
        return run.scenario.number // _RATES_PER_SCENARIO

    def run(self, scenario: Scenario, tried: Sequence[int], rate: int) -> PlannedRun:
        """Return the run that follows those at the rates ``tried``, in the order of trial."""
        rates = list(dict.fromkeys((*tried, rate)))
        users = self.objective.users(rate, self.load.least_users, self.load.most_users)
        listed = ListedScenario(
            number=scenario.number * _RATES_PER_SCENARIO + rates.index(rate) + 1,
            levels={**scenario.factors, "rate": rate},
            set={
                "rate": rate,
                "users": users,
                "spawn_rate": 4 * users,  # a quarter of a second, however many
                "measure": self.objective.measure_s(
                    rate, self.load.measure_s, self.load.measure_ceiling_s
                ),
            },
        )
        repetition = tried.count(rate) + 1
        runs = self.study.with_scenarios([listed]).schedule()
        return next(run for run in runs if run.repetition == repetition)


def one_scenario(database: str, changes: Iterable[str] = ()) -> Study:
    """Return the study of one database on three nodes; all else is default, or of ``changes``."""
    text = f"name: {database}\nsettings: {{database: {database}, nodes: 3}}\n"
    return Study.parse(text, changes, name=database)


def _document(study: Study, load: Load, *, first: int, repeats: int) -> dict[str, Json]:
    document = study.as_document()
    document.pop("presets", None)  # they are applied
    factors = dict(cast("dict[str, Any]", document.get("factors", {})))
    dropped = {name for name, levels in factors.items() if _varies_load(name, levels)}
    document["factors"] = {
        **{name: levels for name, levels in factors.items() if name not in dropped},
        "rate": [first],
    }
    document["exclude"] = [
        match for match in _mappings(document.get("exclude")) if not dropped & match.keys()
    ]
    constant: dict[str, Json] = {
        "arrivals": load.process,
        "schedule": "shared",
        "think_time": 0.0,
        "operations": None,
        "warm_up": load.warm_up_s,
        "warm_up_ceiling": None,
        "cool_down": 0.0,
    }
    document["overrides"] = [
        *(
            override
            for override in _mappings(document.get("overrides"))
            if not dropped & set(override.get("when", {}))
        ),
        {"set": constant},
    ]
    if document.get("compare") in dropped:
        del document["compare"]
    cluster = document.get("cluster")
    if isinstance(cluster, dict):
        shared_by = cast("list[str]", cluster["shared_by"])
        document["cluster"] = {"shared_by": [name for name in shared_by if name not in dropped]}
    document["repetitions"] = repeats
    return document


def _mappings(value: object) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", value or [])


def _varies_load(name: str, levels: object) -> bool:
    """Whether a factor sets nothing but what the search sets itself."""
    if isinstance(levels, dict):
        settings = cast("dict[str, dict[str, Any]]", levels)
        return _all_load(key for level in settings.values() for key in level)
    return _all_load([name])


def _all_load(names: Iterable[str]) -> bool:
    paths = [settable_path(name) for name in names]
    return bool(paths) and all(path is not None and path[0] in _LOAD for path in paths)
