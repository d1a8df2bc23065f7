"""Files that users name: whole or as before, whatever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pacelc.errors import CannotRun
from pacelc.files import make_directory, write_bytes, write_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

FEW = 1000
"""Bytes."""


def test_an_old_file_is_there_until_the_new_one_is_whole(
    tmp_path: Path, no_file_above: Callable[[int], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "runs.parquet"
    write_bytes(path, b"old")
    with (
        no_file_above(FEW),
        pytest.raises(CannotRun, match=r"runs\.parquet: cannot be written: File too large"),
    ):
        write_bytes(path, bytes(2 * FEW))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_who_may_read_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    write_text(path, "old")
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    write_text(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "model.yaml", tmp_path / "latest.yaml"
    link.symlink_to(path)
    write_text(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"


def test_what_is_no_file_takes_bytes_and_stays(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.symlink_to("/dev/null")
    write_text(device, "new")
    assert device.is_char_device()


def test_where_nothing_can_be_written_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "model.yaml"):
        with pytest.raises(CannotRun, match="cannot be written: "):
            write_text(path, "new")


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    make_directory(tmp_path / "models" / "first")
    make_directory(tmp_path / "models" / "first")
    (tmp_path / "file").write_text("x")
    with pytest.raises(CannotRun, match="file/models: cannot be written: Not a directory"):
        make_directory(tmp_path / "file" / "models")
