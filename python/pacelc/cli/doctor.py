"""``pacelc doctor``: what this machine can do."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from pacelc.cli.output import put
from pacelc.cli.table import aligned

__all__ = ["doctor"]


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what this machine can do, and what would enable the rest.

    Nothing is fetched, and nothing is left behind.

    \b
    pacelc doctor
    pacelc doctor --json
    """  # noqa: D301 - \b keeps the lines of the example apart
    # Drivers take long to import, and --help needs none.
    from pacelc.clusters.examination import examine  # noqa: PLC0415

    findings = examine()
    if as_json:
        put(json.dumps([asdict(finding) for finding in findings], indent=2))
        return
    rows = [
        [finding.what, "yes" if finding.there else "no", finding.detail] for finding in findings
    ]
    put(aligned(["what", "there", "detail"], rows))
    for finding in findings:
        if finding.hint:
            put(f"\n{finding.what}: {finding.hint}")
