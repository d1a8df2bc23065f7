"""What a study made on external clusters, taken away again.

Map
---
clean           drop each table that the study made, and the keyspace if it made that, too
Cleaned         what became of one of them
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pacelc.runner.engine import data_set_spec, is_engine_error
from pacelc.runner.lab import external_target
from pacelc.runner.load_checkpoint import LoadCheckpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pacelc.runner.engine import Engine
    from pacelc.store import Store
    from pacelc.study import Study

__all__ = ["Cleaned", "clean"]


@dataclass(frozen=True)
class Cleaned:
    """What became of one table."""

    table: str
    """Its name, and where it is, or was."""
    outcome: Literal["dropped", "gone", "kept"]
    """Gone: it was no longer there. Kept: it could not be dropped, or isn't the study's."""
    reason: str = ""
    """Why it was kept."""
    container: bool = False
    """Whether the keyspace went with it."""


def clean(study: Study, store: Store, engine: Engine) -> Iterator[Cleaned]:
    """Drop what ``study`` has made on external clusters, one table after the other.

    Nothing is dropped but what carries the study's marker, whatever ``replace_table`` allows the
    study's own runs.
    """
    asked: list[object] = []
    for run in study.schedule():
        checkpoint = LoadCheckpoint.of(run, store.path)
        if not checkpoint.is_noted or checkpoint.table in asked:
            continue
        asked.append(checkpoint.table)
        name = "{table} at {endpoints[0]} ({database})".format_map(checkpoint.table)
        target = {**external_target(run.scenario.settings), "owner": {"replace": False}}
        spec = json.dumps(checkpoint.owned(data_set_spec(run, target)))
        try:
            cleared = json.loads(engine.clear(spec, checkpoint.container).result())
        except Exception as error:
            if not is_engine_error(error):
                raise
            yield Cleaned(name, "kept", str(error))
            continue
        checkpoint.forget(container=cleared["container"])
        outcome = "dropped" if cleared["table"] else "gone"
        yield Cleaned(name, outcome, container=cleared["container"])
