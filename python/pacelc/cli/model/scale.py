"""``pacelc model scale``: a law of scalability from stored runs or a table."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.options import JsonOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.errors import InputError
from pacelc.names import counted

if TYPE_CHECKING:
    from pacelc.analysis.estimate import Estimate
    from pacelc.laws.law import Law
    from pacelc.laws.scale import GroupLaw

__all__ = ["scale"]


def scale(  # noqa: PLR0917 - options of a command
    directory: Annotated[
        Path | None,
        typer.Argument(help="A results directory, as `pacelc run` wrote it.", show_default=False),
    ] = None,
    over: Annotated[
        str, typer.Option(metavar="SIZE", help="What grows: nodes, users, cores.")
    ] = "nodes",
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Take the runs from a table instead."),
    ] = None,
    y: Annotated[str, typer.Option(metavar="COLUMN", help="What is done.")] = "throughput_per_s",
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Of a table: a law for each value. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it: .svg, .png or .html.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fit the Universal Scalability Law, Amdahl's and linear scaling, and choose by F tests.

    One law for each combination of the study's other factors. What the runs can't tell is said.

    \b
    pacelc model scale results/mine --over nodes
    pacelc model scale --csv runs.csv --over users --by database --out scaling.svg
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.laws.scale import laws_of_csv, laws_of_runs  # noqa: PLC0415 - data frames

    if (directory is None) == (csv is None):
        raise InputError("give one of: a results directory, --csv FILE")
    if directory is not None and by:
        raise InputError("--by is for tables", "a study's factors make its groups")
    found = (
        laws_of_runs(directory, over, y)
        if directory is not None
        else laws_of_csv(csv or Path(), over, y, by or ())
    )
    if all(one.law is None for one in found):
        raise InputError(f"no law: {found[0].reason}", found[0].hint or None)
    if out is not None:
        _draw(found, out)
    if as_json:
        put(json.dumps([_document(one) for one in found], indent=2, ensure_ascii=False))
        return
    put("\n\n".join(_text(one) for one in found))


def _draw(found: list[GroupLaw], out: Path) -> None:
    from pacelc.plots.layout import NothingToDraw  # noqa: PLC0415 - figures take long to import
    from pacelc.plots.save import save_figure  # noqa: PLC0415 - as above
    from pacelc.plots.scale import scaling  # noqa: PLC0415 - as above

    try:
        save_figure(scaling({one.name: one.law for one in found if one.law is not None}), out)
    except (NothingToDraw, ValueError) as error:
        raise InputError(str(error)) from None


def _text(found: GroupLaw) -> str:
    from pacelc.laws.law import LAWS  # noqa: PLC0415 - as above

    law = found.law
    if law is None:
        hint = f" ({found.hint})" if found.hint else ""
        return f"{found.name}: no law: {found.reason}{hint}"
    low, high = law.measured
    one, sigma, kappa = law.coefficients
    head = (
        f"{found.name}: {LAWS[law.chosen]}, {counted(len(law.sizes), 'run')}, {law.over} "
        f"{low:g} to {high:g}"
    )
    rows = [
        [name, f"{chosen:.4g}", *_ends(estimate)]
        for name, chosen, estimate in (
            ("throughput of one", one, law.throughput_of_one),
            ("sigma (contention)", sigma, law.sigma),
            ("kappa (coherency)", kappa, law.kappa),
        )
    ]
    if law.peak_size is not None:
        rows.append(["peak", f"{law.peak_size.value:.4g}", *_ends(law.peak_size)])
    header = ["coefficient", "chosen law", "95 % from", "to"]
    parts = [head, aligned(header, rows, right=header[1:])]
    parts += [
        f"{LAWS[t.law]} against {LAWS[t.against]}: "
        f"F({t.df[0]}, {t.df[1]}) = {t.f:.3g}, p = {t.p:.2g}"
        for t in law.tests
    ]
    parts += [f"caution: {text}" for text in law.cautions]
    return "\n".join(parts)


def _ends(estimate: Estimate | None) -> list[str]:
    if estimate is None:
        return ["-", "-"]
    return ["-" if end is None else f"{end:.4g}" for end in (estimate.low, estimate.high)]


def _document(found: GroupLaw) -> dict[str, object]:
    law: Law | None = found.law
    return {
        "group": dict(found.group),
        "law": None if law is None else asdict(law),
        "reason": found.reason,
        "hint": found.hint,
    }
