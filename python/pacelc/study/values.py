"""Values as people write them in a study: durations, ranges, level labels.

Map
---
Json, Scalar        plain data, as YAML and JSON give it
parse_duration_s    ``10s``, ``5m``, ``1.5h``, ``250ms`` or plain seconds → seconds
parse_mix           ``70/30``, of reads and updates → two numbers
parse_share         ``5%`` or ``0.05`` → 0.05
parse_bytes         ``2GiB``, ``512MiB``, ``1.5GB`` or plain bytes → bytes
format_duration     the inverse, for people
expand_levels       ``1..10`` inside a list of levels → its integers
count_in_ranges     how many integers those of a whole document are
label_of            the label a level is known by in tables, files and ``when`` clauses
same_label          whether two labels name one level; ``label_keys``, to look one up
nearest             the known name closest to a mistyped or former one, as a hint
is_builtin          whether a name is something built in, or a file's
instead, named      of what was given, as much as an error may repeat
no_level            that a factor has no such level, in words
"""

from __future__ import annotations

import difflib
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pydantic import JsonValue as Json

from pacelc.errors import InputError
from pacelc.former_names import SETTINGS
from pacelc.numerals import parse_number, parse_whole

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Scalar: TypeAlias = str | int | float | bool

__all__ = [
    "Json",
    "Scalar",
    "count_in_ranges",
    "expand_levels",
    "format_duration",
    "instead",
    "is_builtin",
    "is_confidential",
    "label_keys",
    "label_of",
    "named",
    "nearest",
    "no_level",
    "parse_bytes",
    "parse_duration_s",
    "parse_mix",
    "parse_share",
    "same_label",
    "secret_in",
]

_DURATION = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h)?\s*$")
_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_MIX = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*/\s*([0-9]+(?:\.[0-9]+)?)\s*")
_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*")
_BYTES = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]i?B|kB|B)?\s*$")
_BYTES_PER_UNIT = {
    "B": 1,
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", start=1)},
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("kMGT", start=1)},
    "KB": 1000,
}
_RANGE = re.compile(r"^\s*(-?[0-9]{1,18})\s*\.\.\s*(-?[0-9]{1,18})\s*$")
_LONGEST_S = 366 * 86_400
_MOST_BYTES = 2**63

# A range is a convenience for a few user counts; one that is longer than this is a typing error.
_LONGEST_RANGE = 10_000

_MINUTE_S = _HOUR_MINUTES = 60

# Below this many seconds, tenths matter to whoever waits.
_TENTHS_BELOW_S = 10

# A longer list of names helps nobody, nor does a longer name.
_MOST_NAMES = 16
_LONGEST_NAME = 200

# Longer values would take an error message beyond a line.
_LONGEST_SHOWN = 60

# Settings in which people write passwords, though none belongs there.
_CONFIDENTIAL = frozenset({"external", "cluster_options", "client_options"})
# As databases name what lets one in: requirepass, masterauth, keystore_password.
_SECRET = re.compile(
    r"pass(word|wd|phrase)|(?<!by)pass$|^pwd$|secret|credentials?$|api_?key|auth$", re.IGNORECASE
)
# As it is given among arguments: -Djavax.net.ssl.keyStorePassword=x.
_SECRET_GIVEN = re.compile(r"(pass(word|wd|phrase)|secret)\w*\s*[=:]", re.IGNORECASE)
# A name that took its value along, as `password:X` does in a mapping on one line.
_WITH_VALUE = re.compile(r"[:=@].*|(?<=pass)\W.*|(?<=password)\W.*", re.DOTALL | re.IGNORECASE)


