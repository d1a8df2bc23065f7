"""A cluster and its network that only keep a diary of what is done to them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pacelc.clusters import NodeDied
from pacelc.clusters.faults.rules import FaultError
from pacelc.clusters.network.links import CLIENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


def every_pair(hosts: Iterable[str]) -> set[tuple[str, str]]:
    hosts = list(hosts)
    return {(a, b) for a in hosts for b in hosts if a != b}


@dataclass(frozen=True)
class Link:
    delay_s: float | None = None
    jitter_s: float | None = None
    loss: float | None = None
    duplicate: float | None = None
    reorder: float | None = None
    bandwidth_bps: float | None = None


@dataclass
class Server:
    name: str
    host: str
    role: str
    diary: list[str]
    pid: int = 7
    before_signal_s: float = 0.0
    until_gone_s: float = 0.0

    def kill(self) -> int:
        self.diary.append(f"kill {self.name}")
        time.sleep(self.before_signal_s)
        sent_ns = time.monotonic_ns()
        time.sleep(self.until_gone_s)
        return sent_ns

    def pause(self) -> None:
        self.diary.append(f"pause {self.name}")

    def resume(self) -> None:
        self.diary.append(f"resume {self.name}")


@dataclass
class Diary:
    """Cluster and network at once."""

    entries: list[str] = field(default_factory=list)
    now_cut: set[tuple[str, str]] = field(default_factory=set)
    changes: dict[str, Any] = field(default_factory=dict)
    fails: str = ""
    directory: Path = Path("/nowhere")
    dead: list[str] = field(default_factory=list)
    """Servers that end by themselves, when next looked after."""

    def __post_init__(self) -> None:
        self.nodes = [Server(f"n{i}", f"10.0.0.{i}", "node", self.entries) for i in range(1, 4)]
        self.plans = self.nodes
        self.spec = SimpleNamespace(database="cassandra")
        self.network: Any = self
        self.hosts = [
            SimpleNamespace(
                name=n.name, address=n.host, is_in=lambda end, n=n: end == f"at-{n.name}"
            )
            for n in self.nodes
        ]
        self.hosts.append(SimpleNamespace(name=CLIENT, address="10.0.9.9", is_in=lambda _: False))
        self.links = {pair: Link(0.01) for pair in every_pair(h.name for h in self.hosts)}

    def call(self, work: Callable[[], Any]) -> Any:
        return work()

    def host_of(self, address: str) -> str:
        return next(host.name for host in self.hosts if host.address == address)

    def node(self, name: str) -> Server:
        return next(node for node in self.nodes if node.name == name)

    def start(self, name: str) -> Server:
        self.entries.append(f"start {name}")
        if self.fails == "start":
            raise FaultError("port in use")
        return self.node(name)

    def excuse(self, name: str) -> None:
        self.entries.append(f"excuse {name}")
        self.dead.remove(name)

    def check(self) -> None:
        if self.dead:
            raise NodeDied(self.dead[0], 1, "")

    def settle(self, timeout_s: float, tell: Any) -> None:  # noqa: ARG002
        self.entries.append("settle")
        self.check()

    def cut(self, pairs: Iterable[tuple[str, str]]) -> int:
        self.now_cut = set(pairs)
        return 1_000

    def set_links(self, changes: Mapping[str, Any]) -> int:
        self.changes = dict(changes)
        return 2_000
