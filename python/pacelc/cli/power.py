"""``pacelc power``: how many repetitions a comparison takes, judged by runs that there are."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.options import CompareOption, JsonOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.output import put, say
from pacelc.cli.table import aligned
from pacelc.errors import CannotRun, InputError
from pacelc.study.values import parse_share

if TYPE_CHECKING:
    from pacelc.analysis.power import Needed

__all__ = ["power"]


def power(
    directory: Annotated[
        Path, typer.Argument(help="Results to judge by: a pilot, or an earlier study's.")
    ],
    effect: Annotated[
        str, typer.Option(metavar="SHARE", help="The smallest change that matters.")
    ] = "10%",
    chance: Annotated[
        str, typer.Option("--power", metavar="SHARE", help="The probability of showing it.")
    ] = "80%",
    compare: CompareOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how many repetitions a study needs to show the smallest change that matters.

    Judged by how much its pairs of runs (or of clusters, where levels need their own) differ. The
    range is what their number leaves uncertain.

    \b
    pacelc power results/pilot
    pacelc power results/pilot --effect 5% --power 90%
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.analysis.design import design_of  # noqa: PLC0415 - imported where it is needed
    from pacelc.analysis.power import power as needed_of  # noqa: PLC0415
    from pacelc.analysis.qualified import qualified  # noqa: PLC0415
    from pacelc.store import load  # noqa: PLC0415

    smallest, probability = _share("--effect", effect), _share("--power", chance)
    results = load(directory)
    design = design_of(results, compare)
    # A disturbed pilot still tells something, and is often all that there is.
    if disturbed := qualified(results, design, "speed").without:
        say(f"warning: undisturbed runs may differ less, or more: {disturbed}")
    found = needed_of(design, effect=smallest, power=probability)
    if not found:
        raise CannotRun(
            f"{directory} compares nothing",
            "a study needs runs at two levels of what it compares (compare: FACTOR)",
        )
    if as_json:
        put(json.dumps([_as_json(needed) for needed in found], indent=2))
        return
    header = ["group", "compared", "metric", "pairs", "spread", "shows now", "repetitions needed"]
    put(aligned(header, [_row(needed) for needed in found], right=header[3:]))
    say(
        f"to show a change by {smallest:.3g}, that is {100 * smallest:.3g} %, with a probability "
        f"of {100 * probability:.3g} %, after Holm over {len(found)} tests"
    )


def _share(option: str, text: str) -> float:
    share = parse_share(text)
    if share is None or not 0 < share < 1:
        raise InputError(f"{option} {text}: should be a share between 0 and 1, such as 5% or 0.05")
    return share


def _row(needed: Needed) -> list[object]:
    return [
        str(needed.group),
        f"{needed.level} instead of {needed.reference}",
        needed.metric.title,
        f"{needed.pairs} of {needed.unit}s",
        "" if needed.spread is None else f"{100 * needed.spread:.2g} %",
        "nothing" if needed.detectable is None else f"{100 * needed.detectable:.2g} %",
        _repetitions(needed),
    ]


def _repetitions(needed: Needed) -> str:
    if needed.spread is None:
        return "can't tell"
    enough, low, high = (
        "too many" if n is None else f"{n:,}" for n in (needed.repetitions, needed.low, needed.high)
    )
    return enough if low == high else f"{enough} [{low}; {high}]"


def _as_json(needed: Needed) -> dict[str, object]:
    return {
        "group": dict(zip(needed.group.names, needed.group.labels, strict=True)),
        "reference": needed.reference,
        "level": needed.level,
        "metric": needed.metric.name,
        "unit": needed.unit,
        "pairs": needed.pairs,
        "spread": needed.spread,
        "detectable": needed.detectable,
        "repetitions": needed.repetitions,
        "repetitions_low": needed.low,
        "repetitions_high": needed.high,
    }
