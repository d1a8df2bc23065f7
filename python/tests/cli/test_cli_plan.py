"""What ``pacelc plan`` prints, word for word, and how it ends."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from pacelc.calibration.document import DEMANDS, Calibration, Checked

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = (Path(__file__).parents[3] / "docs/reference/plan.md").read_text(encoding="utf-8")
CALIBRATION = """
name: measured on one to three nodes
database: cassandra
machine: {cores: 2}
demands:
  read_cpu: {value: 1ms, low: 0.95ms, high: 1.05ms}
  write_cpu: {value: 300us, low: 280us, high: 320us}
  copy_read_cpu: {value: 500us, low: 450us, high: 550us}
  copy_write_cpu: {value: 200us, low: 180us, high: 220us}
  read_uncached: 0.2
error: {sizes: 5, between_clusters: 0.03, throughput: 0.04, mean: 0.05, p99: 0.08}
checked:
  users: [1, 64]
  nodes: [1, 6]
  replication: [1, 3]
  cores: [2, 2]
  read_share: [0, 1]
  rate_per_s: [100, 8000]
  utilisation: [0, 0.9]
  levels: [one, quorum, all]
"""
POOR = "error: {sizes: 3, throughput: 0.83, mean: 0.7, p99: 1.36}"
PRICES = """
currency: USD
machines:
  - {name: small, cores: 2, memory: 8GiB, price_per_hour: 0.1}
  - {name: large, cores: 8, memory: 32GiB, price_per_hour: 0.3}
