"""Resources: what each node uses, read from the kernel once a second.

`ResourceSampler` follows process trees and gives one row (`ResourceRow`) a node and second; the
load generator is one too, by custom named ``client``. Where the columns come from:

- ``t_s``: seconds since `ResourceSampler.start`, on the monotonic clock.
- ``cpu_s`` = ``cpu_user_s`` + ``cpu_system_s``: processor time so far, in seconds, in steps of 10
  ms (``/proc/<pid>/stat``).
- ``rss_bytes``: resident memory of the tree's processes; what two of them share counts twice.
- ``disk_read_bytes``, ``disk_write_bytes``: what storage had to deliver, and what was made dirty
  for it, so far (``/proc/<pid>/io``). None where the kernel does not let us see.
- ``net_rx_bytes``, ``net_tx_bytes``: a node in a network namespace of its own: what its interfaces
  counted so far. Nodes that share a network, with one another or with this process: payload of
  their TCP connections since sampling began, from the kernel's socket diagnostics; what a
  connection carried in its last interval before it closed is missed, so these are lower bounds.
  None where neither can be had.

Counters never fall, not when a child ends and not when a node is started again
(`ResourceSampler.follow`). A node that has ended has no rows.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict

from pacelc.clusters.network.namespaces import called_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class ResourceRow(TypedDict):
    """What one node has used until one moment; the module says what each column is."""

    t_s: float
    node: str
    cpu_s: float
    cpu_user_s: float
    cpu_system_s: float
    rss_bytes: int
    disk_read_bytes: int | None
    disk_write_bytes: int | None
    net_rx_bytes: int | None
    net_tx_bytes: int | None


@dataclass(frozen=True)
class _Process:
    """One reading of ``/proc/<pid>/stat``."""

    parent: int
    session: int
    user_ticks: int
    system_ticks: int
    started: int
    rss_pages: int


@dataclass
class _Counter:
    """A number that only grows, made of parts that come and go and keep their own count."""

    parts: dict[int, int] = field(default_factory=dict[int, int])
    ended: int = 0
    highest: int = 0

    def update(self, parts: Mapping[int, int]) -> int:
        """Take the parts' counts; return the whole. Parts that are gone keep what they had."""
        self.ended += sum(count for part, count in self.parts.items() if part not in parts)
        self.parts = dict(parts)
        self.highest = max(self.highest, self.ended + sum(parts.values()))
        return self.highest


@dataclass
class _Node:
    """A node's process tree and its counters."""

    pid: int
    started: int | None = None
    user: _Counter = field(default_factory=_Counter)
    system: _Counter = field(default_factory=_Counter)
    disk_read: _Counter = field(default_factory=_Counter)
    disk_write: _Counter = field(default_factory=_Counter)
    net_rx: _Counter = field(default_factory=_Counter)
    net_tx: _Counter = field(default_factory=_Counter)


class ResourceSampler:
    """Sample the use of resources of process trees, in a thread of this process.

    Parameters
    ----------
    nodes
        Name of each node, and the pid that its tree grows from.
    interval_s
        Seconds from one sample to the next.

    Examples
    --------
    >>> with ResourceSampler({"client": os.getpid()}, interval_s=0.01) as sampler:
    ...     time.sleep(0.05)
    >>> row = sampler.rows[-1]
    >>> row["node"], row["rss_bytes"] > 0
    ('client', True)
    """

    def __init__(self, nodes: Mapping[str, int], interval_s: float = 1.0) -> None:
        self.interval_s = interval_s
        self._nodes = {name: _Node(pid) for name, pid in nodes.items()}
        self._rows: list[ResourceRow] = []
        self._sockets: dict[str, _Sockets] = {}
        """Of each network that several nodes are in, by its name in `/proc`."""
        self._parents: dict[int, int] = {}
        self._mutex = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._begin_s = 0.0

    @property
    def rows(self) -> list[ResourceRow]:
        """The rows so far, in the order of time."""
        with self._mutex:
            return list(self._rows)

    def follow(self, node: str, pid: int) -> None:
        """Let a node's tree grow from another process: it was started again; counters go on."""
        with self._mutex:
            known = self._nodes.setdefault(node, _Node(pid))
            known.pid, known.started = pid, None

    def start(self) -> None:
        """Take the first sample now, and one each interval from here on."""
        self._begin_s = time.monotonic()
        self._sample()
        self._thread = threading.Thread(target=self._run, name="pacelc-resources", daemon=True)
        self._thread.start()

    def stop(self) -> list[ResourceRow]:
        """Take a last sample, end, and return all rows; called again, return the same."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None
            self._sample()
            for sockets in self._sockets.values():
                sockets.close()
        return self.rows

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; the rows stay."""
        self.stop()

    def _run(self) -> None:
        due_s = self._begin_s
        while True:
            due_s += (
                self.interval_s
            )  # from the start, so that one slow sample does not shift the ones after it
            if self._ended.wait(max(0.0, due_s - time.monotonic())):
                return
            self._sample()

    def _sample(self) -> None:
        with self._mutex:
            t_s = time.monotonic() - self._begin_s
            children = self._children()
            trees = {name: _tree(node, children) for name, node in self._nodes.items()}
            own = _network("thread-self")
            networks: dict[str, dict[str, Mapping[int, _Process]]] = {}
            for name, tree in trees.items():
                if tree:
                    network = _network(self._nodes[name].pid) or own
                    networks.setdefault(network, {})[name] = tree
            for network, members in networks.items():
                counts = self._network_counts(network, members, shared=network == own)
                for name, tree in members.items():
                    self._rows.append(_row(name, self._nodes[name], t_s, tree, counts.get(name)))

    def _network_counts(
        self, network: str, members: Mapping[str, Mapping[int, _Process]], *, shared: bool
    ) -> Mapping[str, Mapping[int, tuple[int, int]] | None]:
        """Return what each node of one network received and sent."""
        first = self._nodes[next(iter(members))].pid
        if len(members) == 1 and not shared:
            return {name: _interfaces(first) for name in members}
        if network not in self._sockets:
            self._sockets[network] = _Sockets(None if shared else first)
        return self._sockets[network].by_node(members)

    def _children(self) -> dict[int, list[int]]:
        """Return the children of every process on this machine.

        A process's parent is asked once, when its pid appears: asking all, each time, would cost
        more than all the rest. A pid that is given anew within one interval is then taken for the
        old one's place; no node of ours has such children.
        """
        pids = {int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()}
        self._parents = {pid: parent for pid, parent in self._parents.items() if pid in pids}
        for pid in pids - self._parents.keys():
            if (process := _read(pid)) is not None:
                self._parents[pid] = process.parent
        children: dict[int, list[int]] = {}
        for pid, parent in self._parents.items():
            children.setdefault(parent, []).append(pid)
        return children


