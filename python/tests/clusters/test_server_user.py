"""Root's servers run as an ordinary user, who must be there and reach what it needs."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pacelc.clusters import DATABASES, ClusterError, ClusterSpec, open_cluster
from pacelc.clusters.server_user import VARIABLE, ServerUser, server_user
from pacelc.clusters.software import fetch

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers run as somebody else")

NOBODY = ServerUser("nobody", 65534, 65534)


@pytest.mark.skipif(os.geteuid() == 0, reason="root's don't")
def test_an_ordinary_users_servers_run_as_that_user() -> None:
    assert server_user() is None


@as_root
def test_roots_servers_run_as_nobody_or_as_the_user_that_a_variable_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    usual = server_user()
    assert usual is not None
    assert usual.name == "nobody"
    monkeypatch.setenv(VARIABLE, "daemon")
    entry = pwd.getpwnam("daemon")
    assert server_user() == ServerUser("daemon", entry.pw_uid, entry.pw_gid)


@as_root
@pytest.mark.parametrize(
    ("name", "says"), [("no-such-user", "there is no such user"), ("root", "that is root")]
)
def test_a_user_that_servers_can_not_run_as_is_refused(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, name)
    with (
        pytest.raises(ClusterError, match=f"'{name}': {says}") as caught,
        open_cluster(ClusterSpec("redis"), workdir=tmp_path),
    ):
        pytest.fail("it must not start")
    assert VARIABLE in str(caught.value.hint)
    assert list(tmp_path.iterdir()) == []


def test_root_of_a_user_namespace_of_one_user_stays_who_it_is() -> None:
    code = "from pacelc.clusters.server_user import server_user; print(server_user())"
    tried = subprocess.run(
        ["unshare", "--map-root-user", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare failed" in tried.stderr:
        pytest.skip(f"no user namespaces here: {tried.stderr.strip()}")
    assert tried.stdout == "None\n", tried.stderr


def test_what_others_can_not_pass_or_read_is_named(tmp_path: Path) -> None:
    shut = tmp_path / "shut"
    (shut / "in").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(shut / "in")
    reached = tmp_path / "file", shut / "in", tmp_path / "link", tmp_path / "not there"
    stranger = ServerUser("stranger", os.getuid() + 1, os.getgid() + 1)
    if stranger._shut(tmp_path) is not None:  # as pytest's own directories are
        pytest.skip(f"{tmp_path} is shut to others")
    stranger.require(*reached)
    shut.chmod(0o700)
    for path in (shut / "in", tmp_path / "link"):
        with pytest.raises(ClusterError, match=f"stranger.*{shut} is closed to others"):
            stranger.require(path)
    (tmp_path / "file").chmod(0o600)
    with pytest.raises(ClusterError, match=f"{tmp_path / 'file'} is closed"):
        stranger.require(tmp_path / "file")
    ServerUser("its owner", os.getuid(), os.getgid()).require(*reached)


@as_root
def test_roots_software_is_where_others_reach_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(fetch.CACHE_VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert not fetch.cache_directory().is_relative_to(Path.home())
    NOBODY.require(fetch.cache_directory())

    # Whatever root's umask is.
    monkeypatch.setenv(fetch.CACHE_VARIABLE, str(tmp_path / "cache"))

    def fill(directory: Path) -> None:
        (directory / "below").mkdir()
        (directory / "below/data").write_text("")
        (directory / "below/program").write_text("#!/bin/sh\necho v=1\n")
        (directory / "below/program").chmod(0o700)

    before = os.umask(0o077)
    try:
        there = fetch.cached("thing", fill) / "below"
    finally:
        os.umask(before)
    NOBODY.require(there / "data")
    assert (there / "data").stat().st_mode & 0o777 == 0o644
    assert fetch.run_version([str(there / "program")], r"v=(\S+)") == "1"


@as_root
@pytest.mark.cluster
def test_a_place_that_the_servers_user_can_not_reach_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o700)
    program = DATABASES["redis"].software(ClusterSpec("redis"), lambda _line: None).command[0]
    server = shutil.copy(program, shut / "redis-server")
    for options, workdir in (({}, shut / "work"), ({"server": str(server)}, tmp_path / "work")):
        with (
            pytest.raises(ClusterError, match=f"{shut} is closed to others") as caught,
            open_cluster(ClusterSpec("redis", nodes=1, options=options), workdir=workdir),
        ):
            pytest.fail("it must not start")
        assert VARIABLE in str(caught.value.hint)
        assert not workdir.exists() or list(workdir.iterdir()) == []
