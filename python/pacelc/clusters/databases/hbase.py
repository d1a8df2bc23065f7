"""HBase: region servers with a master and a ZooKeeper; one of them serves each region.

``nodes`` counts the region servers. ``replication`` is the number of replicas of each region: with
more than one, reads may be asked of the others (``TIMELINE``), which follow the primary by
asynchronous replication of its write-ahead log (``hbase.region.replica.replication.enabled``).
Copies of the *files*, HDFS's business in a real installation, are not made here: all servers share
one directory of this machine. So a write costs no network beyond its region server, and the death
of a region server loses nothing. Results about HDFS pipelines can't come from this cluster.

Settings that bear on a measurement; all else is HBase's own default:

- ``heap_mib`` (default 384, with more replicas than one 768, or what the node's memory allows:
  `pacelc.clusters.software.java`) a region server, with G1, Java's own choice. Where others'
  regions are replicated to a server, so are their edits, and 384 MiB are then collected without
  end.
  Master and ZooKeeper are not in the path of reads and writes: they run with the small collector
  and the first compiler only, which spares the region servers' processors.
- ``hbase.unsafe.stream.capability.enforce`` false: a local file system gives no promise about
  flushed writes.
- ``hbase.hregion.memstore.mslab.chunksize`` a KiB less than 1 MiB, not 2 MiB, of which each takes
  three of the 1 MiB regions that G1 has in a heap this small: half as much again.
- ``hbase.server.allocator.buffer.size`` 8 KiB, not 65: of a heap this small. Each answer that isn't
  sent yet has a buffer, and reads that ask further replicas after 10 ms leave thousands of answers
  to a server that stalls for a second. Small buffers alone weren't enough at weak levels, hence the
  larger heap with replicas.
- ``hbase.wal.provider`` ``asyncfs``, HBase's default, which syncs the log by itself. Replicas get
  only what the log has synced, and are about a second behind under load. Rejected: ``filesystem``
  (``FSHLog``), which syncs ``ASYNC_WAL`` writes only when a memstore is full.
- ``hbase.balancer.period`` a day: a region that moves while it is measured is a fault, and faults
  are asked for.
- ``zookeeper.session.timeout`` 10 s, not 90: how long a dead region server's regions stay away.
- No web pages.

Up when the master has completed its initialization and, asked by the load engine, whose business
HBase's client protocol is, says that it has all region servers and no region on its way; and
``hbase:meta`` was read. A new master waits for all region servers, and by then it has assigned
``hbase:meta`` and ``hbase:namespace`` and written to both: synced writes, acknowledged by region
servers. That it has is first read in its log, since asking a JVM that starts only costs it time;
after a fault the log is of the time before.
"""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from pacelc.clusters.engine import load_engine
from pacelc.clusters.errors import WorkdirError
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
    Role,
    Server,
    host_addresses,
)
from pacelc.names import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

ARTIFACT = "org.apache.hbase:hbase-server:2.5.12-hadoop3"
JAVA_VERSIONS = (17, 18, 19, 20, 21)
"""HBase 2.5 is tested on 8, 11 and 17; the packaged runtime is a 17."""

ZOOKEEPER_PORT = 12181
MASTER_PORT = 12600
REGION_SERVER_PORT = 12620
HEAP_MIB = 384
HEAP_WITH_REPLICAS_MIB = 768
MIN_HEAP_MIB = 128
MEMSTORE_CHUNK_BYTES = 1024 * 1023
RESPONSE_BUFFER_BYTES = 8192
ZOOKEEPER_HEAP_MIB = 64
MASTER_HEAP_MIB = 256
BESIDE_HEAP_MIB = 200
"""What a region server takes beside a heap that is full: 533 MiB resident with a heap of 384, not
yet full, and 977 with one of 824, after 200,000 records of 1 KB and 30 s of 64 users (2.5.12)."""
COORDINATION_MIB = 440
"""Master and ZooKeeper together, with heaps that are full."""

