"""Files that somebody named: what goes wrong with one is told in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.errors import CannotRun, InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_text", "write_bytes", "write_text"]


def read_text(
    path: Path, kind: type[InputError] = InputError, hint_if_missing: str | None = None
) -> str:
    """Return the text of a file.

    Raises
    ------
    InputError
        Of that ``kind``: there is no such file, or it can't be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise kind(f"{path}: there is no such file", hint_if_missing) from None
    except (OSError, UnicodeDecodeError) as error:
        raise kind(f"{path}: cannot be read: {error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file.

    Raises
    ------
    CannotRun
        It can't be written.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file.

    Raises
    ------
    CannotRun
        It can't be written.
    """
    try:
        path.write_bytes(content)
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written: {error.strerror}") from None
