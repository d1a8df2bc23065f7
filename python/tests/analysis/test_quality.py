"""Weak evidence is named, with what to do about it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from made_up import write_made_up
from stored_runs import forget_sums

from pacelc.analysis import time_account, weaknesses
from pacelc.names import MACHINE, NO_IDLE_STATES
from pacelc.store import load
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pacelc.store import Results


@pytest.fixture
def study(tmp_path: Path, make_study: Callable[..., Path]) -> Path:
    path = make_study(
        tmp_path / "r", databases=("redis",), users=(1,), repetitions=1, measure_s=40, warm_up_s=1
    )
    forget_sums(path)
    return path


def kinds(path: Path) -> dict[str, str]:
    return {w.kind: w.text for w in weaknesses(load(path))}


def edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    for file in path.glob("runs/*/run.json"):
        document = json.loads(file.read_text())
        document.pop("sha256", None)
        change(document)
        file.write_text(json.dumps(document))


def test_a_busy_client_is_named(study: Path) -> None:
    assert "client" not in kinds(study)
    edit(study, lambda d: d["result"]["client"].update(busy_fraction=0.85))
    assert "85%" in kinds(study)["client"]


def test_servers_beside_the_client_are_a_shared_host(study: Path) -> None:
    assert "3 servers and the client shared one machine with 2 cores" in kinds(study)["shared-host"]


def test_a_quota_of_the_machine_s_cores_is_told_and_counts_as_all_there_is(study: Path) -> None:
    busy = max(load(study).nodes.group_by("run").agg(pl.col("cpu_cores").sum())["cpu_cores"])
    edit(study, lambda d: d["machine"].update(cores=8, cpu_quota_cores=busy))
    (shared, saturated) = [w.text for w in weaknesses(load(study)) if w.kind == "shared-host"]
    assert f"with 8 cores, of which the control group's quota allowed {busy:.4g}: " in shared
    assert "could have (up to 100%)" in saturated
    edit(study, lambda d: d["machine"].update(cpu_quota_cores=9.0))
    assert "shared one machine with 8 cores: " in kinds(study)["shared-host"]


def test_what_others_used_of_the_machine_is_told(study: Path) -> None:
    for path in study.glob("runs/*/resources.parquet"):
        frame = pl.read_parquet(path)
        (client,) = frame.partition_by("node")[:1]
        machine = client.with_columns(node=pl.lit(MACHINE), role=pl.lit(MACHINE))
        # All nodes together, and half a core beyond them.
        sums = frame.group_by("t_s").agg(pl.col("cpu_user_s", "cpu_system_s").sum())
        machine = machine.drop("cpu_user_s", "cpu_system_s").join(sums, on="t_s")
        machine = machine.with_columns(pl.col("cpu_user_s") + pl.col("t_s") / 2)
        pl.concat([frame, machine.select(frame.columns)]).write_parquet(path)
    runs = load(study).runs
    assert runs.get_column("others_cores").to_list() == pytest.approx([0.5] * runs.height)
    assert "used up to 0.5 cores of the machine in all 2 runs" in kinds(study)["others"]
    assert MACHINE not in load(study).nodes.get_column("role")


def test_the_process_that_disables_idle_states_is_no_load(study: Path) -> None:
    used = load(study).nodes
    for path in study.glob("runs/*/resources.parquet"):
        frame = pl.read_parquet(path)
        (client,) = frame.partition_by("node")[:1]
        spinning = client.with_columns(
            node=pl.lit(NO_IDLE_STATES),
            role=pl.lit(NO_IDLE_STATES),
            cpu_user_s=pl.col("t_s"),
            cpu_system_s=0.0,
        )
        all_used = frame.group_by("t_s").agg(pl.col("cpu_user_s", "cpu_system_s").sum())
        machine = client.with_columns(node=pl.lit(MACHINE), role=pl.lit(MACHINE))
        machine = machine.drop("cpu_user_s", "cpu_system_s").join(all_used, on="t_s")
        # All nodes together, an older run's spinning process, and a quarter of a core beyond them.
        machine = machine.with_columns(pl.col("cpu_user_s") + 1.25 * pl.col("t_s"))
        pl.concat(
            [frame, spinning.select(frame.columns), machine.select(frame.columns)]
        ).write_parquet(path)
    results = load(study)
    assert results.nodes.equals(used)
    others = results.runs.get_column("others_cores").to_list()
    assert others == pytest.approx([0.25] * len(others))


def test_servers_that_were_still_compiling_are_named(study: Path) -> None:
    assert "compiler" not in kinds(study)
    servers = pl.col("role").is_in(["client", MACHINE]).not_()
    used = load(study).nodes.filter(servers).group_by("run").agg(pl.col("cpu_cores").sum())
    (cores, *_) = used.get_column("cpu_cores")
    edit(study, lambda d: d.update(compiler_cores=0.04 * cores))
    assert "compiler" not in kinds(study)
    edit(study, lambda d: d.update(compiler_cores=0.3 * cores))
    assert "took up to 30% of the servers' processor time in all 2 runs" in kinds(study)["compiler"]


def test_compilers_take_no_more_than_what_servers_took_over_the_same_time(study: Path) -> None:
    # Seven tenths of a second with little to do, after a second in which all was compiled.
    for path in study.glob("runs/*/resources.parquet"):
        frame = pl.read_parquet(path)
        idle = pl.col("t_s").clip(upper_bound=0.0) + 1
        frame.with_columns(cpu_user_s=idle, cpu_system_s=0.01 * pl.col("t_s")).write_parquet(path)
    edit(study, lambda d: d.update(compiler_cores=0.05))
    shares = load(study).runs.get_column("compiler_share")
    # Three servers of 1.41 s in 41 s.
    assert shares.to_list() == pytest.approx([0.05 * 41 / (3 * 1.41)] * 2, rel=0.01)
    edit(study, lambda d: d.update(compiler_share=0.25))
    assert load(study).runs.get_column("compiler_share").to_list() == [0.25, 0.25]


def test_a_machine_that_was_slower_is_told(study: Path) -> None:
    edit(study, lambda d: d["result"].update(machine_speed={"step_ns": 1.0, "bursts": 100}))
    assert "machine" not in kinds(study)
    path = min(study.glob("runs/*/run.json"))
    record = json.loads(path.read_text())
    record["result"]["machine_speed"] = {"step_ns": 1.5, "bursts": 100}
    path.write_text(json.dumps(record))
    # Of two runs the median lies between them.
    assert "up to 20% slower in 1 of 2 runs" in kinds(study)["machine"]
    assert sorted(load(study).runs.get_column("machine_step_ns").to_list()) == [1.0, 1.5]


def test_reads_that_were_sent_to_further_replicas_are_told(study: Path) -> None:
    def hedged(per_read: float) -> Callable[[dict[str, Any]], None]:
        def change(document: dict[str, Any]) -> None:
            operations = document["result"]["operations"]
            (stats, *_) = operations.values()
            operations["read"] = stats
            document["result"]["client"]["hedges"] = round(per_read * stats["ok"])

        return change

    edit(study, hedged(0.02))
    assert "hedged" not in kinds(study)
    edit(study, hedged(2))
    assert "in all 2 runs, up to 2 more requests each" in kinds(study)["hedged"]
    edit(study, lambda d: d["scenario"]["settings"].update(database="hbase"))
    [advice] = [w.advice for w in weaknesses(load(study)) if w.kind == "hedged"]
    assert advice.startswith("HBase's client does so")


def test_nodes_whose_memory_was_too_small_are_named(study: Path) -> None:
    def node(**counts: int) -> Callable[[dict[str, Any]], None]:
        nodes = {"primary": {"memory_limit_bytes": 1 << 30, "limit_hits": 0, **counts}}
        return lambda d: d.update(sizes={"mechanism": "cgroup v1", "nodes": nodes})

    edit(study, node(oom_kills=0))
    assert "node-memory" not in kinds(study)
    edit(study, node(limit_hits=41))
    assert "at their memory limit, up to 41 times" in kinds(study)["node-memory"]
    edit(study, node(oom_kills=1))
    assert "in all 2 runs the kernel killed" in kinds(study)["node-memory"]


def test_single_runs_are_named(study: Path) -> None:
    assert "one run only in 2 of 2 scenarios" in kinds(study)["repetitions"]


def test_short_runs_and_thin_tails_are_named(ferreira: Results) -> None:
    found = {w.kind: w for w in weaknesses(ferreira)}
    assert "less than 30 s" in found["short"].text
    assert "fewer than 100 observations beyond" in found["thin-tail"].text
    for weakness in (found["short"], found["thin-tail"]):
        assert "measure longer: --set measure=60s" in weakness.advice
        assert weakness.consequence == "Disqualifies no run."


def test_runs_of_a_count_of_operations_are_advised_to_measure_more_of_them(
    tmp_path: Path, make_study: Callable[..., Path]
) -> None:
    path = make_study(tmp_path / "r", databases=("redis",), users=(1,), repetitions=1, measure_s=3)
    forget_sums(path)
    edit(path, lambda d: d["scenario"]["settings"].update(operations=1000))
    [advice] = [w.advice for w in weaknesses(load(path)) if w.kind == "thin-tail"]
    assert advice.startswith("measure more operations: --set operations=1000000")


def test_a_weakness_says_of_what_it_disqualifies_runs(study: Path) -> None:
    edit(study, lambda d: d["result"]["client"].update(busy_fraction=0.85))
    [client] = [w for w in weaknesses(load(study)) if w.kind == "client"]
    assert client.consequence == "Disqualifies 2 runs from verdicts on speed."
    nodes = {"primary": {"memory_limit_bytes": 1 << 30, "oom_kills": 1}}
    edit(study, lambda d: d.update(sizes={"mechanism": "cgroup v1", "nodes": nodes}))
    [memory] = [w for w in weaknesses(load(study)) if w.kind == "node-memory"]
    assert memory.consequence == (
        "Disqualifies 2 runs from verdicts on speed and on who is served in a partition."
    )


def test_a_weakness_that_names_a_run_says_what_it_measured(study: Path) -> None:
    edit(study, lambda d: d["result"]["operations"]["insert"].update(unknown={"timeout": 3}))
    assert re.search(
        r"in \d{4}-r1, Redis, (weak|strong), write, users 1\);", kinds(study)["errors"]
    )


def test_errors_are_counted_by_kind(study: Path) -> None:
    edit(study, lambda d: d["result"]["operations"]["insert"].update(unknown={"timeout": 3}))
    assert (
        "6 operations in all 2 runs did not end ok (timeout (unknown) 6" in kinds(study)["errors"]
    )


def test_a_climbing_run_is_drifting(study: Path) -> None:
    assert "drift" not in kinds(study)
    for file in study.glob("runs/*/samples.parquet"):
        climbing = pl.read_parquet(file).with_columns(
            (100 + 5 * pl.col("t_s").clip(0)).cast(pl.UInt64).alias("ok")
        )
        climbing.write_parquet(file)
    assert "did not settle" in kinds(study)["drift"]


@pytest.mark.parametrize(
    ("factor", "told"), [(1.0, None), (1.3, r"\+(29|30|31)%"), (0.8, r"-(19|20|21)%")]
)
def test_repetitions_that_differ_are_drifting(
    tmp_path: Path, make_study: Callable[..., Path], factor: float, told: str | None
) -> None:
    path = make_study(
        tmp_path / "r", databases=("redis",), users=tuple(range(1, 11)), repetitions=3, measure_s=40
    )

    def faster(record: dict[str, Any]) -> None:
        rng = np.random.default_rng(record["scenario"]["number"] + 100 * record["repetition"])
        luck = float(np.exp(rng.normal(0, 0.02)))
        for stats in record["result"]["operations"].values():
            stats["ok"] = round(1e6 * luck * (factor if record["repetition"] == 3 else 1))

    edit(path, faster)
    texts = [w.text for w in weaknesses(load(path)) if "in repetition 3" in w.text]
    if told is None:
        assert texts == []
    else:
        assert len(texts) == 1
        words = rf"scenarios had {told} throughput in repetition 3, compared with repetition 1"
        assert re.search(words, texts[0])


def test_time_without_an_answer_is_a_stall(study: Path) -> None:
    assert "stall" not in kinds(study)
    for file in study.glob("runs/*/samples.parquet"):
        pl.read_parquet(file).filter(~pl.col("t_s").is_between(10, 14)).write_parquet(file)
    assert "12% of the time" in kinds(study)["stall"]


def test_a_drain_after_measuring_is_neither_drift_nor_stall(study: Path) -> None:
    for file in study.glob("runs/*/samples.parquet"):
        frame = pl.read_parquet(file)
        drain = frame.tail(1).with_columns(
            pl.lit(41.0).alias("t_s"), pl.lit(1).cast(pl.UInt64).alias("ok")
        )
        pl.concat([frame, drain]).write_parquet(file)
    assert not {"drift", "stall", "clock"} & kinds(study).keys()


def test_missing_readings_are_a_matter_of_the_clock(study: Path) -> None:
    assert "clock" not in kinds(study)
    for file in study.glob("runs/*/resources.parquet"):
        pl.read_parquet(file).filter(~pl.col("t_s").is_between(10, 20)).write_parquet(file)
    assert "12.0 s" in kinds(study)["clock"]


def test_runs_that_failed_are_missing(ferreira: Results) -> None:
    missing = next(w for w in weaknesses(ferreira) if w.kind == "missing")
    assert missing.runs == ("0030-r1", "0030-r2", "0030-r3")


def test_overhead_is_what_was_not_asked_for(ferreira: Results) -> None:
    account = time_account(ferreira)
    by_name = dict(account.activities.select("what", "seconds").iter_rows())
    assert account.total_s == pytest.approx(sum(by_name.values()))
    # Three attempts of a minute each failed, and no activity was logged of them.
    assert by_name["not accounted for"] == pytest.approx(180)
    overhead = by_name["cluster-up"] + by_name["cluster-down"] + by_name["not accounted for"]
    assert account.overhead_share == pytest.approx(overhead / account.total_s)
    assert account.overhead.startswith("not accounted for ")
    assert ", starting clusters " in account.overhead


def test_a_run_that_a_number_of_operations_ended_is_to_have_more_of_them(tmp_path: Path) -> None:
    study = Study.load("kumarasinghe-2015", ["records=1000", "database=redis", "users=1"])
    results = load(write_made_up(tmp_path / "k", study, lambda _: 20_000.0))
    short = next(w for w in weaknesses(results) if w.kind == "short")
    assert short.advice == "measure more operations: --set operations=1000000"
    assert "the shortest 10.0 s" in short.text


@pytest.mark.parametrize(
    ("busy", "threads", "blamed"), [(1, 8, False), (7, 8, True), (80, 1, True)]
)
def test_an_idle_client_is_not_blamed_for_late_starts_though_its_engine_once_did(
    study: Path, busy: int, threads: int, blamed: bool
) -> None:
    said = (
        "the client itself could not keep 100 operations a second: its p99 start was 3.20 ms late "
        f"and its threads were busy {busy} % of the time; use more threads or machines"
    )
    edit(study, lambda d: d["result"]["client"].update(threads=threads))
    edit(study, lambda d: d["result"].update(warnings=[said]))
    told = kinds(study)["runner"]
    assert ("use more threads" in told) == blamed
    assert ("machine was late: the p99 start was 3.20 ms late" in told) != blamed


def test_warnings_of_runs_that_differ_in_numbers_only_are_told_once(study: Path) -> None:
    late = iter(["1.06", "30.72", "2,000"])

    def warn(document: dict[str, Any]) -> None:
        texts = [f"its p99 start was {next(late, '7')} ms late", "the disk was slow"]
        document["result"]["warnings"] = texts

    edit(study, warn)
    told = [w for w in weaknesses(load(study)) if w.kind == "runner"]
    assert [w.text.split(" (")[0].split(" was ")[0] for w in told] == [
        "such as: its p99 start",
        "the disk",
    ]
    assert told[0].runs == told[1].runs
