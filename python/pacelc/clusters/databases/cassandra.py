"""Cassandra: a ring of equal nodes; the client says per operation how many replicas must answer.

Settings that bear on a measurement; all else is Cassandra's own default:

- ``heap_mib`` (default 768, or what the node's memory allows: `pacelc.clusters.software.java`) a
  node, with G1, the collector of Cassandra's own settings. No ``AlwaysPreTouch``: it makes start-up
  slower, and memory that was never used look used.
- ``num_tokens`` 1 (option of that name), the ring divided evenly by ``initial_token``: with a few
  nodes, random tokens would give some node twice the records of another, other ones in each run.
  With more tokens they are Cassandra's choice.
- ``auto_bootstrap`` false and every node a seed: the ring is empty, so no data need be streamed to
  a node that joins, and all can start at once. ``ring_delay_ms`` and the wait for gossip to settle
  are cut short: they guard rings that hold data.
- With regions, each is a data centre and its zones are racks; a node without a zone is in
  ``rack1``. A keyspace has its copies where the first nodes, as many as there are copies, are: with
  regions in turn and a copy on every node, as many in each data centre as it has nodes.
- ``auto_snapshot`` false; JMX off; the caches for compression and networking limited, as three
  nodes share the memory.

Up when every node, as coordinator, has had a write at consistency level ALL acknowledged in a
keyspace that has a replica on every node: then each one sees all others as up. That takes three
frames of Cassandra's native protocol, written out below: its drivers weigh more than all of pacelc.
"""

from __future__ import annotations

import json
import re
import socket
import struct
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pacelc.clusters.errors import SpecError
from pacelc.clusters.network.regions import region_of, zone_of
from pacelc.clusters.protocol import Forming, Memory, Records, Software
from pacelc.clusters.sizes.size import MIB
from pacelc.clusters.software import java as javas
from pacelc.clusters.software.fetch import Tell, jars
from pacelc.clusters.software.java import common_flags, exports, find_java, opens
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

ARTIFACT = "org.apache.cassandra:cassandra-all:5.0.8"
JAVA_VERSIONS = (17,)
"""Cassandra 5.0 supports 11 and 17; the flags below are for 17."""

CLIENT_PORT = 19042
STORAGE_PORT = 17000
DATACENTER = "datacenter1"
HEAP_MIB = 768
MIN_HEAP_MIB = 256
BESIDE_HEAP_MIB = 530
"""What a node takes beside a heap that is full: 743 MiB resident with a heap of 256, 1,295 with one
of 768, after 200,000 records of 1 KB and 30 s of 64 users (5.0.8, Java 17)."""

FLAGS = (
    "-ea",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=300",
    "-Djdk.attach.allowAttachSelf=true",
    "-Dio.netty.tryReflectionSetAccessible=true",
    *exports(
        "java.base/java.lang.ref",
        "java.base/jdk.internal.misc",
        "java.base/sun.nio.ch",
        "java.management.rmi/com.sun.jmx.remote.internal.rmi",
        "java.rmi/sun.rmi.registry",
        "java.rmi/sun.rmi.server",
        "java.rmi/sun.rmi.transport.tcp",
        "java.sql/java.sql",
    ),
    *opens(
        "java.base/java.io",
        "java.base/java.lang",
        "java.base/java.lang.module",
        "java.base/java.lang.reflect",
        "java.base/java.net",
        "java.base/java.nio",
        "java.base/java.util",
        "java.base/java.util.concurrent",
        "java.base/java.util.concurrent.atomic",
        "java.base/jdk.internal.loader",
        "java.base/jdk.internal.math",
        "java.base/jdk.internal.module",
        "java.base/jdk.internal.ref",
        "java.base/jdk.internal.reflect",
        "java.base/jdk.internal.util.jar",
        "java.base/sun.nio.ch",
        "jdk.management/com.sun.management.internal",
    ),
    "-Dcassandra.ring_delay_ms=2000",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.consistent.rangemovement=false",
    # What Cassandra computes at each start, from 100,000 rows made for it: a second of processor.
    "-Dcassandra.memtable.row_overhead_size=180",
)

