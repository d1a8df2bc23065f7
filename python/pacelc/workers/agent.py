"""What runs on a worker: one engine, asked from afar.

An actor of Ray, in a process of its own. It answers in plain values, errors included: an exception
of the compiled engine would not survive the way back. It imports little: it starts once a worker.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pacelc import _engine
from pacelc.errors import one_line
from pacelc.runner.reading import read_self

__all__ = ["Agent", "place"]

_FORSAKEN_S = 30.0
"""Who hears nothing of its driver for so long stops: nobody would take the result."""


class Agent:
    """One worker's engine and its run."""

    def __init__(self) -> None:
        self._job: _engine.Job | None = None
        self._result = ""
        self._heard_s = time.monotonic()

    def about(self) -> dict[str, Any]:
        """Return what the driver checks before it gives work."""
        return {
            "engine": _engine.version(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "cores": len(os.sched_getaffinity(0)),
            "place": place(),
        }

    def clock(self) -> float:
        """Return the time here, in seconds since 1970."""
        return time.time()

    def start(self, spec_json: str) -> dict[str, Any] | None:
        """Begin a run; return what is wrong with it, if anything is."""
        self._heard_s = time.monotonic()
        try:
            self._job = _engine.run(spec_json)
        except Exception as error:  # noqa: BLE001 - told to the driver, whatever it is
            return _told(error)
        threading.Thread(target=self._watch, args=(self._job,), daemon=True).start()
        return None

    def poll(self) -> dict[str, Any]:
        """Return whether the run is done, or failed, and how it is going."""
        self._heard_s = time.monotonic()
        job = self._job
        if job is None:
            raise AssertionError("polled after a start")
        try:
            done, error = job.wait(0.0), None
            if done:
                # What made a run fail is told by who is asked for its result.
                self._result = job.result()
        except Exception as raised:  # noqa: BLE001 - told to the driver, whatever it is
            done, error = True, _told(raised)
        return {
            "done": done,
            "error": error,
            "progress": dict(job.progress()),
            "reading": asdict(read_self()),
        }

    def stop(self) -> None:
        """End the run soon."""
        if self._job is not None:
            self._job.stop()

    def result(self) -> str:
        """Return the finished run's result as JSON."""
        return self._result

    def _watch(self, job: _engine.Job) -> None:
        """Let no load go on for a driver that is gone."""
        while True:
            if job.wait(1.0):
                return
            if time.monotonic() - self._heard_s > _FORSAKEN_S:
                job.stop()


def place() -> str:
    """Return a name that processes share which share a loopback interface."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/net').readlink()}"


def _told(error: Exception) -> dict[str, Any]:
    hint = getattr(error, "hint", None)
    return {"message": one_line(error), "hint": hint if isinstance(hint, str) else None}
