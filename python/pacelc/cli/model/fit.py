"""``pacelc model fit``: a model calibrated from stored runs, checked on others."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pacelc.cli.door import put
from pacelc.cli.model.options import milliseconds
from pacelc.cli.options import JsonOption  # noqa: TC001 - Typer reads annotations
from pacelc.cli.table import aligned
from pacelc.files import make_directory, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from pacelc.calibration.fit import Fit
    from pacelc.calibration.work import SharedBy, Work

__all__ = ["fit"]

_MEASURES: Final = {
    "throughput_per_s": "throughput",
    "read.latency_s": "read",
    "write.latency_s": "write",
    "read.p99_s": "read p99",
    "write.p99_s": "write p99",
}
_TERMS: Final = {
    "coordinator": "an operation, at its coordinator",
    "wake": "waking up for an operation, if alone",
    "switch": "an operation among others, more than if alone",
    "wake_remote": "waking up for another node, if alone",
    "wake_acknowledged": "waking up for writes that wait, if alone",
    "read": "a read, at a copy",
    "digest": "a digest, at a copy",
    "write": "a write, at a copy",
    "remote": "a request to another node",
    "acknowledged": "a write that waits for more than one copy",
    "journal": "a journal that a write waits for, if alone",
    "wake_journal": "waking up a write whose journals are there",
    "spread": "servers that take turns on a machine",
}


_SHARED: Final = ("wake", "switch")
"""What terms begin with that operations share."""
_DISCIPLINES: Final = {"ps": "shared", "fcfs": "taken in turn", "siro": "taken in random order"}
_UNLIKE: Final = 1.2
"""Times as fast: neighbours of a virtual machine make less of a study's median."""
_TOO_MUCH: Final = 0.1
"""Share of throughput: what a good model should be off by."""
_OF_CLIENT: Final = {
    "read": "a read",
    "write": "a write",
    "wake": "waking up, if alone",
    "switch": "an operation among others, more than if alone",
    "wake_acknowledged": "waking up for writes that wait, if alone",
    "spread": "turns that it takes with servers",
}


def fit(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS…",
            help="Directories of `pacelc run`, or files of `pacelc model keep`; several are of "
            "clusters started anew.",
        ),
    ],
    hold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=LEVEL,…",
            help="Runs to check it on, which aren't fitted; every third scenario, unless said. "
            "'… and …' are those that have both. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIRECTORY", help="Write each calibration there, for pacelc plan -c."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Calibrate a model of each database from its runs, and check it on runs held out.

    One model covers users, mixes, nodes, copies and levels: processor time of operations, copies
    and requests between nodes, and what else is waited for. What the runs can't tell apart is
    named, with what would. A cluster that is started anew may be faster or slower: runs of a study
    made twice say by how much, and what is predicted is the mean of both.

    \b
    pacelc model fit results/calibration
    pacelc model fit results/monday results/tuesday
    pacelc model fit results/calibration --hold users=32,64 --out models
    pacelc model fit cassandra.parquet --hold 'nodes=3 and replication=1'
    pacelc plan --rate 5k --p99 20ms -c models/cassandra.yaml
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.calibration.fit import fit as calibrate  # noqa: PLC0415 - data frames take long

    with _bar() as tell:
        found, left_out = calibrate(results, hold or (), tell)
    written = [] if out is None else _write(found, out)
    if as_json:
        document = {"models": [_document(one) for one in found], "left_out": left_out}
        put(json.dumps(document, indent=2, ensure_ascii=False))
        return
    put("\n\n".join(_text(one) for one in found))
    for reason, count in left_out.items():
        put(f"\n{count} runs left out: {reason}")
    for path in written:
        put(path)


