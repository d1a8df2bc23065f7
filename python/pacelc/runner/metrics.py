"""A running study as Prometheus metrics.

The runner's events become the state of `Metrics`, and a scrape reads that state: nothing is
computed for a scrape that nobody makes, and the engine is never asked. Metrics are for watching:
reports never use them.

Counters go on from run to run, as Prometheus expects of one process. What is only true of a running
second (throughput, users, percentiles) is absent when nothing runs, so that a graph shows a gap and
not the last value for ever.

Map
---
Metrics         hears the runner's events; collects as Prometheus' client library asks
Address         where to listen
parse_address   ``HOST:PORT``, ``:PORT``
serving         answers scrapes until it is left
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from pacelc.errors import InputError
from pacelc.numerals import parse_port
from pacelc.runner import events
from pacelc.runner.account import TimeLeft

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from pacelc.study import PlannedRun

__all__ = ["Address", "Metrics", "parse_address", "serving"]

_LOOPBACK: Final = "127.0.0.1"

_PHASES: Final = (
    "idle",
    "cluster-up",
    "prepare",
    "load",
    "burn-in",
    "open",
    "spawn",
    "warm-up",
    "measure",
    "drain",
    "cool-down",
)
_OUTCOMES: Final = ("ok", "fail", "unknown")
_QUANTILES: Final = {"0.5": "p50_ns", "0.99": "p99_ns"}
_NS: Final = 1e9
_NOTHING: Mapping[str, Any] = {}
_NONE: Mapping[str, Mapping[str, Any]] = {}


class Metrics(Collector):
    """What Prometheus is told of a study."""

    def __init__(self) -> None:
        # Events come from the thread that runs the study, scrapes from those of the server.
        self._lock = Lock()
        self._study = ""
        self._phase = "idle"
        self._run: PlannedRun | None = None
        self._second: events.Progressed | None = None
        self._time_left: TimeLeft | None = None
        self._runs_left = 0
        self._runs = {"finished": 0, "failed": 0}
        self._operations: dict[tuple[str, str], int] = {}
        self._latency_sum_ns: dict[str, int] = {}

    # --- Hearing ---

    def __call__(self, event: events.Event) -> None:
        """Hear ``event``."""
        with self._lock:
            self._hear(event)

    def _hear(self, event: events.Event) -> None:  # noqa: C901 - one case an event
        match event:
            case events.StudyStarted():
                self._study, self._time_left = event.name, event.time_left
                self._runs_left = event.runs - event.finished
            case events.ClusterStarting():
                self._phase = "cluster-up"
            case events.ClusterUp() | events.ClusterDown():
                self._phase = "idle"
            case events.RunStarted():
                self._end_run()
                self._run, self._phase = event.run, "prepare"
                self._time_left = event.time_left
            case events.Loading():
                self._phase, self._time_left = "load", event.time_left
            case events.Progressed():
                self._count(event)
                self._run, self._second = event.run, event
                self._phase, self._time_left = event.phase or "open", event.time_left
            case events.RunFinished():
                self._end_run("finished")
            case events.RunFailed():
                self._end_run("failed")
            case events.Cooling():
                self._phase, self._time_left = "cool-down", event.time_left
            case events.StudyFinished():
                self._end_run()
                self._time_left = TimeLeft(0.0)
            case _:
                pass

    def _end_run(self, result: str | None = None) -> None:
        if result is not None:
            self._runs[result] += 1
            self._runs_left -= 1
        self._run = self._second = None
        self._phase = "idle"

    def _count(self, event: events.Progressed) -> None:
        """Add what is new since the last event; a job of its own begins at nothing again."""
        last = self._second
        before = last.operations if last is not None and last.job == event.job else _NONE
        for kind, now in event.operations.items():
            earlier = before.get(kind, _NOTHING)
            for outcome in _OUTCOMES:
                more = int(now[outcome]) - int(earlier.get(outcome, 0))
                key = kind, outcome
                self._operations[key] = self._operations.get(key, 0) + max(0, more)
            more = int(now["latency_sum_ns"]) - int(earlier.get("latency_sum_ns", 0))
            self._latency_sum_ns[kind] = self._latency_sum_ns.get(kind, 0) + max(0, more)

    # --- Telling ---

    def describe(self) -> Iterable[Metric]:
        """Name nothing beforehand: which metrics there are depends on what runs."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as they are now."""
        with self._lock:
            return [*self._of_study(), *self._of_operations(), *self._of_second()]

    def _of_study(self) -> Iterable[Metric]:
        if self._run is not None:
            labels = {"study": self._study, "run": self._run.run_id, **_labels(self._run)}
            yield InfoMetricFamily("pacelc_run", "The run that is under way.", labels)
        runs = CounterMetricFamily("pacelc_runs", "Runs tried by this process.", labels=["result"])
        for result, count in self._runs.items():
            runs.add_metric([result], count)
        yield runs
        yield GaugeMetricFamily("pacelc_runs_left", "Runs still to be tried.", self._runs_left)
        phase = GaugeMetricFamily(
            "pacelc_phase", "1 for what the study is doing, 0 for the others.", labels=["phase"]
        )
        for name in dict.fromkeys((*_PHASES, self._phase)):
            phase.add_metric([name], int(name == self._phase))
        yield phase
        if self._time_left is not None and not self._time_left.is_limit:
            yield GaugeMetricFamily(
                "pacelc_time_left_seconds",
                "Expected until the study ends.",
                self._time_left.seconds,
            )

    def _of_operations(self) -> Iterable[Metric]:
        operations = CounterMetricFamily(
            "pacelc_operations",
            "Operations that have ended, warm-up included.",
            labels=["operation", "outcome"],
        )
        for key, count in self._operations.items():
            operations.add_metric(key, count)
        yield operations
        latency = SummaryMetricFamily(
            "pacelc_latency_seconds",
            "Latency of ok operations; the quantiles are of the newest complete second.",
            labels=["operation"],
        )
        second = _NONE if self._second is None else self._second.operations
        for kind, sum_ns in self._latency_sum_ns.items():
            # The library's own method knows no quantiles.
            for quantile, name in _QUANTILES.items():
                value_ns = second.get(kind, _NOTHING).get(name)
                if value_ns is not None:
                    latency.add_sample(
                        latency.name, {"operation": kind, "quantile": quantile}, value_ns / _NS
                    )
            latency.add_metric([kind], self._operations[kind, "ok"], sum_ns / _NS)
        yield latency

    def _of_second(self) -> Iterable[Metric]:
        second = self._second
        if second is None:
            return
        yield GaugeMetricFamily("pacelc_users", "Users that are in.", second.users)
        yield GaugeMetricFamily(
            "pacelc_throughput_ops_per_second",
            "Operations that were ok in the newest complete second.",
            second.throughput_per_s,
        )


