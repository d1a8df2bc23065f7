"""Interval logs, read by HdrHistogram's own tools."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import hdrh.histogram as hdrh
import pytest
from hdrh.log import HistogramLogReader

from pacelc.clusters.errors import FetchError
from pacelc.clusters.software import fetch, java
from pacelc.export import export
from pacelc.store import read_latency_log
from pacelc.store.format import RunRecord, read_record

if TYPE_CHECKING:
    from pathlib import Path

PERCENTS = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}


@pytest.fixture
def exported(measured: Path, tmp_path: Path) -> tuple[Path, RunRecord]:
    (path,) = export(measured, "hdr", runs=["0002-r1"], out=tmp_path / "latency.hdr")
    return path, read_record(RunRecord, measured / "runs/0002-r1/run.json")


@pytest.fixture(scope="session")
def processor() -> list[str]:
    """HdrHistogram's HistogramLogProcessor, the jar that Cassandra's servers use, too."""
    program = next(java.installed(), None)
    if program is None:
        pytest.skip("no Java here to run HdrHistogram's own tool with")
    (jar,) = [jar for jar in fetch.read_lock("cassandra") if jar.artifact == "HdrHistogram"]
    try:
        folder = fetch.cached(
            f"hdrhistogram-{jar.version}", lambda folder: fetch._fetch_with_jgo([jar], folder)
        )
        fetch.verify(folder / jar.filename, jar.sha256)
    except FetchError as error:
        pytest.skip(f"HdrHistogram's own tool can't be had: {error}")
    return [
        str(program),
        "-cp",
        str(folder / jar.filename),
        "org.HdrHistogram.HistogramLogProcessor",
    ]


def test_the_reference_library_agrees(exported: tuple[Path, RunRecord]) -> None:
    path, record = exported
    totals: dict[str, hdrh.HdrHistogram] = {}
    reader = HistogramLogReader(str(path), hdrh.HdrHistogram(1, 3_600_000_000_000, 3))
    while (interval := reader.get_next_interval_histogram()) is not None:
        totals.setdefault(interval.get_tag(), hdrh.HdrHistogram(1, 3_600_000_000_000, 3)).add(
            interval
        )
    reader.close()
    assert set(totals) == {f"{kind}.ok" for kind in record.result.operations}
    for kind, stats in record.result.operations.items():
        total = totals[f"{kind}.ok"]
        assert total.get_total_count() == stats.ok
        for name, percent in PERCENTS.items():
            # That library rounds a rank where HdrHistogram takes the next one up.
            low, high = (
                total.get_value_at_percentile(percent + shift * 100 / stats.ok) for shift in (-1, 1)
            )
            assert low * 0.999 <= getattr(stats.latency_ns, name) <= high * 1.001


def test_hdrhistograms_own_tool_agrees(
    exported: tuple[Path, RunRecord], processor: list[str]
) -> None:
    path, record = exported

    def ask(*arguments: str) -> str:
        command = [*processor, "-i", str(path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    tags = ask("-listtags").splitlines()[1:]
    assert tags == sorted(f"{kind}.ok" for kind in record.result.operations)
    log = read_latency_log(path.read_text(encoding="utf-8"))
    for kind, stats in record.result.operations.items():
        table = ask("-tag", f"{kind}.ok", "-outputValueUnitRatio", "1")
        rows = [
            [float(cell) for cell in line.split()]
            for line in table.splitlines()
            if re.match(r" +[0-9.]+ [0-9.]+ +[0-9]+", line)
        ]
        (count,) = re.findall(r"Total count += +([0-9]+)", table)
        (mean,) = re.findall(r"\[Mean += +([0-9.]+)", table)
        (highest,) = re.findall(r"\[Max += +([0-9.]+)", table)
        assert int(count) == stats.ok
        assert float(mean) == pytest.approx(stats.latency_ns.mean, rel=0.001)
        assert float(highest) == pytest.approx(stats.latency_ns.max, rel=0.001)
        merged = log.merged(operation=kind, outcome="ok")
        # Each row: a value, and the share of all that don't exceed it.
        assert len(rows) > 20
        for value, share, *_ in rows:
            ours = [
                merged.percentile(min(100, max(0, 100 * share + shift))) for shift in (-1e-9, 0)
            ]
            assert min(ours) * 0.999 <= value <= max(ours) * 1.001
        header = ask("-tag", f"{kind}.ok").splitlines()[0]
        started_s = float(re.findall(r"StartTime: ([0-9.]+)", header)[0])
        assert started_s == pytest.approx(record.started_utc.timestamp(), abs=0.001)
