"""What the command line prints, word for word."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pacelc.clusters import DATABASES
from pacelc.clusters.faults.rules import no_network
from pacelc.store import Store
from pacelc.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable

VERBS = [
    "run",
    "saturate",
    "scenarios",
    "report",
    "claims",
    "export",
    "check",
    "regress",
    "advise",
    "up",
    "doctor",
    "fault",
    "studies",
    "levels",
    "schema",
]

STUDY = "name: mine\nfactors: {users: [1, 2]}\nsettings: {database: memory, measure: 1s}\n"

# Each is one clear line, and a hint where there is something to do: never a traceback.
MISTAKES = {
    "no-such-verb": ["rn"],
    "no-such-option": ["run", "quickstart", "--sett", "users=1"],
    "no-study": ["run"],
    "unknown-study": ["run", "quickstrt"],
    "missing-file": ["run", "no.yaml"],
    "factor-without-levels": ["run", "empty-factor.yaml"],
    "unknown-level": [
        "run",
        "mine.yaml",
        "--set",
        "database=cassandra",
        "--set",
        "consistency=QUORUMM",
    ],
    "unknown-setting": ["run", "mine.yaml", "--set", "mesure=1s"],
    "unknown-database": ["run", "mine.yaml", "--set", "database=reddis"],
    "wait-3-with-two-replicas": [
        "run",
        "mine.yaml",
        "--set",
        "database=redis",
        "--set",
        "consistency={write: {wait: 3}}",
    ],
    "impossible-cluster": ["run", "mine.yaml", "--set", "database=redis", "--set", "replication=2"],
    "unknown-cluster-option": [
        "run",
        "mine.yaml",
        "--set",
        "database=redis",
        "--set",
        "cluster_options.appendonyl=true",
    ],
    "server-that-isnt-there": [
        "run",
        "mine.yaml",
        "--set",
        "database=redis",
        "--set",
        "cluster_options.server=/nowhere/redis-server",
    ],
    "fault-without-a-target": [
        "run",
        "mine.yaml",
        "--set",
        "database=redis",
        "--set",
        "faults=[{at: 0s, fault: kill, target: node9}]",
    ],
    "unknown-factor-in-only": ["run", "mine.yaml", "--only", "user=1"],
    "unknown-level-in-only": ["run", "mine.yaml", "--only", "users=3"],
    "unwritable-directory": ["run", "mine.yaml", "--out", "/proc/results"],
    "file-for-a-directory": ["run", "mine.yaml", "--out", "mine.yaml"],
    "directory-of-other-files": ["run", "mine.yaml", "--out", "."],
    "results-of-a-newer-format": ["run", "mine.yaml", "--out", "newer"],
    "results-of-another-study": ["run", "mine.yaml", "--out", "other"],
    "csv-that-is-none": ["run", "ferreira-2024", "--csv", "mine.yaml"],
    "not-for-the-papers-file": ["scenarios", "quickstart", "--csv", "-"],
    "no-cluster-of-that-name": ["up", "reddis"],
    "too-many-copies": ["up", "cassandra", "--nodes", "1", "--replication", "3"],
    "unknown-region": ["up", "redis", "--regions", "iowa,oregno"],
    "unknown-region-of-a-study": [
        "run",
        "mine.yaml",
        "--set",
        "database=redis",
        "--set",
        "regions=[iwoa]",
    ],
    "network-with-an-address-of-loopback": [
        *("up", "redis", "--network", "namespaces", "--option", "first_host=127.0.1.1"),
    ],
    "regions-on-loopback": ["up", "redis", "--network", "loopback", "--regions", "iowa"],
    "link-that-is-none": ["up", "redis", "--link", "iowa -> oregon"],
    "link-with-a-bad-number": ["up", "redis", "--link", "*={loss: 2}"],
    "workers-on-an-emulated-network": [
        "run",
        "mine.yaml",
        "--set",
        "database=redis",
        "--set",
        "regions=[iowa]",
        "--workers",
        "2",
    ],
    "no-amount-of-memory": ["up", "redis", "--memory", "much"],
    "a-node-without-cores": ["up", "redis", "--cores", "0"],
    "a-node-too-small": ["up", "cassandra", "--memory", "256MiB"],
    "no-duration": ["up", "redis", "--timeout", "soon"],
    "report-of-nothing": ["report", "nowhere"],
    "export-of-nothing": ["export", "nowhere", "--format", "csv"],
    "export-of-no-runs": ["export", "other", "--format", "ycsb-text"],
    "export-in-an-unknown-format": ["export", "other", "--format", "ycbs-text"],
    "check-a-file-that-isnt-there": ["check", "no.edn"],
    "check-what-is-no-history": ["check", "mine.yaml"],
    "check-for-no-duration": ["check", "mine.yaml", "--time-limit", "soon"],
    "metrics-without-a-port": ["run", "mine.yaml", "--metrics", "localhost"],
    "saturate-without-an-objective": ["saturate", "mine.yaml"],
    "saturate-an-unknown-study": ["saturate", "reddis", "--p99", "10ms"],
    "saturate-a-factor-of-load": ["saturate", "mine.yaml", "--p99", "1ms", "--only", "users=1"],
    "saturate-objective-without-a-unit": ["saturate", "redis", "--p99", "fast"],
    "saturate-objective-without-any-unit": ["saturate", "redis", "--p99", "10"],
    "saturate-errors-above-all": ["saturate", "redis", "--p99", "10ms", "--errors", "150%"],
    "saturate-too-slow-to-judge": ["saturate", "redis", "--p999", "10ms", "--from", "100"],
    "saturate-from-above-to": ["saturate", "redis", "--p99", "1ms", "--from", "4k", "--to", "2k"],
    "saturate-no-majority": ["saturate", "redis", "--p99", "10ms", "--repeats", "4"],
    "saturate-no-mix": ["saturate", "redis", "--p99", "10ms", "--mix", "95"],
    "saturate-no-ladder": ["saturate", "redis", "--ladder", "16000..1000x2"],
    "saturate-no-rate": ["saturate", "redis", "--ladder", "1000,fast"],
    "saturate-into-a-study": ["saturate", "mine.yaml", "--p99", "10ms", "--out", "other"],
    "saturate-fewer-users-at-most": ["saturate", "redis", "--p99", "10ms", "--max-users", "4"],
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """Put a study and some directories where the commands run."""
    (tmp_path / "mine.yaml").write_text(STUDY)
    (tmp_path / "empty-factor.yaml").write_text("name: mine\nfactors:\n  users: []\n")
    for name, text in {"newer": STUDY, "other": STUDY.replace("[1, 2]", "[3]")}.items():
        with Store.open(
            tmp_path / name, create=Study.parse(text).as_document(), pacelc_version="0.1.0"
        ):
            pass
    study = tmp_path / "newer" / "study.json"
    study.write_text(study.read_text().replace('"format": 1', '"format": 99'))


def test_help_lists_the_verbs(
    pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    snapshot("help", pacelc("--help"))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_with_an_example(
    verb: str, pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    printed = pacelc(verb, "--help")
    assert f"pacelc {verb} " in printed.out.partition("\n")[2] or verb in (
        "levels",
        "schema",
        "studies",
    )
    snapshot(f"help-{verb}", printed)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line_and_a_hint(
    mistake: str, pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    printed = pacelc(*MISTAKES[mistake])
    assert printed.status in (2, 3)
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert sum(line.startswith("error: ") for line in printed.err.splitlines()) == 1
    snapshot(f"mistake-{mistake}", printed)


@pytest.mark.parametrize(
    "mistake",
    [
        name
        for name, words in MISTAKES.items()
        if words[0] == "run" and name not in ("no-such-option", "unwritable-directory")
    ],
)
def test_a_dry_run_refuses_what_a_run_refuses(mistake: str, pacelc: Callable[..., Any]) -> None:
    assert pacelc(*MISTAKES[mistake], "--dry-run") == pacelc(*MISTAKES[mistake])


def test_a_dry_run_refuses_an_address_of_metrics_that_is_taken(pacelc: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ["run", "mine.yaml", "--metrics", f":{taken.getsockname()[1]}"]
        printed = pacelc(*words, "--dry-run")
        assert printed.status == 2
        assert printed == pacelc(*words)


def test_a_fault_without_a_network_hints_at_an_option_that_there_is(
    pacelc: Callable[..., Any],
) -> None:
    assert "--network namespaces" in str(no_network("isolate").hint)
    assert "--network <auto|namespaces|loopback>" in pacelc("up", "--help").out


def test_help_names_every_database_that_can_be_started(pacelc: Callable[..., Any]) -> None:
    assert f"One of {', '.join(DATABASES)}." in pacelc("up", "--help").out


def test_the_factorial_is_printed_as_a_table(
    pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    snapshot("scenarios-quickstart", pacelc("scenarios", "quickstart"))


def test_a_part_of_the_factorial_has_the_whole_studys_numbers(pacelc: Callable[..., Any]) -> None:
    whole = pacelc("scenarios", "quickstart").out.splitlines()[1:]
    part = pacelc("scenarios", "quickstart", "--only", "database=mongodb").out.splitlines()[1:]
    assert [line.split() for line in part] == [line.split() for line in whole if "mongodb" in line]
    paper = ["scenarios", "ferreira-2024", "--only", "database=redis", "--csv", "-"]
    assert pacelc(*paper).out.count("redis") == 40


def test_a_quiet_run_says_nothing_but_where_its_results_are(pacelc: Callable[..., Any]) -> None:
    words = ["--set", "measure=0.1s", "--set", "warm_up=0s", "--only", "users=1"]
    printed = pacelc("run", "mine.yaml", *words, "--quiet", "--out", "q")
    assert (printed.status, printed.out, printed.err) == (0, "q\n", "")
    loud = pacelc("run", "mine.yaml", *words, "--out", "l")
    assert "study mine: 1 run; about" in loud.err
    assert "1 run finished in" in loud.err


def test_the_papers_file_is_written_to_stdout(pacelc: Callable[..., Any]) -> None:
    printed = pacelc("scenarios", "ferreira-2024", "--csv", "-")
    assert printed.status == 0
    assert printed.out.startswith("id,users,duration,consistency,operation,database,deployment\n")
    assert printed.out.count("\n") == 201


def test_the_papers_file_is_written_and_read(pacelc: Callable[..., Any]) -> None:
    pacelc("scenarios", "ferreira-2024", "--csv", "paper.csv")
    again = pacelc("scenarios", "ferreira-2024", "--from-csv", "paper.csv", "--csv", "-")
    assert again.out == Path("paper.csv").read_text(encoding="utf-8")


def test_a_dry_run_prints_the_schedule_and_leaves_nothing(pacelc: Callable[..., Any]) -> None:
    printed = pacelc("run", "mine.yaml", "--dry-run", "--set", "repetitions=3", "--only", "users=2")
    assert printed.status == 0
    assert sorted(line.split()[0] for line in printed.out.splitlines()[1:]) == [
        "0002-r1",
        "0002-r2",
        "0002-r3",
    ]
    assert not Path("results").exists()


def test_a_dry_run_does_not_make_up_a_time_that_is_not_known(pacelc: Callable[..., Any]) -> None:
    """YCSB's runs end with their operations, and nobody knows when that will be."""
    words = ["run", "--ycsb", "workloada", "--set", "database=memory", "--dry-run"]
    counted = pacelc(*words, "-p", "operationcount=1000000").err
    assert (
        "1 run on 1 cluster, until 1,000,000 operations are done: how long that takes isn't known, "
        "at most 24h00m" in counted
    )
    limited = pacelc(*words, "-p", "operationcount=0", "-p", "maxexecutiontime=60").err
    assert "1 run on 1 cluster, about 1m0" in limited


