# The load engine, compiled from `crates/python`. Specifications go in and results come out as JSON;
# `crates/load/src/spec.rs` and `result.rs` define their shape.

from typing import TypedDict

class KindProgress(TypedDict):
    ok: int
    fail: int
    unknown: int
    latency_sum_ns: int
    p50_ns: int | None
    p99_ns: int | None

class Progress(TypedDict):
    phase: str
    elapsed_s: float
    users: int
    ok: int
    fail: int
    unknown: int
    throughput_per_s: float
    p99_ns: int | None
    operations: dict[str, KindProgress]

class EngineError(Exception):
    message: str
    hint: str

class Refused(EngineError): ...  # noqa: N818
class ConnectError(EngineError): ...
class Stopped(EngineError): ...  # noqa: N818

class Job:
    def wait(self, timeout_s: float) -> bool: ...
    def progress(self) -> Progress: ...
    def stop(self) -> None: ...
    def result(self) -> str: ...

def version() -> str: ...
def bindings() -> list[str]: ...
def levels() -> str: ...
def resolve_consistency(database: str, consistency_json: str, shape_json: str) -> str: ...
def check(spec_json: str) -> None: ...
def operations(spec_json: str, user: int, count: int) -> list[tuple[str, str]]: ...
def prepare(spec_json: str) -> Job: ...
def load(spec_json: str) -> Job: ...
def run(spec_json: str) -> Job: ...
