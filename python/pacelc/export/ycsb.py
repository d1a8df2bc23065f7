"""A run as YCSB 0.17's exporters print it, for the scripts that read those.

YCSB prints measurements: a metric (``READ``), what was measured (``AverageLatency(us)``), a value.
Where its numbers and ours mean different things, what is printed means what YCSB's does; the page
``docs/reference/export.md`` lists where that isn't possible.

Map
---
measurements    a run → its measurements, in YCSB's order within each metric
as_text         as ``TextMeasurementsExporter``
as_json         as ``JSONMeasurementsExporter``: objects one after the other, no document
as_json_array   as ``JSONArrayMeasurementsExporter``
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from pacelc.store.format import LatencyStats
from pacelc.store.latency_log import Histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pacelc.store.format import OperationStats, RunRecord
    from pacelc.store.latency_log import LatencyLog

__all__ = ["Measurement", "as_json", "as_json_array", "as_text", "measurements"]

# The kinds in the order in which pacelc lists them; YCSB's order is that of a hash table.
_METRICS: Final = {
    "read": "READ",
    "update": "UPDATE",
    "insert": "INSERT",
    "scan": "SCAN",
    "read_modify_write": "READ-MODIFY-WRITE",
    "delete": "DELETE",
}
# Its statuses are fewer than our kinds of error; those not named here are its ERROR.
_STATUS: Final = {
    "not_found": "NOT_FOUND",
    "integrity": "UNEXPECTED_STATE",
    "rejected": "BAD_REQUEST",
    "exists": "BAD_REQUEST",
    "unavailable": "SERVICE_UNAVAILABLE",
    "not_enough_replicas": "SERVICE_UNAVAILABLE",
    "not_primary": "SERVICE_UNAVAILABLE",
    "overloaded": "SERVICE_UNAVAILABLE",
    "connection_refused": "SERVICE_UNAVAILABLE",
}
_NO_MINIMUM: Final = 2**63 - 1
"""What HdrHistogram for Java gives as the least of no values."""


class Measurement(NamedTuple):
    """One line, or one object."""

    metric: str
    measurement: str
    value: int | float


def measurements(record: RunRecord, log: LatencyLog) -> list[Measurement]:
    """Return what YCSB would print of a run.

    Parameters
    ----------
    record
        ``run.json``: outcomes, and the latencies of operations that were ok.
    log
        ``latency.hdr``: the latencies of the others.
    """
    result = record.result
    kinds = {
        kind: stats
        for kind in _METRICS
        if (stats := result.operations.get(kind)) is not None and _returned(kind, stats)
    }
    done = sum(_returned(kind, stats).total() for kind, stats in kinds.items())
    lines = [
        Measurement("OVERALL", "RunTime(ms)", round(result.measured_s * 1000)),
        # Not by whole milliseconds, as YCSB's: of a run of five operations there may be none.
        Measurement("OVERALL", "Throughput(ops/sec)", done / result.measured_s),
    ]
    intended: list[Measurement] = []
    for kind, stats in kinds.items():
        metric = _METRICS[kind]
        returned = [] if kind == "read_modify_write" else _returns(metric, kind, stats)
        # What YCSB calls the intended latency is the one that counts from the schedule, which is
        # the only one that pacelc calls latency; without a schedule both are one.
        service = getattr(stats, "service_ns", None)
        if service is None:
            lines += _latencies(metric, _found(stats, stats.latency_ns, log, kind, ""))
            lines += returned + _failed(metric, log, kind, "")
            continue
        service = _found(stats, LatencyStats.model_validate(service), log, kind, ".service")
        lines += _latencies(metric, service)
        lines += returned + _failed(metric, log, kind, ".service")
        latency = _found(stats, stats.latency_ns, log, kind, "")
        intended += _latencies(f"Intended-{metric}", latency)
        intended += _failed(f"Intended-{metric}", log, kind, "")
    return lines + intended


def _latencies(metric: str, stats: LatencyStats) -> list[Measurement]:
    microseconds = {
        "MinLatency(us)": (stats.min, _NO_MINIMUM),
        "MaxLatency(us)": (stats.max, 0),
        "95thPercentileLatency(us)": (stats.p95, 0),
        "99thPercentileLatency(us)": (stats.p99, 0),
    }
    mean_us = math.nan if stats.mean is None else stats.mean / 1000
    return [
        Measurement(metric, "Operations", stats.n),
        Measurement(metric, "AverageLatency(us)", mean_us),
        # It measures whole microseconds, cut off.
        *(
            Measurement(metric, name, of_none if ns is None else int(ns // 1000))
            for name, (ns, of_none) in microseconds.items()
        ),
    ]


def _found(
    stats: OperationStats, latency: LatencyStats, log: LatencyLog, kind: str, clock: str
) -> LatencyStats:
    """Return the latency without that of reads that found nothing, which YCSB counts as failed."""
    if not _not_found(kind, stats):
        return latency
    return _stats(_logged(log, kind, ("ok",), clock).minus(_logged(log, kind, ("missed",), clock)))


def _failed(metric: str, log: LatencyLog, kind: str, clock: str) -> list[Measurement]:
    # A scan that finds too little is ok there.
    outcomes = ("fail", "unknown", *(("missed",) if kind == "read" else ()))
    histogram = _logged(log, kind, outcomes, clock)
    return [] if histogram.count == 0 else _latencies(f"{metric}-FAILED", _stats(histogram))


def _logged(log: LatencyLog, kind: str, outcomes: Sequence[str], clock: str) -> Histogram:
    histogram = Histogram.empty()
    tags = {f"{kind}.{outcome}{clock}" for outcome in outcomes}
    for interval in log.intervals:
        if interval.tag in tags:
            histogram = histogram.plus(interval.histogram)
    return histogram


def _stats(histogram: Histogram) -> LatencyStats:
    if histogram.count == 0:
        return LatencyStats(n=0)
    low, high, p95, p99 = histogram.percentiles((0, 100, 95, 99))
    return LatencyStats(
        n=histogram.count, mean=histogram.mean(), min=low, max=high, p95=p95, p99=p99
    )


def _not_found(kind: str, stats: OperationStats) -> int:
    return stats.missed if kind == "read" else 0


def _returned(kind: str, stats: OperationStats) -> Counter[str]:
    missed = _not_found(kind, stats)
    returned = Counter({"OK": stats.ok - missed, _STATUS["not_found"]: missed})
    for errors in (stats.fail, stats.unknown):
        for error, count in errors.items():
            returned[_STATUS.get(error, "ERROR")] += count
    return +returned


def _returns(metric: str, kind: str, stats: OperationStats) -> list[Measurement]:
    returned = _returned(kind, stats).items()
    return [Measurement(metric, f"Return={status}", count) for status, count in returned]


def as_text(lines: Sequence[Measurement]) -> str:
    """Return measurements as lines, ``[METRIC], measurement, value``."""
    return "".join(f"[{line.metric}], {line.measurement}, {_java(line.value)}\n" for line in lines)


def as_json(lines: Sequence[Measurement]) -> str:
    """Return measurements as objects one after the other."""
    return " ".join(map(_object, lines))


def as_json_array(lines: Sequence[Measurement]) -> str:
    """Return measurements as one array."""
    return f"[ {', '.join(map(_object, lines))} ]"


def _object(line: Measurement) -> str:
    value = _java(line.value)
    members = {
        "metric": f'"{line.metric}"',
        "measurement": f'"{line.measurement}"',
        # No number of JSON: the Java library puts it in quotes.
        "value": f'"{value}"' if value == "NaN" else value,
    }
    inside = ",\n".join(f'  "{name}" : {text}' for name, text in members.items())
    return f"{{\n{inside}\n}}"


_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7


def _java(value: float) -> str:
    """Return a number as Java prints it.

    Examples
    --------
    >>> [_java(x) for x in (7, 0.0, 155038.75, 12345678.5, 0.00025, float("nan"))]
    ['7', '0.0', '155038.75', '1.23456785E7', '2.5E-4', 'NaN']
    """
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if not value or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *others = map(str, digits)
    mantissa = f"{'-' * sign}{first}.{''.join(others) or '0'}"
    return f"{mantissa}E{len(digits) - 1 + int(exponent)}"
