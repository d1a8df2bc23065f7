"""A calibration: a database's demands, how well they are known, and how far off it was.

It is what fitting runs leaves behind, and what a plan is made from. The demands are settings of
:class:`pacelc.networks.quorum.Quorum`; size, load and levels are the plan's.

Map
---
Calibration         the document: ``Calibration.load(path)``, ``parse(text)``, ``to_yaml``
Demand              one setting: a value with its interval
PredictionError     what predictions of sizes that weren't fitted are off by
Checked             the range of sizes and loads in which predictions were compared with runs
LeftOut             the same of each part of the runs that was left out
BUILTIN             calibrations that come with pacelc; of papers, and so named
calibration_named   a built-in one, or a file

Examples
--------
>>> calibration = Calibration.parse('''
... name: mine
... database: cassandra
... demands:
...   read_cpu: {value: 1.1ms, low: 1ms, high: 1.2ms}
...   write_cpu: 80us
... ''')
>>> calibration.values()
{'read_cpu_s': 0.0011, 'write_cpu_s': 8e-05}
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias, cast

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PositiveInt,
    ValidationError,
    model_validator,
)
from ruamel.yaml import YAML
from scipy import stats

from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.names import counted
from pacelc.networks.mistakes import first_problem
from pacelc.networks.quorum import Coordinator, Discipline, Quorum
from pacelc.networks.times import format_time, parse_time
from pacelc.papers.gandini_2014 import table
from pacelc.study.copies import Level  # noqa: TC001 - pydantic reads annotations
from pacelc.study.model import Frozen
from pacelc.study.settings import Problem, tidy
from pacelc.study.source import Source, StudyError, parse_yaml
from pacelc.study.values import is_builtin, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = [
    "BUILTIN",
    "DEMANDS",
    "RANGES",
    "Calibration",
    "Checked",
    "Demand",
    "LeftOut",
    "Machine",
    "PredictionError",
    "calibration_named",
    "is_a_time",
]

_OF_THE_PLAN: Final = frozenset(
    {
        *("users", "nodes", "replication", "read", "write", "read_share", "cores", "shared"),
        *("late", "coordinator", "discipline", "scv"),
    }
)
DEMANDS: Final[dict[str, str]] = {
    field.alias or name: name
    for name, field in Quorum.model_fields.items()
    if name not in _OF_THE_PLAN
}
"""Names of demands in a document → fields of :class:`~pacelc.networks.quorum.Quorum`."""
QUANTILE_975: Final = 1.959964
_ROUNDED: Final = 1e-6


def is_a_time(name: str) -> bool:
    """Tell whether a demand is a time; the others are probabilities."""
    return DEMANDS[name].endswith("_s")


class Demand(Frozen):
    """A setting of the model."""

    value: Annotated[float, BeforeValidator(parse_time)]
    """Seconds, or a probability."""
    low: Annotated[float, BeforeValidator(parse_time)] | None = None
    """Lower end of the 95 % interval."""
    high: Annotated[float, BeforeValidator(parse_time)] | None = None
    """Upper end."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, data: object) -> object:
        return {"value": data} if isinstance(data, str | int | float) else data

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval needs both low and high")
        if self.low is not None and not self.low <= self.value <= cast("float", self.high):
            raise ValueError(f"low, value and high should ascend: {self.low:g}, {self.value:g}, …")
        return self

    @property
    def has_interval(self) -> bool:
        """Whether it isn't taken as certain."""
        return self.low is not None and self.high is not None and self.high > self.low

    @property
    def standard_error(self) -> float:
        """Of the value, as its interval says; 0 where it is taken as certain."""
        # The lower end may be cut off at 0.
        return 0.0 if self.high is None else (self.high - self.value) / QUANTILE_975


Range: TypeAlias = tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(ge=0)]]


class Checked(Frozen):
    """The range in which predictions were compared with runs; what isn't named wasn't."""

    users: Range | None = None
    nodes: Range | None = None
    replication: Range | None = None
    cores: Range | None = None
    """Of each node; where all shared a machine, none had cores of its own."""
    read_share: Range | None = None
    rate_per_s: Range | None = None
    utilisation: Range | None = None
    """Of the busiest station."""
    levels: tuple[Level, ...] = ()
    regions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for name in RANGES:
            ends = cast("Range | None", getattr(self, name))
            if ends is not None and ends[0] > ends[1]:
                raise ValueError(f"{name}: should be [least, most], not [{ends[0]:g}, {ends[1]:g}]")
        return self


RANGES: Final = (
    "users",
    "nodes",
    "replication",
    "cores",
    "read_share",
    "rate_per_s",
    "utilisation",
)
"""Fields of :class:`Checked` that have ends."""


