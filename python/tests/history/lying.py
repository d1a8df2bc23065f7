"""A server that lies on purpose, and keeps the truth.

It speaks as much of Redis's protocol as the engine does. One thread serves every connection, so
all that happens has one order, the *true order*. Each acknowledged write is a version of its record
from the moment at which it was taken on, whatever becomes of it. Each read is served one of the
versions, which the *view* in force picks: that is where the lie is.

Map
---
Versions        of one record: values, when each took effect, which of them were forgotten
Served          a read as it was served: how stale it truly was
View            picks the version that a read is served
newest, late, behind, jumping       views
LyingServer     the server
"""

from __future__ import annotations

import asyncio
import bisect
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Versions:
    """All versions of one record, the loaded one first."""

    values: list[bytes] = field(default_factory=list)
    since_ns: list[int] = field(default_factory=list)
    applied: list[int] = field(default_factory=list)
    """Places of those that weren't forgotten."""

    def add(self, value: bytes, now_ns: int, *, forgotten: bool) -> None:
        if not forgotten:
            self.applied.append(len(self.values))
        self.values.append(value)
        self.since_ns.append(now_ns)


@dataclass(frozen=True)
class Served:
    """What a read was answered with; the stamp's writer and sequence say which version it is."""

    record: int
    read_writer: int
    read_sequence: int
    place: int
    """The version's among the record's, 0 for the loaded one."""
    true_ns: int
    """For how long the version had been replaced; 0 for the newest."""
    true_versions: int
    """How many newer ones there were."""


View: TypeAlias = "Callable[[Versions, int, int], int]"
"""Versions of a record, the time now, which of its connection's reads it is → a version's place."""


def newest(versions: Versions, _now_ns: int, _read: int) -> int:
    """Of those that weren't forgotten."""
    return versions.applied[-1]


def late(lag_ns: int) -> View:
    """What was the newest so long ago."""

    def view(versions: Versions, now_ns: int, _read: int) -> int:
        return max(bisect.bisect_right(versions.since_ns, now_ns - lag_ns) - 1, 0)

    return view


def behind(count: int) -> View:
    """So many versions before the newest."""
    return lambda versions, _now_ns, _read: max(len(versions.values) - 1 - count, 0)


def jumping(stale: View) -> View:
    """Fresh and stale in turn, on every connection: its own writes go and come again."""

    def view(versions: Versions, now_ns: int, read: int) -> int:
        return (stale if read % 2 else newest)(versions, now_ns, read)

    return view


class LyingServer:
    """A server of records of one field.

    Attributes
    ----------
    is_measuring
        Whether a run's users are at it, not a load or a reading back: then the lies begin.
    """

    def __init__(self, view: View = newest, forgets_every: int = 0) -> None:
        self.view = view
        self.forgets_every = forgets_every
        self.is_measuring = False
        self.records: defaultdict[bytes, Versions] = defaultdict(Versions)
        self.connections: list[Connection] = []
        self._updates = 0

    @contextmanager
    def running(self) -> Iterator[str]:
        """Serve; yields the address."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()

        async def begin() -> asyncio.Server:
            return await loop.create_server(lambda: Connection(self), "127.0.0.1", 0)

        async def end(server: asyncio.Server) -> None:
            server.close()
            for connection in self.connections:
                connection.transport.abort()
            await server.wait_closed()

        server = asyncio.run_coroutine_threadsafe(begin(), loop).result(10)
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            asyncio.run_coroutine_threadsafe(end(server), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            loop.close()

    def truth(self) -> pl.DataFrame:
        """Return a run's reads as they were served, by the identity that its log gives them."""
        return pl.DataFrame(
            [
                {"user": connection.user, "sequence": sequence, **asdict(served)}
                for connection in self.connections
                for sequence, served in connection.reads
                if connection.user is not None
            ]
        )

    def written(self) -> pl.DataFrame:
        """Return a run's writes, with their versions' places among their records'."""
        return pl.DataFrame(
            [
                {"user": connection.user, "sequence": sequence, "place": place}
                for connection in self.connections
                for sequence, place in connection.writes
            ]
        )

    def survivors(self) -> pl.DataFrame:
        """Return the place of the newest version of each record that wasn't forgotten."""
        return pl.DataFrame(
            [
                {"record": number(key), "survivor": versions.applied[-1]}
                for key, versions in self.records.items()
            ]
        )

    def write(self, key: bytes, value: bytes) -> int:
        """Take on a version, or only say so; return its place."""
        self._updates += self.is_measuring
        forgotten = (
            self.is_measuring and self.forgets_every > 0 and self._updates % self.forgets_every == 0
        )
        versions = self.records[key]
        versions.add(value, time.monotonic_ns(), forgotten=forgotten)
        return len(versions.values) - 1

    def read(self, key: bytes, read: int) -> tuple[bytes, Served]:
        """Serve a version, and note how stale it is."""
        versions, now_ns = self.records[key], time.monotonic_ns()
        place = (self.view if self.is_measuring else newest)(versions, now_ns, read)
        newer = len(versions.values) - 1 - place
        value = versions.values[place]
        writer, sequence = stamp(value)
        since_ns = now_ns - versions.since_ns[place + 1] if newer else 0
        return value, Served(number(key), writer, sequence, place, since_ns, newer)