def _tree(node: _Node, children: Mapping[int, list[int]]) -> dict[int, _Process]:
    """Return the live processes of a node; none when its first one has ended.

    A tree ends where another session begins: the servers of a cluster, each in a session of its
    own, descend from the process that is the load generator, and are none of its.
    """
    root = _read(node.pid)
    if root is None or root.started != (
        node.started or root.started
    ):  # the second: its pid is another process's by now
        return {}
    node.started = root.started
    found = {node.pid: root}
    waiting = list(children.get(node.pid, []))
    while waiting:
        pid = waiting.pop()
        process = _read(pid)
        if process is not None and process.session == root.session:
            found[pid] = process
            waiting += children.get(pid, [])
    return found


def _row(
    name: str,
    node: _Node,
    t_s: float,
    tree: Mapping[int, _Process],
    network: Mapping[int, tuple[int, int]] | None,
) -> ResourceRow:
    # A child that has ended leaves its time to its parent's account (cutime), so only the tree's
    # sum is a counter.
    user_s = (
        node.user.update({node.pid: sum(process.user_ticks for process in tree.values())})
        / TICKS_PER_S
    )
    system_s = (
        node.system.update({node.pid: sum(process.system_ticks for process in tree.values())})
        / TICKS_PER_S
    )
    disk = {pid: io for pid in tree if (io := _disk(pid)) is not None}
    return ResourceRow(
        t_s=t_s,
        node=name,
        cpu_s=user_s + system_s,
        cpu_user_s=user_s,
        cpu_system_s=system_s,
        rss_bytes=sum(process.rss_pages for process in tree.values()) * PAGE_BYTES,
        disk_read_bytes=node.disk_read.update({pid: io[0] for pid, io in disk.items()})
        if disk
        else None,
        disk_write_bytes=node.disk_write.update({pid: io[1] for pid, io in disk.items()})
        if disk
        else None,
        net_rx_bytes=None
        if network is None
        else node.net_rx.update({key: count[0] for key, count in network.items()}),
        net_tx_bytes=None
        if network is None
        else node.net_tx.update({key: count[1] for key, count in network.items()}),
    )


def _read(pid: int) -> _Process | None:
    """Read a process's account, its collected children's included; None when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    user, system, children_user, children_system = map(int, fields[11:15])
    return _Process(
        int(fields[1]),
        int(fields[3]),
        user + children_user,
        system + children_system,
        int(fields[19]),
        max(0, int(fields[21])),
    )


def _disk(pid: int) -> tuple[int, int] | None:
    """Return the bytes read from storage and written to it; None when it is not ours to see."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return None
    counts = {name: int(count) for name, _, count in (line.partition(":") for line in lines)}
    return counts["read_bytes"], counts["write_bytes"]


def _network(pid: int | str) -> str:
    """Return the name of a process's network namespace; empty where it is not ours to see."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def _interfaces(pid: int) -> dict[int, tuple[int, int]] | None:
    """Return the bytes that a namespace's interfaces received and sent, loopback left out."""
    try:
        lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    except OSError:
        return None
    received = sent = 0
    for line in lines:
        name, _, counts = line.partition(":")
        if name.strip() != "lo":
            numbers = counts.split()
            received, sent = received + int(numbers[0]), sent + int(numbers[8])
    return {0: (received, sent)}