@contextmanager
def _bar() -> Generator[Callable[[str, int, int], None]]:
    """Show on a terminal how far it is; a model of a hundred configurations takes a minute."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)

        def tell(model: str, done: int, of: int) -> None:
            # What is fitted first has no parts.
            bar.update(task, description=model, completed=done, total=of if done else None)

        yield tell


def _write(found: Sequence[Fit], directory: Path) -> list[Path]:
    make_directory(directory)
    written: list[Path] = []
    for one in found:
        if one.calibration is not None:
            words = [str(value) for value in one.group.values()]
            path = directory / f"{'-'.join(words).replace(' ', '-').replace('/', '-')}.yaml"
            write_text(path, one.calibration.to_yaml())
            written.append(path)
    return written


def _text(found: Fit) -> str:
    if found.calibration is None or found.work is None:
        hint = f"; {found.hint}" if found.hint else ""
        return f"{found.name}: no model: {found.reason}{hint}"
    cautions = (
        *_machines(found),
        *_unsure(found),
        *_by_chance(found),
        *found.work.cautions,
    )
    parts = [
        f"{found.name}: {found.work.runs} runs fitted",
        *_drift(found),
        _demands(found),
        *(f"caution: {text}" for text in cautions),
        "",
        _errors(found),
    ]
    return "\n".join(parts)


def _drift(found: Fit) -> list[str]:
    lines: list[str] = []
    if round(found.drift, 2) > 0:
        text = f"drift: runs were up to {found.drift:.0%} faster or slower with time; taken off"
        lines.append(text)
    if found.anew > 0:
        text = f"started anew: clusters of a kind differ by {found.anew:.0%} (standard deviation)"
        if found.machines >= _UNLIKE:
            text += ", with their machines"
        if found.apart > 0:
            text += f", and by {found.apart:.0%} beyond what all of a directory do"
        lines.append(f"{text}; taken off")
    return lines


def _machines(found: Fit) -> list[str]:
    if found.machines < _UNLIKE:
        return []
    text = f"one machine was {found.machines:.1f} times as fast as another"
    return [f"{text}: what a copy or a node costs may differ with it, so fit their runs apart, too"]


def _unsure(found: Fit) -> list[str]:
    """Say which clusters can hardly be compared, since the machine was faster or slower then."""
    said: list[str] = []
    for one in found.unsure:
        than = "faster" if one.machine > 0 else "slower"
        said.append(
            f"{one.cluster.size} in {one.study}: the machine was {abs(one.machine):.0%} {than} "
            f"than in the mean of the study, and {one.throughput:+.0%} of throughput is put down "
            f"to it (95 % from {one.low:+.0%} to {one.high:+.0%}); measure it once more"
        )
    return said


def _by_chance(found: Fit) -> list[str]:
    """Say of which sizes runs scatter so much that a good model couldn't be told from a bad one."""
    return [
        f"{size}: runs scatter, so that a perfect model would be {share:.0%} off in throughput; "
        "measure for longer, or more often"
        for size, share in found.chance_by_size().items()
        if share > _TOO_MUCH
    ]


def _demands(found: Fit) -> str:
    work = found.work
    assert work is not None  # noqa: S101 - a model has one
    rows = [
        [f"processor: {words}", *_ends(work.servers[term])]
        for term, words in _TERMS.items()
        if term in work.servers
    ]
    rows += [[f"client: {_OF_CLIENT[term]}", *_ends(one)] for term, one in work.client.items()]
    words = {
        "client_round_trip": "to the coordinator and back",
        "node_round_trip": "to another node and back",
        "write_wait": "a written copy, besides",
        "journal_wait": "a journal",
    }
    demands = found.calibration.demands if found.calibration is not None else {}
    rows += [
        [f"waiting: {text}", *_ends(demands[name])]
        for name, text in words.items()
        if name in demands and demands[name].value > 0
    ]
    header = ["demand", "ms", "95 % from", "to"]
    table = aligned(header, rows, right=header[1:])
    background = f"background: {_background(work)}{_available(found)}"
    return "\n".join([table, *_ways(found, work), background])


def _ways(found: Fit, work: Work) -> list[str]:
    """Return how what is taken alone is shared, and how processors are waited for."""
    lines: list[str] = []
    if any(term.startswith(_SHARED) for term in work.servers):
        shared_by = work.shared_by
        what = "one takes more among others" if shared_by.awake else "an operation takes if alone"
        lines.append(
            f"shared: of n at a time each takes {_part(shared_by)} of what {what}, "
            f"and 1/n^{shared_by.copies:g} for further copies and writes that wait"
        )
        if shared_by.round_s is not None:
            led = found.calibration is not None and found.calibration.coordinator == "leader"
            lines.append(f"  copies are made in rounds, {_round(shared_by.round_s, led=led)}")
    if any(term.startswith(_SHARED) for term in work.client):
        shared_by = work.client_shared_by
        lines.append(f"  by the client: {_part(shared_by)}, and 1/n^{shared_by.copies:g}")
    if (dearer := work.shared_by.dearer) > 0:
        lines.append(
            "beside others: what operations and copies take of their own is "
            f"{dearer:.0%} more with each doubling of the servers on a machine"
        )
    if work.mixing is not None and work.mixing.value > 0:
        share, low, high = (
            "-" if one is None else f"{one:.0%}"
            for one in (work.mixing.value, work.mixing.low, work.mixing.high)
        )
        lines.append(
            f"mixed: half reads take {share} more of processors (95 % from {low} to {high})"
        )
    if found.calibration is not None:
        name = _DISCIPLINES[found.calibration.discipline]
        scv, scattered = found.calibration.scv, found.calibration.host.scattered
        if scattered > 0:
            of_cores = f"{scattered:.2g}, where 1 is a queue for each"
            name += f", threads wait beside idle ones ({of_cores})"
        lines.append(f"processors: {name}; squared coefficient of variation of times: {scv:g}")
    return lines


