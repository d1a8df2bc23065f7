"""Servers that never come to an end: set-up ends all the same, in time and in little memory.

No real server does this on demand, so these are sockets that speak as much of Redis's protocol as
it takes.
"""

from __future__ import annotations

import itertools
import json
import resource
import socketserver
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from pacelc import _engine

from .conftest import load_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def server(answer: Callable[[list[bytes]], bytes | None]) -> Iterator[str]:
    """Answer each command; None is silence."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while header := self.rfile.readline():
                words: list[bytes] = []
                for _ in range(int(header[1:])):
                    length = int(self.rfile.readline()[1:])
                    words.append(self.rfile.read(length + 2)[:-2])
                if (reply := answer(words)) is not None:
                    self.wfile.write(reply)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up is what these tests are about."""

    with Server(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def load(address: str) -> _engine.Job:
    target = {"database": "redis", "endpoints": [address]}
    return _engine.load(json.dumps(load_spec(target, 100)))


def strings(*texts: bytes) -> bytes:
    return b"".join(b"$%d\r\n%s\r\n" % (len(text), text) for text in texts)


def scanned(keys: list[bytes]) -> bytes:
    """A page of SCAN, and a cursor: there is always more."""
    return b"*2\r\n" + strings(b"7") + b"*%d\r\n" % len(keys) + strings(*keys)


def ends_soon_when_it_is_told_to(job: _engine.Job) -> None:
    time.sleep(1.0)
    assert not job.wait(0.0)
    begin_s = time.monotonic()
    job.stop()
    assert job.wait(5.0)
    assert time.monotonic() - begin_s < 0.5
    with pytest.raises(_engine.Stopped):
        job.result()


@pytest.mark.parametrize("silent", [b"PING", b"SCAN"])
def test_a_server_that_says_nothing_is_not_waited_for_when_told_to_stop(silent: bytes) -> None:
    def answer(words: list[bytes]) -> bytes | None:
        if words[0] == silent:
            return None
        return b"+PONG\r\n" if words[0] == b"PING" else b":1\r\n"

    with server(answer) as address:
        ends_soon_when_it_is_told_to(load(address))


def test_a_cursor_that_never_ends_is_not_followed_when_told_to_stop() -> None:
    def answer(words: list[bytes]) -> bytes:
        return {b"PING": b"+PONG\r\n", b"SCAN": scanned([])}.get(words[0], b":1\r\n")

    with server(answer) as address:
        ends_soon_when_it_is_told_to(load(address))


def test_ever_new_keys_take_no_more_memory_than_the_workloads_records() -> None:
    numbers = itertools.count()

    def answer(words: list[bytes]) -> bytes:
        if words[0] == b"SCAN":
            return scanned([b"usertable:user%d" % next(numbers) for _ in range(10_000)])
        return b"+PONG\r\n" if words[0] == b"PING" else b":1\r\n"

    with server(answer) as address:
        before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(_engine.EngineError, match="more records are there than 100"):
            load(address).result()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 50_000