FLAGS = (
    "-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
    *exports("java.base/jdk.internal.misc", "java.security.jgss/sun.security.krb5"),
    *opens(
        "java.base/java.lang",
        "java.base/java.lang.reflect",
        "java.base/java.nio",
        "java.base/java.util",
        "java.base/java.util.concurrent",
        "java.base/jdk.internal.ref",
        "java.base/sun.nio.ch",
    ),
)
REGION_SERVER_FLAGS = ("-XX:+UseG1GC",)
COORDINATION_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

LOG4J = """log4j.rootLogger=INFO,log
log4j.appender.log=org.apache.log4j.ConsoleAppender
log4j.appender.log.target=System.err
log4j.appender.log.layout=org.apache.log4j.PatternLayout
log4j.appender.log.layout.ConversionPattern=%d{ISO8601} %-5p [%t] %c{2}: %m%n
"""

# ZooKeeper's own, not HBase's HQuorumPeer: that one looks for its address among the interfaces',
# and of the loopback range only 127.0.0.1 is there.
ZOOKEEPER_MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"

# Hadoop makes a URI of the directory as it is written; a class path ends at a colon.
NO_PART_OF_A_ROOT = re.compile(r"""[] "%<>[\\^`{|}:]""")
SERVING = "Master has completed initialization"
CONNECT_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class HBase:
    """HBase with ZooKeeper and one master, on a shared local directory."""

    @property
    def name(self) -> str:
        """See `pacelc.clusters.protocol.Database`."""
        return "hbase"

    @property
    def options(self) -> Mapping[str, str]:
        """See `pacelc.clusters.protocol.Database`."""
        return {
            "heap_mib": "Java heap of each region server in MiB (default 384, 768 with replicas of"
            " regions, or by its memory)",
            "port": f"the master's port (default {MASTER_PORT})",
            "zookeeper_port": f"ZooKeeper's port (default {ZOOKEEPER_PORT})",
            "regionserver_port": f"the region servers' port (default {REGION_SERVER_PORT})",
            "config": "further properties of hbase-site.xml, name to value",
            **javas.OPTIONS,
        }

    @property
    def resizable(self) -> bool:
        """It isn't: the master would move regions, which then read from a cold cache."""
        return False

    def validate(self, spec: ClusterSpec) -> None:
        """See `pacelc.clusters.protocol.Database`."""
        javas.validate(spec, heap_mib(spec), least_mib=MIN_HEAP_MIB)
        for option, default in (
            ("port", MASTER_PORT),
            ("zookeeper_port", ZOOKEEPER_PORT),
            ("regionserver_port", REGION_SERVER_PORT),
        ):
            spec.port(option, default)

    def software(self, spec: ClusterSpec, tell: Tell) -> Software:
        """See `pacelc.clusters.protocol.Database`."""
        java = find_java(spec, JAVA_VERSIONS, tell)
        class_path = ":".join(map(str, jars("hbase", tell)))
        flags = [*FLAGS, *REGION_SERVER_FLAGS]
        versions = javas.versions(spec, java, ARTIFACT, heap_mib(spec), flags)
        return Software((str(java.program), class_path), versions)

    def plan(self, spec: ClusterSpec, software: Software, directory: Path) -> Sequence[NodePlan]:
        """Plan a ZooKeeper and a master beside the first region server, and the region servers.

        Raises
        ------
        WorkdirError
            There are no such URIs, or class paths.
        """
        if unreadable := NO_PART_OF_A_ROOT.search(str(directory)):
            raise WorkdirError(
                f"HBase's data can't be in {directory}: it reads no path with {unreadable[0]!r}",
                hint="name another directory with --workdir",
            )
        java, class_path = software.command
        hosts = host_addresses(spec)
        heap = heap_mib(spec)
        ports = {
            "zookeeper": spec.port("zookeeper_port", ZOOKEEPER_PORT),
            "master": spec.port("port", MASTER_PORT),
            "regionserver": spec.port("regionserver_port", REGION_SERVER_PORT),
        }

        def plan(
            name: str,
            role: Role,
            host: str,
            *,
            heap_mib: int,
            flags: Sequence[str],
            main: Sequence[str],
        ) -> NodePlan:
            data_dir, conf = directory / name, directory / f"{name}-conf"
            properties = site(spec, host, ports, directory, data_dir) | spec.settings("config")
            return NodePlan(
                name=name,
                role=role,
                host=host,
                ports={"client": ports[role]},
                argv=(
                    java,
                    *common_flags(heap_mib, data_dir, spec),
                    *FLAGS,
                    *flags,
                    f"-Dhbase.log.dir={data_dir}",
                    *("-cp", f"{conf}:{class_path}", *main),
                ),
                data_dir=data_dir,
                files={
                    conf / "hbase-site.xml": site_xml(properties),
                    conf / "zoo.cfg": zoo_cfg(host, ports["zookeeper"], data_dir),
                    conf / "log4j.properties": LOG4J,
                },
            )

        package = "org.apache.hadoop.hbase"
        region_server_flags = [*REGION_SERVER_FLAGS, *spec.words("jvm_flags")]
        return [
            plan(
                "zookeeper",
                "zookeeper",
                hosts[0],
                heap_mib=ZOOKEEPER_HEAP_MIB,
                flags=COORDINATION_FLAGS,
                main=[ZOOKEEPER_MAIN, str(directory / "zookeeper-conf" / "zoo.cfg")],
            ),
            plan(
                "master",
                "master",
                hosts[0],
                heap_mib=MASTER_HEAP_MIB,
                flags=COORDINATION_FLAGS,
                main=[f"{package}.master.HMaster", "start"],
            ),
            *(
                plan(
                    f"node{index + 1}",
                    "regionserver",
                    host,
                    heap_mib=heap,
                    flags=region_server_flags,
                    main=[f"{package}.regionserver.HRegionServer", "start"],
                )
                for index, host in enumerate(hosts)
            ),
        ]

    def serve(self, spec: ClusterSpec, forming: Forming) -> None:
        """Wait for the master, which waits for all others."""
        forming.until(
            f"the master has assigned its tables to {counted(spec.nodes, 'region server')}",
            lambda: SERVING in forming.log_text("master"),
            blame="master",
        )
        for plan in forming.plans:
            forming.until(
                f"{plan.name} accepts clients",
                lambda plan=plan: listens(plan.endpoint),
                blame=plan.name,
            )
        [master] = [str(plan.endpoint) for plan in forming.plans if plan.role == "master"]
        asked = {
            "database": self.name,
            "endpoints": [master],
            "nodes": spec.nodes,
            "replication": spec.copies,
            **self.target(spec, forming.plans),
        }
        forming.until(
            f"the master has {counted(spec.nodes, 'region server')} and no region on its way",
            lambda: settled(asked),
            blame="master",
        )

    def memory(self, spec: ClusterSpec, records: Records) -> Memory:  # noqa: ARG002
        """See `pacelc.clusters.protocol.Database`."""
        node_bytes = (heap_mib(spec) + BESIDE_HEAP_MIB) * MIB
        return Memory(node_bytes, "a smaller heap_mib", COORDINATION_MIB * MIB)

    def leader(self, nodes: Sequence[Server], silent: Collection[str]) -> str | None:  # noqa: ARG002
        """Return the first region server: each leads the regions that it serves."""
        return nodes[0].name

    def target(self, spec: ClusterSpec, plans: Sequence[NodePlan]) -> dict[str, Any]:
        """Give the region servers and the replicas of each region; clients begin at the master."""
        return {
            "region_servers": [str(plan.endpoint) for plan in plans if plan.role == "regionserver"],
            "region_replicas": spec.copies,
        }