def _part(shared_by: SharedBy) -> str:
    """Return which part each of n operations has, at c copies each."""
    a = f"{shared_by.operations:g}"
    return f"1 - 1/(n x its copies)^{a}" if shared_by.awake else f"1/n^{a}"


def _round(round_s: float, *, led: bool) -> str:
    half = "each of half of the writes under way"
    if round_s == 0:
        return half
    also, each = ("and", " for each follower") if led else ("or", "")
    come = f"those that come in {1e3 * round_s:g} ms{each}"
    return f"{half} {also}, where none waits for copies, of {come}"


def _background(work: Work) -> str:
    return f"{work.servers['background'].text()} cores a node alone"


def _available(found: Fit) -> str:
    """Return what of a shared machine there was."""
    cores = found.calibration.host.available_cores if found.calibration is not None else None
    return "" if cores is None else f", of {cores:.3g} cores that nobody else used"


def _ends(one: Any) -> list[str]:
    return [milliseconds(one.value), *(milliseconds(end) for end in (one.low, one.high))]


def _errors(found: Fit) -> str:
    """Return relative errors, configurations that weren't fitted first, and their means."""
    names = [name for name in _MEASURES if f"{name}.error" in found.table.columns]
    rows = [
        [
            row["configuration"],
            "fitted" if row["fitted"] else "held out",
            *([""] * len(names) if row["reason"] else [_percent(row[f"{n}.error"]) for n in names]),
        ]
        for row in found.table.sort("fitted", maintain_order=True).iter_rows(named=True)
    ]
    for words, what, means in (
        ("mean, without sign", "held out", found.errors(fitted=False)),
        ("the same, of the network alone", "held out", found.errors(fitted=False, network=True)),
        ("a perfect model's, by chance", "held out", found.chance()),
        ("mean, without sign", "fitted", found.errors(fitted=True)),
    ):
        if means:
            shown = [f"{means[n]:.1%}" if n in means else "-" for n in names]
            rows.append([words, what, *shown])
    titles = [_MEASURES[name] for name in names]
    table = aligned(["relative error", "is", *titles], rows, right=titles)
    reasons: dict[str, int] = {}
    for reason in found.table.get_column("reason").drop_nulls():
        reasons[reason] = reasons.get(reason, 0) + 1
    notes = [f"{count} configurations not predicted: {text}" for text, count in reasons.items()]
    return "\n".join([table, *notes])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1%}"


def _document(found: Fit) -> dict[str, Any]:
    work = found.work
    return {
        "group": dict(found.group),
        "calibration": None if found.calibration is None else found.calibration.document(),
        "processor": None
        if work is None
        else {
            "servers": {name: asdict(one) for name, one in work.servers.items()},
            "client": {name: asdict(one) for name, one in work.client.items()},
            "shared_by": [work.shared_by.operations, work.shared_by.copies],
            "round_s": work.shared_by.round_s,
            "dearer": work.shared_by.dearer,
            "client_shared_by": [work.client_shared_by.operations, work.client_shared_by.copies],
            "mixing": None if work.mixing is None else asdict(work.mixing),
            "runs": work.runs,
            "cautions": list(work.cautions),
        },
        "drift": found.drift,
        "started_anew": found.anew,
        "apart": found.apart,
        "machines": found.machines,
        "unsure": [
            {
                "study": one.study,
                "nodes": one.cluster.nodes,
                "replication": one.cluster.replication,
                "machine": one.machine,
                "throughput": [one.throughput, one.low, one.high],
            }
            for one in found.unsure
        ],
        "configurations": found.table.to_dicts(),
        "reason": found.reason,
        "hint": found.hint,
    }
