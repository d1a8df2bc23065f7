"""Each paper's study on real servers: the smallest cut of it that has exhibits, and its report."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest
from browser import Seen, chromium, look_at
from real_servers import first_host

from pacelc.clusters.sizes.cgroups import NoGroups, find_parents
from pacelc.report import write_report
from pacelc.store import load

if TYPE_CHECKING:
    from pathlib import Path

HOST = first_host(9)
COMMON = ["preset=small", "burn_in=0s", "repetitions=1", f"cluster_options.first_host={HOST}"]

# Study → its cut, its runs, an exhibit that must be there, and the values that it must hold.
CUTS = {
    "kumarasinghe-2015": (
        ["operations=200", "warm_up=0s"],
        ["database=redis", "workload=ycsb-e", "records=1000"],
        2,
        "figures/kumarasinghe-figures-16-18.svg",
    ),
    "vyas-2022": (
        ["operations=200", "warm_up=0s"],
        ["mix=90/10", "users=10"],
        3,
        "tables/vyas-table-10.csv",
    ),
    "haughian-2016": (
        ["measure=0.5s", "warm_up=0s"],
        ["database=mongodb", "workload=haughian-h", "distribution=uniform", "consistency=ONE"],
        3,
        "tables/haughian-table-3.csv",
    ),
    "gandini-2014": (
        ["measure=2.5s", "warm_up=0s"],
        ["database=mongodb", "users=8,30", "replication=1,4", "nodes=1,4"],
        6,
        "tables/gandini-tables-2-4.csv",
    ),
}
FRACTIONS = ("gandini-2014",)
"""Their nodes have parts of a core."""


@pytest.mark.cluster
@pytest.mark.parametrize("study", CUTS)
def test_a_cut_of_a_papers_study_runs_and_is_shown_as_in_the_paper(
    study: str, tmp_path: Path
) -> None:
    if study in FRACTIONS:
        try:
            find_parents(frozenset({"cpu"}))
        except NoGroups as reason:
            pytest.skip(str(reason))
    settings, only, runs, exhibit = CUTS[study]
    command = [sys.executable, "-m", "pacelc", "run", study, "--out", str(tmp_path / "out")]
    command += [word for text in (*COMMON, *settings) for word in ("--set", text)]
    command += [word for text in only for word in ("--only", text)]
    done = subprocess.run(
        [*command, "--workdir", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    results = load(tmp_path / "out")
    assert results.runs.height == runs
    assert results.runs.get_column("ok").min() > 0  # type: ignore[operator]
    assert results.runs.get_column("fail").sum() == 0
    report = write_report(tmp_path / "out", tmp_path / "report")
    assert (tmp_path / "report" / exhibit).is_file()
    if exhibit.endswith(".csv"):
        cells = pl.read_csv(tmp_path / "report" / exhibit)
        measured = cells.filter(pl.col("value").is_not_null())
        assert measured.height > 0
        assert measured.get_column("published").is_not_null().all()
        assert measured.get_column("low").is_null().all()
    page = report.html.read_text()
    assert ": tables and figures made again</h2>" in page
    assert "measured less than 30 s" in page
    with chromium() as browser:
        assert look_at(browser, report.html) == Seen()