def parse_duration_s(value: object) -> float:
    """Return a duration in seconds.

    Raises
    ------
    ValueError
        If ``value`` is no duration.

    Examples
    --------
    >>> parse_duration_s("5m"), parse_duration_s("250ms"), parse_duration_s(300)
    (300.0, 0.25, 300.0)
    """
    seconds = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    elif isinstance(value, str) and (match := _DURATION.match(value)):
        seconds = parse_number(match[1]) * _SECONDS_PER_UNIT[match[2] or "s"]
    if seconds is not None and seconds <= _LONGEST_S:
        return float(seconds)
    if seconds is not None:
        msg = "should be at most a year"
        raise ValueError(msg)
    msg = f"should be a duration such as 10s, 5m or 300 (seconds){instead(value)}"
    raise ValueError(msg)


def parse_mix(text: str) -> tuple[float, float] | None:
    """Return the shares of reads and of updates in a mix such as ``70/30``; None if it is none.

    Examples
    --------
    >>> parse_mix("70/30"), parse_mix("70")
    ((70.0, 30.0), None)
    """
    found = _MIX.fullmatch(text)
    return None if found is None else (float(found[1]), float(found[2]))


def parse_share(text: str) -> float | None:
    """Return a share as a part of 1, perhaps above it; None if it is none.

    Examples
    --------
    >>> parse_share("5%"), parse_share("0.05"), parse_share("-1")
    (0.05, 0.05, None)
    """
    found = _SHARE.fullmatch(text)
    return None if found is None else float(found[1]) / (100 if found[2] else 1)


def parse_bytes(value: object) -> int:
    """Return an amount of memory in bytes, to the next whole one.

    Raises
    ------
    ValueError
        If ``value`` is no amount.

    Examples
    --------
    >>> parse_bytes("2GiB"), parse_bytes("1.5 kB"), parse_bytes(4096)
    (2147483648, 1500, 4096)
    """
    size = None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        size = value
    elif isinstance(value, str) and (match := _BYTES.match(value)):
        size = round(Decimal(match[1]) * _BYTES_PER_UNIT[match[2] or "B"])
    if size is not None and size < _MOST_BYTES:
        return size
    msg = f"should be an amount such as 2GiB, 512MiB or 1.5GB{instead(value)}"
    raise ValueError(msg)


def format_duration(seconds: float) -> str:
    """Return a duration for people.

    Examples
    --------
    >>> format_duration(0.25), format_duration(61), format_duration(7322)
    ('0.2s', '1m01s', '2h02m')
    """
    if seconds < _TENTHS_BELOW_S and seconds != int(seconds):
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < _MINUTE_S:
        return f"{whole}s"
    minutes, second = divmod(whole, _MINUTE_S)
    if minutes < _HOUR_MINUTES:
        return f"{minutes}m{second:02d}s"
    hours, minute = divmod(minutes, _HOUR_MINUTES)
    return f"{hours}h{minute:02d}m"


def expand_levels(levels: Iterable[Json]) -> list[Json]:
    """Return ``levels`` with every range replaced by its integers.

    Examples
    --------
    >>> expand_levels(["1..4", 10])
    [1, 2, 3, 4, 10]
    """
    expanded: list[Json] = []
    for level in levels:
        ends = _ends(level)
        if ends is None:
            expanded.append(level)
            continue
        first, last = ends
        if last < first or last - first >= _LONGEST_RANGE:
            msg = f"the range {level} should go upwards and stay below {_LONGEST_RANGE} levels"
            raise ValueError(msg)
        expanded.extend(range(first, last + 1))
    return expanded


def _ends(level: Json) -> tuple[int, int] | None:
    match = _RANGE.match(level) if isinstance(level, str) else None
    return None if match is None else (parse_whole(match[1]), parse_whole(match[2]))


def count_in_ranges(value: Json) -> int:
    """Return how many levels the ranges in ``value`` stand for, at any depth.

    Ranges that `expand_levels` refuses don't count.

    Examples
    --------
    >>> count_in_ranges({"factors": {"users": ["1..4", 10, "7..8"]}})
    6
    """
    if isinstance(value, dict):
        return sum(map(count_in_ranges, value.values()))
    if isinstance(value, list):
        return sum(map(count_in_ranges, value))
    first, last = _ends(value) or (1, 0)
    return last - first + 1 if first <= last < first + _LONGEST_RANGE else 0