def test_scenarios_that_end_with_their_operations_say_so(pacelc: Callable[..., Any]) -> None:
    told = pacelc("scenarios", "mine.yaml", "--set", "operations=5000").out
    assert "5,000 operations, at most " in told


def test_a_dry_run_leaves_the_limit_on_open_files_to_the_workers(
    pacelc: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacelc.clusters.sizes.allowed.resource.getrlimit", lambda _: (1024, 1024))
    words = ["run", "mine.yaml", "--set", "database=redis", "--set", "users=5000", "--dry-run"]
    assert "would open about 5,256 files" in pacelc(*words).err
    printed = pacelc(*words, "--workers", "2")
    assert (printed.status, printed.out.count("redis")) == (0, 1)


def test_a_dry_run_knows_where_servers_will_be(pacelc: Callable[..., Any]) -> None:
    words = ["run", "mine.yaml", "--set", "database=hbase", "--dry-run", "--force-memory"]
    assert pacelc(*words).status == 0
    assert "HBase's data can't be in" in pacelc(*words, "--workdir", "a b").err


def test_a_built_in_study_can_be_printed_and_run_as_a_file(pacelc: Callable[..., Any]) -> None:
    Path("copy.yaml").write_text(pacelc("studies", "quickstart").out, encoding="utf-8")
    assert pacelc("scenarios", "copy.yaml").out == pacelc("scenarios", "quickstart").out


def test_debug_shows_the_traceback(
    pacelc: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacelc.cli.output.debug", False)
    with pytest.raises(Exception, match="quickstrt"):
        pacelc("--debug", "run", "quickstrt")
