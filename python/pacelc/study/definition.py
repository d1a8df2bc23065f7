"""The definition of a study, validated and frozen, and what follows: scenarios and schedule.

The whole of a study's meaning is in its document: the same document gives the same scenarios with
the same numbers, and the same schedule, on any machine.

Map
---
Study           the definition; ``Study.load("quickstart")``, ``scenarios()``, ``schedule()``
Scenario        one combination of factor levels, with complete settings
PlannedRun      one execution of a scenario, and its place in the schedule
Override        settings for the combinations that match
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PositiveInt,
    PrivateAttr,
    ValidationError,
)

from pacelc.connected import connected
from pacelc.former_names import current_place, current_study
from pacelc.names import counted
from pacelc.study.assignments import apply_assignments
from pacelc.study.compared import compared_factor
from pacelc.study.consistency import resolve_levels
from pacelc.study.matching import Matches
from pacelc.study.model import Frozen
from pacelc.study.settings import (
    Leaf,
    Problem,
    Settings,
    assemble,
    flatten,
    settable_names,
    settable_path,
    tidy,
)
from pacelc.study.source import Source, StudyError, parse_yaml, read_source
from pacelc.study.values import (
    Json,
    Scalar,
    count_in_ranges,
    expand_levels,
    label_keys,
    label_of,
    named,
    nearest,
    no_level,
    same_label,
)
from pacelc.study.workloads import BUILTIN_WORKLOADS

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

__all__ = [
    "MOST_SCENARIOS",
    "ClusterSharing",
    "ListedScenario",
    "Order",
    "Override",
    "PlannedRun",
    "Scenario",
    "Study",
]

Order: TypeAlias = Literal["random", "blocks", "listed"]

MOST_SCENARIOS = 10_000
_MOST_RUNS = 100_000
_MOST_IN_RANGES = 100_000
_MOST_APPLIED = 1_000_000


# Columns that every run has in the results, beside its factors.
_TAKEN = frozenset(
    {
        "cluster_started_utc",
        "fail",
        "measured_s",
        "ok",
        "repetition",
        "run",
        "scenario",
        "seed",
        "source",
        "started_utc",
        "study",
        "throughput_per_s",
        "unknown",
        "warm_up_s",
        "warnings",
    }
)


class _PartialSettings:
    """A partial's schema is that of `Settings`, with nothing required and with dotted names."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = dict(handler.resolve_ref_schema(handler(Settings.__pydantic_core_schema__)))
        properties = dict(cast("dict[str, object]", whole["properties"]))
        workload = handler.resolve_ref_schema(cast("JsonSchemaValue", properties["workload"]))
        for name, path in settable_names().items():
            if len(path) > 1:
                properties[name] = workload["properties"][path[1]]
        properties["duration"] = properties["measure"]
        properties["workload"] = {
            "description": "What users ask of the database: a built-in workload, or a mapping of "
            "the settings of one.",
            "anyOf": [{"enum": [*BUILTIN_WORKLOADS]}, properties["workload"]],
        }
        return {
            "type": "object",
            "properties": properties,
            "patternProperties": {r"^(cluster|client)_options\.": {}},
            "additionalProperties": False,
        }


def _settings(value: object) -> object:
    return (
        {} if value is None else value
    )  # names and values are checked where scenarios are put together


def _levels(value: object) -> object:
    if isinstance(value, str | int | float):
        value = [value]
    if not value:
        msg = "a factor needs at least one level"
        raise ValueError(msg)
    if isinstance(value, Mapping):
        return {
            str(label): settings
            for label, settings in cast("Mapping[object, object]", value).items()
        }
    if not isinstance(value, Sequence):
        msg = "should be a list of levels, or a mapping from each level to its settings"
        raise ValueError(msg)  # noqa: TRY004 - pydantic gives a ValueError its place
    levels = expand_levels(cast("Sequence[Json]", value))
    first: dict[str, int] = {}
    for number, label in enumerate((str(label_of(level)) for level in levels), 1):
        if first.setdefault(label, number) != number:
            msg = f"levels {first[label]} and {number} are the same"
            raise ValueError(msg)
    return levels