def _labels(run: PlannedRun) -> Mapping[str, str]:
    """Return the database, and each factor under a name that a label may have."""
    factors = {
        f"factor_{re.sub('[^a-zA-Z0-9_]', '_', name)}": str(level)
        for name, level in run.scenario.factors.items()
    }
    return {"database": run.scenario.settings.database, **factors}


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return it as a URL has it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read ``HOST:PORT``; without a host, only this machine is answered.

    Raises
    ------
    InputError
        It is no such thing.

    Examples
    --------
    >>> str(parse_address(":9464"))
    '127.0.0.1:9464'
    """
    host, colon, written = text.rpartition(":")
    port = parse_port(written, least=0)
    if not colon or port is None:
        raise InputError(f"--metrics {text}: should be HOST:PORT", "for example 127.0.0.1:9464")
    return Address(host.removeprefix("[").removesuffix("]") or _LOOPBACK, port)


@contextmanager
def serving(metrics: Metrics, address: Address) -> Generator[Address]:
    """Answer scrapes of ``metrics``; yield where, which for port 0 the system chooses.

    Raises
    ------
    InputError
        The address can't be listened on.
    """
    registry = CollectorRegistry()
    registry.register(metrics)
    # This process is the load generator: what it uses is what the client uses.
    ProcessCollector(registry=registry)
    try:
        server, thread = start_http_server(address.port, address.host, registry)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"--metrics {address}: {reason}", "give another port or host") from None
    try:
        yield Address(address.host, server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
