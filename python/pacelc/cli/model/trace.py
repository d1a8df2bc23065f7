"""``pacelc model trace``: one customer's way through a network, to explain a response time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from pacelc.cli.model.options import (
    NetworkArgument,
    NetworkSetOption,
    milliseconds,
    network_named,
    time_s,
)
from pacelc.cli.options import JsonOption, whole
from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.errors import InputError
from pacelc.names import counted

if TYPE_CHECKING:
    from pacelc.networks import Network
    from pacelc.networks.trace import Cycle, Stay, Trace

__all__ = ["trace"]


def trace(  # noqa: PLR0917 - options of a command
    network: NetworkArgument,
    set_: NetworkSetOption = None,
    class_: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="NAME",
            help="Only cycles that end in this class.",
            show_default="all of a customer's",
        ),
    ] = None,
    after: Annotated[
        str,
        typer.Option(metavar="TIME", help="The customer is the first to set out then or later."),
    ] = "1s",
    cycles: Annotated[int, whole(help="How many cycles it is followed.")] = 1,
    slowest: Annotated[
        int | None, whole(metavar="N", help="Show only the slowest of them.")
    ] = None,
    seed: Annotated[int, whole(help="The same seed gives the same way.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Follow one customer of a simulated network: where it waits and is served, and how long.

    A cycle goes from leaving the reference (open: from arriving) until coming back (leaving). The
    customer's own stays add up to its response; siblings of a fork are under way meanwhile.

    \b
    pacelc model trace quorum-quorum
    pacelc model trace gandini-cassandra-1 --class read --cycles 1000 --slowest 1
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.networks.trace import trace_customer  # noqa: PLC0415 - as above

    if slowest is not None and slowest < 1:
        raise InputError(f"--slowest {slowest}: should be 1 or more")
    found = network_named(network, set_ or ())
    followed = trace_customer(
        found, class_, after_s=time_s("--after", after), cycles=cycles, seed=seed
    )
    shown = followed if slowest is None else followed.slowest(slowest)
    if as_json:
        document = [one.model_dump(by_alias=True) for one in shown.cycles]
        put(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        put(_text(found, followed, shown))


def _text(network: Network, followed: Trace, shown: Trace) -> str:
    number = len(followed.cycles)
    first = f"{network.name or 'network'}: {counted(number, 'cycle')} of a customer"
    if len(shown.cycles) < number:
        first += f"; the slowest {len(shown.cycles)}" if len(shown.cycles) > 1 else "; the slowest"
    parts = [first]
    if number > 1:
        parts += ["", _mean(followed)]
    parts += [f"\n{_cycle(one)}" for one in shown.cycles]
    return "\n".join(parts)


def _mean(followed: Trace) -> str:
    mean_s = sum(one.response_s for one in followed.cycles) / len(followed.cycles)
    rows = [
        [
            row["at"],
            f"{row['stays']:.4g}",
            milliseconds(row["waited_s"]),
            milliseconds(row["served_s"]),
            f"{row['share']:.1%}",
        ]
        for row in followed.time_frame().iter_rows(named=True)
    ]
    header = ["at", "stays", "waited ms", "served ms", "of response"]
    return f"mean of a cycle: {milliseconds(mean_s)} ms\n{aligned(header, rows, right=header[1:])}"


def _cycle(cycle: Cycle) -> str:
    of = f"{cycle.class_name}: " if cycle.class_name else ""
    away = ", turned away" if cycle.turned_away else ""
    head = f"{of}{milliseconds(cycle.response_s)} ms, from {cycle.from_s:.6f} s on{away}"
    if not cycle.stays:
        return f"{head}; nowhere in between"
    rows = [_stay(cycle, stay) for stay in cycle.stays]
    header = ["from ms", "who", "class", "at", "waited ms", "served ms", "of response"]
    return f"{head}\n{aligned(header, rows, right=('from ms', *header[4:]))}"


def _stay(cycle: Cycle, stay: Stay) -> list[str]:
    own = stay.job == 0
    took_s = (stay.waited_s or 0.0) + (stay.served_s or 0.0)
    share = f"{took_s / cycle.response_s:.1%}" if own and cycle.response_s else ""
    return [
        f"{(stay.from_s - cycle.from_s) * 1e3:.3f}",
        "customer" if own else f"sibling {stay.job}",
        stay.class_,
        stay.at,
        milliseconds(stay.waited_s),
        "cancelled" if stay.cancelled else milliseconds(stay.served_s),
        share,
    ]
