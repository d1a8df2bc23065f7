"""Files that users name: whole or as before, whatever they are."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from pacelc.cli.entry import call
from pacelc.delimited import read_frame
from pacelc.errors import CannotRun, InputError
from pacelc.files import make_directory, read_text, write_bytes, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
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


@contextmanager
def ordinary_user() -> Generator[None]:
    """Be nobody meanwhile, where the tests are root's, whom no mode stops."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def shut(tmp_path: Path) -> Generator[Path]:
    """Give a directory that nobody can enter."""
    directory = tmp_path / "shut"
    directory.mkdir(mode=0)
    yield directory
    directory.chmod(0o700)


def test_what_to_do_is_said_of_a_directory_that_cant_be_entered(shut: Path) -> None:
    with ordinary_user():
        for use in (read_text, make_directory, lambda path: write_text(path, "new")):
            with pytest.raises((InputError, CannotRun), match="Permission denied") as refused:
                use(shut / "inner" / "file")
            assert "ls -ld" in str(refused.value.hint)


def test_an_error_of_the_system_that_nobody_awaited_is_said_as_all_are(
    shut: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def is_there(path: Path) -> bool:
        with ordinary_user():
            return (shut / path).stat().st_size > 0

    monkeypatch.setattr("pathlib.Path.is_file", is_there)
    assert call(["model", "show", "net.yaml"]) == 3
    said = capfd.readouterr().err.splitlines()
    assert said == [f"error: {shut / 'net.yaml'}: Permission denied", said[1]]
    assert said[1].startswith("hint: `ls -ld` shows who may use it")


def test_a_table_that_is_too_long_says_how_to_shorten_it(tmp_path: Path) -> None:
    path = tmp_path / "operations.csv"
    with path.open("wb") as file:
        file.truncate(16 * 2**20 + 1)
    with pytest.raises(InputError, match="is longer than 16 MiB") as refused:
        read_frame(path)
    assert "a row a run" in str(refused.value.hint)
