"""Other load generators, built for the comparison only, from their packages.

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
LINE_VERSION = "3.0.8.0"
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


def hbase_java(class_path: str) -> Path | None:
    """HBase's own Java client in YCSB's loop; the directory that holds its class."""
    program = _cache() / "hbase" / "Peer.class"
    source = str(_HERE / "hbase" / "Peer.java")
    command = ["javac", "-cp", class_path, "-d", str(program.parent), source]
    built = _built(program, command)
    return None if built is None else built.parent


LATTE_WORKLOAD = _HERE / "latte" / "mix.rn"


def line() -> Path | None:
    """LINE's solvers of networks of queues: a Python that has them, and nothing else of ours."""
    root = _cache() / f"line-solver-{LINE_VERSION}"
    program = root / "bin" / "python"
    if not program.exists():
        made = subprocess.run([sys.executable, "-m", "venv", str(root)], check=False)
        if made.returncode != 0:
            return None
    install = ["-m", "pip", "install", "--quiet", f"line-solver=={LINE_VERSION}"]
    known = subprocess.run([program, "-c", "import line_solver"], capture_output=True, check=False)
    if known.returncode != 0 and subprocess.run([program, *install], check=False).returncode != 0:
        return None
    return program