LOGBACK = """<configuration><appender name="log" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%-5level %date{ISO8601} [%thread] %logger{0} - %msg%n</pattern></encoder>
</appender>
<root level="INFO"><appender-ref ref="log"/></root></configuration>
"""

PROBE_KEYSPACE = "pacelc_probe"
ANSWER_TIMEOUT_S = 15.0


@dataclass(frozen=True)
class Cassandra:
    """Rings of Cassandra."""

    @property
    def name(self) -> str:
        """See `pacelc.clusters.protocol.Database`."""
        return "cassandra"

    @property
    def options(self) -> Mapping[str, str]:
        """See `pacelc.clusters.protocol.Database`."""
        return {
            "port": f"port of every node for clients (default {CLIENT_PORT})",
            "heap_mib": "Java heap of each node in MiB (default 768, or by the node's memory)",
            "num_tokens": "tokens of each node (default 1, the ring divided evenly)",
            "storage_port": f"port between the nodes (default {STORAGE_PORT})",
            "datacenters": "the data centre of each node, as a list (default: its region, or "
            "datacenter1)",
            "config": "further settings of cassandra.yaml, name to value",
            **javas.OPTIONS,
        }

    @property
    def resizable(self) -> bool:
        """It isn't: one that joins takes half of one neighbour's part, as in no even ring."""
        return False

    def validate(self, spec: ClusterSpec) -> None:
        """See `pacelc.clusters.protocol.Database`."""
        javas.validate(spec, heap_mib(spec), least_mib=MIN_HEAP_MIB)
        if spec.option("num_tokens", 1) < 1:
            raise SpecError("num_tokens must be at least 1")
        if spec.regions and spec.words("datacenters"):
            raise SpecError("regions are the data centres: option 'datacenters' can't be set too")
        names = datacenters(spec)
        if len(names) != spec.nodes or not all(re.fullmatch(r"[\w-]+", name) for name in names):
            raise SpecError(
                f"option 'datacenters' must name one for each of the {counted(spec.nodes, 'node')}",
                hint="in letters, digits, _ and -",
            )
        spec.port("port", CLIENT_PORT)
        spec.port("storage_port", STORAGE_PORT)

    def software(self, spec: ClusterSpec, tell: Tell) -> Software:
        """See `pacelc.clusters.protocol.Database`."""
        java = find_java(spec, JAVA_VERSIONS, tell)
        class_path = jars("cassandra", tell)
        agent = next(jar for jar in class_path if jar.name.startswith("jamm-"))
        command = (
            str(java.program),
            *FLAGS,
            f"-javaagent:{agent}",
            *spec.words("jvm_flags"),
            *("-cp", ":".join(map(str, class_path))),
        )
        return Software(command, javas.versions(spec, java, ARTIFACT, heap_mib(spec), FLAGS))

    def plan(self, spec: ClusterSpec, software: Software, directory: Path) -> Sequence[NodePlan]:
        """Plan one JVM a node, all seeds."""
        hosts = host_addresses(spec)
        plans: list[NodePlan] = []
        for index, (host, datacenter) in enumerate(zip(hosts, datacenters(spec), strict=True)):
            data_dir = directory / f"node{index + 1}"
            conf = directory / f"{data_dir.name}-conf"
            settings = yaml_settings(spec, hosts, index, data_dir) | spec.settings("config")
            argv = (
                software.command[0],
                *common_flags(heap_mib(spec), data_dir, spec),
                f"-Dcassandra.config={(conf / 'cassandra.yaml').as_uri()}",
                f"-Dcassandra-rackdc.properties={(conf / 'cassandra-rackdc.properties').as_uri()}",
                f"-Dcassandra.storagedir={data_dir}",
                f"-Dcassandra.logdir={data_dir}",
                f"-Dlogback.configurationFile={(conf / 'logback.xml').as_uri()}",
                *software.command[1:],
                "org.apache.cassandra.service.CassandraDaemon",
            )
            plans.append(
                NodePlan(
                    name=data_dir.name,
                    role="node",
                    host=host,
                    ports={
                        "client": spec.port("port", CLIENT_PORT),
                        "storage": spec.port("storage_port", STORAGE_PORT),
                    },
                    argv=argv,
                    data_dir=data_dir,
                    files={
                        # JSON is YAML, so no YAML writer is needed.
                        conf / "cassandra.yaml": json.dumps(settings, indent=1),
                        conf / "cassandra-rackdc.properties": (
                            f"dc={datacenter}\nrack={rack(spec, index)}\n"
                        ),
                        conf / "logback.xml": LOGBACK,
                    },
                )
            )
        return plans

    def serve(self, spec: ClusterSpec, forming: Forming) -> None:
        """Have every node coordinate a write that all nodes acknowledge."""
        for plan in forming.plans:
            forming.until(
                f"{plan.name} accepts clients",
                lambda plan=plan: query(plan.endpoint),
                blame=plan.name,
            )
        replicas = ", ".join(
            f"'{name}': {count}" for name, count in Counter(datacenters(spec)).items()
        )
        first = forming.plans[0]
        replication = f"{{'class': 'NetworkTopologyStrategy', {replicas}}}"
        for what, statement in (
            (
                "keyspace",
                f"CREATE KEYSPACE IF NOT EXISTS {PROBE_KEYSPACE} WITH replication = {replication}",
            ),
            ("table", f"CREATE TABLE IF NOT EXISTS {PROBE_KEYSPACE}.probe (id int PRIMARY KEY)"),
        ):
            forming.until(
                f"the probe's {what} is made",
                lambda statement=statement: query(first.endpoint, statement),
                blame=first.name,
            )
        write = f"INSERT INTO {PROBE_KEYSPACE}.probe (id) VALUES (1)"  # noqa: S608 -- a constant
        for plan in forming.plans:
            forming.until(
                f"a write through {plan.name} is acknowledged by all nodes",
                lambda plan=plan: query(plan.endpoint, write),
                blame=plan.name,
            )
        forming.until(
            "the probe's keyspace is removed",
            lambda: query(first.endpoint, f"DROP KEYSPACE IF EXISTS {PROBE_KEYSPACE}"),
            blame=first.name,
        )

    def memory(self, spec: ClusterSpec, records: Records) -> Memory:  # noqa: ARG002
        """See `pacelc.clusters.protocol.Database`."""
        return Memory((heap_mib(spec) + BESIDE_HEAP_MIB) * MIB, "a smaller heap_mib")

    def leader(self, nodes: Sequence[Server], silent: Collection[str]) -> str | None:  # noqa: ARG002
        """Return the first node: nobody leads, and faults need one that they can name."""
        return nodes[0].name

    def target(self, spec: ClusterSpec, plans: Sequence[NodePlan]) -> dict[str, Any]:
        """Give the data centres, which keyspaces and drivers are told.

        The client's own is its region's, whose nodes it is given first: the first coordinates. A
        client in a region without nodes has the first node's.
        """
        names = datacenters(spec)
        if not spec.regions:
            return {"local_datacenter": names[0]}
        own = region_of(spec.client_place)
        local = own if own in names else names[0]
        by_distance = sorted(
            zip(names, plans, strict=True), key=lambda place_and_plan: place_and_plan[0] != local
        )
        return {
            "local_datacenter": local,
            "endpoints": [str(plan.endpoint) for _, plan in by_distance],
            "datacenters": dict(Counter(names[: spec.copies])),
        }


