"""Results directories made up by a seeded script: fixtures, not measurements.

Its latencies follow a closed loop with one bottleneck, so that throughput, response time and users
obey Little's law as they would in a real run, and the true effects are known to the tests.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from pacelc.report import write_report
from pacelc.store import Histogram, Results, Store, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from pacelc.report import ReportPaths

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

# (database, operation) → milliseconds of one operation alone, milliseconds at the bottleneck,
# strong over weak.
TRUTH: dict[tuple[str, str], tuple[float, float, float]] = {
    ("cassandra", "read"): (9.0, 8.0, 2.6),
    ("cassandra", "write"): (1.2, 0.35, 1.3),
    ("mongodb", "read"): (6.0, 5.0, 1.4),
    ("mongodb", "write"): (2.0, 0.6, 2.4),
    ("redis", "write"): (0.7, 0.22, 1.18),
}
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9, "p9999": 99.99}
SAMPLED = ("p50", "p90", "p99", "p999")
KIND = {"read": "scan", "write": "insert"}


@dataclass(frozen=True)
class Shape:
    """What to make up."""

    name: str = "ferreira-2024"
    databases: tuple[str, ...] = ("cassandra", "mongodb", "redis")
    levels: tuple[str, ...] = ("weak", "strong")
    users: tuple[int, ...] = (1, 2, 4, 6, 8, 10)
    repetitions: int = 3
    measure_s: int = 20
    warm_up_s: int = 3
    noise: float = 0.04
    mixed: bool = False
    fail_scenarios: tuple[int, ...] = ()
    busy_fraction: float = 0.2


def definition(shape: Shape) -> dict[str, Any]:
    """The study's document."""
    factors: dict[str, Any] = {"database": list(shape.databases), "consistency": list(shape.levels)}
    if not shape.mixed:
        factors["operation"] = {
            "read": {"workload": {"mix": {"scan": 1}}},
            "write": {"workload": {"mix": {"insert": 1}}},
        }
    factors["users"] = list(shape.users)
    return {
        "name": shape.name,
        "title": "A made-up study, for tests",
        "factors": factors,
        "settings": {
            "nodes": 3,
            "replication": 3,
            "measure": shape.measure_s,
            "warm_up": shape.warm_up_s,
        },
        "repetitions": shape.repetitions,
        "seed": 7,
    }


def write_study(path: Path, shape: Shape | None = None) -> Path:
    """Write a whole results directory and return it."""
    shape = shape or Shape()
    clock = START
    number = 0
    with Store.open(path, create=definition(shape), pacelc_version="0.1.0", now=START) as store:
        for database in shape.databases:
            store.log_activity("cluster-up", start_utc=clock, seconds=12.5)
            clock += timedelta(seconds=12.5)
            for level in shape.levels:
                for operation in ("mixed",) if shape.mixed else ("read", "write"):
                    if operation == "read" and database == "redis":
                        continue
                    for users in shape.users:
                        number += 1
                        for repetition in range(1, shape.repetitions + 1):
                            clock = _write_run(
                                store,
                                shape,
                                number,
                                repetition,
                                (database, level, operation, users),
                                clock=clock,
                            )
            store.log_activity("cluster-down", start_utc=clock, seconds=2.0)
    return path


def histogram_of(values: NDArray[np.int64], weight: int = 1) -> Histogram:
    """Three significant digits, as the engine records."""
    exponent = 11
    _, bits = np.frexp(values.astype(np.float64))
    shift: NDArray[np.int64] = np.maximum(np.asarray(bits, dtype=np.int64) - exponent, 0)
    index: NDArray[np.int64] = np.left_shift(shift, exponent - 1) + np.right_shift(values, shift)
    return Histogram(np.bincount(index).astype(np.int64) * weight, 0, exponent)