# The kernel's socket diagnostics (sock_diag(7)): one request, and a message for each TCP socket in
# reply.

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST_DUMP = 0x301
NLMSG_ERROR, NLMSG_DONE = 2, 3
INET_DIAG_INFO = 2
NETLINK_HEADER = struct.Struct("=IHHII")
REQUEST = struct.Struct("=BBBxI48x")
MESSAGE_BYTES = 72
INODE_OFFSET = 68
ATTRIBUTE = struct.Struct("=HH")
TCP_INFO_BYTES_ACKED = 120
"""Offset of two 64-bit numbers: bytes that the other side acknowledged, and bytes received."""
ALL_STATES_BUT_LISTEN = 0xFFF & ~(1 << 10)
REPLY_TIMEOUT_S = 1.0


def _diagnostics() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_SOCK_DIAG)


class _Sockets:
    """Bytes that TCP connections have carried, told by the process that holds them.

    Parameters
    ----------
    pid
        Of a process in the network that is asked about; None: this one's.
    """

    def __init__(self, pid: int | None) -> None:
        self._netlink: socket.socket | None = None
        self._owners: dict[int, str | None] = {}
        self._first: dict[int, tuple[int, int]] | None = None
        with contextlib.suppress(OSError):
            # A socket stays in the network that it was made in.
            self._netlink = (
                _diagnostics() if pid is None else called_in(f"/proc/{pid}/ns/net", _diagnostics)
            )
            self._netlink.settimeout(REPLY_TIMEOUT_S)

    def close(self) -> None:
        """Hang up."""
        if self._netlink is not None:
            self._netlink.close()
            self._netlink = None

    def by_node(
        self, trees: Mapping[str, Mapping[int, _Process]]
    ) -> dict[str, dict[int, tuple[int, int]]]:
        """Return each node's connections by inode: bytes received and sent since the first call."""
        try:
            counts = {
                inode: count
                for family in (socket.AF_INET, socket.AF_INET6)
                for inode, *count in self._dump(family)
            }
        except OSError:
            return {}
        if self._first is None:
            self._first = {inode: (received, sent) for inode, (received, sent) in counts.items()}
        self._owners = {inode: owner for inode, owner in self._owners.items() if inode in counts}
        # Looking through the files of every process is the dear part: done only when there are
        # connections not seen before.
        if counts.keys() - self._owners.keys():
            owners = {
                inode: name
                for name, tree in trees.items()
                for pid in tree
                for inode in _socket_inodes(pid)
            }
            self._owners = {inode: owners.get(inode) for inode in counts}
        found: dict[str, dict[int, tuple[int, int]]] = {name: {} for name in trees}
        for inode, (received, sent) in counts.items():
            owner = self._owners[inode]
            if owner in found:
                before = self._first.get(inode, (0, 0))
                found[owner][inode] = (received - before[0], sent - before[1])
        return found

    def _dump(self, family: int) -> Iterator[tuple[int, int, int]]:
        """Ask for all TCP sockets of this network; give inode, bytes received, bytes sent.

        Raises
        ------
        OSError
            The kernel has no socket diagnostics, or forbids them.
        """
        if self._netlink is None:
            raise OSError("no socket diagnostics")
        request = REQUEST.pack(
            family, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), ALL_STATES_BUT_LISTEN
        )
        header = NETLINK_HEADER.pack(
            NETLINK_HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP, family, 0
        )
        self._netlink.send(header + request)
        while True:
            data = self._netlink.recv(1 << 18)
            offset = 0
            while offset < len(data):
                length, kind, _, sequence, _ = NETLINK_HEADER.unpack_from(data, offset)
                if sequence == family:  # else the rest of a reply that was given up on
                    if kind == NLMSG_DONE:
                        return
                    if kind == NLMSG_ERROR:
                        raise OSError("socket diagnostics refused")
                    yield from _connection(data[offset + NETLINK_HEADER.size : offset + length])
                offset += (length + 3) & ~3


def _connection(message: bytes) -> Iterator[tuple[int, int, int]]:
    """Give inode, bytes received, bytes sent of one socket; nothing if no process holds it."""
    (inode,) = struct.unpack_from("=I", message, INODE_OFFSET)
    offset = MESSAGE_BYTES
    while inode and offset + ATTRIBUTE.size <= len(message):
        length, kind = ATTRIBUTE.unpack_from(message, offset)
        if kind == INET_DIAG_INFO and length >= ATTRIBUTE.size + TCP_INFO_BYTES_ACKED + 16:
            sent, received = struct.unpack_from(
                "=QQ", message, offset + ATTRIBUTE.size + TCP_INFO_BYTES_ACKED
            )
            yield inode, received, sent
        offset += (max(length, ATTRIBUTE.size) + 3) & ~3


def _socket_inodes(pid: int) -> Iterator[int]:
    """Give the sockets that a process holds, by inode."""
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as files:
        for file in files:
            with contextlib.suppress(OSError):
                target = os.readlink(file.path)  # noqa: PTH115 -- hundreds of times
                if target.startswith("socket:["):
                    yield int(target[8:-1])