def _match(value: object) -> object:
    """Give ranges among wanted levels their meaning; what is no match is pydantic's to refuse."""
    if not isinstance(value, Mapping):
        return value
    return {
        factor: expand_levels(cast("Sequence[Json]", wanted))
        if isinstance(wanted, list)
        else _range(wanted)
        for factor, wanted in cast("Mapping[object, object]", value).items()
    }


def _range(wanted: object) -> object:
    """Return the levels of a range; anything else as it is."""
    if not isinstance(wanted, str):
        return wanted
    levels = expand_levels([wanted])
    return wanted if levels == [wanted] else levels


PartialSettings: TypeAlias = Annotated[dict[str, Any], BeforeValidator(_settings), _PartialSettings]
Levels: TypeAlias = Annotated[list[Any] | dict[str, PartialSettings], BeforeValidator(_levels)]
Match: TypeAlias = Annotated[dict[str, Scalar | list[Scalar]], BeforeValidator(_match)]


class Override(Frozen):
    """Settings for the combinations of levels that match."""

    when: Match = Field(default_factory=dict)
    """Factor → level, a list of levels or a range; all must hold. Empty: every combination."""
    set: PartialSettings
    """Settings that go over those of the study and of the levels."""


class ClusterSharing(Frozen):
    """Which scenarios run on one cluster, one after another."""

    shared_by: list[str]
    """Scenarios with equal levels of these factors share a cluster."""


class ListedScenario(Frozen):
    """One scenario of a list in place of the factorial, such as a line of a scenario file."""

    number: PositiveInt
    """The scenario's number."""
    levels: dict[str, Scalar]
    """A level for each factor."""
    set: PartialSettings = Field(default_factory=dict[str, Any])
    """Settings of this scenario alone."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One combination of factor levels."""

    number: int
    """Its place in the factorial as listed, from 1. It never depends on the schedule."""
    factors: Mapping[str, Scalar]
    """The level of each factor, in the study's order."""
    settings: Settings
    """Everything needed to run it."""

    @property
    def label(self) -> str:
        """The levels in one line: ``redis strong users=8``."""
        words = (
            f"{name}={level}" if isinstance(level, int | float) or name == "sharding" else level
            for name, level in self.factors.items()
        )
        return " ".join(words) or self.settings.database

    def as_record(self) -> dict[str, Any]:
        """Return it as plain data for a record; units end the names of its settings."""
        return {
            "number": self.number,
            "factors": dict(self.factors),
            "settings": self.settings.model_dump(mode="json", by_alias=False),
        }


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One execution of a scenario."""

    run_id: str
    """``0012-r3``: scenario 12, repetition 3."""
    scenario: Scenario
    repetition: int
    """From 1."""
    seed: int
    """Of this run's own randomness; below 2⁶³."""
    cluster_key: str
    """Runs with equal keys share a cluster."""
    takes_turns: bool = False
    """Whether its cluster takes turns with others that it is compared with. It is then started for
    its runs, never grown or shrunk from another.
    """


@dataclass(frozen=True, slots=True)
class _Expanded:
    scenario: Scenario
    leaves: Mapping[tuple[str, ...], Leaf]


