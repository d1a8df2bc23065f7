"""An ordinary user's servers run as that user, and get regions, too.

Those are in a user namespace that the command enters by itself, and `pacelc.run` by a child.

As root, the test becomes nobody. Where nobody may not read the interpreter, its packages or the
test's directory, it sees them all the same: in a mount namespace of the test's own, with an empty
directory that anybody may pass in place of each one that is shut, and what is needed put back.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from clusters.conftest import eventually
from real_servers import first_host, starts_soon

import pacelc
from pacelc.clusters import ClusterSpec
from pacelc.clusters.databases.registry import DATABASES
from pacelc.clusters.network.regions import round_trip_ms
from pacelc.clusters.software.fetch import cache_directory

pytestmark = pytest.mark.cluster

NOBODY = 65534

STUDY = """
name: ordinary
settings:
  database: redis
  nodes: 2
  regions: [iowa, south-carolina]
  cluster_options: {{server: {server}}}
  consistency: {{write: {{wait: 1}}}}
  clients: {{iowa: 1, south-carolina: 1}}
  warm_up: 0.5s
  measure: 2s
  cool_down: 0s
  workload: {{records: 20, mix: {{update: 1}}}}
"""

CAPABILITY = """
import json
from pacelc import _engine
from pacelc.clusters.network.namespaces import capability
able = capability()
print(json.dumps([able.how, able.reason]))
"""


RUN = """
import sys, pacelc
from pacelc.cli.progress import PlainProgress
study, out = sys.argv[1:3]
pacelc.run(study, out=out, observe=PlainProgress())
"""

SERVE = """
import json, os, sys
from pathlib import Path
from pacelc.clusters import ClusterSpec, open_cluster
database, workdir, options = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
spec = ClusterSpec(database, nodes=1, options=options)
with open_cluster(spec, workdir=workdir, timeout_s=100) as cluster:
    owners = {Path(f"/proc/{node.pid}").stat().st_uid for node in cluster.nodes}
    print(json.dumps([os.getuid(), sorted(owners), cluster.directory.stat().st_mode & 0o777]))
"""


class OrdinaryUser:
    """Runs Python as one: as who the tests are run by, or as nobody if that is root.

    Parameters
    ----------
    directory
        The user's own; what it may write to.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.root = os.geteuid() == 0
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "TMPDIR": str(directory),
            "PACELC_CACHE": str(directory / "cache"),
            "PYTHONPATH": str(Path(pacelc.__file__).parents[1]),
        }
        if self.root:
            os.chown(directory, NOBODY, NOBODY)

    def command(self, *arguments: str) -> list[str]:
        python = [sys.executable, *arguments]
        if not self.root:
            return python
        ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        script = f"set -e\n{self._shown()}\nexec setpriv {' '.join(ids)} {shlex.join(python)}\n"
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd="/",
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def _shown(self) -> str:
        """Commands that put what is needed, and nobody may not reach, where anybody reaches it."""
        needed = {
            Path(sys.prefix),
            Path(sys.base_prefix),
            Path(pacelc.__file__).parents[1],
            self.directory,
        }
        doors = {path: door for path in needed if (door := shut_door(path)) is not None}
        opened = [
            f"exec {number}< {shlex.quote(str(path))}" for number, path in enumerate(doors, 3)
        ]
        empty = [
            f"mount -t tmpfs -o mode=755 none {shlex.quote(str(door))}"
            for door in sorted(set(doors.values()))
        ]
        back = [
            f"mkdir -p {quoted}; mount -c --bind /proc/$$/fd/{number} {quoted}; exec {number}<&-"
            for number, quoted in enumerate((shlex.quote(str(path)) for path in doors), 3)
        ]
        return "\n".join([*opened, *empty, *back])


def shut_door(path: Path) -> Path | None:
    """Return the topmost directory on the way to a path that not everybody may pass."""
    for directory in reversed([path, *path.parents]):
        if not directory.stat().st_mode & 0o001:
            return directory
    return None


def namespaces() -> set[str]:
    """Return every network namespace that a process is in."""
    found: set[str] = set()
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(str(link.readlink()))
        except OSError:
            continue
    return found


@pytest.mark.timeout(200)
@pytest.mark.parametrize("database", DATABASES)
def test_an_ordinary_users_servers_run_as_that_user(database: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    user = OrdinaryUser(home)
    options = {"first_host": first_host(9), **starts_soon(database)}
    # Fetched by who runs the tests, so that it is fetched once.
    DATABASES[database].software(ClusterSpec(database), lambda _line: None)
    copied = home / "cache/servers"
    shutil.copytree(cache_directory() / "servers", copied, copy_function=_linked)
    if user.root:
        for directory in (copied.parent, copied):
            os.chown(directory, NOBODY, NOBODY)
    ran = user.run("-c", SERVE, database, str(home), json.dumps(options))
    if "Permission denied" in ran.stderr and "python" in ran.stderr:
        pytest.skip(f"nobody can't be let run pacelc here: {ran.stderr.strip().splitlines()[-1:]}")
    assert ran.returncode == 0, ran.stderr
    owner = home.stat().st_uid
    assert json.loads(ran.stdout) == [owner, [owner], 0o700]
    assert not list(home.glob("pacelc-*"))


def _linked(source: str, target: str) -> None:
    """Copy a file, without its bytes where that can be."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("way", [("-m", "pacelc", "run"), ("-c", RUN)], ids=["command", "python"])
def test_an_ordinary_user_measures_across_regions_and_leaves_nothing(
    tmp_path: Path, way: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    user = OrdinaryUser(home)
    able = user.run("-c", CAPABILITY)
    if able.returncode != 0:
        pytest.skip(f"nobody can't be let run pacelc here: {able.stderr.strip().splitlines()[-1:]}")
    how, reason = json.loads(able.stdout)
    if how is None:
        pytest.skip(f"an ordinary user gets no networks here: {reason}")
    assert how == "user namespace"

    # Fetched by who runs the tests, so that it is fetched once.
    program = DATABASES["redis"].software(ClusterSpec("redis"), lambda _line: None).command[0]
    server = shutil.copy(program, home / "redis-server")
    (home / "study.yaml").write_text(STUDY.format(server=server), encoding="utf-8")
    before = namespaces()
    out = home / "out"
    named = [str(out)] if way[0] == "-c" else ["--out", str(out)]
    ran = user.run(*way, str(home / "study.yaml"), *named)
    assert ran.returncode == 0, ran.stderr
    assert "1 run finished" in ran.stderr

    record_file = out / "runs/0001-r1/run.json"
    assert record_file.stat().st_uid == home.stat().st_uid
    record = json.loads(record_file.read_text(encoding="utf-8"))
    assert record["network"]["regions"] == ["iowa", "south-carolina"]
    update = record["result"]["operations"]["update"]
    assert not update["fail"]
    assert not update["unknown"]
    there_ms = round_trip_ms("iowa", "south-carolina")
    assert there_ms is not None
    near, far = (
        group["operations"]["update"]["latency_ns"]["p50"] / 1e6
        for group in record["result"]["groups"]
    )
    assert there_ms <= near <= there_ms + 15
    assert 2 * there_ms <= far <= 2 * there_ms + 30
    assert eventually(lambda: namespaces() <= before)
    assert not list(home.glob("pacelc-*"))
