"""``pacelc advise``: which strongly consistent setting is fastest for a mix and a load."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from pacelc.cli.options import (
    JsonOption,
    LoadFactorOption,
    MixFactorOption,
    SettingFactorOption,
    number,
    whole,
)
from pacelc.cli.output import put
from pacelc.errors import InputError
from pacelc.names import counted

if TYPE_CHECKING:
    from pacelc.analysis.advice import Advice, Candidate

__all__ = ["advise"]

_METHODS: Final = {
    "measured": "the runs at this very mix and load",
    "interpolation": "interpolation between the cells around (linear in log users and in the mix)",
    "regression": "regression (second degree in log users and the mix, for each setting)",
}


def advise(  # noqa: PLR0917 - Typer's way to have options
    mix: Annotated[
        str, typer.Option(metavar="READS/WRITES", help="Of the operations, in per cent: 70/30.")
    ],
    users: Annotated[float, number(help="Users (threads) at a time.", least=1)],
    source: Annotated[
        str,
        typer.Option("--from", metavar="SOURCE", help="A results directory, or a published table."),
    ] = "vyas-2022",
    metric: Annotated[
        Literal["mean", "p99", "throughput"],
        typer.Option(help="Mean latency, its 99th percentile, or operations per second."),
    ] = "mean",
    nodes: Annotated[int | None, whole(help="Only runs on so many nodes.")] = None,
    replication: Annotated[
        int | None, whole(help="Only runs with so many copies of each record.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="FACTOR=LEVEL", help="Only runs with that level. Repeatable."),
    ] = None,
    confidence: Annotated[
        float,
        number(help="How sure an answer must be; also of the intervals.", least=0.5, most=0.999),
    ] = 0.95,
    as_json: JsonOption = False,
    load_factor: LoadFactorOption = "users",
    mix_factor: MixFactorOption = "mix",
    setting_factor: SettingFactorOption = "setting",
) -> None:
    """Say which strongly consistent setting is fastest, by how much, and how sure that is.

    Settings are nR-mW: a read waits for n nodes and a write for m, together more than there are
    copies.

    \b
    pacelc advise --mix 70/30 --users 200
    pacelc advise --mix 90/10 --users 50 --from results/mine --metric p99
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.analysis import advice  # noqa: PLC0415 - takes long to import
    from pacelc.analysis.records import Naming, parse_mix  # noqa: PLC0415
    from pacelc.papers.records import records_of  # noqa: PLC0415

    share = parse_mix(mix)
    if share is None:
        raise InputError(
            f"--mix {mix}: a mix is reads/writes in per cent, and sums to 100", "--mix 70/30"
        )
    kept = {key: str(v) for key, v in (("nodes", nodes), ("replication", replication)) if v}
    for text in only or ():
        name, sign, level = text.partition("=")
        if not sign:
            raise InputError(f"--only {text} is not FACTOR=LEVEL", "--only database=cassandra")
        kept[name.strip()] = level.strip()
    records = records_of(source, Naming(load_factor, mix_factor, setting_factor))
    rows = advice.readings(records, metric, load=load_factor, only=kept)
    answer = advice.advise(
        rows, users, share, metric, confidence=confidence, cautions=records.cautions
    )
    if as_json:
        document = {"source": records.source, **answer.as_document()}
        put(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        put(_text(answer, records.source))


def _text(answer: Advice, source: str) -> str:
    from pacelc.analysis.advice import METRICS  # noqa: PLC0415 - as above
    from pacelc.cli.regression_text import cautions_text, wrapped  # noqa: PLC0415

    metric = METRICS[answer.metric]
    reads = 100 * answer.read_share
    where = f"{reads:g} % reads, {100 - reads:g} % writes, {counted(answer.load, 'user')}"
    verdict = f"can't tell: {answer.reason}"
    if answer.fastest:
        first, second = answer.candidates[:2]
        verdict = (
            f"{answer.fastest} is the fastest ({_likely(first.probability)} sure); {second.setting}"
            f" has {second.ratio:.2f} times its {metric.title}"
        )
    parts = [wrapped(f"{where}: {verdict}"), wrapped(f"from {source}")]
    if answer.candidates:
        parts += ["", _table(answer, f"{metric.name}, {metric.unit}")]
    parts += ["", wrapped(_basis(answer))]
    if answer.cautions:
        parts += ["", cautions_text(answer.cautions)]
    return "\n".join(parts)


def _table(answer: Advice, title: str) -> str:
    from pacelc.analysis.estimate import format_number  # noqa: PLC0415 - as above
    from pacelc.cli.table import aligned  # noqa: PLC0415

    percent = f"{100 * answer.confidence:g} %"
    header = [
        "setting",
        title,
        f"{percent} from",
        "to",
        "ratio",
        f"{percent} from ",
        "to ",
        "fastest",
        "measured there",
    ]

    def row(c: Candidate) -> list[str]:
        known = not math.isnan(c.low)
        width = (c.high - c.low) / 2 if known else None
        ratio = [f"{v:.2f}" if v is not None else "" for v in (c.ratio, c.ratio_low, c.ratio_high)]
        measured = "no" if c.measured is None else f"{format_number(c.measured, width)}"
        if c.runs > 1:
            measured += f" (n={c.runs})"
        return [
            c.setting,
            format_number(c.value, width),
            *(format_number(v, width) if known else "" for v in (c.low, c.high)),
            *ratio,
            _likely(c.probability) if known else "",
            measured,
        ]

    return aligned(header, [row(c) for c in answer.candidates], right=header[1:])


def _likely(probability: float) -> str:
    least = 0.005
    if probability < least:
        return "< 1 %"
    return "> 99 %" if probability > 1 - least else f"{100 * probability:.0f} %"


def _basis(answer: Advice) -> str:
    text = f"by {_METHODS[answer.method]}"
    if answer.method == "measured":
        return f"{text}; intervals from the variance between repetitions, over all cells"
    if answer.error is None:
        return text
    text += (
        f": its error on {answer.tested} left-out cells is {100 * answer.error:.0f} % (root mean "
        f"square), and it named the fastest setting in {answer.right} of them"
    )
    if len(answer.errors) > 1 and answer.compared:
        errors = ", ".join(f"{m} {100 * e:.1f} %" for m, e in answer.errors.items())
        text += f"; on the {answer.compared} that both methods can predict: {errors}"
    return f"{text}. Intervals are of one more reading, with errors of that size"
