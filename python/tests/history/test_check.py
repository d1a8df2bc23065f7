"""What ``pacelc check`` says of histories."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from pacelc.cli.check import HistoryFormat
from pacelc.cli.entry import call
from pacelc.errors import InputError
from pacelc.history.files import FORMATS, check_file

if TYPE_CHECKING:
    from collections.abc import Callable

OTHERS = Path(__file__).parents[3] / "crates/history/tests/histories"
INVOKE = "{:process 0, :type :invoke, :f :read, :value nil}\n"
READ_3 = INVOKE + "{:process 0, :type :ok, :f :read, :value 3}\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> Path:
        Path(name).write_text(text, encoding="utf-8")
        return Path(name)

    return write


def too_wide() -> str:
    """More overlap than anybody can search: everybody writes, and one reads what nobody wrote.

    A value is written twice, so that it takes a search.
    """
    writes = [f"{{:process {n}, :type :{{}}, :f :write, :value {n % 59}}}\n" for n in range(60)]
    starts, ends = ("".join(writes).replace("{}", kind) for kind in ("invoke", "ok"))
    reads = READ_3.replace("process 0", "process 99").replace("value 3", "value 77").splitlines()
    return f"{starts}{reads[0]}\n{reads[1]}\n{ends}"


def test_the_command_line_has_every_format() -> None:
    assert tuple(HistoryFormat) == FORMATS


def test_each_verdict_has_a_status_and_the_worst_of_several_wins(
    file: Callable[[str, str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    file("good.edn", READ_3.replace("value 3", "value nil"))
    file("bad.edn", READ_3)
    file("wide.edn", too_wide())
    file("broken.edn", INVOKE + INVOKE)
    limits = ["--memory-limit", "1MiB"]
    assert call(["check", "good.edn"]) == 0
    assert call(["check", "bad.edn"]) == 1
    assert call(["check", "wide.edn", *limits]) == 4
    assert call(["check", "wide.edn", "--time-limit", "10ms"]) == 4
    assert call(["check", "broken.edn"]) == 2
    capfd.readouterr()
    assert call(["check", "good.edn", "wide.edn", *limits]) == 4
    assert call(["check", "good.edn", "wide.edn", "bad.edn", *limits]) == 1
    capfd.readouterr()
    assert call(["check", "broken.edn", "good.edn", "wide.edn", "bad.edn", *limits]) == 2
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "good.edn: holds",
        "wide.edn: unknown: the register: the memory limit was reached",
        "bad.edn: violated: session 0 read 3, but nobody had written 3 to the register",
    ]
    assert err == "error: broken.edn: line 2: process 0 is still busy since line 1\n"


def test_json_is_an_object_a_line(
    file: Callable[[str, str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    file("bad.edn", READ_3)
    assert call(["check", "bad.edn", str(OTHERS / "cas.edn"), "--json"]) == 1
    bad, cas = map(json.loads, capfd.readouterr().out.splitlines())
    assert (bad["file"], bad["verdict"], bad["operations"]) == ("bad.edn", "violated", 1)
    assert bad["witness"][0]["value"] == "3"
    assert (cas["format"], cas["verdict"], cas["failed"], cas["unknown"]) == (
        "jepsen",
        "holds",
        1,
        1,
    )


def test_formats_are_told_by_the_content_and_can_be_named(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes((OTHERS / "etcd.log").read_bytes())
    assert check_file(log).format == "etcd-log"
    assert check_file(log, fmt="etcd-log").verdict == "violated"
    with pytest.raises(InputError, match="line 1: INFO is no operation"):
        check_file(log, fmt="jepsen")
    with pytest.raises(InputError, match="isn't a run's log"):
        check_file(log, fmt="native")


def test_what_registers_hold_at_first_can_be_said(tmp_path: Path) -> None:
    history = tmp_path / "history.edn"
    history.write_text(READ_3, encoding="utf-8")
    assert check_file(history, initial="3").verdict == "holds"
    assert check_file(history, initial="any").verdict == "holds"
    assert check_file(history, initial="4").verdict == "violated"
    with pytest.raises(InputError, match="no initial value"):
        check_file(history, initial="-1")


def test_a_file_that_isnt_there_or_has_no_operations_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="doesn't exist"):
        check_file(tmp_path / "no.edn")
    with pytest.raises(InputError, match=r"has no operations\.parquet"):
        check_file(tmp_path)


def test_a_damaged_log_is_one_line_that_names_it(
    file: Callable[[str, str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    file("damaged.parquet", "PAR1xxxx")
    pl.DataFrame({"read_writer": [1]}).write_parquet("other.parquet")
    for name in ("damaged.parquet", "other.parquet"):
        assert call(["check", name]) == 2
        error = capfd.readouterr().err
        assert error.startswith(f"error: {name} can't be read: "), error
        assert "Traceback" not in error


def test_ctrl_c_ends_a_long_search(tmp_path: Path) -> None:
    history = tmp_path / "wide.edn"
    history.write_text(too_wide(), encoding="utf-8")
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        check_file(history, memory_limit_bytes=4 * 2**30)
    timer.join()
