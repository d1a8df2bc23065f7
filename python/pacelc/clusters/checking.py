"""Whether a database can have a cluster as it was asked for: said before anything is started.

What no cluster can be is refused by `ClusterSpec` itself, what this machine can't have by
`pacelc.clusters.cluster.require_machine`.

Map
---
checked     the spec, if its database can have such a cluster
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.clusters.databases.registry import DATABASES
from pacelc.clusters.errors import SpecError, nearest
from pacelc.clusters.sizes.size import validate as validate_size
from pacelc.clusters.software.program import named_program
from pacelc.clusters.spec import COMMON_OPTIONS
from pacelc.databases import FACTS

if TYPE_CHECKING:
    from pacelc.clusters.spec import ClusterSpec

__all__ = ["checked"]


def checked(spec: ClusterSpec) -> ClusterSpec:
    """Return a cluster as it was asked for, if its database can have it.

    Raises
    ------
    SpecError
        No such database, option or program; a size or a shape that this database can't have.
    """
    if spec.database not in DATABASES:
        hint = nearest(spec.database, DATABASES)
        raise SpecError(f"unknown database {spec.database!r}", hint=hint)
    if spec.sharding != "none" and not FACTS[spec.database].has_shards:
        sharded = ", ".join(facts.name for facts in FACTS.values() if facts.has_shards)
        raise SpecError(f"only {sharded} has shards, not {spec.database}")
    database = DATABASES[spec.database]
    known = {*COMMON_OPTIONS, *database.options}
    for name in spec.options:
        if name not in known:
            raise SpecError(f"{spec.database} has no option {name!r}", hint=nearest(name, known))
    validate_size(spec.cores, spec.memory_bytes)
    database.validate(spec)
    for option in ("server", "java"):
        named_program(spec, option)
    return spec