def heap_mib(spec: ClusterSpec) -> int:
    """Return the Java heap of each node: as asked for, or what the node's memory allows."""
    return javas.heap_mib(spec, HEAP_MIB, least_mib=MIN_HEAP_MIB, beside_mib=BESIDE_HEAP_MIB)


def datacenters(spec: ClusterSpec) -> list[str]:
    """Return the data centre of each node: its region, where it has one."""
    if spec.regions:
        return [region_of(spec.place(index)) for index in range(spec.nodes)]
    return spec.words("datacenters") or [DATACENTER] * spec.nodes


def rack(spec: ClusterSpec, index: int) -> str:
    """Return the rack of a node: the zone that it is in, where it is in one."""
    return zone_of(spec.place(index)) or "rack1"


def yaml_settings(
    spec: ClusterSpec, hosts: Sequence[str], index: int, data_dir: Path
) -> dict[str, Option]:
    """Return cassandra.yaml of one node, as a mapping."""
    num_tokens = spec.option("num_tokens", 1)
    # The partitioner's range is [-2^63, 2^63).
    token = -(2**63) + index * 2**64 // spec.nodes
    return {
        "cluster_name": "pacelc",
        "num_tokens": num_tokens,
        **({"initial_token": str(token)} if num_tokens == 1 else {}),
        "auto_bootstrap": False,
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "seed_provider": [
            {
                "class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
                "parameters": [{"seeds": ",".join(hosts)}],
            }
        ],
        "listen_address": hosts[index],
        "rpc_address": hosts[index],
        "storage_port": spec.port("storage_port", STORAGE_PORT),
        "native_transport_port": spec.port("port", CLIENT_PORT),
        "endpoint_snitch": "GossipingPropertyFileSnitch",
        "data_file_directories": [str(data_dir / "data")],
        "commitlog_directory": str(data_dir / "commitlog"),
        "hints_directory": str(data_dir / "hints"),
        "saved_caches_directory": str(data_dir / "saved_caches"),
        "cdc_raw_directory": str(data_dir / "cdc_raw"),
        "commitlog_sync": "periodic",
        "commitlog_sync_period": "10000ms",
        "commitlog_total_space": "512MiB",
        "file_cache_size": "64MiB",
        "networking_cache_size": "32MiB",
        "auto_snapshot": False,
    }


