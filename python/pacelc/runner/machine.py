"""The machine that a run was measured on, as recorded with the run."""

from __future__ import annotations

import platform
from pathlib import Path

from pacelc.clusters.sizes.allowed import allowed

__all__ = ["describe_machine"]


def describe_machine() -> dict[str, str | float]:
    """Return cores, processor, memory in bytes, operating system, kernel and Python.

    Where control groups limit pacelc and its servers to less, their limits, too.
    """
    here = allowed()
    machine: dict[str, str | float] = {
        "cores": here.processors,
        "architecture": platform.machine(),
        "memory_bytes": here.machine_memory_bytes,
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
    if here.cpu_quota_cores is not None:
        machine["cpu_quota_cores"] = here.cpu_quota_cores
    if here.memory_limit_bytes is not None:
        machine["memory_limit_bytes"] = here.memory_limit_bytes
    if processor := _field(Path("/proc/cpuinfo"), "model name", ":"):
        machine["processor"] = processor
    if system := _field(Path("/etc/os-release"), "PRETTY_NAME", "="):
        machine["system"] = system.strip('"')
    return machine


def _field(path: Path, name: str, separator: str) -> str | None:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        key, found, value = line.partition(separator)
        if found and key.strip() == name:
            return value.strip()
    return None
