"""A results directory on the disk: frames, files moved in, a killed writer's rests, the lock."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import shutil
from typing import TYPE_CHECKING, NoReturn

from pacelc.store.format import StorageError, StoreError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return a frame as Parquet.

    Through memory, so that every byte reaches the disk by one function that knows of full disks;
    frames are small.
    """
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def move_in(source: Path, target: Path) -> None:
    """Move a Parquet file, across file systems if need be, and flush it."""
    with source.open("rb") as stream:
        if stream.read(4) != b"PAR1":
            raise StoreError(
                f"{source} is not a Parquet file", "operations are recorded as Parquet"
            )
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(source, target)
        source.unlink()
    descriptor = os.open(target, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_torn_line(path: Path) -> None:
    """Cut a last line that a killed writer left, so that the next one does not continue it."""
    if not path.is_file():
        return
    with path.open("r+b") as stream:
        data = stream.read()
        if data and not data.endswith(b"\n"):
            stream.truncate(data.rfind(b"\n") + 1)


def take_lock(path: Path) -> int:
    """Lock a results directory and return the descriptor that holds the lock."""
    # flock, not a file with a process id: the kernel releases it when the holder dies, however it
    # dies.
    descriptor = os.open(path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StoreError(
            f"another runner is writing to {path}",
            "wait for it to end, or give this study another directory",
        ) from error
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def raise_storage_error(error: OSError, path: Path) -> NoReturn:
    """Raise what the operating system reported as a :class:`StorageError` that says what to do."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            message = f"no space left to write {path}"
            hint = "free some space and start the study again: finished runs are kept"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            message = f"{path} can't be written: {error.strerror}"
            hint = "check who owns the directory, or give another one"
        case errno.ENOTDIR | errno.EEXIST:
            message = f"{path} is not a directory"
            hint = "give a directory for the results"
        case _:
            message = f"{path} can't be written: {error.strerror or error}"
            hint = "check the disk"
    raise StorageError(message, hint) from error
