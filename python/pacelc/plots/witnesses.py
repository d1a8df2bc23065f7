"""A violation, drawn so that it explains itself: who did what, when, and what can't be.

Rows are sessions, bars are operations, from when each was asked to when it was answered. Versions
of a record are numbered in the order of their writes, v0 for what was there before. The operation
that breaks the guarantee is in colour, and an arrow leads to it from the one after which it had to
see more.

Map
---
witness_timeline    draws one
contradiction       which two operations contradict each other
version_names       what versions are called
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import altair as alt
import polars as pl

from pacelc.analysis.estimate import format_number
from pacelc.names import counted
from pacelc.plots.layout import TooMuchToDraw, finish
from pacelc.plots.style import SCREEN, Style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.store.observed import Operation, Witness

__all__ = ["contradiction", "version_names", "witness_timeline"]

MOST_OPERATIONS: Final = 14
NEVER_NS: Final = 2**63 - 1
"""The end of an operation that had no answer."""
_FIRST_EARLIER: Final = 2**63
"""Versions from here on were there before the run: see the crate's ``Version``."""
_ABSENT: Final = 2**64 - 1
ROW: Final = 56
BAR: Final = 14
HEAD: Final = 7
"""Half of an arrow's head, in pixels."""
MOST_DECIMALS: Final = 6
"""A nanosecond."""
STEP: Final = 62
"""The least that two moments are apart, in pixels: a label's width."""
SPREAD: Final = 360
"""Pixels that are shared out by the time between moments, where there is room for them."""
ROOM: Final = 600
"""Pixels of a page, less the names of sessions and the last bar's words."""
_INK: Final = "#222222"
_QUIET: Final = "#666666"
_ALERT: Final = "#D55E00"
_BAR: Final = {"read": "#9ecae1", "write": "#3182bd"}
_GREY_BAR: Final = {"read": "#cccccc", "write": "#888888"}


