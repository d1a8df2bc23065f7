"""``pacelc levels``: what weak, quorum and strong mean for each database."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

import typer

from pacelc.cli.door import put
from pacelc.cli.table import aligned
from pacelc.runner.engine import load_engine

__all__ = ["levels"]


def levels(
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Print what weak, quorum and strong mean for each database.

    The table is of a cluster of three nodes with replication 3.

    \b
    pacelc levels
    """  # noqa: D301 - \b keeps the lines of the example apart
    text = load_engine().levels()
    if as_json:
        put(text)
        return
    rows = cast("list[dict[str, Any]]", json.loads(text))
    header = list(dict.fromkeys(name for row in rows for name in row))
    put(aligned(header, ([row.get(name, "") for name in header] for row in rows)))
