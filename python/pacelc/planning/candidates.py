"""Clusters to choose from, in the order of their size or price.

Map
---
Machine, PriceList      what can be bought: ``PriceList.load(path)``
Candidate               so many nodes of a kind, so many copies
candidates              all of them, smallest first; with prices, cheapest first
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

from pydantic import Field, PositiveInt, ValidationError

from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.names import counted
from pacelc.networks.mistakes import first_problem
from pacelc.study.model import Frozen, Memory
from pacelc.study.settings import Problem
from pacelc.study.source import StudyError, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MOST", "Candidate", "Machine", "PriceList", "candidates"]

_EXAMPLE = "for example machines: [{name: small, cores: 2, price_per_hour: 0.1}]"
MOST = 200_000
"""More candidates than this are refused: their table alone takes long to write."""


class Machine(Frozen):
    """A kind of node."""

    name: str = ""
    """As the provider calls it."""
    cores: PositiveInt
    """Processors."""
    memory_bytes: Annotated[Memory | None, Field(alias="memory")] = None
    """For people: the model has no caches that a data set may outgrow."""
    price_per_hour: Annotated[float | None, Field(ge=0)] = None
    """Of one node."""


class PriceList(Frozen):
    """What nodes cost."""

    currency: str = ""
    """Printed with prices."""
    machines: Annotated[tuple[Machine, ...], Field(min_length=1)]
    """All with a name and a price."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a YAML or JSON file.

        Raises
        ------
        InputError
            There is no such file, or it holds no price list.
        """
        text = read_text(Path(path), hint_if_missing=_EXAMPLE)
        try:
            what = "a price list is a mapping (machines: …)"
            source = parse_yaml(text, Path(path).name, cls.model_fields, what)
            try:
                found = cls.model_validate(source.data)
            except ValidationError as error:
                parts = {"machines": ("a machine", Machine)}
                problem = first_problem(error, ("a price list", cls), parts)
                hint = problem.hint or _EXAMPLE
                raise source.error(Problem(problem.path, problem.message, hint)) from None
            for i, machine in enumerate(found.machines):
                if not machine.name or machine.price_per_hour is None:
                    missing = "a machine needs a name and a price_per_hour"
                    raise source.error(Problem(("machines", i), missing, _EXAMPLE))
        except StudyError as error:
            raise InputError(error.message, error.hint) from None
        return found


class Candidate(NamedTuple):
    """A cluster."""

    nodes: int
    replication: int
    machine: Machine

    @property
    def cores(self) -> int:
        """Of all nodes."""
        return self.nodes * self.machine.cores

    @property
    def price_per_hour(self) -> float | None:
        """Of all nodes."""
        each = self.machine.price_per_hour
        return None if each is None else each * self.nodes

    @property
    def label(self) -> str:
        """The cluster in words."""
        cores = f"{counted(self.machine.cores, 'core')}"
        of = f"{self.machine.name} ({cores})" if self.machine.name else cores
        return f"{counted(self.nodes, 'node')} of {of}, replication {self.replication}"


def candidates(
    nodes: Iterable[int], replication: Iterable[int], machines: Sequence[Machine]
) -> list[Candidate]:
    """Return the clusters that can be, smallest first.

    The smallest has the fewest cores in all; of two with as many, the one with fewer nodes. If
    machines have prices, the cheapest is first. Clusters with fewer nodes than copies can't be.

    Raises
    ------
    InputError
        There is none, or there are too many.
    """
    sizes = sorted(set(nodes))
    factors = sorted(set(replication))
    if len(sizes) * len(factors) * len(machines) > MOST:
        raise InputError(f"there are more than {MOST:,} candidates", "ask for fewer sizes")
    found = [
        Candidate(count, copies, machine)
        for count in sizes
        for copies in factors
        if copies <= count
        for machine in machines
    ]
    if not found:
        raise InputError(
            f"no cluster can be: at most {counted(max(sizes), 'node')}, and at least "
            f"{counted(min(factors), 'copy')}",
            "each copy needs a node of its own",
        )

    def size(one: Candidate) -> tuple[float, ...]:
        return (one.price_per_hour or 0.0, one.cores, one.nodes, one.replication)

    return sorted(found, key=size)