class PredictionError(Frozen):
    """By how much predictions of sizes that weren't fitted are off, as standard deviations of logs.

    0.1 is about 10 %. Of a prediction, the covariance of its demands comes on top.
    """

    sizes: Annotated[int, Field(ge=2)]
    """Sizes (nodes and copies) that were left out, one after the other: a prediction's interval is
    Student's, with one degree of freedom less."""
    between_clusters: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Between clusters of the same size."""
    throughput: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Of throughput at saturation, which goes as processors' demands do."""
    mean: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Of mean responses."""
    p99: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    """Of 99th percentiles."""

    def quantile(self, share: float) -> float:
        """Return Student's quantile that such errors have."""
        return float(stats.t.ppf(share, self.sizes - 1))


class LeftOut(Frozen):
    """Errors of predictions of runs that weren't fitted: means of their sizes, without sign."""

    what: str
    """What was left out, for people."""
    configurations: PositiveInt
    throughput: float | None = None
    """0.1 is 10 %."""
    mean: float | None = None
    """Of mean responses."""
    p99: float | None = None
    """Of 99th percentiles."""


class Machine(Frozen):
    """What the runs were made on."""

    cores: PositiveInt | None = None
    """Of each node; of the machine where all shared one."""
    shared: bool = False
    """Whether all nodes and the load generator had the same cores."""
    description: str = ""


class Calibration(Frozen):
    """Demands, how well they are known, and how far off predictions with them were."""

    name: str
    """For people; says whose numbers they are."""
    database: str
    versions: dict[str, str] = Field(default_factory=dict)
    """Of the software that was measured."""
    machine: Machine = Machine()
    demands: dict[str, Demand]
    """Settings of the quorum model; those that aren't named have its defaults."""
    correlation: tuple[tuple[Annotated[float, Field(ge=-1, le=1)], ...], ...] = ()
    """Of the demands that have intervals, in their order; none, unless said."""
    untold: tuple[str, ...] = ()
    """Demands that the runs didn't tell: what needs them can't be planned."""
    contention: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """By which share processor demands grow with each further server on the same cores."""
    discipline: Discipline = "ps"
    """Of processors."""
    scv: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """How variable times are: their squared coefficient of variation."""
    late: Literal["serve", "discard", "cancel"] = "serve"
    """What happens to copies that are still under way when the level is met."""
    coordinator: Coordinator = "any"
    """Node that clients send an operation to."""
    on_disk: tuple[Level, ...] = ("one", "quorum", "all")
    """Levels at which writes wait for their log on disk: ``write_wait`` and ``log_cpu``."""
    error: PredictionError | None = None
    """None: no prediction with these demands was compared with runs."""
    checked: Checked = Checked()
    left_out: tuple[LeftOut, ...] = ()
    """What the errors were."""
    source: str = ""
    """Where the numbers are from."""

    @model_validator(mode="after")
    def _correlation_fits(self) -> Self:
        count = len(self.uncertain)
        if self.correlation:
            matrix = np.array([row for row in self.correlation if len(row) == count])
            if matrix.shape != (count, count):
                raise ValueError(
                    f"correlation: should be {counted(count, 'row')} of {count}, as intervals are"
                )
            if not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] < -_ROUNDED:
                raise ValueError("correlation: isn't one: symmetric, without negative variances")
        return self

    @property
    def uncertain(self) -> tuple[str, ...]:
        """Demands that have intervals."""
        return tuple(name for name, demand in self.demands.items() if demand.has_interval)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a YAML or JSON file.

        Raises
        ------
        InputError
            There is no such file, or it holds no calibration.
        """
        return cls.parse(read_text(Path(path)), Path(path).name)

    @classmethod
    def parse(cls, text: str, name: str = "calibration") -> Self:
        """Read YAML or JSON; ``name`` is what errors begin with.

        Raises
        ------
        InputError
            The text holds no calibration.
        """
        try:
            what = "a calibration is a mapping (name: …, database: …, demands: …)"
            source = parse_yaml(text, name, cls.model_fields, what)
            return cls._of(source)
        except StudyError as error:
            raise InputError(error.message, error.hint) from None

    @classmethod
    def _of(cls, source: Source) -> Self:
        demands = source.data.get("demands")
        for key in demands if isinstance(demands, dict) else ():
            if key not in DEMANDS:
                known = nearest(key, DEMANDS)
                problem = Problem(("demands", key), "the model has no such demand", known)
                raise source.error(problem)
        try:
            found = cls.model_validate(source.data)
        except ValidationError as error:
            whole = ("a calibration", Calibration)
            raise source.error(first_problem(error, whole, _PARTS)) from None
        try:
            found.settings()
        except ValidationError as error:
            raise source.error(_demand_at_fault(error)) from None
        return found

    def values(self) -> dict[str, float]:
        """Return the demands by the names of the model's fields."""
        return {DEMANDS[name]: demand.value for name, demand in self.demands.items()}

    def settings(self, **sizes: Any) -> Quorum:
        """Return the model's settings with these demands, and sizes, load and levels as given.

        Raises
        ------
        ValidationError
            A demand isn't what the model takes.
        """
        return Quorum.model_validate(
            {
                "late": self.late,
                "coordinator": self.coordinator,
                "discipline": self.discipline,
                "scv": self.scv,
                **self.values(),
                **self.nothing_at(sizes.get("write")),
                **sizes,
            }
        )

    def nothing_at(self, write: Level | None) -> dict[str, float]:
        """Return what is 0 at a level of writes: those that aren't on disk wait for no log."""
        waits = write is None or write in self.on_disk
        return {} if waits else {"write_wait_s": 0.0, "log_cpu_s": 0.0}

    def draws(self, count: int, seed: int) -> dict[str, NDArray[np.float64]]:
        """Draw uncertain demands together: field of the quorum model → (count,), none negative."""
        names = self.uncertain
        if not names:
            return {}
        errors = np.array([self.demands[name].standard_error for name in names])
        correlation = np.array(self.correlation or np.eye(len(names)))
        values = np.array([self.demands[name].value for name in names])
        drawn = np.random.default_rng(seed).multivariate_normal(
            values, correlation * np.outer(errors, errors), size=count, method="eigh"
        )
        ends = [np.inf if is_a_time(name) else 1.0 for name in names]
        return {DEMANDS[name]: np.clip(drawn[:, i], 0.0, ends[i]) for i, name in enumerate(names)}

    def document(self) -> dict[str, Any]:
        """Return the plain document, times as people write them."""
        document = self.model_dump(mode="json", exclude_defaults=True)
        document["demands"] = {
            name: _written(name, demand) for name, demand in self.demands.items()
        }
        return document

    def to_yaml(self) -> str:
        """Return the YAML that :meth:`parse` reads."""
        yaml = YAML()
        yaml.default_flow_style = None
        yaml.width = 4096
        out = io.StringIO()
        cast("Any", yaml).dump(self.document(), out)
        return out.getvalue()


