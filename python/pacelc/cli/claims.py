"""``pacelc claims``: published findings, and what runs say of them."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from pacelc.analysis.verdict import said
from pacelc.cli.options import JsonOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.output import note, put
from pacelc.files import write_text
from pacelc.names import counted
from pacelc.papers import STUDIES, check_claims, claims_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pacelc.papers import Claim, Finding

__all__ = ["claims"]


@dataclass(frozen=True)
class _Row:
    """A finding as it is printed; the last four are null where no runs were asked."""

    study: str
    claim: str
    text: str
    source: str
    results: str | None = None
    verdict: str | None = None
    reason: str | None = None
    evidence: str | None = None


def claims(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIRECTORY]...", help="Results of studies that repeat a paper."),
    ] = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE|-", help="Write CSV; - is stdout.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List published findings, and what runs say of them: holds, violated, or can't tell.

    \b
    pacelc claims
    pacelc claims results/ferreira-2024 results/vyas-2022
    pacelc claims results/ferreira-2024 --csv findings.csv
    """  # noqa: D301 - \b keeps the lines of the example apart
    if directories:
        rows = [row for directory in directories for row in _tested(directory)]
    else:
        rows = [_row(study, claim) for study in STUDIES for claim in claims_of(study)]
    if as_json:
        put(json.dumps([asdict(row) for row in rows], indent=2, ensure_ascii=False))
    elif csv is not None:
        text = pl.DataFrame(rows, schema=dict.fromkeys(asdict(_Row("", "", "", "")), pl.String))
        if csv == "-":
            put(text.write_csv(), end="")
        else:
            write_text(Path(csv), text.write_csv())
    else:
        put("\n\n".join(_blocks(rows)), end="\n" if rows else "")


def _tested(directory: Path) -> Iterable[_Row]:
    from pacelc.analysis import Design  # noqa: PLC0415 - imported where it is needed
    from pacelc.store import load  # noqa: PLC0415

    results = load(directory)
    study = str(results.studies[0].get("name", ""))
    published = claims_of(study)
    if not published:
        note(f"{directory}: no published finding is about the study {study}")
        return
    for finding in check_claims(published, results, Design.of(results)):
        yield _row(study, finding.claim, finding, directory)


def _row(
    study: str, claim: Claim, finding: Finding | None = None, directory: Path | None = None
) -> _Row:
    published = (study, claim.id, claim.text, claim.source)
    if finding is None:
        return _Row(*published)
    return _Row(*published, str(directory), finding.verdict, finding.reason, finding.evidence)


def _blocks(rows: Sequence[_Row]) -> Iterable[str]:
    """Return a block a study and directory: a title, then lines a finding."""
    for study, results in dict.fromkeys((row.study, row.results) for row in rows):
        own = [row for row in rows if (row.study, row.results) == (study, results)]
        verdicts = [row.verdict for row in own]
        counts = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts) if v)
        title = f"{study}: {counted(len(own), 'published finding')}"
        lines = [title, f"{results}: {counts}"] if results else [title]
        for row in own:
            lines += _wrapped(f"{row.text} [{row.source}; {row.claim}]", "  ")
            if row.verdict is not None:
                verdict = said(row.verdict, row.reason)  # type: ignore[arg-type]
                lines += _wrapped(f"{verdict}: {row.evidence}", "    ")
        yield "\n".join(lines)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, 100, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
