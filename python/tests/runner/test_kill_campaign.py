"""Whoever is killed, and whenever: no run is lost, repeated or changed, and nothing is left.

A campaign starts a study again and again and kills it at a moment of a seed's, until it has killed
often enough and the study is done. ``make soak`` kills a hundred times as often.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from real_servers import first_host

from pacelc.clusters import ClusterSpec, open_cluster
from pacelc.clusters.network.namespaces import capability
from pacelc.clusters.sizes.cgroups import NoGroups, find_parents
from pacelc.store import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.cluster]

KILLS = int(os.environ.get("PACELC_KILLS", "4"))
SEED = int(os.environ.get("PACELC_KILLS_SEED", "1"))
VICTIMS = ("main", "keeper", "both", "group")
# What is heard before a kill, which then comes up to so many seconds later.
MOMENTS = ("study ", "cluster ", "run ", "done ")
LATER_S = 0.6
# As long as a machine may take that is busy with other tests.
SOON_S = 20.0
RUNS = 6

HOST = first_host(9)
STUDY = """
name: killed
factors: {users: [1, 2]}
repetitions: 3
settings:
  database: redis
  nodes: 2
  consistency: strong
  measure: 500ms
  warm_up: 0s
  cool_down: 0s
  spawn_rate: 100
  workload: {records: 100, mix: {read: 0.5, update: 0.5}}
"""
OURS = f"  cluster_options: {{first_host: {HOST}}}\n"


def has_groups() -> bool:
    try:
        find_parents(frozenset({"cpu"}))
    except NoGroups:
        return False
    return True


IS_ROOT = pytest.mark.skipif(capability().how != "root", reason=capability().reason or "not root")
HAS_GROUPS = pytest.mark.skipif(not has_groups(), reason="no control groups can be made here")
SETTINGS = {
    "redis": OURS,
    "groups": f"{OURS}  cores: 0.5\n",
    "regions": "  regions: [iowa, oregon]\n  client_region: iowa\n",
    "faults": f"{OURS}  faults: [{{at: 100ms, fault: pause, target: primary, for: 100ms}}]\n",
    "external": "  external: {{endpoints: ['{address}'], user: {user}, password_file: {file}}}\n",
}


def until(what: Callable[[], bool], limit_s: float = SOON_S) -> bool:
    end_s = time.monotonic() + limit_s
    while not what():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.02)
    return True


def processes(belong: Callable[[Path], bool]) -> list[int]:
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            if int(process.name) != os.getpid() and state not in "ZX" and belong(process):
                found.append(int(process.name))
    return found


def holders(directory: Path) -> list[int]:
    """Processes that name a directory or something below it, stand in it, or have it open."""
    place = str(directory)

    def holds(process: Path) -> bool:
        links = [process / "cwd", *(process / "fd").iterdir()]
        said = [(process / "cmdline").read_bytes().decode(errors="replace")]
        for link in links:
            with contextlib.suppress(OSError):
                said.append(str(link.readlink()))
        return any(place in text for text in said)

    return processes(holds)


def namespaces(pids: list[int]) -> set[str]:
    found: set[str] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            found.add(str(Path(f"/proc/{pid}/ns/net").readlink()))
    return found - {str(Path("/proc/self/ns/net").readlink())}


def groups_of(work: Path) -> list[Path]:
    found: list[Path] = []
    for file in work.glob("*/groups.json"):
        with contextlib.suppress(OSError, ValueError):
            found += [Path(group) for group in json.loads(file.read_text())]
    return found


def stored(out: Path) -> dict[str, str]:
    """Every file of every stored run, and what it holds."""
    return {
        str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest()
        for run in (out / "runs").glob("[0-9]*")
        for file in run.rglob("*")
    }


def runs_in(files: dict[str, str]) -> set[str]:
    return {file.split("/")[1] for file in files}


@dataclass
class Started:
    """A study that runs, and what it says."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list[str])

    def listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip())

    def has_said(self, word: str) -> bool:
        return any(line.startswith(word) for line in self.lines)

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def keepers(self) -> list[int]:
        """The children that keep servers."""

        def is_keeper(process: Path) -> bool:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            return parent == self.process.pid and b"keeper" in (process / "cmdline").read_bytes()

        return processes(is_keeper)

    def kill(self, victim: str) -> None:
        main, keepers = self.process.pid, self.keepers()
        if victim == "both":
            os.kill(main, signal.SIGSTOP)  # or the keeper would see its end first
        if victim in ("keeper", "both"):
            for keeper in keepers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(keeper, signal.SIGKILL)
        if victim == "group":
            os.killpg(main, signal.SIGKILL)
        elif victim != "keeper" or not keepers:
            os.kill(main, signal.SIGKILL)


