"""A fake lab: no servers and no engine, and failures that a script decides.

The runner's promises are about what happens when a server dies, a cluster never comes up or the
disk is full. Here each of these is one line of a script, and a study takes milliseconds.

Map
---
FakeLab        clusters that always come up, unless the script says otherwise
Script              what happens when: called before every opening, load and run
"""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pacelc.runner.resources import NodeProcess, Reading
    from pacelc.study import PlannedRun, Settings

T = TypeVar("T")

__all__ = ["FakeCluster", "FakeLab", "Script"]

_STARTED_UNIX_S = 1_700_000_000.0


@dataclass
class Script:
    """What happens when. Each function may raise, and that is then what went wrong."""

    on_open: Callable[[Settings], None] = lambda _settings: None
    on_load: Callable[[Mapping[str, Any]], None] = lambda _spec: None
    on_run: Callable[[Mapping[str, Any]], None] = lambda _spec: None
    on_resize: Callable[[Settings], bool] = lambda _settings: False
    on_check: Callable[[], None] = lambda: None


@dataclass
class FakeCluster:
    """A cluster that is there in name only."""

    settings: Settings
    script: Script
    versions: Mapping[str, str] = field(default_factory=lambda: {"fake": "1"})
    processes: Sequence[NodeProcess] = ()
    injector: Any = None

    def target(self) -> Mapping[str, Any]:
        """See `pacelc.runner.lab.RunningCluster`."""
        external = self.settings.external
        return {
            "database": self.settings.database,
            **({} if external is None else external.target()),
        }

    def clients(self) -> tuple[()]:
        """See `pacelc.runner.lab.RunningCluster`."""
        return ()

    def resize(self, settings: Settings, tell: Callable[[str], None]) -> bool:  # noqa: ARG002 - the fake needs none
        """See `pacelc.runner.lab.RunningCluster`."""
        self.settings = settings if self.script.on_resize(settings) else self.settings
        return self.settings is settings

    def sizes(self) -> Mapping[str, Any]:
        """See `pacelc.runner.lab.RunningCluster`."""
        return {}

    def unlimited(self) -> AbstractContextManager[object]:
        """See `pacelc.runner.lab.RunningCluster`."""
        return nullcontext()

    def check(self) -> None:
        """See `pacelc.runner.lab.RunningCluster`."""
        self.script.on_check()

    def call(self, work: Callable[[], T]) -> T:
        """See `pacelc.runner.lab.RunningCluster`."""
        return work()

    def record(self) -> Mapping[str, Any]:
        """See `pacelc.runner.lab.RunningCluster`."""
        return {}

    def log_tail(self) -> str:
        """See `pacelc.runner.lab.RunningCluster`."""
        return "the last line of the log"


@dataclass
class FakeLab:
    """Keeps a diary of what it was asked to do, in `diary`."""

    script: Script = field(default_factory=Script)
    diary: list[str] = field(default_factory=list[str])

    @property
    def engine(self) -> _Engine:
        """An engine whose every job is done at once."""
        return _Engine(self)

    def check(self, run: PlannedRun) -> None:
        """Accept anything."""

    @contextmanager
    def open_cluster(
        self, settings: Settings, tell: Callable[[str], None]
    ) -> Generator[FakeCluster]:
        """See `pacelc.runner.lab.Lab`."""
        self.diary.append(f"open {settings.database}")
        self.script.on_open(settings)
        tell("nothing is started")
        try:
            yield FakeCluster(settings, self.script)
        finally:
            self.diary.append(f"close {settings.database}")

    def sampler(self, processes: Sequence[NodeProcess], interval_s: float) -> _Sampler:  # noqa: ARG002 - the fake needs none
        """See `pacelc.runner.lab.Lab`."""
        return _Sampler()


class _Sampler:
    def start(self) -> None: ...

    def follow(self, node: str, pid: int) -> None: ...

    def stop(self) -> list[Reading]:
        return []


@dataclass
class _Engine:
    lab: FakeLab

    def version(self) -> str:
        return "0.0.0"

    def check(self, spec_json: str) -> None: ...

    def probe(self, target_json: str) -> _Job:  # noqa: ARG002 - the fake needs none
        return _Job(lambda: self.lab.diary.append("probe"), {"version": None})

    def prepare(self, spec_json: str) -> _Job:  # noqa: ARG002 - the fake needs none
        created = {"table_id": "an id", "container": False}
        return _Job(lambda: self.lab.diary.append("prepare"), created)

    def clear(self, spec_json: str, container: bool = False) -> _Job:  # noqa: ARG002 - the fake needs none
        return _Job(lambda: self.lab.diary.append("clear"), {"table": True, "container": container})

    def load(self, spec_json: str) -> _Job:
        spec = cast("dict[str, Any]", json.loads(spec_json))

        def work() -> None:
            self.lab.diary.append("load")
            self.lab.script.on_load(spec)

        return _Job(work)

    def run(self, spec_json: str) -> _Job:
        spec = cast("dict[str, Any]", json.loads(spec_json))

        def work() -> None:
            self.lab.diary.append("run")
            self.lab.script.on_run(spec)

        return _Job(work, _result(spec))

    def read_back(self, spec_json: str, records: Sequence[int], limit_s: float) -> _Job:  # noqa: ARG002 - all are there
        found: dict[str, Any] = {"level": "strongest", "found": list(records)}
        found |= {"writer": [0] * len(records), "sequence": list(records)}
        found["origin"] = ["load"] * len(records)
        found |= {"missing": [], "unread": [], "errors": {}}
        return _Job(lambda: self.lab.diary.append("read back"), found)


@dataclass
class _Job:
    work: Callable[[], None]
    answer: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stopped: bool = False

    def wait(self, timeout_s: float) -> bool:  # noqa: ARG002 - the fake needs none
        if not self.stopped:
            self.work()
        return True

    def progress(self) -> Mapping[str, Any]:
        return {"phase": "measure", "elapsed_s": 1.0, "users": 1, "ok": 1, "fail": 0, "unknown": 0}

    def stop(self) -> None:
        self.stopped = True

    def result(self) -> str:
        return json.dumps(self.answer)


def _result(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    latency_ns = dict.fromkeys(
        ("mean", "min", "max", "p50", "p90", "p95", "p99", "p999", "p9999"), 1e6
    )
    kinds = [kind for kind, share in spec["workload"]["mix"].items() if share > 0]
    columns = {
        "t_s": 0.0,
        "interval_s": 1.0,
        "phase": "measure",
        "operation": "read",
        "ok": 100,
        "fail": 0,
        "unknown": 0,
        "latency_ns_mean": 1e6,
        "latency_ns_p50": 1_000_000,
        "latency_ns_p90": 1_000_000,
        "latency_ns_p99": 1_000_000,
        "latency_ns_p999": 1_000_000,
        "latency_ns_max": 1_000_000,
    }
    return {
        "measured_s": spec["measure_s"],
        "warm_up_s": spec["warm_up_s"],
        "steady": None,
        "before_measure_s": spec["warm_up_s"],
        "started_unix_s": _STARTED_UNIX_S,
        "consistency": {},
        "operations": {
            kind: {
                "ok": 100,
                "fail": {},
                "unknown": {},
                "latency_ns": {"n": 100, "stdev": 0.0, **latency_ns},
            }
            for kind in kinds
        },
        "samples": {name: [value] for name, value in columns.items()},
        "latency_log": "#[Histogram log format version 1.3]\n",
        "schedule": None,
        "client": {"cpu_user_s": 0.1, "cpu_system_s": 0.1, "threads": 1, "busy_fraction": 0.1},
        "warnings": [],
    }
