"""HdrHistogram interval logs (``latency.hdr``), read into NumPy arrays.

The log is the standard text format of HdrHistogram (versions 1.2 and 1.3, histograms V2
compressed), so its own tools open it. Here it is read strictly: the usual Python reader passes over
a line that it can't parse, and a percentile over the lines that were left looks like any other. A
line is data, a comment, the legend, or an error.

Start here: :func:`read_latency_log`, then :meth:`LatencyLog.merged`, then
:meth:`Histogram.percentile`.
"""

# ruff: noqa: PLR2004 - the numbers are the encoding's: seven bits a byte, nine bytes a word

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["Histogram", "Interval", "LatencyLog", "LatencyLogError", "read_latency_log"]

_COOKIE_V2: Final = 0x1C849303
_COOKIE_V2_COMPRESSED: Final = 0x1C849304
_COOKIE_FLAG: Final = (
    0x10  # says how wide a count's word is, which V2 has done away with: both forms occur
)
_HEADER: Final = struct.Struct(">iiiiqqd")
_ENVELOPE: Final = struct.Struct(">ii")
_MAX_BYTES: Final = 1 << 25  # a histogram of 5 digits over 64 bits is under this, a zip bomb is not
_MAX_BUCKETS: Final = 1 << 23
_SERVICE: Final = ".service"
_LINE: Final = re.compile(
    r"(?:Tag=([^,\s]+),)?(-?[0-9.eE+-]+),([0-9.eE+-]+),([0-9.eE+-]+),([A-Za-z0-9+/=]+)"
)