def number(key: bytes) -> int:
    """Return a record's number, of which its key is made."""
    return int(key.rpartition(b"user")[2])


def stamp(value: bytes) -> tuple[int, int]:
    """Return who wrote a value, and as which of its operations: check (8), writer (8), sequence."""
    return int(value[8:16], 16), int(value[16:32], 16)


class Connection(asyncio.Protocol):
    """One user's, or one of those that load and look around.

    A user does one operation after another and each is one command, so an operation's place on its
    connection is its sequence number; whose it is, its first write says.
    """

    def __init__(self, server: LyingServer) -> None:
        self.server = server
        self.buffer = b""
        self.operations = 0
        self.user: int | None = None
        self.reads: list[tuple[int, Served]] = []
        self.writes: list[tuple[int, int]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server.connections.append(self)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (parsed := parse(self.buffer)) is not None:
            words, self.buffer = parsed
            self.transport.write(self.answer(words))

    def answer(self, words: list[bytes]) -> bytes:
        match words:
            case [b"PING", *text]:
                return bulk(text[0]) if text else b"+PONG\r\n"
            case [b"TYPE", _]:
                return b"+none\r\n"
            case [b"SCAN", *_]:
                return b"*2\r\n" + bulk(b"0") + array(list(self.server.records))
            case [b"HSET", key, _, value]:
                return self.hset(key, value)
            case [b"HGETALL", key]:
                return self.hgetall(key)
        return b"-ERR this server knows no " + words[0] + b"\r\n"

    def hset(self, key: bytes, value: bytes) -> bytes:
        if self.server.is_measuring:
            writer, sequence = stamp(value)
            assert sequence == self.operations, "an operation isn't one command any more"
            self.user = writer - 1
            self.writes.append((self.operations, self.server.write(key, value)))
            self.operations += 1
        else:
            self.server.write(key, value)
        return b":0\r\n"

    def hgetall(self, key: bytes) -> bytes:
        value, served = self.server.read(key, len(self.reads))
        if self.server.is_measuring:
            self.reads.append((self.operations, served))
            self.operations += 1
        return array([b"field0", value])


def parse(buffer: bytes) -> tuple[list[bytes], bytes] | None:
    """Return the first command and the rest; None if it isn't all there."""
    head, found, rest = buffer.partition(b"\r\n")
    if not found:
        return None
    words: list[bytes] = []
    for _ in range(int(head[1:])):
        length, found, rest = rest.partition(b"\r\n")
        end = int(length[1:] or 0) if found else 0
        if not found or len(rest) < end + 2:
            return None
        words.append(rest[:end])
        rest = rest[end + 2 :]
    return words, rest


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(text), text)


def array(texts: list[bytes]) -> bytes:
    return b"*%d\r\n" % len(texts) + b"".join(map(bulk, texts))
