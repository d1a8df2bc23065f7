"""What is fetched is what was pinned, whole, once; what goes wrong is said in one line."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
import zipfile
from typing import TYPE_CHECKING

import pytest

from pacelc.clusters import FetchError
from pacelc.clusters.software import fetch
from pacelc.clusters.software.fetch import Jar, Wheel, cached, read_lock, wheel

if TYPE_CHECKING:
    from pathlib import Path

KEEP = "tiny_server/bin/tiny-server"


def silent(_message: str) -> None:
    """Tell no one."""


@pytest.fixture
def pin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wheel:
    """Give pip an index of one wheel, and pacelc a cache of its own."""
    index = tmp_path / "index"
    index.mkdir()
    file = index / "tiny_server-1.0-py3-none-manylinux1_x86_64.whl"
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(b'').digest()).decode()},0\n"
        for name in (KEEP,)
    )
    with zipfile.ZipFile(file, "w") as archive:
        info = zipfile.ZipInfo(KEEP)
        info.external_attr = 0o755 << 16
        archive.writestr(info, "#!/bin/sh\necho tiny-server v=1.2.3\n")
        archive.writestr("tiny_server/secret", "not wanted")
        archive.writestr(
            "tiny_server-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: tiny-server\nVersion: 1.0\n",
        )
        archive.writestr("tiny_server-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        archive.writestr("tiny_server-1.0.dist-info/RECORD", record)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv(fetch.CACHE_VARIABLE, str(tmp_path / "cache"))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return Wheel("tiny-server", "1.0", digest, ("py3", "none", "manylinux1_x86_64"), KEEP)


def test_a_wheel_is_unpacked_so_that_its_server_runs(pin: Wheel) -> None:
    directory = wheel(pin, silent)
    assert fetch.run_version([str(directory / KEEP)], r"v=(\S+)") == "1.2.3"
    assert not (directory / "tiny_server/secret").exists()


def test_a_wheel_is_fetched_once(pin: Wheel) -> None:
    told: list[str] = []
    assert wheel(pin, told.append) == wheel(pin, told.append)
    assert told == ["fetching tiny-server 1.0"]


def test_a_wheel_with_another_digest_is_refused_and_not_kept(pin: Wheel, tmp_path: Path) -> None:
    wrong = Wheel(pin.name, pin.version, "0" * 64, pin.tag, pin.keep)
    with pytest.raises(FetchError, match="not the pinned one"):
        wheel(wrong, silent)
    assert [path for path in (tmp_path / "cache/servers").iterdir() if path.is_dir()] == []


def test_a_wheel_that_is_nowhere_quotes_pip(pin: Wheel) -> None:
    with pytest.raises(FetchError, match="pip could not fetch") as caught:
        wheel(Wheel("other-server", "1.0", pin.sha256, pin.tag, pin.keep), silent)
    assert "other-server" in str(caught.value.log_tail)
    assert "network" in str(caught.value.hint)


def test_an_interrupted_fetch_leaves_nothing_that_is_taken_for_whole(
    pin: Wheel, tmp_path: Path
) -> None:
    left_over = tmp_path / f"cache/servers/.{pin.name}-{pin.version}-{pin.sha256[:12]}-abc/content"
    left_over.mkdir(parents=True)
    assert (wheel(pin, silent) / KEEP).is_file()
    assert not left_over.exists()


@pytest.mark.usefixtures("pin")
def test_two_at_once_fetch_once() -> None:
    made: list[str] = []

    def fill(directory: Path) -> None:
        made.append(str(directory))
        time.sleep(0.1)
        (directory / "file").write_text("whole")

    def get() -> None:
        assert (cached("thing", fill) / "file").read_text() == "whole"

    threads = [threading.Thread(target=get) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_a_cache_that_cannot_be_written_is_an_error_with_the_variable_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(fetch.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    with pytest.raises(FetchError, match="cache directory") as caught:
        fetch.cache_directory()
    assert "PACELC_CACHE" in str(caught.value.hint)


@pytest.mark.usefixtures("pin")
def test_a_full_disk_is_an_error_with_a_hint() -> None:
    def fill(_directory: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(FetchError, match="No space left") as caught:
        cached("thing", fill)
    assert "space" in str(caught.value.hint)


@pytest.mark.usefixtures("pin")
def test_without_maven_and_jgo_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(_name: str) -> None:
        return None

    monkeypatch.setattr(fetch.shutil, "which", nowhere)
    monkeypatch.setattr(fetch.importlib.util, "find_spec", nowhere)
    with pytest.raises(FetchError, match="neither Maven nor jgo"):
        fetch.jars("cassandra", silent)


@pytest.mark.parametrize("name", ["cassandra", "hbase"])
def test_every_locked_jar_has_a_digest_and_a_name_of_its_own(name: str) -> None:
    jars = read_lock(name)
    assert len({jar.filename for jar in jars}) == len(jars) > 90
    assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in jars)


@pytest.mark.cluster
@pytest.mark.usefixtures("pin")
def test_jars_come_without_maven_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_small(_name: str) -> tuple[Jar, ...]:
        return tuple(jar for jar in read_lock("cassandra") if jar.artifact == "failureaccess")

    def nowhere(_name: str) -> None:
        return None

    monkeypatch.setattr(fetch, "read_lock", one_small)
    monkeypatch.setattr(fetch.shutil, "which", nowhere)
    (file,) = fetch.jars("small", silent)
    assert file.name == "failureaccess-1.0.1.jar"