class LatencyLogError(ValueError):
    """A log that can't be read; the message names the line."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of values in buckets of known relative width.

    Attributes
    ----------
    counts : (n,) int64
        Observations by bucket, in order of value.
    unit_exponent : int
        The smallest bucket is ``2**unit_exponent`` wide.
    sub_bucket_exponent : int
        There are ``2**sub_bucket_exponent`` buckets before they double in width.
    """

    counts: NDArray[np.int64]
    unit_exponent: int
    sub_bucket_exponent: int

    @classmethod
    def empty(cls, *, unit_exponent: int = 0, sub_bucket_exponent: int = 11) -> Histogram:
        """Return a histogram of no observations."""
        return cls(np.zeros(0, dtype=np.int64), unit_exponent, sub_bucket_exponent)

    @property
    def count(self) -> int:
        """Number of observations."""
        return int(self.counts.sum())

    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lowest and highest value of every bucket, both of shape (n,)."""
        half = 1 << (self.sub_bucket_exponent - 1)
        index = np.arange(self.counts.size, dtype=np.int64)
        bucket = (index // half) - 1
        within = index % half + half
        within = np.where(bucket < 0, within - half, within)
        shift = np.maximum(bucket, 0) + self.unit_exponent
        low = np.left_shift(within, shift, dtype=np.int64)
        return low, low + np.left_shift(np.int64(1), shift, dtype=np.int64) - 1

    def percentile(self, percent: float) -> float:
        """Return the value that ``percent`` of the observations do not exceed.

        As in HdrHistogram: the highest value of that observation's bucket, and for 0 % the lowest.

        Raises
        ------
        ValueError
            The histogram is empty, or ``percent`` is not in 0 … 100.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"a percentile is in 0 … 100, not {percent}")
        total = self.count
        if total == 0:
            raise ValueError("a histogram of no observations has no percentiles")
        # The subtraction keeps 99.9 % of 1,000 at the 999th: in floating point the product is a
        # hair above 999.
        rank = max(1, math.ceil(percent / 100 * total - 1e-9 * total))
        position = int(np.searchsorted(np.cumsum(self.counts), rank))
        low, high = self.bounds()
        return float(low[position] if percent == 0 else high[position])

    def percentiles(self, percents: Iterable[float]) -> list[float]:
        """Return :meth:`percentile` of each."""
        return [self.percentile(p) for p in percents]

    def mean(self) -> float:
        """Mean, each observation counted at the middle of its bucket.

        Raises
        ------
        ValueError
            The histogram is empty.
        """
        if self.count == 0:
            raise ValueError("a histogram of no observations has no mean")
        low, high = self.bounds()
        return float(
            np.average((low + (high - low + 1) // 2).astype(np.float64), weights=self.counts)
        )

    def minus(self, part: Histogram) -> Histogram:
        """Take some of its observations away.

        Raises
        ------
        ValueError
            They aren't all in it.
        """
        negative = Histogram(-part.counts, part.unit_exponent, part.sub_bucket_exponent)
        rest = self.plus(negative) if part.count else self
        if rest.counts.size and int(rest.counts.min()) < 0:
            raise ValueError("a histogram has no more than is in it")
        return rest

    def plus(self, other: Histogram) -> Histogram:
        """Merge two histograms.

        Raises
        ------
        ValueError
            Their buckets differ.
        """
        if self.count == 0:
            return other
        if other.count == 0:
            return self
        if (self.unit_exponent, self.sub_bucket_exponent) != (
            other.unit_exponent,
            other.sub_bucket_exponent,
        ):
            raise ValueError("histograms of different precision can't be merged")
        short, long = sorted((self.counts, other.counts), key=len)
        merged = long.copy()
        merged[: short.size] += short
        return Histogram(merged, self.unit_exponent, self.sub_bucket_exponent)


@dataclass(frozen=True)
class Interval:
    """One line of a log: what one tag recorded in ``[start_s, start_s + length_s)``."""

    tag: str
    start_s: float
    length_s: float
    histogram: Histogram

    @property
    def is_service(self) -> bool:
        """Whether it holds service times, from an operation's start, and not latencies."""
        return self.tag.endswith(_SERVICE)

    @property
    def operation(self) -> str:
        """The operation's kind: ``read`` of ``read.ok`` and of ``read.ok.service``."""
        tag = self.tag.removesuffix(_SERVICE)
        return tag.rpartition(".")[0] or tag

    @property
    def outcome(self) -> str:
        """``ok``, ``fail`` or ``unknown``; or ``missed``, which are some of the ok ones."""
        return self.tag.removesuffix(_SERVICE).rpartition(".")[2]


@dataclass(frozen=True)
class LatencyLog:
    """The intervals of a log, in its order."""

    intervals: tuple[Interval, ...]

    @property
    def operations(self) -> list[str]:
        """Kinds of operation in the log, sorted."""
        return sorted({i.operation for i in self.intervals})

    def merged(
        self, *, operation: str | None = None, outcome: str | None = None, service: bool = False
    ) -> Histogram:
        """Sum the intervals of one operation and outcome, or of all: latencies, or service times.

        Raises
        ------
        LatencyLogError
            Intervals differ in precision.
        """
        total = Histogram.empty()
        for interval in self.intervals:
            if (
                interval.is_service == service
                and (operation is None or interval.operation == operation)
                and (outcome is None or interval.outcome == outcome)
            ):
                try:
                    total = total.plus(interval.histogram)
                except ValueError as error:
                    raise LatencyLogError(str(error)) from error
        return total


def read_latency_log(text: str) -> LatencyLog:
    """Read a whole log.

    Parameters
    ----------
    text
        The log's text. Comments (``#``) and the quoted legend are passed over.

    Raises
    ------
    LatencyLogError
        A line is none of those, or its histogram is damaged.
    """
    intervals: list[Interval] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith(("#", '"StartTimestamp"')):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise LatencyLogError(f"line {number} is not an interval: {line[:60]!r}")
        tag, start, length, _maximum, payload = match.groups()
        try:
            interval = Interval(tag or "", float(start), float(length), _decode(payload))
        except (ValueError, struct.error, zlib.error, binascii.Error) as error:
            raise LatencyLogError(f"line {number}: {error}") from error
        if not (math.isfinite(interval.start_s) and math.isfinite(interval.length_s)):
            raise LatencyLogError(f"line {number}: times must be finite")
        if interval.length_s < 0:
            raise LatencyLogError(f"line {number}: a length of {length} s is negative")
        intervals.append(interval)
    return LatencyLog(tuple(intervals))


def _decode(payload: str) -> Histogram:
    data = base64.b64decode(payload, validate=True)
    cookie, length = _ENVELOPE.unpack_from(data)
    if cookie & ~_COOKIE_FLAG == _COOKIE_V2_COMPRESSED:
        inflater = zlib.decompressobj()
        data = inflater.decompress(
            data[_ENVELOPE.size : _ENVELOPE.size + max(length, 0)], _MAX_BYTES
        )
        if not inflater.eof:
            raise ValueError("the histogram is cut short or too large")
        (cookie,) = struct.unpack_from(">i", data)
    if cookie & ~_COOKIE_FLAG != _COOKIE_V2:
        raise ValueError(f"unknown histogram encoding {cookie:#x} (only V2 is read)")
    _, size, normalizing, digits, lowest, _highest, _ratio = _HEADER.unpack_from(data)
    if normalizing != 0:
        raise ValueError("histograms with a normalizing offset are not read")
    if not 0 <= digits <= 5 or lowest < 1:
        raise ValueError("the histogram's header is damaged")
    body = data[_HEADER.size :]
    if size != len(body):
        raise ValueError(f"the histogram announces {size} bytes of counts and has {len(body)}")
    sub_bucket_exponent = max(1, math.ceil(math.log2(2 * 10**digits)))
    return Histogram(_counts(body), lowest.bit_length() - 1, sub_bucket_exponent)


def _counts(body: bytes) -> NDArray[np.int64]:
    """ZigZag LEB128 words to counts; a negative word is a stretch of empty buckets."""
    words = _words(body)
    lengths = np.where(words < 0, -words, 1)
    if words.size == 0:
        return words
    # Summed as floats first: a damaged stretch of -2**62 buckets must not wrap around to a small
    # size.
    if float(lengths.astype(np.float64).sum()) > _MAX_BUCKETS or int(lengths.min()) < 0:
        raise ValueError("the histogram announces too many buckets")
    counts = np.zeros(int(lengths.sum()), dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    positive = words > 0
    counts[starts[positive]] = words[positive]
    if float(counts.astype(np.float64).sum()) > 2.0**62:
        raise ValueError("the histogram's counts overflow")
    return counts


def _words(body: bytes) -> NDArray[np.int64]:
    octets = np.frombuffer(body, dtype=np.uint8)
    if octets.size == 0:
        return np.zeros(0, dtype=np.int64)
    ends = np.flatnonzero(octets < 0x80)
    starts = np.concatenate(([0], ends[:-1] + 1)) if ends.size else ends
    if ends.size == 0 or ends[-1] != octets.size - 1 or int((ends - starts).max()) >= 8:
        return _long_words(body)
    place = np.arange(octets.size) - np.repeat(starts, ends - starts + 1)
    raw = np.add.reduceat(
        (octets & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64), starts
    )
    return (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64)


def _long_words(body: bytes) -> NDArray[np.int64]:
    """Read words of nine bytes too, whose last byte has no continuation bit."""
    words: list[int] = []
    raw = shift = 0
    for octet in body:
        if shift == 56:
            raw |= octet << 56
        else:
            raw |= (octet & 0x7F) << shift
            shift += 7
            if octet & 0x80:
                continue
        words.append((raw >> 1) ^ -(raw & 1))
        raw = shift = 0
    if shift:
        raise ValueError("the histogram's counts are cut short")
    return np.array(words, dtype=np.int64)
