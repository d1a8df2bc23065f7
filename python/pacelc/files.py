"""Files: written whole, flushed, renamed into place; what goes wrong with a user's is one line.

Map
---
read_text           text of a file that somebody named, without a byte order mark
read_bytes          what is in it
write_text          such a file, of which there is the old one or the new one
write_bytes         the same of bytes
make_directory      a directory that somebody named
write_atomically    a file of ours: all of it, or none
write_new           one that mustn't exist yet
write_all           every byte
flush_directory     the names in a directory
"""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING

from pacelc.errors import CannotRun, InputError, remedy

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "flush_directory",
    "make_directory",
    "read_bytes",
    "read_text",
    "write_all",
    "write_atomically",
    "write_bytes",
    "write_new",
    "write_text",
]


_LONGEST_BYTES = 16 * 2**20
"""Of studies, networks, price lists and other files that people name: read as a whole."""


def read_text(
    path: Path,
    kind: type[InputError] = InputError,
    hint_if_missing: str | None = None,
    encoding: str = "utf-8",
    hint_if_long: str | None = None,
) -> str:
    """Return the text of a file, without the byte order mark that some editors write.

    Raises
    ------
    InputError
        Of that ``kind``: there is no such file, or it can't be read.
    """
    content = read_bytes(path, kind, hint_if_missing, hint_if_long)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise kind(f"{path}: cannot be read: it is UTF-16", "save it as UTF-8")
    try:
        text = content.removeprefix(codecs.BOM_UTF8).decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise kind(f"{path}:{line}: should be text in {encoding.upper()}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(
    path: Path,
    kind: type[InputError] = InputError,
    hint_if_missing: str | None = None,
    hint_if_long: str | None = None,
) -> bytes:
    """Return what is in a file, which may be a device that never ends.

    Raises
    ------
    InputError
        Of that ``kind``: there is no such file, it can't be read, or it is too long.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST_BYTES + 1)
    except FileNotFoundError:
        raise kind(f"{path}: there is no such file", hint_if_missing) from None
    except OSError as error:
        raise kind(f"{path}: cannot be read: {error.strerror}", remedy(error)) from None
    except ValueError as error:
        raise kind(f"{path}: cannot be read: {error}") from None
    if len(content) > _LONGEST_BYTES:
        raise kind(f"{path}: is longer than {_LONGEST_BYTES >> 20} MiB", hint_if_long)
    return content


def write_text(path: Path, text: str) -> None:
    """Write a file: see :func:`write_bytes`."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file; an old one is there until the new one is whole.

    Raises
    ------
    CannotRun
        It can't be written.
    """
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device takes bytes, and stays.
            path.write_bytes(content)
        else:
            write_atomically(path.resolve(), content)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written: {error.strerror}", remedy(error)) from None


def make_directory(path: Path) -> None:
    """Make a directory and those above, or keep what is there.

    Raises
    ------
    CannotRun
        It can't be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written: {error.strerror}", remedy(error)) from None


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte; one ``write`` may take fewer."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet, and flush it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees all of it or none; an old one's mode stays."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        write_new(temporary, data)
        if path.exists():
            temporary.chmod(path.stat().st_mode)
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_directory(path.parent)


def flush_directory(path: Path) -> None:
    """Flush the names in a directory: without it, a rename may be lost with the power."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
