"""A calibration: the demands of a database, how sure they are, and where they were checked.

It is what fitting a model to runs leaves behind, and what a plan is made from. The demands are
settings of :class:`pacelc.models.quorum.Quorum`; size, load and levels are the plan's.

Map
---
Calibration     the document: ``Calibration.load(path)``, ``parse(text)``, ``to_yaml``
Demand          one setting: a value with its interval
Checked         the range of sizes and loads whose predictions were compared with runs
HeldOut         how far off they were, a configuration
Host            what else took processor time where the runs were made
BUILTIN         calibrations that come with pacelc; of papers, and so named
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

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PositiveInt,
    ValidationError,
    model_validator,
)
from ruamel.yaml import YAML

from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.models.mistakes import first_problem
from pacelc.models.network import Probability  # noqa: TC001 - pydantic reads annotations
from pacelc.models.quorum import Acknowledged, Coordinator, Discipline, Level, Quorum
from pacelc.models.times import format_time, parse_time
from pacelc.papers.gandini_2014 import table
from pacelc.study.model import Frozen
from pacelc.study.settings import Problem, tidy
from pacelc.study.source import Source, StudyError, parse_yaml
from pacelc.study.values import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BUILTIN",
    "DEMANDS",
    "Calibration",
    "Checked",
    "Demand",
    "HeldOut",
    "Host",
    "Machine",
    "calibration_named",
]

_OF_THE_PLAN: Final = frozenset(
    {
        *("users", "nodes", "replication", "read", "write", "read_share", "cores"),
        *("late", "coordinator", "acknowledged_to", "discipline", "scv"),
        *("coordinator_after_cpu_s", "write_after_cpu_s", "scattered", "journaled"),
        "own_first",
    }
)
DEMANDS: Final[dict[str, str]] = {
    field.alias or name: name
    for name, field in Quorum.model_fields.items()
    if name not in _OF_THE_PLAN
}
"""Names of demands in a document → fields of :class:`~pacelc.models.quorum.Quorum`."""


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

    def times(self, factor: float) -> Self:
        """Return so many times as much."""
        ends = {name: getattr(self, name) for name in ("value", "low", "high")}
        return self.model_copy(
            update={name: None if end is None else end * factor for name, end in ends.items()}
        )

    @property
    def has_interval(self) -> bool:
        """Whether it isn't taken as certain."""
        return self.low is not None and self.high is not None and self.high > self.low


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


class HeldOut(Frozen):
    """Errors of predictions of a configuration that wasn't fitted; 0.1 is 10 % too much."""

    configuration: str
    """For people."""
    throughput: float | None = None
    response: float | None = None
    """Of means: of reads' or of writes', whichever is further off."""
    percentiles: dict[str, float] = Field(default_factory=dict)
    """``read p99``, ``write p99`` or, of both, ``p99`` → error."""


class Machine(Frozen):
    """What the runs were made on."""

    cores: PositiveInt | None = None
    """Of each node; of the machine where all shared one (:attr:`Host.shared`)."""
    description: str = ""


class Host(Frozen):
    """What else took processor time where the runs were made; a plan doesn't count it.

    It says what a shared machine's processors did besides, to read and to compare.
    """

    shared: bool = False
    """Whether all nodes and the load generator had the same processors."""
    available_cores: Annotated[float, Field(gt=0)] | None = None
    """Of a shared machine: what the latencies say that nobody else used."""
    scattered: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Of a shared machine: how much threads wait beside idle cores; 0 as if they found them, 1 as
    if each core had a queue, which they join by chance."""
    background_cores: Annotated[float, Field(ge=0)] = 0.0
    """In use by a node alone without any operation; nodes that share a machine use less each."""
    client_cpu: Annotated[float, BeforeValidator(parse_time)] = 0.0
    """Of the load generator, an operation, where half of them are reads."""
    wake_cpu: Annotated[float, BeforeValidator(parse_time)] = 0.0
    """What an operation alone takes more, for waking up, of its client and its coordinator; of many
    at a time each takes less."""
    woken_beside: Probability = 0.0
    """Share of that which operations don't wait for."""
    written_later: Probability = 0.0
    """The same of what writing a copy takes of processors."""


