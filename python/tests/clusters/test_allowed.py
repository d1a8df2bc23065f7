"""What pacelc may use of its machine: by its control groups of both versions, and of files."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pacelc.clusters.sizes.allowed import allowed, memory_available_bytes, throttled_s
from pacelc.clusters.sizes.cgroups import Groups, NoGroups, find_parents
from pacelc.clusters.sizes.size import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROCESSORS = len(os.sched_getaffinity(0))
MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
NO_LIMIT = str(2**63 - 4096)


def kernel(where: Path, version: int, files: Mapping[str, str]) -> Path:
    """Make a kernel's account of a process in the group ``/above/own``; files by their paths."""
    proc = where / "proc"
    proc.mkdir(parents=True)
    if version == 1:
        mounts = [
            f"33 31 0:30 / {where}/{one} rw - cgroup cgroup rw,{one}" for one in ("cpu", "memory")
        ]
        groups = ["4:memory:/above/own", "1:cpu:/above/own", "0::/"]
    else:
        mounts = [f"41 31 0:38 / {where}/all rw - cgroup2 cgroup2 rw"]
        groups = ["0::/above/own"]
    for tree in ("cpu", "memory", "all"):
        (where / tree / "above" / "own").mkdir(parents=True)
    for name, text in files.items():
        (where / name).write_text(text, encoding="ascii")
    (proc / "mountinfo").write_text("\n".join(mounts), encoding="ascii")
    (proc / "cgroup").write_text("\n".join(groups), encoding="ascii")
    return proc


LIMITED = {
    1: {
        "cpu/above/own/cpu.cfs_quota_us": "50000\n",
        "cpu/above/own/cpu.cfs_period_us": "100000\n",
        "cpu/above/cpu.cfs_quota_us": "-1\n",
        "cpu/above/cpu.cfs_period_us": "100000\n",
        "cpu/above/own/cpu.stat": "nr_throttled 88\nthrottled_time 8800000000\n",
        "memory/above/own/memory.limit_in_bytes": NO_LIMIT,
        "memory/above/memory.limit_in_bytes": str(700 * MIB),
        "memory/above/memory.usage_in_bytes": str(600 * MIB),
        "memory/above/memory.stat": f"cache 0\ntotal_active_file 0\ntotal_inactive_file {50 * MIB}",
    },
    2: {
        "all/above/own/cpu.max": "max 100000\n",
        "all/above/cpu.max": "50000 100000\n",
        "all/above/cpu.stat": "usage_usec 5\nthrottled_usec 8800000\n",
        "all/above/own/memory.max": str(700 * MIB),
        "all/above/own/memory.current": str(600 * MIB),
        "all/above/own/memory.stat": f"active_file {30 * MIB}\ninactive_file {20 * MIB}\n",
        "all/above/memory.max": "max\n",
    },
}


@pytest.mark.parametrize("version", [1, 2])
def test_the_tightest_group_above_limits_a_process(version: int, tmp_path: Path) -> None:
    proc = kernel(tmp_path, version, LIMITED[version])
    here = allowed(proc)
    assert here.cpu_quota_cores == here.cores == 0.5
    assert here.memory_limit_bytes == here.memory_bytes == 700 * MIB
    assert (here.processors, here.machine_memory_bytes) == (PROCESSORS, MACHINE)
    assert throttled_s(proc) == 8.8
    meminfo = tmp_path / "meminfo"
    for available, of_both in ((9 * GIB, 150 * MIB), (80 * MIB, 80 * MIB)):
        meminfo.write_text(f"MemTotal: 1 kB\nMemAvailable: {available // 1024} kB\n")
        assert memory_available_bytes(meminfo, proc) == of_both