def _written(name: str, demand: Demand) -> Any:
    def one(value: float) -> str | float:
        return format_time(value) if is_a_time(name) else value

    if demand.low is None or demand.high is None:
        return one(demand.value)
    return {"value": one(demand.value), "low": one(demand.low), "high": one(demand.high)}


_PARTS: Final[Mapping[str, tuple[str, type[BaseModel]]]] = {
    "demands": ("a demand", Demand),
    "checked": ("the checked range", Checked),
    "error": ("the error of predictions", PredictionError),
    "left_out": ("what was left out", LeftOut),
    "machine": ("a machine", Machine),
}


def _demand_at_fault(error: ValidationError) -> Problem:
    """Return what the quorum model doesn't take, by the name that the calibration has for it."""
    first = error.errors()[0]
    name = next(key for key, field in DEMANDS.items() if first["loc"][0] in (key, field))
    return Problem(("demands", name), *tidy(first))


@cache
def _gandini_2014_cassandra() -> Calibration:
    """Return the demands of one Cassandra node in table 2 of Gandini et al. 2014."""
    defaults = Quorum()
    fields = ("read_cpu", "write_cpu", "read_disk", "write_disk", "write_uncached")
    fields += ("client_round_trip", "node_round_trip")
    percent = 100
    off = table("table5").filter(database="cassandra").iter_rows(named=True)
    return Calibration(
        name="Gandini et al. 2014, Cassandra on one node: the paper's demands, not measured here",
        database="cassandra",
        machine=Machine(cores=defaults.cores, description="virtual machines of the paper"),
        # Of one node, so that nothing says what a coordinator without a copy takes.
        coordinator="replica",
        demands={name: Demand(value=getattr(defaults, DEMANDS[name])) for name in fields},
        checked=Checked(
            users=(1, 30),
            nodes=(1, 4),
            replication=(1, 4),
            cores=(defaults.cores, defaults.cores),
            read_share=(0.5, 0.5),
        ),
        left_out=tuple(
            LeftOut(
                what=f"{counted(row['nodes'], 'node')}, "
                f"{counted(row['replication_factor'], 'copy')} "
                "(refitted by the paper)",
                configurations=1,
                throughput=row["throughput_error_percent"] / percent,
            )
            for row in off
        ),
        source="tables 2 and 5; the paper gives no intervals, levels or versions, prints errors "
        "without their sign, and fits demands anew for each configuration",
    )


BUILTIN: Final = {"gandini-2014-cassandra": _gandini_2014_cassandra}
"""By name."""


def calibration_named(name: str) -> Calibration:
    """Return a calibration of a file, or a built-in one.

    Raises
    ------
    InputError
        There is none, or it can't be used.
    """
    if is_builtin(name, BUILTIN, "calibration"):
        return BUILTIN[name]()
    return Calibration.load(Path(name))