class Calibration(Frozen):
    """Demands, how sure they are, and where they were checked."""

    name: str
    """For people; says whose numbers they are."""
    database: str
    versions: dict[str, str] = Field(default_factory=dict)
    """Of the software that was measured."""
    machine: Machine = Machine()
    demands: dict[str, Demand]
    """Settings of the quorum model; those that aren't named have its defaults."""
    mixing: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """What operations take more of processors where half of them are reads, as a share; of a share
    r of reads, 4 r (1 - r) times as much."""
    discipline: Discipline = "ps"
    """Of processors."""
    scv: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """How variable times are: their squared coefficient of variation."""
    late: Literal["serve", "discard", "cancel"] = "serve"
    """What becomes of copies that nobody waits for any more."""
    coordinator: Coordinator = "any"
    """Node that clients send an operation to."""
    acknowledged_to: Acknowledged = "coordinator"
    """Whom a copy that is written tells of it where a write waits."""
    journaled: tuple[Level, ...] = ()
    """At which writes wait until they are in journals, too."""
    host: Host = Host()
    checked: Checked = Checked()
    errors: tuple[HeldOut, ...] = ()
    """Of configurations that weren't fitted."""
    source: str = ""
    """Where the numbers are from."""

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
            source = parse_yaml(text, name, what)
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
                "acknowledged_to": self.acknowledged_to,
                "discipline": self.discipline,
                "scv": self.scv,
                "journaled": sizes.get("write") in self.journaled,
                **self.values(),
                **sizes,
            }
        )

    def of_mix(self, read_share: float) -> Self:
        """Return the calibration with the demands that operations have in a mix.

        Examples
        --------
        >>> text = "name: mine, database: redis, demands: {read_cpu: 10us}, mixing: 0.2"
        >>> Calibration.parse("{" + text + "}").of_mix(0.5).values()
        {'read_cpu_s': 1.2e-05}
        """
        more = 1 + self.mixing * 4 * read_share * (1 - read_share)
        demands = {
            name: demand.times(more) if name.endswith("_cpu") else demand
            for name, demand in self.demands.items()
        }
        return self.model_copy(update={"demands": demands, "mixing": 0.0})

    @property
    def has_intervals(self) -> bool:
        """Whether any demand is uncertain."""
        return any(demand.has_interval for demand in self.demands.values())

    def document(self) -> dict[str, Any]:
        """Return the plain document, times as people write them."""
        document = self.model_dump(mode="json", exclude_defaults=True)
        document["demands"] = {
            name: _written(name, demand) for name, demand in self.demands.items()
        }
        for name in ("client_cpu", "wake_cpu"):
            if name in document.get("host", {}):
                document["host"][name] = format_time(document["host"][name])
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
    "errors": ("an error", HeldOut),
    "machine": ("a machine", Machine),
    "host": ("a host", Host),
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
        demands={name: Demand(value=getattr(defaults, DEMANDS[name])) for name in fields},
        checked=Checked(
            users=(1, 30),
            nodes=(1, 4),
            replication=(1, 4),
            cores=(defaults.cores, defaults.cores),
            read_share=(0.5, 0.5),
        ),
        errors=tuple(
            HeldOut(
                configuration=f"{row['nodes']} nodes, {row['replication_factor']} copies "
                "(refitted by the paper)",
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
    path = Path(name)
    if name in BUILTIN and not path.is_file():
        return BUILTIN[name]()
    if not path.suffix and len(path.parts) == 1 and not path.is_file():
        raise InputError(
            f"there is no calibration {name!r}, neither a file nor a built-in one",
            nearest(name, BUILTIN),
        )
    return Calibration.load(path)
