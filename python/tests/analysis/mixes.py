"""A made-up study of mixes, users and settings: what is true of it is known to the tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from hdrh.histogram import HdrHistogram

from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Store

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LEVELS = {1: "ONE", 2: "QUORUM", 3: "ALL"}
MIXES = ("10/90", "50/50", "90/10")
USERS = (10, 40, 160)
SETTINGS = ("1R-1W", "1R-3W", "2R-2W", "3R-1W")


def true_ms(kind: str, setting: str, users: int) -> float:
    """Each further node costs a fifth more; users queue."""
    nodes = int(setting[0] if kind == "read" else setting[3])
    return 2.0 * (1 + 0.2 * (nodes - 1)) * (1 + users / 50)


def write_mixes(
    path: Path,
    *,
    repetitions: int = 3,
    noise: float = 0.01,
    users: tuple[int, ...] = USERS,
    mixes: tuple[str, ...] = MIXES,
    settings: tuple[str, ...] = SETTINGS,
    databases: tuple[str, ...] = ("cassandra",),
    only_level: bool = False,
) -> Path:
    """Write a results directory; with ``only_level`` settings are known from what was in force."""
    factors: dict[str, Any] = {"mix": list(mixes), "users": list(users)}
    factors = {"database": list(databases), **factors} if len(databases) > 1 else factors
    factors["consistency" if only_level else "setting"] = list(settings)
    study = {"name": "mixes", "factors": factors, "repetitions": repetitions, "seed": 1}
    rng = np.random.default_rng(5)
    number = 0
    with Store.open(path, create=study, pacelc_version="0.1.0", now=NOW) as store:
        for database in databases:
            for mix in mixes:
                for load in users:
                    for setting in settings:
                        number += 1
                        labels = {"mix": mix, "users": load}
                        labels["consistency" if only_level else "setting"] = setting
                        if len(databases) > 1:
                            labels["database"] = database
                        for repetition in range(1, repetitions + 1):
                            luck = float(np.exp(noise * rng.standard_normal()))
                            _write(store, (number, repetition), labels, setting, luck)
    return path


def _write(
    store: Store, run: tuple[int, int], labels: dict[str, Any], setting: str, luck: float
) -> None:
    number, repetition = run
    share = int(labels["mix"].partition("/")[0]) / 100
    operations: dict[str, Any] = {}
    log = ["#[Histogram log format version 1.3]", "#[StartTime: 0.0 (seconds since epoch)]"]
    for kind, part in (("read", share), ("update", 1 - share)):
        mean = true_ms(kind, setting, labels["users"]) * luck * 1e6
        count = round(1000 * part)
        histogram = HdrHistogram(1, 3_600_000_000_000, 3)
        for k in range(count):
            histogram.record_value(int(mean * (0.9 + 0.2 * k / count)))
        log.append(f"Tag={kind}.ok,0.0,10.0,1.0,{histogram.encode().decode()}")
        operations[kind] = {"ok": count, "latency_ns": {"n": count, "mean": mean}}
    run_id = f"{number:04d}-r{repetition}"
    store.write_run(
        run_id,
        {
            "study": "mixes",
            "run": run_id,
            "scenario": {
                "number": number,
                "factors": labels,
                "settings": {
                    "database": labels.get("database", "cassandra"),
                    "nodes": 3,
                    "replication": 3,
                    "users": labels["users"],
                    "workload": {"mix": {"read": share, "update": 1 - share}},
                },
            },
            "repetition": repetition,
            "seed": number * 100 + repetition,
            "started_utc": NOW,
            "pacelc": "0.1.0",
            "consistency": {"read": LEVELS[int(setting[0])], "update": LEVELS[int(setting[3])]},
            "result": {"measured_s": 10.0, "operations": operations},
        },
        pl.DataFrame(schema=SAMPLES_SCHEMA),
        pl.DataFrame(schema=RESOURCES_SCHEMA),
        "\n".join(log) + "\n",
    )