@pytest.mark.parametrize("version", [0, 1, 2])
def test_without_limits_a_process_has_its_machine(version: int, tmp_path: Path) -> None:
    unlimited = {
        1: {
            "cpu/above/own/cpu.cfs_quota_us": "-1\n",
            "cpu/above/own/cpu.cfs_period_us": "100000\n",
            "memory/above/own/memory.limit_in_bytes": NO_LIMIT,
        },
        2: {"all/above/own/cpu.max": "max 100000\n", "all/above/own/memory.max": "max\n"},
    }
    proc = kernel(tmp_path, version, unlimited[version]) if version else tmp_path
    here = allowed(proc)
    assert (here.cpu_quota_cores, here.memory_limit_bytes) == (None, None)
    assert (here.cores, here.memory_bytes) == (PROCESSORS, MACHINE)
    assert throttled_s(proc) == 0


# --- The kernel's own ---

STUDY = """
name: s
settings:
  database: memory
  warm_up: 0s
  measure: 1s
  cool_down: 0s
  workload: {records: 10}
"""


def test_a_group_is_seen_by_doctor_and_in_a_run_and_what_it_stops_is_told(tmp_path: Path) -> None:
    try:
        groups = Groups(find_parents(frozenset({"cpu", "memory"})))
    except NoGroups as reason:
        pytest.skip(str(reason))
    (tmp_path / "s.yaml").write_text(STUDY, encoding="utf-8")
    try:
        groups.make("pacelc", 0.5, 700 * MIB)
        enter = "".join(f"echo $$ > {file}; " for file in groups.procs("pacelc"))

        def pacelc(command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["sh", "-c", f"{enter} exec {sys.executable} -m pacelc {command}"],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
            )

        found = {one["what"]: one["detail"] for one in json.loads(pacelc("doctor --json").stdout)}
        assert found["cores"] == f"0.5 of {PROCESSORS}, by its control group's quota"
        assert found["memory"].startswith("0.7 GiB, 0.")
        said = pacelc("run s.yaml --out results").stderr
    finally:
        for directory in groups.directories:
            for group in (directory / "pacelc", directory):
                group.rmdir()
    record = json.loads((tmp_path / "results" / "runs" / "0001-r1" / "run.json").read_text())
    assert record["machine"]["cores"] == PROCESSORS
    assert record["machine"]["cpu_quota_cores"] == 0.5
    assert record["machine"]["memory_limit_bytes"] == 700 * MIB
    [warning] = [one for one in record["result"]["warnings"] if "control group" in one]
    assert f"warning: 0001-r1: {warning}" in said


def limited_to(files: int, code: str) -> subprocess.CompletedProcess[str]:
    """Run Python where a process may have so many open files, and half as many until it asks."""
    return subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files // 2, files)),
        capture_output=True,
        text=True,
        check=False,
    )


CHECK = """
import resource
from pacelc.runner.lab import LocalLab
from pacelc.study import Study
study = Study.parse('''
name: s
settings: {database: %s, users: %d, consistency: %s, nodes: 3, workload: {records: 1}}
''')
LocalLab().check_open_files(study.schedule()[0].scenario.settings)
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("database", "level", "users"),
    [
        # A user who reads at a replica has a connection to it, and one to the primary.
        ("redis", "{read: replica}", 384),
        ("redis", "{read: primary}", 768),
        ("mongodb", "weak", 768),
    ],
)
def test_users_have_the_files_that_the_system_allows_and_more_are_refused(
    database: str, level: str, users: int
) -> None:
    fits = limited_to(1024, CHECK % (database, users, level))
    assert fits.stdout == "(1024, 1024)\n", fits.stderr
    refused = limited_to(1024, CHECK % (database, users + 1, level))
    assert f"{users + 1} users of {database} would open about 1,02" in refused.stderr
    assert "files, and a process may have 1,024 here" in refused.stderr


def test_users_who_share_connections_need_no_more_files() -> None:
    done = limited_to(1024, CHECK % ("cassandra", 5000, "weak"))
    assert done.stdout == "(1024, 1024)\n", done.stderr
