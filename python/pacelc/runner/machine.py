"""The machine that a run was measured on, as recorded with the run."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["describe_machine"]


def describe_machine() -> dict[str, str | int]:
    """Return cores, processor, memory in bytes, operating system, kernel and Python."""
    machine: dict[str, str | int] = {
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1,
        "architecture": platform.machine(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
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