def heap_mib(spec: ClusterSpec) -> int:
    """Return the Java heap of each region server: as asked for, or what its memory allows.

    The first node has the master and ZooKeeper too. What they take is taken from all, so that the
    region servers are equal. None is made smaller than the default by its memory: smaller ones end
    under load.
    """
    default = HEAP_MIB if spec.copies == 1 else HEAP_WITH_REPLICAS_MIB
    return javas.heap_mib(
        spec,
        default,
        least_mib=default,
        beside_mib=BESIDE_HEAP_MIB,
        others_mib=COORDINATION_MIB,
    )


def settled(target: Mapping[str, Any]) -> bool:
    """Ask the master by HBase's protocol whether all is as in a new cluster.

    Raises
    ------
    ConnectionError
        It isn't, or the master does not answer; it says what is missing.
    """
    engine = load_engine("HBase's client protocol")
    try:
        unsettled = json.loads(engine.probe(json.dumps(target)).result())["unsettled"]
    except engine.EngineError as error:
        raise ConnectionError(str(error)) from error
    if unsettled is not None:
        raise ConnectionError(unsettled)
    return True


def listens(endpoint: Endpoint) -> bool:
    """Connect and hang up; `OSError` while no one listens."""
    with socket.create_connection((endpoint.host, endpoint.port), CONNECT_TIMEOUT_S):
        return True