# Cassandra's native protocol, version 4: a header of nine bytes (version, flags, stream, opcode,
# length), then the body.

VERSION_OF_REQUESTS = 4
STARTUP, QUERY = 0x01, 0x07
ERROR, READY, RESULT = 0x00, 0x02, 0x08
CONSISTENCY_ALL = 0x0005
HEADER = struct.Struct(">BBhBi")


def query(endpoint: Endpoint, statement: str = "SELECT key FROM system.local") -> bool:
    """Run one statement at consistency level ALL; true when it succeeded.

    Raises
    ------
    OSError
        No connection, no answer in time, or the server's own error.
    """
    with (
        socket.create_connection((endpoint.host, endpoint.port), ANSWER_TIMEOUT_S) as connection,
        connection.makefile("rb") as stream,
    ):
        for opcode, body, expected in (
            (
                STARTUP,
                struct.pack(">h", 1) + short_string("CQL_VERSION") + short_string("3.0.0"),
                READY,
            ),
            (
                QUERY,
                struct.pack(">i", len(statement))
                + statement.encode()
                + struct.pack(">HB", CONSISTENCY_ALL, 0),
                RESULT,
            ),
        ):
            connection.sendall(HEADER.pack(VERSION_OF_REQUESTS, 0, 0, opcode, len(body)) + body)
            header = stream.read(HEADER.size)
            if len(header) < HEADER.size:
                raise ConnectionError(f"{endpoint} closed the connection")
            *_, answer, length = HEADER.unpack(header)
            words = stream.read(length)
            if answer != expected:
                # An error's body: a code of four bytes, then a string with its length in two.
                reason = (
                    words[6:].decode(errors="replace") if answer == ERROR else f"opcode {answer}"
                )
                raise ConnectionError(f"{endpoint} answered: {reason}")
    return True


def short_string(text: str) -> bytes:
    """Return a string of the protocol, its length in two bytes before it."""
    return struct.pack(">H", len(text)) + text.encode()