@dataclass
class Campaign:
    """A directory for everything, and a study in it."""

    directory: Path
    settings: str
    groups: set[Path] = field(default_factory=set[Path])
    """All control groups that nodes have had."""

    def __post_init__(self) -> None:
        self.study, self.work = self.directory / "study.yaml", self.directory / "work"
        self.study.write_text(STUDY + self.settings, encoding="utf-8")
        self.work.mkdir()

    @contextlib.contextmanager
    def started(self, out: Path) -> Iterator[Started]:
        command = [sys.executable, "-m", "pacelc", "run", str(self.study)]
        command += ["--out", str(out), "--workdir", str(self.work)]
        with subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            it = Started(process)
            listener = threading.Thread(target=it.listen)
            listener.start()
            try:
                yield it
            finally:
                process.kill()
                process.wait()
                listener.join()

    def kill_once(self, out: Path, victim: str, moment: str, later_s: float) -> bool:
        """Start the study and kill; whether it was still there to be killed."""
        with self.started(out) as it:
            until(lambda: it.has_said(moment) or it.has_ended(), 120)
            time.sleep(later_s)
            if it.has_ended():
                self.check_whole(it)
                return False
            before, groups = stored(out), groups_of(self.work)
            self.groups.update(groups)
            theirs = holders(self.work)
            spaces = namespaces(theirs)
            it.kill(victim)
            # Who loses its keeper alone records a failed run, and goes on with another cluster.
            assert until(it.has_ended, 120), it.lines
            if victim == "keeper":
                assert it.process.returncode in (0, 1, -signal.SIGKILL), it.lines
        said = f"{victim} after {moment!r} and {later_s:.3f} s: {it.lines[-5:]}"
        assert until(lambda: holders(self.work) == []), said
        assert spaces.isdisjoint(namespaces(processes(lambda _: True))), said
        after = stored(out)
        assert {file: after.get(file) for file in before} == before, said
        self.check_not_repeated(it, runs_in(before), after)
        if victim != "both":  # what both leave, the next start removes
            assert until(lambda: not any(group.exists() for group in groups)), said
            assert until(lambda: list(self.work.iterdir()) == []), said
        return True

    def check_not_repeated(self, it: Started, before: set[str], after: dict[str, str]) -> None:
        begun = [line.split()[2] for line in it.lines if line.startswith("run ")]
        done = [line.split()[2] for line in it.lines if line.startswith("done ")]
        assert len(done) == len(set(done))
        assert len(begun) == len(set(begun))
        # What it says is done is there.
        assert set(done) <= runs_in(after) | before

    def check_whole(self, it: Started) -> None:
        assert it.process.returncode == 0, it.lines

    def finish(self, out: Path) -> None:
        before = stored(out)
        with self.started(out) as it:
            assert until(it.has_ended, 120), it.lines
        self.check_whole(it)
        after = stored(out)
        assert {file: after.get(file) for file in before} == before
        begun = {line.split()[2] for line in it.lines if line.startswith("run ")}
        assert begun.isdisjoint(runs_in(before))
        runs = load(out).runs
        assert runs.height == runs["run"].n_unique() == RUNS
        assert [path.name for path in (out / "runs").iterdir() if path.name.startswith(".")] == []
        assert until(lambda: holders(self.directory) == [])
        assert list(self.work.iterdir()) == []
        assert not any(group.exists() for group in self.groups)


def conducted(campaign: Campaign, setting: str) -> None:
    chance, kills, studies = random.Random(f"{SEED}/{setting}"), 0, 0
    victims: list[str] = []
    while kills < KILLS:
        out = campaign.directory / f"out{studies}"
        studies += 1
        is_killed = True
        while is_killed and kills < KILLS:
            victims = victims or chance.sample(VICTIMS, len(VICTIMS))
            is_killed = campaign.kill_once(
                out, victims[-1], chance.choice(MOMENTS), chance.uniform(0, LATER_S)
            )
            if is_killed:
                victims.pop()
                kills += 1
        campaign.finish(out)


@pytest.mark.parametrize(
    "setting",
    [
        "redis",
        "faults",
        pytest.param("groups", marks=HAS_GROUPS),
        pytest.param("regions", marks=IS_ROOT),
    ],
)
def test_a_study_that_is_killed_again_and_again_ends_whole(setting: str, tmp_path: Path) -> None:
    conducted(Campaign(tmp_path, SETTINGS[setting]), setting)


def test_a_study_on_a_cluster_of_the_users_ends_whole_and_the_cluster_stays(tmp_path: Path) -> None:
    spec = ClusterSpec("redis", nodes=2, options={"first_host": HOST})
    study, work = tmp_path / "study", tmp_path / "theirs"
    study.mkdir()
    with open_cluster(spec, workdir=work) as cluster:
        login = cluster.target()["security"]
        settings = SETTINGS["external"].format(
            address=cluster.endpoints[0], user=login["user"], file=login["password"]["file"]
        )
        conducted(Campaign(study, settings), "external")
        cluster.check()
