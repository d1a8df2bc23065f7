"""A study in a process of its own, which is root of a user namespace: an ordinary user's networks.

The kernel lets no process of several threads enter a user namespace, and one that runs a notebook
is not ours to replace. The child runs the study. Its caller hears every event, which the child
waits for, passes signals on, and raises what the child raised. If the caller ends, so does the
child, and its keeper then ends the servers.

Map
---
run_apart       what `run_study` does, by a child
study_of        what the child does
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from pacelc.clusters.network.namespaces import rooted
from pacelc.errors import CannotRun
from pacelc.runner.interruption import SIGNALS, handled_by, interruptible
from pacelc.runner.lab import LocalLab
from pacelc.runner.lifecycle import run_study
from pacelc.store import Store

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from pacelc.runner.events import Event, Observer
    from pacelc.study import Study

__all__ = ["run_apart", "study_of"]


class _Unheard(BaseException):
    """In the child: the caller's observer raised something, which the caller keeps."""


def run_apart(study: Study, directory: Path, observe: Observer) -> None:
    """Run what is missing of a study in a child; see `pacelc.runner.lifecycle.run_study`.

    Raises
    ------
    PacelcError
        The study can't be run here, or its results can't be written.
    Interrupted
        On Ctrl-C or SIGTERM, after everything was torn down.
    """
    own, childs = socket.socketpair()
    channel = Connection(own.detach())
    early: list[int] = []
    child: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _frame: FrameType | None) -> None:
        early.append(number) if child is None else child.send_signal(number)

    with handled_by(pass_on):
        with childs:
            child = _begin(childs.fileno())
        for number in early:
            child.send_signal(number)
        with child, channel:
            outcome = _follow(child, channel, (study, directory), observe)
    if outcome is not None:
        raise outcome


def _begin(descriptor: int) -> subprocess.Popen[bytes]:
    """Start a child that hears signals as soon as it can, and until then keeps them.

    In a session of its own it gets none from the terminal or from Jupyter, which send them to all
    processes of a group.
    """
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        f"from pacelc.runner.apart import study_of; study_of({os.getpid()}, {descriptor})"
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        return subprocess.Popen(
            rooted([sys.executable, "-c", code]), pass_fds=[descriptor], start_new_session=True
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow(
    child: subprocess.Popen[bytes], channel: Connection, job: object, observe: Observer
) -> BaseException | None:
    """Hear what the child tells; return what is to be raised."""
    raised: BaseException | None = None
    told: tuple[Event] | BaseException | None
    try:
        channel.send(job)
        while isinstance(told := channel.recv(), tuple):
            try:
                observe(*told)
            except BaseException as error:  # noqa: BLE001 - it is raised when the child has ended
                raised = raised or error
            channel.send(raised is None)
    except (EOFError, ConnectionError):
        told = CannotRun(
            f"the process that ran the study ended with status {child.wait()}",
            "a negative one is a signal's; the same call continues the study",
        )
    return raised or told


def study_of(owner: int, descriptor: int) -> None:
    """In the child: run the study that the owner sends; tell it each event, last the outcome."""
    threading.Thread(target=_end_with, args=[os.pidfd_open(owner)], daemon=True).start()
    channel = Connection(descriptor)
    study, directory = channel.recv()

    def observe(event: Event) -> None:
        channel.send((event,))
        if not channel.recv():
            raise _Unheard

    outcome: BaseException | None = None
    try:
        with interruptible():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            with Store.open(directory, create=study.as_document()) as store:
                run_study(study, store, LocalLab(), observe=observe)
    except BaseException as error:  # noqa: BLE001 - the owner raises it
        outcome = _portable(error)
    channel.send(outcome)


def _end_with(owner: int) -> None:
    select.select([owner], [], [])
    os.kill(os.getpid(), signal.SIGKILL)


def _portable(error: BaseException) -> BaseException:
    """Return an error that the owner can be sent, with where it was raised."""
    where = "".join(traceback.format_exception(error))
    try:
        error = pickle.loads(pickle.dumps(error))  # noqa: S301 - it is our own
    except Exception:  # noqa: BLE001 - whatever is wrong with it
        error = RuntimeError(str(error))
    error.add_note(where)
    return error
