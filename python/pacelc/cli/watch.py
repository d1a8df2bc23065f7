"""Who else hears of a running study: Prometheus, and whoever reads YCSB's output.

Map
---
together        several observers as one
YcsbFormat      YCSB's exporters
metrics_at      the study as Prometheus metrics, while it runs
ycsb_writer     each run as YCSB prints it, when it finishes
"""

from __future__ import annotations

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from pacelc.cli.output import say
from pacelc.errors import PacelcError
from pacelc.runner import events

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

__all__ = ["YcsbFormat", "metrics_at", "together", "ycsb_writer"]


class YcsbFormat(StrEnum):
    """YCSB's exporters."""

    TEXT = "text"
    JSON = "json"
    JSON_ARRAY = "json-array"


@contextmanager
def metrics_at(address: str | None) -> Generator[events.Observer]:
    """Serve metrics at ``HOST:PORT``, if one is given; yield what must hear the events."""
    if address is None:
        yield _deaf
        return
    from pacelc.runner.metrics import Metrics, parse_address, serving  # noqa: PLC0415

    metrics = Metrics()
    with serving(metrics, parse_address(address)) as at:
        say(f"metrics: http://{at}/metrics")
        yield metrics


def ycsb_writer(
    directory: Path, fmt: YcsbFormat | None, say_line: Callable[[str], None]
) -> events.Observer:
    """Return what writes each run that finishes into the results' ``export``."""
    if fmt is None:
        return _deaf
    from pacelc.export import export  # noqa: PLC0415

    def write(event: events.Event) -> None:
        if isinstance(event, events.RunFinished):
            run = event.run.run_id
            try:
                # A file of that name is of an earlier run that somebody moved away.
                (path,) = export(directory, f"ycsb-{fmt}", runs=[run], force=True)
            except PacelcError as error:
                # The run itself is stored, and `pacelc export` can try again.
                say_line(f"warning: {run}: {error.message}")
            else:
                say_line(f"wrote {path}")

    return write


def together(*observers: events.Observer) -> events.Observer:
    """Return an observer that tells each of these."""

    def tell(event: events.Event) -> None:
        for observe in observers:
            observe(event)

    return tell


def _deaf(_event: events.Event) -> None:
    return