def witness_timeline(
    witness: Witness,
    title: str,
    demand: str,
    *,
    of_a_session: bool,
    style: Style = SCREEN,
) -> alt.TopLevelMixin:
    """Draw a witness.

    Moments keep their order and have their times beneath; the distance between two grows with the
    time between them, but none is too small to be seen.

    Parameters
    ----------
    title
        The sentence above it.
    demand
        What the guarantee demands, in the line below.
    of_a_session
        Whether it is a guarantee to each session; else, to all clients together.

    Raises
    ------
    TooMuchToDraw
        It has more operations than a reader can follow.
    """
    operations = sorted(witness.operations, key=lambda o: (o.start_ns, o.end_ns))
    if len(operations) > MOST_OPERATIONS:
        raise TooMuchToDraw(
            f"{counted(len(operations), 'operation')} are more than a timeline can show"
        )
    names = version_names(operations)
    earlier, wrong = contradiction(operations, names, of_a_session=of_a_session)
    place, width = _places(operations)
    sessions = list(dict.fromkeys(o.session for o in operations))
    height = ROW * len(sessions)
    # All is placed in pixels, from the upper left.
    row_of = {session: ROW * row + ROW / 2 for row, session in enumerate(sessions)}
    bars = _GREY_BAR if style.name == "paper" else _BAR
    alert = _INK if style.name == "paper" else _ALERT
    drawn = pl.DataFrame(
        [
            {
                "x": place[o.start_ns],
                "x2": place[o.end_ns],
                "y": row_of[o.session],
                "y2": row_of[o.session] + BAR,
                "label": _label(o, names) + (_older_than(o, names) if o is wrong else ""),
                "colour": alert if o is wrong else bars[_kind(o)],
                "ink": alert if o is wrong else _INK,
                "weight": "bold" if o is wrong else "normal",
            }
            for o in operations
        ]
    )
    there = any(name.endswith("v0") for name in names.values())
    before = "; v0 was there before" if there else ""
    before += "; A, B … are records" if len({o.key for o in operations}) > 1 else ""
    answered = [(ns, at) for ns, at in place.items() if ns != NEVER_NS]
    said = _apart([(ns - answered[0][0]) / 1e6 for ns, _ in answered])
    moments = pl.DataFrame(
        [
            {"x": at, "y": 0, "y2": height, "ms": ms}
            for (_, at), ms in zip(answered, said, strict=True)
        ]
    )
    who = pl.DataFrame(
        [{"x": 0, "y": y + BAR / 2, "who": f"session {s}"} for s, y in row_of.items()]
    )
    # `axis=None` in layers is more than Vega-Lite 6.4 can merge.
    bare = alt.Axis(labels=False, ticks=False, domain=False, grid=False, title=None)
    x = alt.X("x:Q", axis=bare, scale=alt.Scale(domain=[0, width], nice=False, zero=False))
    y = alt.Y("y:Q", axis=bare, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    base = alt.Chart(drawn, width=width, height=height).encode(x=x, y=y)
    layers: list[Any] = [
        alt.Chart(moments).mark_rule(color="#e6e6e6").encode(x=x, y=y, y2=alt.Y2("y2:Q")),
        alt.Chart(moments)
        .mark_text(baseline="top", dy=6, fontSize=11, color=_QUIET)
        .encode(x=x, y=alt.Y("y2:Q"), text=alt.Text("ms:N")),
        alt.Chart(who)
        .mark_text(align="right", dx=-14, fontSize=13, color=_INK)
        .encode(x=x, y=y, text=alt.Text("who:N")),
        base.mark_rect(cornerRadius=2).encode(
            x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"), color=alt.Color("colour:N", scale=None)
        ),
        *(
            base.transform_filter(f"datum.weight == '{weight}'")
            .mark_text(align="left", baseline="bottom", dy=-3, fontSize=13, fontWeight=weight)
            .encode(text=alt.Text("label:N"), color=alt.Color("ink:N", scale=None))
            for weight in ("normal", "bold")
        ),
    ]
    if earlier is not None and wrong is not None:
        ends = (
            (place[earlier.end_ns], row_of[earlier.session] + BAR / 2),
            (place[wrong.start_ns], row_of[wrong.session] + BAR / 2),
        )
        later = f"{format_number((wrong.start_ns - earlier.end_ns) / 1e6)} ms later"
        layers += _arrow(ends, later, x, y, alert)
    return finish(
        alt.layer(*layers),
        style,
        title,
        [
            f"Demanded: {demand}",
            f"Beneath: ms since the first operation began, not to scale{before}",
        ],
    )


def version_names(operations: Sequence[Operation]) -> dict[tuple[int, int], str]:
    """Return what each version of each record is called: v1, v2 … in the order of their writes.

    Those that nobody wrote here were there before, and are called v0. Where there are several
    records, their letter comes first.
    """
    first_ns: dict[tuple[int, int], int] = {}
    written = [o for o in operations if _kind(o) == "write"]
    for o in (*written, *operations):
        first_ns.setdefault((o.key, o.version), o.start_ns)
    keys = list(dict.fromkeys(o.key for o in operations))
    names: dict[tuple[int, int], str] = {}
    for letter, key in zip("ABCDEFGHIJKLMN", keys, strict=False):
        record = f"{letter} " if len(keys) > 1 else ""
        mine = sorted((ns, version) for (of, version), ns in first_ns.items() if of == key)
        later = [version for _, version in mine if version < _FIRST_EARLIER]
        for _, version in mine:
            number = later.index(version) + 1 if version in later else 0
            names[key, version] = f"{record}v{number}"
        if (key, _ABSENT) in names:
            names[key, _ABSENT] = f"{record}nothing"
    return names


def contradiction(
    operations: Sequence[Operation], names: dict[tuple[int, int], str], *, of_a_session: bool
) -> tuple[Operation | None, Operation | None]:
    """Return the operation that had settled more, and the later read that returned less.

    Of a session guarantee both are the session's; else the first is the earliest answer to anybody
    that tells of a newer version. Either may be missing: not every violation is of this kind.
    """
    reads = [o for o in operations if _kind(o) == "read" and o.fate == "ok"]
    late = [o for o in reads if _newest(o, names) is not None]
    wrong = max(late or reads, key=lambda o: o.start_ns, default=None)
    if wrong is None:
        return None, None
    before = [o for o in operations if o.fate == "ok" and o.end_ns <= wrong.start_ns]
    if of_a_session:
        own = [o for o in before if o.session == wrong.session]
        return max(own, key=lambda o: o.end_ns, default=None), wrong
    read = _number(names[wrong.key, wrong.version])
    newer = [o for o in before if o.key == wrong.key and _number(names[o.key, o.version]) > read]
    return min(newer, key=lambda o: o.end_ns, default=None), wrong


def _newest(read: Operation, names: dict[tuple[int, int], str]) -> str | None:
    """Return the newest version of a read's record, if the read didn't return it."""
    newest = max((n for (key, _), n in names.items() if key == read.key), key=_number)
    return None if newest == names[read.key, read.version] else newest


def _number(name: str) -> int:
    """Return a version's number in its record; nothing comes before all."""
    digits = name.rpartition("v")[2]
    return int(digits) if digits.isdigit() else -1


def _kind(operation: Operation) -> str:
    return "read" if operation.action == "read" else "write"


def _label(operation: Operation, names: dict[tuple[int, int], str]) -> str:
    said = f"{_kind(operation)}s {names[operation.key, operation.version]}"
    if operation.fate == "failed":
        return f"{said}, failed"
    return f"{said}, no answer" if operation.end_ns == NEVER_NS else said


def _older_than(read: Operation, names: dict[tuple[int, int], str]) -> str:
    newest = _newest(read, names)
    return "" if newest is None else f", older than {newest.rpartition(' ')[2]}"


def _places(operations: Sequence[Operation]) -> tuple[dict[int, float], float]:
    """Return where each moment stands, in pixels, and the width of all."""
    ends = {o.end_ns for o in operations}
    moments = sorted({o.start_ns for o in operations} | ends - {NEVER_NS})
    total_ns = max(1, moments[-1] - moments[0])
    place, at = {moments[0]: 0.0}, 0.0
    spread = min(SPREAD, max(STEP, ROOM - STEP * len(moments)))
    for before, after in itertools.pairwise(moments):
        at += STEP + spread * (after - before) / total_ns
        place[after] = at
    width = at
    if NEVER_NS in ends:
        width = place[NEVER_NS] = at + STEP
    # Room for the last bar's words.
    return place, width + 2 * STEP


def _apart(times_ms: Sequence[float]) -> list[str]:
    """Print ascending times with as few decimals as leave a tenth of the shortest gap."""
    gap_ms = min((b - a for a, b in itertools.pairwise(times_ms)), default=1.0)
    decimals = max(0, min(MOST_DECIMALS, 1 - math.floor(math.log10(gap_ms))))
    return [f"{ms:,.{decimals}f}" for ms in times_ms]


def _arrow(
    ends: tuple[tuple[float, float], tuple[float, float]],
    said: str,
    x: alt.X,
    y: alt.Y,
    colour: str,
) -> list[Any]:
    """Draw from the answer that settled it to the read that should have seen it."""
    (x0, y0), (x1, y1) = ends
    angle = math.atan2(y1 - y0, x1 - x0)
    x1, y1 = x1 - HEAD * math.cos(angle), y1 - HEAD * math.sin(angle)
    line = alt.Chart(pl.DataFrame([{"x": x0, "y": y0, "x2": x1, "y2": y1}]))
    head = alt.Chart(pl.DataFrame([{"x": x1, "y": y1}]))
    middle = alt.Chart(
        pl.DataFrame([{"x": (x0 + x1) / 2, "y": (y0 + y1) / 2, "said": said}])
    ).encode(x=x, y=y, text=alt.Text("said:N"))
    words: dict[str, Any] = {"fontSize": 12, "baseline": "top", "dy": BAR / 2 + 1}
    return [
        line.mark_rule(color=colour, strokeWidth=1.6, strokeDash=[4, 3]).encode(
            x=x, y=y, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q")
        ),
        # The shape points up.
        head.mark_point(
            shape="triangle-up",
            angle=(math.degrees(angle) + 90) % 360,
            size=2 * HEAD**2,
            filled=True,
            opacity=1,
            color=colour,
        ).encode(x=x, y=y),
        middle.mark_text(**words, stroke="white", strokeWidth=4, strokeJoin="round"),
        middle.mark_text(**words, color=colour),
    ]