def encoded(histogram: Histogram) -> str:
    """V2 compressed, in base64; empty stretches are one negative word."""
    words: list[int] = []
    (filled,) = np.nonzero(histogram.counts)
    before = -1
    for place in filled.tolist():
        if place - before > 1:
            words.append(before + 1 - place)
        words.append(int(histogram.counts[place]))
        before = place
    body = bytearray()
    for word in words:
        raw = (word << 1) ^ (word >> 63)
        while raw >= 0x80:
            body.append(raw & 0x7F | 0x80)
            raw >>= 7
        body.append(raw)
    inner = zlib.compress(
        struct.pack(">iiiiqqd", 0x1C849313, len(body), 0, 3, 1, 3_600_000_000_000, 1.0)
        + bytes(body),
        1,
    )
    return base64.b64encode(struct.pack(">ii", 0x1C849314, len(inner)) + inner).decode()


def _write_run(
    store: Store,
    shape: Shape,
    number: int,
    repetition: int,
    labels: tuple[str, str, str, int],
    *,
    clock: datetime,
) -> datetime:
    database, level, operation, users = labels
    run_id = f"{number:04d}-r{repetition}"
    rng = np.random.default_rng([7, number, repetition])
    factors: dict[str, Any] = {"database": database, "consistency": level}
    if not shape.mixed:
        factors["operation"] = operation
    factors["users"] = users
    scenario: dict[str, Any] = {
        "number": number,
        "factors": factors,
        "settings": {
            "database": database,
            "nodes": 3,
            "replication": 3,
            "users": users,
            "consistency": level,
            "workload": {"records": 1000, "fields": 10, "field_length_bytes": 819},
            "warm_up_s": shape.warm_up_s,
            "measure_s": shape.measure_s,
        },
    }
    if number in shape.fail_scenarios:
        store.write_failure(
            run_id,
            reason="the server <node-2> did not answer in 60 s",
            hint="look at its log & its memory",
            log_tail="INFO  starting\nERROR <b>java.lang.OutOfMemoryError</b>: heap",
            scenario=scenario,
            when_utc=clock,
        )
        return clock + timedelta(seconds=60)
    store.log_activity("load", start_utc=clock, seconds=1.0, scenario=number, run=run_id)
    store.log_activity(
        "warm-up", start_utc=clock, seconds=shape.warm_up_s, scenario=number, run=run_id
    )
    store.log_activity(
        "measure", start_utc=clock, seconds=shape.measure_s, scenario=number, run=run_id
    )
    store.log_activity("cool-down", start_utc=clock, seconds=1.0, scenario=number, run=run_id)

    strength = shape.levels.index(level) / max(1, len(shape.levels) - 1)
    luck = float(np.exp(shape.noise * rng.standard_normal()))
    kinds = {"read": "read", "update": "write"} if shape.mixed else {KIND[operation]: operation}
    operations: dict[str, Any] = {}
    sample_rows: list[dict[str, Any]] = []
    log = ["#[Histogram log format version 1.3]", "#[StartTime: 0.0 (seconds since epoch)]"]
    for kind, truth in kinds.items():
        alone, bottleneck, factor = TRUTH.get((database, truth), (0.5, 0.2, 1.0))
        factor = factor**strength * luck
        mean_ms = max(alone * factor, users * bottleneck * factor**0.8)
        rate = users / mean_ms * 1e3 * (0.5 if shape.mixed else 1.0)
        merged = Histogram.empty()
        for second in range(-shape.warm_up_s, shape.measure_s):
            count = max(1, int(rng.poisson(rate * (0.7 if second < 0 else 1.0))))
            spread = 0.35
            latencies = rng.lognormal(
                np.log(mean_ms * 1e6) - spread**2 / 2, spread, min(count, 200)
            ).astype(np.int64)
            weight = max(1, count // latencies.size)
            interval = histogram_of(latencies, weight)
            if second >= 0:
                merged = merged.plus(interval)
                log.append(
                    f"Tag={kind}.ok,{second}.0,1.0,{latencies.max() / 1e6:.3f},{encoded(interval)}"
                )
            sample_rows.append(
                {
                    "t_s": float(second),
                    "interval_s": 1.0,
                    "phase": "warm-up" if second < 0 else "measure",
                    "operation": kind,
                    "ok": weight * latencies.size,
                    "fail": 0,
                    "unknown": 0,
                    "latency_ns_mean": float(latencies.mean()),
                    **{
                        f"latency_ns_{n}": int(interval.percentile(p))
                        for n, p in PERCENTILES.items()
                        if n in SAMPLED
                    },
                    "latency_ns_max": int(latencies.max()),
                }
            )
        operations[kind] = {
            "ok": merged.count,
            "fail": {"timeout": 0},
            "unknown": {},
            "latency_ns": {
                "n": merged.count,
                "mean": merged.mean(),
                "stdev": 0.35 * merged.mean(),
                "min": merged.percentile(0),
                "max": merged.percentile(100),
                **{name: merged.percentile(p) for name, p in PERCENTILES.items()},
            },
        }
    nodes = (
        ("node-1", "primary", 0.5),
        ("node-2", "replica", 0.25),
        ("node-3", "replica", 0.25),
        ("client", "client", 0.2),
    )
    resources = [
        {
            "t_s": float(t),
            "phase": "warm-up" if t < 0 else "measure",
            "node": node,
            "role": role,
            "cpu_user_s": (t + shape.warm_up_s) * cores * (0.4 + users / 20),
            "cpu_system_s": (t + shape.warm_up_s) * 0.05,
            "rss_bytes": 400_000_000 + 1_000_000 * users,
            "disk_read_bytes": None,
            "disk_write_bytes": 8192 * (t + shape.warm_up_s),
            "net_rx_bytes": 9000 * (t + shape.warm_up_s),
            "net_tx_bytes": 9000 * (t + shape.warm_up_s),
        }
        for t in range(-shape.warm_up_s, shape.measure_s + 1)
        for node, role, cores in nodes
    ]
    store.write_run(
        run_id,
        {
            "study": shape.name,
            "run": run_id,
            "scenario": scenario,
            "repetition": repetition,
            "seed": 1000 * number + repetition,
            "started_utc": clock,
            "pacelc": "0.1.0",
            "versions": {database: "1.2.3"},
            "machine": {
                "cpu": "Example CPU",
                "cores": 2,
                "memory_bytes": 8 << 30,
                "kernel": "6.1.0",
            },
            "target": {"provider": "local"},
            "consistency": dict.fromkeys(kinds, f"{database} {level}"),
            "result": {
                "measured_s": float(shape.measure_s),
                "warm_up_s": float(shape.warm_up_s),
                "operations": operations,
                "client": {
                    "cpu_user_s": 2.0,
                    "cpu_system_s": 0.5,
                    "threads": 1,
                    "busy_fraction": shape.busy_fraction,
                },
                "warnings": [],
            },
        },
        pl.DataFrame(sample_rows),
        pl.DataFrame(resources, schema_overrides={"disk_read_bytes": pl.Int64}),
        "\n".join(log) + "\n",
    )
    return clock + timedelta(seconds=1.0 + shape.warm_up_s + shape.measure_s + 1.0)


@pytest.fixture(scope="session")
def ferreira_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(
        tmp_path_factory.mktemp("studies") / "ferreira",
        Shape(users=(1, 4, 10), measure_s=10, fail_scenarios=(30,)),
    )


@pytest.fixture(scope="session")
def report(ferreira_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportPaths:
    return write_report(ferreira_dir, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def ferreira(ferreira_dir: Path) -> Results:
    return load(ferreira_dir)


@pytest.fixture(scope="session")
def mixed_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = Shape(
        name="quickstart",
        databases=("redis", "mongodb"),
        levels=("weak", "quorum", "strong"),
        users=(1, 8),
        mixed=True,
    )
    return write_study(tmp_path_factory.mktemp("studies") / "quickstart", shape)


@pytest.fixture(scope="session")
def mixed(mixed_dir: Path) -> Results:
    return load(mixed_dir)


@pytest.fixture(scope="session")
def make_study() -> Callable[..., Path]:
    """Write a study of another shape: ``make_study(path, users=(1, 2))``."""

    def make(path: Path, **shape: Any) -> Path:
        return write_study(path, Shape(**shape))

    return make