def site(
    spec: ClusterSpec, host: str, ports: Mapping[str, int], directory: Path, data_dir: Path
) -> dict[str, Option]:
    """Return the properties of one process: its own address, and what all share."""
    first = host_addresses(spec)[0]
    return {
        "hbase.cluster.distributed": True,
        # Where servers may write: the cluster's own directory may be root's.
        "hbase.rootdir": f"file://{directory / 'master' / 'root'}",
        "hbase.wal.dir": f"file://{directory / 'master' / 'wal'}",
        "hbase.tmp.dir": str(data_dir / "tmp"),
        "hbase.unsafe.stream.capability.enforce": False,
        # HBase's own default. By "filesystem", what is written with ASYNC_WAL isn't synced before
        # the memstore is full, and what isn't synced isn't sent to replicas.
        "hbase.wal.provider": "asyncfs",
        "hbase.zookeeper.quorum": first,
        "hbase.zookeeper.property.clientPort": ports["zookeeper"],
        "hbase.hregion.memstore.mslab.chunksize": MEMSTORE_CHUNK_BYTES,
        "hbase.server.allocator.buffer.size": RESPONSE_BUFFER_BYTES,
        "zookeeper.session.timeout": 10_000,
        "hbase.master.hostname": first,
        "hbase.master.ipc.address": first,
        "hbase.master.port": ports["master"],
        "hbase.master.info.port": -1,
        # A region that moves while it is measured is a fault; faults are asked for.
        "hbase.balancer.period": 24 * 3600 * 1000,
        "hbase.master.wait.on.regionservers.mintostart": spec.nodes,
        "hbase.regionserver.hostname": host,
        "hbase.regionserver.ipc.address": host,
        "hbase.regionserver.port": ports["regionserver"],
        "hbase.regionserver.info.port": -1,
        "hbase.region.replica.replication.enabled": True,
        # How often a region server reports: the master hears of it, and of its regions, the sooner.
        "hbase.regionserver.msginterval": 1000,
    }


def zoo_cfg(host: str, port: int, data_dir: Path) -> str:
    """Return ZooKeeper's configuration; its own web page would listen on every address."""
    return (
        f"dataDir={data_dir}\nclientPortAddress={host}\nclientPort={port}\n"
        "tickTime=2000\nmaxClientCnxns=300\nadmin.enableServer=false\n"
    )


def site_xml(properties: Mapping[str, Option]) -> str:
    """Return hbase-site.xml."""
    lines = [
        f"<property><name>{escape(name)}</name><value>{escape(shown(value))}</value></property>"
        for name, value in properties.items()
    ]
    return "\n".join(["<configuration>", *lines, "</configuration>", ""])


def shown(value: Option) -> str:
    """Return a value as Java reads it: ``true``, not ``True``."""
    return str(value).lower() if isinstance(value, bool) else str(value)
