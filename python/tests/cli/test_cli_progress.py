# ruff: noqa: E501 - what is written and printed stands here word for word
"""A running study, line by line."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console

from pacelc.cli.progress import LiveProgress, QuietProgress, lines
from pacelc.runner import events
from pacelc.runner.account import TimeLeft
from pacelc.study import PlannedRun, Study

if TYPE_CHECKING:
    import pytest

RUN: PlannedRun = Study.parse(
    "name: p\nfactors: {consistency: [strong], users: [8]}\n"
    "settings: {database: memory, warm_up: 1s, measure: 9s}\n"
).schedule()[0]

STORY: list[events.Event] = [
    events.StudyStarted("p", 12, 3, TimeLeft(754.0)),
    events.ClusterStarting("redis-n3-rf3", "redis", 3),
    events.ClusterStep("starting primary on 127.0.0.1:16379"),
    events.ClusterUp("redis-n3-rf3", "redis", 1.94, {"redis": "7.0.15", "source": "system"}),
    events.RunStarted(RUN, 4, 12, TimeLeft(700.0)),
    events.Loading(RUN, 1000, 250, TimeLeft(695.0)),
    events.Progressed(RUN, 1, "measure", 3.2, 10.8, 8, 5000, 0, 2, 1234.5, 0.75, TimeLeft(690.0)),
    events.RunFinished(RUN, 4, 12, 5000, 0, 2, 1234.5, 0.75, ("the client was busy",)),
    events.Cooling(60.0, TimeLeft(600.0)),
    events.RunFailed(RUN, 5, 12, "replica1 was ended by signal 9", "its log says why"),
    events.ClusterDown("redis-n3-rf3", 0.12),
    events.ClusterFailed("hbase-n3-rf3", "time is up", "more time", 4),
    events.RunFailed(RUN, 6, 12, "time is up", "more time", cluster_failed=True),
    events.Warned("the time account can't be written"),
    events.StudyFinished(1, 5, 3, 340.0, {"store": 0.0004, "cluster-up": 0.06, "spawn": 0.0226}),
]


def test_what_happens_is_told_in_plain_lines() -> None:
    told = [line for event in STORY for line in lines(event)]
    assert told == [
        "study p: 12 runs, 3 finished before; about 12m34s left",
        "cluster redis-n3-rf3: starting redis, 3 nodes",
        "cluster: starting primary on 127.0.0.1:16379",
        "cluster redis-n3-rf3: serves after 1.9 s (redis 7.0.15)",
        "run 4/12 0001-r1 strong users=8: about 11m40s left",
        "done 4/12 0001-r1 strong users=8: 1,234 op/s, p99 0.75 ms, 0 failed, 2 unknown",
        "warning: 0001-r1: the client was busy",
        "cooling down for 1m00s",
        "failed 5/12 0001-r1 strong users=8: replica1 was ended by signal 9",
        "hint: its log says why",
        "cluster redis-n3-rf3: down after 0.1 s",
        "failed cluster hbase-n3-rf3: time is up; 4 runs can't be run",
        "hint: more time",
        "warning: the time account can't be written",
        "1 run finished, 5 failed, 3 finished before in 5m40s",
        "8 % of the time was outside load, warm-up, measuring and cool-down: starting clusters 6 %, starting users 2 %",
        "hint: the same command tries the failed runs again; failures/ in the results says why they failed",
    ]


def test_quiet_says_only_what_goes_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = QuietProgress()
    for event in STORY:
        quiet(event)
    quiet.print("wrote results/p/export/ycsb.txt")
    quiet.print("warning: nothing was drawn")
    assert capsys.readouterr().err.splitlines() == [
        "warning: 0001-r1: the client was busy",
        "failed 5/12 0001-r1 strong users=8: replica1 was ended by signal 9",
        "hint: its log says why",
        "failed cluster hbase-n3-rf3: time is up; 4 runs can't be run",
        "hint: more time",
        "warning: the time account can't be written",
        "warning: nothing was drawn",
    ]


def test_a_terminal_shows_scenario_phase_throughput_p99_errors_and_the_time_left() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    with LiveProgress(console) as live:
        for event in STORY[:7]:
            live(event)
            if isinstance(event, events.Loading):
                console.print(live.display())
        console.print(live.display())
    shown = screen.getvalue()
    assert "3/12 runs" in shown
    assert "11m30s left" in shown
    assert "strong users=8: loaded 250 of 1,000 records" in shown
    assert "11m35s left" in shown
    assert (
        "strong users=8 · measure 3/11 s · 1,234 op/s · p99 0.75 ms · 8 of 8 users · 0 failed, 2 unknown"
        in shown
    )


def test_a_time_that_is_not_known_is_no_more_than_a_limit() -> None:
    left = TimeLeft(86_401.0, is_limit=True)
    assert lines(events.StudyStarted("p", 1, 0, left)) == ["study p: 1 run; at most 24h00m left"]
    (line,) = lines(events.RunStarted(RUN, 1, 1, left))
    assert line.endswith(": at most 24h00m left")
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    with LiveProgress(console) as live:
        live(events.Progressed(RUN, 1, "measure", 3.2, None, 8, 5, 0, 0, 1.0, 0.75, left))
        console.print(live.display())
    assert "at most 24h00m left" in screen.getvalue()
    assert "measure 3 s" in screen.getvalue()
