"""Results of a built-in study's own scenarios, made up from a truth that the tests know."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Store
from pacelc.study.consistency import resolve_levels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pacelc.study import Scenario, Study

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
MEASURED_S = 10.0
APPEND = """
name: append
factors:
  appendonly:
    "no": {cluster_options: {appendonly: false}}
    "yes": {cluster_options: {appendonly: true}}
  users: [1, 2, 4]
settings: {database: redis, measure: 1s}
"""
"""Two levels that need clusters of their own."""


def write_made_up(
    path: Path,
    study: Study,
    throughput: Callable[[Scenario], float | None],
    *,
    noise: float = 0.01,
    latencies_ms: Callable[[Scenario, float], Mapping[str, float]] | None = None,
    cpu_cores: Callable[[Scenario], Mapping[tuple[str, str], float]] | None = None,
    cluster_noise: float | None = None,
) -> Path:
    """Write every run of a study.

    ``throughput`` gives operations a second, or None for a scenario that has no run. Latency
    follows from it and the users, as in any closed loop; a write takes twice as long as a read.
    ``latencies_ms`` gives others, by scenario and mean latency; ``cpu_cores`` the cores in use, by
    node and role. ``cluster_noise`` sets clusters apart, as the study's schedule starts them; None
    for runs of a time when a run didn't name its cluster.
    """
    rng = np.random.default_rng(5)
    keys = {run.run_id: run.cluster_key for run in study.schedule()}
    clusters = {
        key: (NOW + timedelta(hours=hour), float(np.exp((cluster_noise or 0.0) * luck)))
        for hour, (key, luck) in enumerate(
            zip(dict.fromkeys(keys.values()), rng.standard_normal(len(keys)), strict=False)
        )
    }
    with Store.open(path, create=study.as_document(), pacelc_version="0.1.0", now=NOW) as store:
        for scenario in study.scenarios():
            rate = throughput(scenario)
            if rate is not None:
                for repetition in range(1, study.repetitions + 1):
                    started_utc, of_cluster = clusters[keys[_run_id(scenario, repetition)]]
                    luck = of_cluster * float(np.exp(noise * rng.standard_normal()))
                    mean_ms = scenario.settings.users / (rate * luck) * 1e3
                    _write(
                        store,
                        study.name,
                        scenario,
                        repetition,
                        rate * luck,
                        latencies_ms=latencies_ms(scenario, mean_ms) if latencies_ms else {},
                        cpu_cores=cpu_cores(scenario) if cpu_cores else {},
                        cluster_started_utc=None if cluster_noise is None else started_utc,
                    )
    return path


def _resources(cpu_cores: Mapping[tuple[str, str], float]) -> pl.DataFrame:
    rows = [
        {
            "t_s": t_s,
            "phase": "measure",
            "node": node,
            "role": role,
            "cpu_user_s": cores * t_s,
            "cpu_system_s": 0.0,
            "rss_bytes": 1,
        }
        for (node, role), cores in cpu_cores.items()
        for t_s in (0.0, MEASURED_S)
    ]
    return pl.DataFrame(rows, schema=RESOURCES_SCHEMA)


def _run_id(scenario: Scenario, repetition: int) -> str:
    return f"{scenario.number:04d}-r{repetition}"


def _write(
    store: Store,
    name: str,
    scenario: Scenario,
    repetition: int,
    rate: float,
    *,
    latencies_ms: Mapping[str, float],
    cpu_cores: Mapping[tuple[str, str], float],
    cluster_started_utc: datetime | None,
) -> None:
    shares = scenario.settings.workload.shares
    weights = {kind: 1.0 if kind == "read" else 2.0 for kind in shares}
    typical = sum(shares[kind] * weights[kind] for kind in shares)
    operations: dict[str, Any] = {}
    for kind, share in shares.items():
        count = round(rate * MEASURED_S * share)
        usual = scenario.settings.users / rate * 1e9 * weights[kind] / typical
        mean = latencies_ms[kind] * 1e6 if kind in latencies_ms else usual
        operations[kind] = {"ok": count, "latency_ns": {"n": count, "mean": mean}}
    run_id = _run_id(scenario, repetition)
    levels = resolve_levels(scenario.settings)
    store.write_run(
        run_id,
        {
            "study": name,
            "run": run_id,
            "scenario": scenario.as_record(),
            "repetition": repetition,
            "seed": scenario.number * 100 + repetition,
            "started_utc": NOW,
            "cluster_started_utc": cluster_started_utc,
            "pacelc": "0.1.0",
            "consistency": {k: v for k, v in levels.items() if k in shares},
            "result": {"measured_s": MEASURED_S, "operations": operations},
        },
        pl.DataFrame(schema=SAMPLES_SCHEMA),
        _resources(cpu_cores),
        "#[Histogram log format version 1.3]\n#[StartTime: 0.0 (seconds since epoch)]\n",
    )
