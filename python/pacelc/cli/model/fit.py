"""``pacelc model fit``: a model calibrated from stored runs, checked on others."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacelc.cli.model.options import milliseconds
from pacelc.cli.options import JsonOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.table import aligned
from pacelc.files import write_text

if TYPE_CHECKING:
    from pacelc.analysis.estimate import Estimate
    from pacelc.models.fit import Calibration

__all__ = ["fit"]


def fit(
    directory: Annotated[
        Path, typer.Argument(help="A results directory, as `pacelc run` wrote it.")
    ],
    hold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=LEVEL,…",
            help="Runs to check it on, which aren't fitted; every third scenario, unless said.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIRECTORY", help="Write each model there, as YAML.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Calibrate a model from processor time and latencies, and check it on runs held out.

    One model for each combination of factors other than users and mix. What the runs can't tell
    apart is refused, with what would.

    \b
    pacelc model fit results/mine
    pacelc model fit results/mine --hold users=32,64 --out models
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.models.fit import fit as calibrate  # noqa: PLC0415 - data frames take long

    found = calibrate(directory, hold or ())
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for number, one in enumerate(found, start=1):
            if one.network is not None:
                write_text(out / f"model-{number}.yaml", f"# {one.name}\n{one.network.to_yaml()}")
    typer.echo(
        json.dumps([_document(one) for one in found], indent=2, ensure_ascii=False)
        if as_json
        else "\n\n".join(_text(one) for one in found)
    )


def _text(found: Calibration) -> str:
    if found.demands is None or found.network is None:
        hint = f"; {found.hint}" if found.hint else ""
        return f"{found.name}: no model: {found.reason}{hint}"
    rows = [
        [f"{kind}: processor", *_in_ms(estimate)]
        for kind, estimate in found.demands.by_kind_s.items()
    ]
    rows += [
        [f"{kind}: elsewhere", milliseconds(delay), "-", "-"]
        for kind, delay in found.delays_s.items()
    ]
    header = ["demand", "ms", "95 % from", "to"]
    background = found.demands.background_cores
    parts = [
        f"{found.name}: {found.demands.runs} runs fitted",
        aligned(header, rows, right=header[1:]),
        f"background: {background.text()} cores",
        *(f"caution: {text}" for text in found.demands.cautions),
        "",
        _errors(found),
    ]
    return "\n".join(parts)


def _in_ms(estimate: Estimate) -> list[str]:
    ends = [milliseconds(end) for end in (estimate.low, estimate.high)]
    return [milliseconds(estimate.value), *ends]


def _errors(found: Calibration) -> str:
    """Return relative errors run by run, those not fitted first, and their means."""
    names = [name for name in found.table.columns if name.endswith(".error")]
    titles = [name.removesuffix(".error").removesuffix("_per_s") for name in names]
    titles = [title.replace(".latency_s", " latency") for title in titles]
    rows = [
        [
            row["run"],
            "fitted" if row["fitted"] else "held out",
            str(row["users"]),
            *(_percent(row[name]) for name in names),
        ]
        for row in found.table.sort("fitted", maintain_order=True).iter_rows(named=True)
    ]
    for fitted, word in ((False, "held out"), (True, "fitted")):
        means = found.errors(fitted=fitted)
        if means:
            mean = [means.get(name.removesuffix(".error")) for name in names]
            shown = ["-" if one is None else f"{one:.1%}" for one in mean]
            rows.append(["mean, without sign", word, "", *shown])
    header = ["relative error", "run is", "users", *titles]
    return aligned(header, rows, right=["users", *titles])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1%}"


def _document(found: Calibration) -> dict[str, Any]:
    return {
        "group": dict(found.group),
        "demands": None if found.demands is None else asdict(found.demands),
        "delays_s": dict(found.delays_s),
        "network": None if found.network is None else found.network.document(),
        "runs": found.table.to_dicts(),
        "reason": found.reason,
        "hint": found.hint,
    }