def label_of(level: Json) -> Scalar:
    """Return the label of a level: a scalar is its own, anything else is its compact JSON.

    Examples
    --------
    >>> label_of(8), label_of({"read": "ONE"})
    (8, '{"read":"ONE"}')
    """
    if isinstance(level, str | int | float):
        return level
    return json.dumps(level, separators=(",", ":"))


def same_label(left: Scalar, right: Scalar) -> bool:
    """Tell whether two labels name one level; ``8`` and ``"8"`` do: an option is only text."""
    return left == right or str(left) == str(right)


def label_keys(label: Scalar) -> tuple[Scalar, tuple[str]]:
    """Return keys of which labels share one exactly if they name one level: see `same_label`.

    Examples
    --------
    >>> label_keys(8), label_keys("8")
    ((8, ('8',)), ('8', ('8',)))
    """
    return label, (str(label),)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to ``name`` as a hint, or the list of them if it is short.

    Examples
    --------
    >>> nearest("recrods", ["records", "fields"])
    'did you mean records?'
    """
    names = sorted({one for one in known if len(one) <= _LONGEST_NAME})
    if (current := SETTINGS.get(name)) in names:
        return f"its name is now {current}"
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    if 0 < len(names) <= _MOST_NAMES:
        return f"known: {', '.join(names)}"
    return None


def is_builtin(name: str, builtin: Collection[str], what: str) -> bool:
    """Tell whether a name is that of something built in, rather than a file's.

    Raises
    ------
    InputError
        It is neither: a word, without a suffix or a folder, that isn't known.
    """
    path = Path(name)
    if path.is_file():
        return False
    if name in builtin:
        return True
    if not path.suffix and len(path.parts) == 1:
        raise InputError(
            f"there is no {what} {name!r}, neither a file nor a built-in one",
            nearest(name, builtin),
        )
    return False


def is_confidential(path: Iterable[object]) -> bool:
    """Tell whether a password may stand at a path of a study: its errors repeat no value then."""
    return any(str(part).partition(".")[0] in _CONFIDENTIAL for part in path)


def secret_in(options: Json) -> str | None:
    """Return the name of an option that holds a secret, at any depth; None where none does.

    Examples
    --------
    >>> secret_in({"config": {"requirepass": "x"}}), secret_in({"config": {"num_tokens": 1}})
    ('requirepass', None)
    >>> secret_in(["-Dkeystore.password=x"]), secret_in({"credentials_validity": "2s"})
    ('password', None)
    """
    names: list[str] = []
    inner: list[Json] = []
    if isinstance(options, dict):
        names, inner = [name for name in options if _SECRET.search(name)], [*options.values()]
    elif isinstance(options, list):
        inner = options
    elif isinstance(options, str) and _SECRET_GIVEN.search(options):
        names = ["password"]
    return next((name for name in [*names, *map(secret_in, inner)] if name is not None), None)


def instead(value: object) -> str:
    """Return ``, not VALUE`` for an error of a value: nothing for what holds other values.

    Examples
    --------
    >>> instead("soon"), instead({"password": "secret"})
    (", not 'soon'", '')
    """
    shown = repr(value)
    is_one = value is None or isinstance(value, str | int | float)
    return f", not {shown}" if is_one and len(shown) <= _LONGEST_SHOWN else ""


def named(name: object) -> str:
    """Return a name as an error may repeat it: without a value that was written into it.

    Examples
    --------
    >>> named("warmup"), named("password:secret")
    ('warmup', 'password…')
    """
    shown = _WITH_VALUE.sub("…", str(name))
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


def no_level(factor: str, level: Json) -> str:
    """Return in words that a factor has no such level."""
    is_told = (
        isinstance(level, str | int | float)
        and len(str(level)) <= _LONGEST_SHOWN
        and not is_confidential([factor])
    )
    return f"factor {factor} has no " + (f"level {str(level)!r}" if is_told else "such level")