"""

PLANS = {
    "found": ["--rate", "6000/s", "--mix", "50/50", "--p99", "10ms", "-c", "mine.yaml"],
    "cheapest": ["--rate", "9k", "--p99", "10ms", "-c", "mine.yaml", "--prices", "prices.yaml"],
    "in-regions": [
        *("--rate", "1000", "--mix", "50/50", "--p99", "60ms", "-c", "mine.yaml"),
        *("--regions", "iowa,south-carolina,oregon", "--nodes", "3..9"),
    ],
}
NONE = {
    "saturated": ["--rate", "50k", "--p99", "10ms", "-c", "mine.yaml", "--nodes", "3..6"],
    "rate-of-nobody": ["--rate", str(10**12), "--p99", "10ms", "-c", "mine.yaml"],
    "below-the-network": ["--rate", "1k", "--p99", "1ms", "-c", "mine.yaml"],
    "too-rare": ["--rate", "100", "--p999", "50ms", "-c", "mine.yaml", "--mix", "99.999/0.001"],
    "uncertain": ["--rate", "6000/s", "--mix", "50/50", "--p99", "12ms", "-c", "poor.yaml"],
    "far-beyond": ["--rate", "3k", "--p99", "15ms", "-c", "slow.yaml"],
    "too-far": ["--rate", "1k", "--p99", "20ms", "--level", "all", "--regions", "iowa,tokyo"],
}
MISTAKES = {
    "no-objective": ["--rate", "1k"],
    "two-objectives": ["--rate", "1k", "--p99", "10ms", "--p95", "5ms"],
    "no-rate": ["--rate", "fast", "--p99", "10ms"],
    "no-time": ["--rate", "1k", "--p99", "soon"],
    "objective-without-a-unit": ["--rate", "1k", "--p99", "10"],
    "mix-not-100": ["--rate", "1k", "--p99", "10ms", "--mix", "95/10"],
    "no-such-level": ["--rate", "1k", "--p99", "10ms", "--level", "qorum"],
    "no-level-of-so-many-copies": ["--rate", "1k", "--p99", "10ms", "--level", "2R-4W"],
    "no-such-region": ["--rate", "1k", "--p99", "10ms", "--regions", "iowa,oregno"],
    "no-such-calibration": ["--rate", "1k", "--p99", "10ms", "-c", "gandini-2014-casandra"],
    "fewer-nodes-than-copies": ["--rate", "1k", "--p99", "10ms", "--nodes", "1,2"],
    "no-nodes": ["--rate", "1k", "--p99", "10ms", "--nodes", "3..1"],
    "no-share": ["--rate", "1k", "--p99", "10ms", "--certainty", "120%"],
    "no-such-machine": [
        *("--rate", "1k", "--p99", "10ms", "--prices", "prices.yaml", "--cores", "64"),
    ],
    "no-load": ["--rate", "0", "--p99", "10ms"],
    "mix-beyond-100": ["--rate", "1k", "--p99", "10ms", "--mix", "150/5"],
    "no-limit": ["--rate", "1k", "--p99", "0ms"],
    "region-twice": ["--rate", "1k", "--p99", "10ms", "--regions", "iowa,iowa"],
    "regions-beyond-copies": [
        *("--rate", "1k", "--p99", "10ms", "--regions", "iowa,oregon", "--replication", "1"),
    ],
    "machine-without-cores": ["--rate", "1k", "--p99", "10ms", "--prices", "no-cores.yaml"],
    "no-such-prices": ["--rate", "1k", "--p99", "10ms", "--prices", "nowhere.yaml"],
    "demand-missing": ["--rate", "1k", "--p99", "10ms", "-c", "reads.yaml"],
    "no-errors": ["--rate", "1k", "--p99", "10ms", "--certainty", "90%"],
    "no-such-seed": ["--rate", "1k", "--p99", "10ms", "--seed", str(2**64)],
    "no-such-workers": ["--rate", "1k", "--p99", "10ms", "--workers", "many"],
    "misspelt-demand": ["--rate", "1k", "--p99", "10ms", "-c", "misspelt.yaml"],
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """Put a calibration and a price list where the commands run."""
    (tmp_path / "mine.yaml").write_text(CALIBRATION)
    (tmp_path / "slow.yaml").write_text(CALIBRATION.replace("8000", "500"))
    (tmp_path / "poor.yaml").write_text(re.sub("error:.*", POOR, CALIBRATION))
    (tmp_path / "misspelt.yaml").write_text(CALIBRATION.replace("write_cpu", "wirte_cpu"))
    (tmp_path / "reads.yaml").write_text(CALIBRATION.replace("  write_cpu", "  #"))
    (tmp_path / "prices.yaml").write_text(PRICES)
    (tmp_path / "no-cores.yaml").write_text(PRICES.replace("cores: 8, ", ""))


def masked(printed: object) -> str:
    """What is simulated differs in its last digits from one processor's logarithms to another's."""
    same = re.sub(r" *[\d.∞]+ \[[\d.]+; [\d.∞]+[\])]", " # [#; #]", str(printed))
    return re.sub(r"(?<=\S) {2,}", "  ", same)


def test_it_explains_itself(
    pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    snapshot("help-plan", pacelc("plan", "--help"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_an_answer_comes_with_its_reasons(
    name: str, pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    printed = pacelc("plan", *PLANS[name])
    assert printed.status == 0
    snapshot(f"plan-{name}", masked(printed))


@pytest.mark.parametrize("name", NONE)
def test_where_none_holds_it_ends_with_1(
    name: str, pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    printed = pacelc("plan", *NONE[name])
    assert printed.status == 1
    assert "hint  " in printed.out
    snapshot(f"plan-{name}", masked(printed))


def test_levels_are_named_by_copies_too_as_advice_names_them(pacelc: Callable[..., Any]) -> None:
    asked = ("plan", "--rate", "1k", "--p99", "20ms", "--nodes", "3", "--json", "--level")
    assert pacelc(*asked, "1R-3W").out == pacelc(*asked, "one/all").out


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line_and_a_hint(
    mistake: str, pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    printed = pacelc("plan", *MISTAKES[mistake])
    assert printed.status == 2
    assert printed.out == ""
    assert sum(line.startswith("error: ") for line in printed.err.splitlines()) == 1
    assert "hint: " in printed.err
    snapshot(f"mistake-plan-{mistake}", printed)


def test_the_references_examples_print_what_they_say(pacelc: Callable[..., Any]) -> None:
    """But for what `...` stands for."""
    blocks = re.findall(
        r"^pacelc (plan [^|\n]*mine\.yaml|plan [^|\n]*poor\.yaml).*?```text\n(.*?)```",
        REFERENCE,
        re.DOTALL | re.MULTILINE,
    )
    assert len(blocks) == 2
    for command, said in blocks:
        printed = masked(pacelc(*shlex.split(command)).out)
        for part in masked(said).split("...\n"):
            assert part in printed, command


def test_the_references_calibration_has_every_field() -> None:
    (text,) = re.findall(r"```yaml\n(name:.*?)```", REFERENCE, re.DOTALL)
    found = Calibration.parse(text)
    assert found.model_fields_set == set(Calibration.model_fields)
    assert set(found.demands) == set(DEMANDS)
    assert found.checked.model_fields_set == set(Checked.model_fields)


def test_json_and_files_have_what_is_printed(pacelc: Callable[..., Any]) -> None:
    printed = pacelc("plan", *PLANS["found"], "--json", "--out", "there")
    found = json.loads(printed.out)
    assert found == json.loads(Path("there/plan.json").read_text(encoding="utf-8"))
    answer = found["answer"]
    assert answer["simulation"]["verdict"] == "holds"
    assert answer["simulation"]["percentile_s"]["read"]["high"] <= 0.01
    assert 0.9 <= answer["prediction"]["certainty"] < 1
    read = answer["prediction"]["percentile_s"]["read"]
    assert read["low"] < read["middle"] < read["high"]
    (lost,) = answer["losses"]
    assert lost["lost"] == "a node"
    assert lost["told_by"] == {"read": "simulation", "write": "simulation"}
    assert lost["simulation"]["percentile_s"]["read"]["value"] == pytest.approx(
        lost["solved_percentile_s"]["read"], rel=0.15
    )
    frame = pl.read_csv("there/plan.csv")
    chosen = frame.filter(
        pl.col("nodes") == answer["cluster"]["nodes"], pl.col("simulated") == "holds"
    )
    assert chosen.height == 1
    assert chosen["utilisation"][0] == pytest.approx(answer["utilisation"])
    assert Path("there/plan.svg").read_text(encoding="utf-8").startswith("<svg")
