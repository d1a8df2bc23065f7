"""What all tests share."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import skips
from hypothesis import settings
from real_servers import scope_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

# How long an example takes says how busy the machine is, and nothing of the law. Examples are the
# same each time, so that a change is to blame for a failure; PACELC_EXPLORE=1 looks for new ones.
settings.register_profile(
    "pacelc", deadline=None, derandomize=os.environ.get("PACELC_EXPLORE") != "1"
)
settings.load_profile("pacelc")

# A shell that starts the tests in the background has them ignore Ctrl-C; tests of it would wait.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep root's tests' files where root's servers, which aren't root, can reach them.

    The directory that pytest has for them is shut to others by each session that begins.
    """
    if os.geteuid() == 0 and config.option.basetemp is None:
        base = tempfile.mkdtemp(prefix="pacelc-tests-")
        config.option.basetemp = base
        config.add_cleanup(lambda: shutil.rmtree(base, ignore_errors=True))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell how many tests were skipped; with ``CI`` set, fail for a reason that isn't listed."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or hasattr(session.config, "workerinput"):
        return
    found = skips.reasons(terminal.stats.get("skipped", []))
    terminal.write_line(f"\n{found.total()} tests were skipped, for {len(found)} reasons")
    if os.environ.get("CI") and (unlisted := skips.unlisted(found)):
        terminal.write_line(f"not in python/tests/skips.py: {'; '.join(unlisted)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def tmp_path_factory(tmp_path_factory: pytest.TempPathFactory) -> pytest.TempPathFactory:
    """pytest's own; as root, others may pass the directories that it makes."""
    if os.geteuid() == 0:
        make = tmp_path_factory.mktemp
        base = tmp_path_factory.getbasetemp()
        # Below it are those of pytest-xdist's processes.
        for path in {base, base.parent} - {Path(tempfile.gettempdir())}:
            path.chmod(0o711)

        def mktemp(basename: str, numbered: bool = True) -> Path:
            path = make(basename, numbered)
            path.chmod(0o711)
            return path

        tmp_path_factory.mktemp = mktemp
    return tmp_path_factory


@pytest.fixture
def no_file_above() -> Callable[[int], AbstractContextManager[None]]:
    """So many bytes a file, as on a disk that is nearly full."""

    @contextmanager
    def limited(size: int) -> Generator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """With ``--dist loadscope``, tests are kept together as `scope_of` says.

    ``--dist loadgroup`` would be for that, and does nothing with pytest 9.2 (pytest-xdist 1386).
    """
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scopes(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    return Scopes(config, log)
