"""What ``pacelc model`` prints, word for word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pacelc.networks import Network, builtin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Printed

VERBS = [
    "show",
    "check",
    "solve",
    "simulate",
    "change",
    "trace",
    "draw",
    "convert",
    "scale",
    "fit",
    "dataset",
]

RUNS = """database,nodes,throughput_per_s
a,1,1000
a,1,1020
a,2,1900
a,2,1870
a,4,3300
a,4,3350
a,8,5000
a,8,5100
b,1,100
b,2,200
c,4,300
"""

CHAINS = """name: two chains
classes: [{name: fast, users: 2}, {name: slow, users: 2}]
stations:
  - {name: think, kind: delay, service: {fast: 1ms, slow: 5ms}}
  - {name: cpu, servers: 2, service: {'*': 1ms}}
  - {name: disk, service: {fast: 1ms, slow: 3ms}}
routing: {think: {'*': cpu}, cpu: {'*': disk}, disk: {'*': think}}
"""

PRINTED = {
    "model-show": ["show"],
    "model-show-network": ["show", "gandini-hbase-1", "--set", "users=8"],
    "model-show-settings": ["show", "quorum-all", "--settings"],
    "model-check": ["check", "gandini-mongodb-4"],
    "model-solve": ["solve", "gandini-cassandra-1"],
    "model-solve-fcfs": ["solve", "gandini-cassandra-1", "--set", "cpu=fcfs"],
    "model-solve-users": ["solve", "gandini-hbase-1", "--users", "1,10..12,30"],
    "model-solve-users-one-way": ["solve", "chains.yaml", "--users", "4,40"],
    "model-solve-users-each-its-way": ["solve", "shared.yaml", "--users", "4,8000"],
    "model-change": [
        *("change", "gandini-cassandra-1", "--down", "cpu,disk@400ms", "--up", "cpu, disk@600ms"),
        *("--users", "40@800ms", "--until", "1s", "--intervals", "10", "--seed", "3"),
    ],
    "model-change-chains": [
        *("change", "chains.yaml", "--servers", "cpu=1@100ms", "--users", "slow=5@0.15"),
        *("--until", "200ms", "--intervals", "4", "--replications", "4", "--warm-up", "0s"),
    ],
    "model-trace": ["trace", "quorum-quorum", "--class", "write", "--seed", "2"],
    "model-trace-slowest": [
        *("trace", "gandini-cassandra-1", "--cycles", "500", "--slowest", "2", "--after", "500ms"),
    ],
    "model-scale": ["scale", "--csv", "runs.csv", "--by", "database"],
}

MISTAKES = {
    "no-such-network": ["show", "gandini-casandra-1"],
    "no-such-file": ["solve", "none.yaml"],
    "no-such-setting": ["solve", "quorum-one", "--set", "nods=3"],
    "no-such-field": ["check", "mistyped.yaml"],
    "routes-that-lose-customers": ["check", "lost.yaml"],
    "no-such-solver": ["solve", "gandini-cassandra-1", "--solver", "magic"],
    "settings-of-a-file": ["show", "mistyped.yaml", "--settings"],
    "no-numbers-of-users": ["solve", "gandini-cassandra-1", "--users", "few"],
    "not-for-jmt": ["convert", "quorum-one", "mine.jsimg"],
    "a-file-that-is-there": ["convert", "gandini-hbase-1", "runs.csv"],
    "a-suffix-that-says-nothing": ["convert", "gandini-hbase-1", "mine.txt"],
    "change-nothing": ["change", "quorum-one"],
    "change-without-a-time": ["change", "quorum-one", "--down", "cpu1"],
    "change-no-such-station": ["change", "quorum-one", "--down", "cpu9@1s"],
    "change-a-delay": ["change", "quorum-one", "--up", "link1@1s"],
    "change-a-time-that-is-none": ["change", "quorum-one", "--down", "cpu1@soon"],
    "change-no-number": ["change", "quorum-one", "--servers", "cpu1@1s"],
    "change-of-which-station": ["change", "quorum-one", "--servers", "1@1s"],
    "change-of-which-class": ["change", "chains.yaml", "--users", "9@1s"],
    "change-after-the-end": ["change", "quorum-one", "--down", "cpu1@2s", "--until", "1s"],
    "change-at-once-for-how-long": ["change", "quorum-one", "--users", "9@0s"],
    "change-drawn-as-text": ["change", "quorum-one", "--users", "9@10ms", "--out", "f.txt"],
    "trace-no-such-class": ["trace", "quorum-one", "--class", "rite"],
    "trace-a-sibling": ["trace", "quorum-one", "--class", "written"],
    "trace-none": ["trace", "quorum-one", "--cycles", "0"],
    "trace-the-slowest-none": ["trace", "quorum-one", "--slowest", "0"],
    "scale-nothing": ["scale"],
    "scale-by-of-a-directory": ["scale", ".", "--by", "database"],
    "scale-no-such-column": ["scale", "--csv", "runs.csv", "--over", "nods"],
    "scale-one-size": ["scale", "--csv", "one.csv"],
    "fit-no-results": ["fit", "."],
    "draw-no-figure": [
        "draw",
        "quorum-one",
        "--out",
        "f.txt",
        "--users",
        "1",
        "--simulate",
        "none",
    ],
}


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(RUNS)
    (tmp_path / "chains.yaml").write_text(CHAINS)
    shared = CHAINS.replace("servers: 2", "servers: 1").replace(
        "{name: disk,", "{name: disk, discipline: ps,"
    )
    (tmp_path / "shared.yaml").write_text(shared)
    (tmp_path / "one.csv").write_text("nodes,throughput_per_s\n3,100\n3,101\n")
    whole = builtin("gandini-cassandra-1").to_yaml()
    (tmp_path / "mistyped.yaml").write_text(whole.replace("servers", "sevrers"))
    (tmp_path / "lost.yaml").write_text(whole.replace("client: 0.9", "client: 0.8"))


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help(pacelc: Callable[..., Printed], snapshot: Callable[..., None], verb: str) -> None:
    printed = pacelc("model", *([verb] if verb else []), "--help")
    snapshot(f"help-model{'-' if verb else ''}{verb}", printed)


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed(
    pacelc: Callable[..., Printed], snapshot: Callable[..., None], name: str
) -> None:
    snapshot(name, pacelc("model", *PRINTED[name]))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_one_line_and_a_hint(
    pacelc: Callable[..., Printed], snapshot: Callable[..., None], name: str
) -> None:
    printed = pacelc("model", *MISTAKES[name])
    assert printed.status in (2, 3)
    assert printed.out == ""
    snapshot(f"mistake-model-{name}", printed)


def test_a_simulation_says_how_sure_it_is(pacelc: Callable[..., Printed]) -> None:
    wanted = ("model", "simulate", "gandini-cassandra-1", "--precision", "0.05", "--seed", "3")
    printed = pacelc(*wanted)
    assert printed.status == 0
    assert "10 replications" in printed.out
    assert "the asked precision is reached" in printed.out
    assert "[…] is a 95 % interval" in printed.out
    assert pacelc(*wanted).out == printed.out
    [chain] = json.loads(pacelc(*wanted, "--json").out)["solution"]["chains"]
    assert chain["throughput_per_s"] == pytest.approx(3265, rel=0.05)


def test_a_simulation_goes_on_until_tails_can_be_told(pacelc: Callable[..., Printed]) -> None:
    wanted = ("model", "simulate", "gandini-cassandra-1", "--precision", "0.5")
    assert "can't tell" in pacelc(*wanted).out
    assert "can't tell" not in pacelc(*wanted, "--tails").out


def test_json_is_data_and_nothing_else(pacelc: Callable[..., Printed]) -> None:
    shown = pacelc("model", "show", "gandini-hbase-4", "--json").out
    assert Network.of(json.loads(shown)) == builtin("gandini-hbase-4")
    solved = json.loads(pacelc("model", "solve", "gandini-hbase-4", "--json").out)
    assert [station["name"] for station in solved["stations"]][:2] == ["client", "network"]
    fitted = json.loads(
        pacelc("model", "scale", "--csv", "runs.csv", "--by", "database", "--json").out
    )
    assert [one["group"] for one in fitted] == [{"database": name} for name in "abc"]
    assert fitted[2]["law"] is None


def test_changes_and_a_way_are_data_too(pacelc: Callable[..., Printed], tmp_path: Path) -> None:
    wanted = ("--down", "cpu@20ms", "--intervals", "4", "--out", "f.svg", "--json")
    printed = pacelc("model", "change", "gandini-cassandra-1", *wanted)
    found = json.loads(printed.out)
    assert [one["from_s"] for one in found["intervals"]] == [0, 0.01, 0.02, 0.03]
    assert found["intervals"][0]["solution"]["stations"][2]["classes"][0]["class"] == "read"
    svg = (tmp_path / "f.svg").read_text()
    for text in ("cpu down", "throughput (/s)", "mean response (ms)", "seconds", "95 % intervals"):
        assert text in svg
    [cycle] = json.loads(pacelc("model", "trace", "gandini-cassandra-1", "--json").out)
    assert {"job", "at", "class", "waited_s", "served_s"} < set(cycle["stays"][0])


def test_a_network_goes_to_jmt_and_back(pacelc: Callable[..., Printed], tmp_path: Path) -> None:
    assert pacelc("model", "convert", "gandini-mongodb-4x4", "m.jsimg").out == "m.jsimg\n"
    assert pacelc("model", "convert", "m.jsimg", "m.yaml").status == 0
    one, other = (
        json.loads(pacelc("model", "solve", name, "--json").out)
        for name in ("gandini-mongodb-4x4", "m.yaml")
    )
    for left, right in zip(one["chains"], other["chains"], strict=True):
        assert left["throughput_per_s"] == pytest.approx(right["throughput_per_s"])
    assert (tmp_path / "m.yaml").exists()


def test_a_figure_is_drawn(pacelc: Callable[..., Printed], tmp_path: Path) -> None:
    wanted = ["gandini-figure-8", "--users", "1,2", "--simulate", "2", "--precision", "0.2"]
    assert pacelc("model", "draw", *wanted, "--out", "f.svg").out == "f.svg\n"
    svg = (tmp_path / "f.svg").read_text()
    for text in ("One node: the models of Gandini et al. 2014", "mean read latency (ms)", "HBase"):
        assert text in svg
    assert (
        pacelc("model", "scale", "--csv", "runs.csv", "--by", "database", "--out", "s.svg").status
        == 0
    )
    assert "linear scaling" in (tmp_path / "s.svg").read_text()
