"""Other load generators, solvers and checkers, built for the comparison only, from their packages.

Each function returns the program's path, or None where it can't be had here (no toolchain, no
network). They are kept in the user's cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

LATTE_VERSION = "0.29.0"
GO_YCSB_VERSION = "1.0.1"
SIMULATORS = ("ciw==3.2.7", "line-solver==3.0.8.0", "simpy==4.1.2")
_HERE = Path(__file__).parent


def _cache() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "pacelc" / "peers"


def _built(program: Path, command: list[str], cwd: Path | None = None) -> Path | None:
    if program.is_file():
        return program
    if shutil.which(command[0]) is None:
        return None
    program.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, check=False)
    return program if done.returncode == 0 and program.is_file() else None


def redis_benchmark() -> Path | None:
    """Redis's own."""
    found = shutil.which("redis-benchmark")
    return None if found is None else Path(found)


def latte() -> Path | None:
    """For Cassandra, on the driver that we use too."""
    root = _cache() / f"latte-{LATTE_VERSION}"
    command = ["cargo", "install", "--quiet", "latte-cli", "--version", LATTE_VERSION]
    return _built(root / "bin" / "latte", [*command, "--locked", "--root", str(root)])


def go_ycsb() -> Path | None:
    """YCSB in Go, with the bindings that this version has of ours: no HBase."""
    program = _cache() / f"go-ycsb-{GO_YCSB_VERSION}" / "go-ycsb"
    return _built(program, ["go", "build", "-o", str(program), "."], _HERE / "go-ycsb")


def porcupine() -> Path | None:
    """The checker that our tests of histories ask, too."""
    program = _cache() / "porcupine"
    source = _HERE.parents[1] / "python" / "tests" / "history" / "porcupine"
    program.unlink(missing_ok=True)  # its source is ours: it may have changed
    return _built(program, ["go", "build", "-o", str(program), "."], source)


def hbase_java(class_path: str) -> Path | None:
    """HBase's own Java client in YCSB's loop; the directory that holds its class."""
    program = _cache() / "hbase" / "Peer.class"
    source = str(_HERE / "hbase" / "Peer.java")
    command = ["javac", "-cp", class_path, "-d", str(program.parent), source]
    built = _built(program, command)
    return None if built is None else built.parent


LATTE_WORKLOAD = _HERE / "latte" / "mix.rn"


def simulators() -> Path | None:
    """A Python that has other solvers and simulators of queueing networks, and nothing of ours."""
    root = _cache() / "simulators"
    program = root / "bin" / "python"
    if program.is_file():
        return program
    install = [program, "-m", "pip", "install", "--quiet", *SIMULATORS]
    for command in ([sys.executable, "-m", "venv", root], install):
        if subprocess.run(command, check=False).returncode != 0:
            shutil.rmtree(root, ignore_errors=True)
            return None
    return program