class Study(Frozen):
    """A question: factors and their levels, workload, repetitions, order, durations.

    Examples
    --------
    >>> study = Study.parse('''
    ... name: example
    ... factors: {database: [memory], users: [1, 2]}
    ... settings: {measure: 1s}
    ... repetitions: 2
    ... order: listed
    ... ''')
    >>> [scenario.label for scenario in study.scenarios()]
    ['memory users=1', 'memory users=2']
    >>> [run.run_id for run in study.schedule()]
    ['0001-r1', '0002-r1', '0001-r2', '0002-r2']
    """

    model_config = ConfigDict(title="pacelc study")

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Short name; results go to `results/NAME`."""
    title: str = ""
    """One line for people."""
    description: str = ""
    """What is asked, and how it is answered."""
    factors: dict[str, Levels] = Field(default_factory=dict)
    """What is varied: a setting's name with its values, or any name with each level's settings."""
    exclude: list[Match] = Field(default_factory=list[Match])
    """Combinations that are left out."""
    overrides: list[Override] = Field(default_factory=list[Override])
    """Settings for the combinations that match, later ones over earlier ones."""
    settings: PartialSettings = Field(default_factory=dict[str, Any])
    """What holds for every scenario unless a level or an override says otherwise."""
    cluster: ClusterSharing | None = None
    """Which scenarios share a cluster; by default those that need the same one."""
    compare: str | None = None
    """The factor whose levels are compared, the first of them with each other one. By default
    `consistency`, else `setting`, else the one factor that isn't the load.
    """
    repetitions: PositiveInt = 1
    """Runs of each scenario."""
    order: Order = "blocks"
    """Order of the runs on a cluster: shuffled within each repetition (`blocks`), so that what is
    compared alternates, on a fresh cluster each time where it can't share one; shuffled
    (`random`); or as listed (`listed`).
    """
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """Seed of the order and of every run."""
    presets: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """Named sets of changes, each as on the command line: `--set preset=NAME`."""
    listed: list[ListedScenario] = Field(default_factory=list[ListedScenario])
    """Scenarios one by one, in place of the factorial."""

    _source: Source | None = PrivateAttr(default=None)

    # --- Making one ---

    @classmethod
    def load(cls, study: str | Path, overrides: Iterable[str] = ()) -> Self:
        """Read and check a study.

        Parameters
        ----------
        study
            Path to a YAML file, or the name of a built-in study.
        overrides
            Changes as on the command line: ``measure=10s``, ``users=1,2,4``, ``preset=small``.

        Raises
        ------
        StudyError
            With file, line and field in one line.
        """
        return cls._from_source(read_source(study, cls.model_fields), overrides)

    @classmethod
    def parse(cls, text: str, overrides: Iterable[str] = (), name: str = "study.yaml") -> Self:
        """Like `load`, from YAML text; ``name`` is what error messages begin with."""
        return cls._from_source(parse_yaml(text, name, cls.model_fields), overrides)

    @classmethod
    def from_document(cls, document: Mapping[str, Json], name: str = "study") -> Self:
        """Return the study that `as_document` wrote."""
        return cls.from_source(Source(name, dict(document)))

    @classmethod
    def from_source(cls, source: Source, overrides: Iterable[str] = ()) -> Self:
        """Like `load`, from plain data that knows where each value of it was written."""
        return cls._from_source(source, overrides)

    @classmethod
    def _from_source(cls, source: Source, overrides: Iterable[str]) -> Self:
        source = _with_current_names(source)
        study = cls._validated(source)
        try:
            # Levels are looked up before any override: `--set database=redis` may take away a level
            # that an exclusion still names, and that is no mistake; a level that the file never had
            # is one.
            study._check_references()  # noqa: SLF001 - of this very class
            assignments = list(overrides)
            if assignments:
                study = cls._validated(apply_assignments(source, assignments))
            study._check()  # noqa: SLF001 - of this very class
        except Problem as problem:
            raise (study._source or source).error(problem) from None  # noqa: SLF001 - of this very class
        return study

    @classmethod
    def _validated(cls, source: Source) -> Self:
        for part in ("factors", "exclude", "overrides", "presets"):
            if (levels := count_in_ranges(source.data.get(part))) > _MOST_IN_RANGES:
                problem = f"{levels:,} levels in ranges, and {_MOST_IN_RANGES:,} are the most"
                raise source.error(Problem((part,), problem, "leave out what any level may be"))
        try:
            study = cls.model_validate(source.data)
        except ValidationError as error:
            raise source.error(_first_problem(error)) from None
        except Problem as problem:
            raise source.error(problem) from None
        study._source = source  # noqa: SLF001 - of this very class
        return study

    def with_scenarios(self, listed: Sequence[ListedScenario]) -> Self:
        """Return this study with ``listed`` in place of its factorial.

        Raises
        ------
        StudyError
            If a listed scenario has a level that the study can't give a meaning.
        """
        study = self.model_copy(update={"listed": list(listed)})
        try:
            study._check()  # noqa: SLF001 - of this very class
        except Problem as problem:
            raise self._error(problem) from None
        return study

    def as_document(self) -> dict[str, Json]:
        """Return the study as plain data; `from_document` gives it back."""
        return cast(
            "dict[str, Json]", self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        )

    # --- What follows from it ---

    def scenarios(self) -> tuple[Scenario, ...]:
        """Return the scenarios in the order of their numbers; the last factor changes fastest."""
        try:
            return tuple(expanded.scenario for expanded in self._expand())
        except Problem as problem:
            raise self._error(problem) from None

    def schedule(self) -> tuple[PlannedRun, ...]:
        """Return every run in the order of execution.

        Clusters come in the order in which the scenarios first need them. Within a cluster the
        order is the study's. In blocks, clusters that differ in what is compared take turns: each
        repetition starts them afresh, so that a drift of the machine meets all of them alike, and
        what differs between any two clusters is counted as chance.

        Runs are sorted on a hash of seed and run, so a run's place relative to the others does not
        change when runs are added or left out.
        """
        try:
            turns = self._turns(self._cluster_keys())
        except Problem as problem:
            raise self._error(problem) from None
        runs: list[PlannedRun] = []
        for clusters in turns:
            if len(clusters) == 1:
                for key, scenarios in clusters.items():
                    runs += self._runs(scenarios, range(1, self.repetitions + 1), key)
                continue
            for repetition in range(1, self.repetitions + 1):
                drawn = sorted(clusters, key=lambda key: self._draw(f"order/{key}/{repetition}"))
                for key in drawn:
                    name = key if self.repetitions == 1 else f"{key}-block{repetition}"
                    runs += self._runs(clusters[key], [repetition], name, takes_turns=True)
        return tuple(runs)

    @property
    def compared(self) -> str | None:
        """The factor whose levels are compared; None if there is none to choose by itself."""
        levels = {
            name: [label_of(level) for level in levels] for name, levels in self.factors.items()
        }
        return compared_factor(levels, self.compare)

    def _turns(self, keyed: Iterable[tuple[Scenario, str]]) -> list[dict[str, list[Scenario]]]:
        """Return clusters with their scenarios; in one mapping those that take turns."""
        compared = self.compared if self.order == "blocks" else None
        clusters: dict[str, list[Scenario]] = {}
        firsts: dict[object, str] = {}
        alike: list[tuple[str, str]] = []
        for scenario, key in keyed:
            clusters.setdefault(key, []).append(scenario)
            others = tuple(x for name, x in scenario.factors.items() if name != compared)
            alike.append((key, key if compared is None else firsts.setdefault(others, key)))
        together = connected(alike)
        turns: dict[str, dict[str, list[Scenario]]] = {}
        for key, scenarios in clusters.items():
            turns.setdefault(together[key], {})[key] = scenarios
        return list(turns.values())

    def _runs(
        self,
        scenarios: Iterable[Scenario],
        repetitions: Iterable[int],
        cluster_key: str,
        *,
        takes_turns: bool = False,
    ) -> list[PlannedRun]:
        runs = [
            PlannedRun(run_id, scenario, number, self._draw(run_id), cluster_key, takes_turns)
            for number in repetitions
            for scenario in scenarios
            for run_id in (f"{scenario.number:04d}-r{number}",)
        ]
        return sorted(runs, key=self._position)

    def _position(self, run: PlannedRun) -> tuple[int, int]:
        match self.order:
            case "random":
                return (0, self._draw(f"order/{run.run_id}"))
            case "blocks":
                return (run.repetition, self._draw(f"order/{run.run_id}"))
            case "listed":
                return (run.repetition, run.scenario.number)

    def _draw(self, purpose: str) -> int:
        """Return a number below 2⁶³ that depends on the seed and on ``purpose`` alone."""
        digest = hashlib.blake2b(f"{self.seed}/{purpose}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1

    # --- Expansion ---

    def _expand(self) -> Iterator[_Expanded]:
        base = flatten(self.settings, ("settings",))
        factors = {name: self._level_leaves(name) for name in self.factors}
        self._refuse_overlap(factors)
        matches = Matches([override.when for override in self.overrides])
        overrides = [
            flatten(override.set, ("overrides", index, "set"))
            for index, override in enumerate(self.overrides)
        ]
        alike = _alike(overrides)
        applied = 0
        for number, labels, own in self._combinations(factors):
            leaves = list(base)
            for name, label in labels.items():
                leaves += self._leaves_of(factors[name], name, label)
            chosen: list[list[Leaf]] = []
            left = matches.holding(labels)
            while left:
                last = left.bit_length() - 1
                chosen.append(overrides[last])
                applied += len(overrides[last])
                left &= ~alike[last]
            if applied > _MOST_APPLIED:
                problem = f"more than {_MOST_APPLIED:,} settings of matching overrides"
                raise Problem(("overrides",), problem, "let fewer match, or vary less")
            leaves += itertools.chain.from_iterable(reversed(chosen))
            leaves += own
            scenario = Scenario(number, labels, assemble(leaves))
            yield _Expanded(scenario, {leaf.path: leaf for leaf in leaves})

    def _combinations(
        self, factors: Mapping[str, Iterable[Any]]
    ) -> Iterator[tuple[int, dict[str, Scalar], list[Leaf]]]:
        if self.listed:
            for index, row in enumerate(self.listed):
                labels = {name: row.levels[name] for name in factors if name in row.levels}
                if missing := [name for name in factors if name not in row.levels]:
                    raise Problem(("listed", index, "levels"), f"no level for factor {missing[0]}")
                yield row.number, labels, flatten(row.set, ("listed", index, "set"))
            return
        number = 0
        excluded = Matches(self.exclude)
        levels = [[label_of(level) for level in own] for own in factors.values()]
        for combination in itertools.product(*levels):
            labels = dict(zip(factors, combination, strict=True))
            if not excluded.holding(labels):
                number += 1
                yield number, labels, []
        if number == 0:
            raise Problem(
                ("exclude",), "every combination is left out", "exclude fewer, or add levels"
            )

    def _level_leaves(self, name: str) -> dict[Scalar, list[Leaf]]:
        levels = self.factors[name]
        if isinstance(levels, dict):
            return {
                label: flatten(settings, ("factors", name, label))
                for label, settings in cast("dict[str, dict[str, Json]]", levels).items()
            }
        path = settable_path(name)
        if path is None:
            hint = (
                nearest(name, settable_names()) or "write `level: {setting: value}` for each level"
            )
            message = (
                "no setting has this name, so each level needs its settings "
                "(level: {setting: value})"
            )
            raise Problem(("factors", name), message, hint)
        ranged = any(isinstance(level, str) and ".." in level for level in levels)
        return {
            label_of(level): [
                Leaf(path, level, ("factors", name) if ranged else ("factors", name, index))
            ]
            for index, level in enumerate(cast("list[Json]", levels))
        }

    def _leaves_of(
        self, levels: Mapping[Scalar, list[Leaf]], name: str, label: Scalar
    ) -> list[Leaf]:
        if label in levels:
            return levels[label]
        for known, leaves in levels.items():
            if same_label(known, label):
                return leaves
        path = settable_path(name)
        if path is not None and isinstance(self.factors[name], list):
            return [Leaf(path, label, ("listed",))]
        raise Problem(
            ("listed",),
            no_level(name, label),
            nearest(str(label), map(str, levels)),
        )

    def _refuse_overlap(self, factors: Mapping[str, Mapping[Scalar, list[Leaf]]]) -> None:
        """Two factors that set the same thing are confounded: one of them would change nothing."""
        owner: dict[tuple[str, ...], str] = {}
        for name, levels in factors.items():
            for path in {leaf.path for leaves in levels.values() for leaf in leaves}:
                other = owner.setdefault(path, name)
                if other != name:
                    raise Problem(
                        ("factors", name), f"sets {'.'.join(path)}, which factor {other} sets too"
                    )

    # --- Clusters ---

    def _cluster_keys(self) -> list[tuple[Scenario, str]]:
        """Return each scenario with the name of its cluster.

        What clusters are told apart by is compared whole. Names are for people: short, so that two
        clusters may come to the same one, of which the later then gets a number.
        """
        shared_by = None if self.cluster is None else self.cluster.shared_by
        keyed: list[tuple[Scenario, str]] = []
        owners: dict[str, tuple[object, ...]] = {}
        first: dict[str, Scenario] = {}
        for expanded in self._expand():
            scenario = expanded.scenario
            if shared_by is None:
                cluster: tuple[object, ...] = scenario.settings.cluster
                name = _cluster_name(scenario.settings)
            else:
                labels = [str(scenario.factors[factor]) for factor in shared_by]
                cluster = tuple(labels)
                name = "-".join(labels) or "all"
            key = _own_name(name, cluster, owners)
            other = first.setdefault(key, scenario)
            if other.settings.cluster != scenario.settings.cluster:
                message = (
                    f"scenarios {other.number} and {scenario.number} would share a cluster "
                    "but need different ones"
                )
                hint = (
                    "add the factor that changes the cluster to shared_by, or leave `cluster` out"
                )
                raise Problem(("cluster", "shared_by"), message, hint)
            keyed.append((scenario, key))
        return keyed

    # --- Checks ---

    def _check_references(self) -> None:
        for name in self.factors:
            if name in _TAKEN:
                raise Problem(
                    ("factors", name),
                    "results have a column of this name already",
                    "rename the factor",
                )
        self._check_matches()
        for preset, changes in self.presets.items():
            for key in changes:
                if not (
                    key in self.factors
                    or key in ("compare", "repetitions", "order", "seed", "cluster.shared_by")
                ):
                    flatten(
                        {
                            key: {}
                            if key in ("workload", "cluster_options", "client_options")
                            else None
                        },
                        ("presets", preset),
                    )

    def _check_matches(self) -> None:
        places: list[tuple[tuple[str | int, ...], Match]] = [
            *((("exclude", index), match) for index, match in enumerate(self.exclude)),
            *(
                (("overrides", index, "when"), override.when)
                for index, override in enumerate(self.overrides)
            ),
        ]
        known: dict[str, set[Scalar | tuple[str]]] = {}
        for place, match in places:
            for name, wanted in match.items():
                self._check_factor((*place, name), name)
                if name not in known:
                    levels = map(label_of, self._declared(name))
                    known[name] = {key for label in levels for key in label_keys(label)}
                for label in wanted if isinstance(wanted, list) else [wanted]:
                    if known[name].isdisjoint(label_keys(label)):
                        levels = map(label_of, self._declared(name))
                        hint = nearest(str(label), map(str, levels))
                        raise Problem((*place, name), no_level(name, label), hint)

    def _declared(self, factor: str) -> list[Json]:
        """Levels of a factor, and those that a preset gives it."""
        levels: list[Json] = list(self.factors[factor])
        for changes in self.presets.values():
            preset = cast("Json", changes.get(factor, []))
            levels += expand_levels(preset if isinstance(preset, list) else [preset])
        return levels

    def _check_factor(self, place: tuple[str | int, ...], name: str) -> None:
        if name not in self.factors:
            hint = nearest(name, self.factors) if self.factors else "the study has no factors"
            raise Problem(place, f"the study has no factor {named(name)!r}", hint)

    def _check(self) -> None:
        if self.compare is not None:
            self._check_factor(("compare",), self.compare)
        for index, name in enumerate(self.cluster.shared_by if self.cluster is not None else ()):
            self._check_factor(("cluster", "shared_by", index), name)
        numbers: set[int] = set()
        for index, row in enumerate(self.listed):
            if row.number in numbers:
                raise Problem(
                    ("listed", index, "number"), f"two scenarios have the number {row.number}"
                )
            numbers.add(row.number)
        self._check_size()
        checked: set[tuple[object, ...]] = set()
        for expanded in self._expand():
            settings = expanded.scenario.settings
            shape = (settings.cluster, repr(settings.consistency))
            if shape not in checked:
                checked.add(shape)
                resolve_levels(settings, expanded.leaves)
        self._cluster_keys()

    def _check_size(self) -> None:
        """Refuse what nobody waits for, before anything is made of it."""
        combinations = math.prod(len(self.factors[name]) for name in self.factors)
        if not self.listed and combinations > _MOST_RUNS:
            problem = (
                f"{counted(combinations, 'combination')} of levels, and {_MOST_RUNS:,} are the most"
            )
            raise Problem(("factors",), problem, "vary fewer factors, or with fewer levels")
        scenarios = len(self.listed) or sum(1 for _ in self._combinations(self.factors))
        if scenarios > MOST_SCENARIOS:
            problem = f"{counted(scenarios, 'scenario')}, and {MOST_SCENARIOS:,} are the most"
            raise Problem(("listed" if self.listed else "factors",), problem)
        if scenarios * self.repetitions > _MOST_RUNS:
            problem = (
                f"{counted(self.repetitions, 'repetition')} of "
                f"{counted(scenarios, 'scenario')} make "
                f"{counted(scenarios * self.repetitions, 'run')}, and {_MOST_RUNS:,} are the most"
            )
            raise Problem(("repetitions",), problem)

    def _error(self, problem: Problem) -> StudyError:
        return (self._source or Source(self.name, {})).error(problem)


def _with_current_names(source: Source) -> Source:
    places = {current_place(path): place for path, place in source.places.items()}
    return Source(source.name, current_study(source.data), places)


def _alike(overrides: Sequence[Sequence[Leaf]]) -> list[int]:
    """Return for each override, as bits, those that set the same: the last of them holds."""
    alike: dict[frozenset[tuple[str, ...]], int] = {}
    keys = [frozenset(leaf.path for leaf in leaves) for leaves in overrides]
    for index, key in enumerate(keys):
        alike[key] = alike.get(key, 0) | 1 << index
    return [alike[key] for key in keys]


def _own_name(name: str, cluster: tuple[object, ...], owners: dict[str, tuple[object, ...]]) -> str:
    """Return ``name`` if it is the cluster's, or free; else the first with a number that is."""
    numbered = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(own for own in numbered if owners.setdefault(own, cluster) == cluster)


def _cluster_name(settings: Settings) -> str:
    database, nodes, replication, options = settings.cluster
    provider = "" if settings.external is None else "external-"
    key = f"{database}-{provider}n{nodes}-rf{replication}"
    if settings.sharding != "none":
        key += f"-sharding-{settings.sharding}-{settings.shards}"
    if options:
        key += "-" + hashlib.blake2b(repr(options).encode(), digest_size=3).hexdigest()
    return key


def _first_problem(error: ValidationError) -> Problem:
    first = error.errors()[0]
    path = tuple(
        part
        for part in first["loc"]
        if part not in ("list[any]", "dict[str,any]") and "[" not in str(part)
    )
    if first["type"] == "extra_forbidden":
        models: dict[str, type[BaseModel]] = {
            "cluster": ClusterSharing,
            "overrides": Override,
            "listed": ListedScenario,
        }
        model = models.get(str(path[0]), Study) if len(path) > 1 else Study
        known = list(model.model_fields)
        return Problem(path, "a study has no such field", nearest(str(first["loc"][-1]), known))
    if first["type"] == "missing":
        return Problem(path, "is missing")
    return Problem(path, *tidy(first))
