"""What is told of a load and a burn-in while they last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pacelc
from pacelc.runner import events

if TYPE_CHECKING:
    from pathlib import Path

STUDY = """
name: told
factors: {users: [1, 8]}
settings:
  database: memory
  workload: {records: 400000, fields: 1, field_length: 32}
  burn_in: 2s
  warm_up: 0s
  measure: 1s
  spawn_rate: 8
  cool_down: 0s
order: listed
"""


def test_loads_and_burn_ins_say_how_far_they_are(tmp_path: Path) -> None:
    heard: list[events.Event] = []
    pacelc.run(pacelc.Study.parse(STUDY), out=tmp_path / "told", observe=heard.append)
    loading = [event for event in heard if isinstance(event, events.Loading)]
    assert loading[0].inserted == 0
    assert any(0 < event.inserted < 400_000 for event in loading)
    assert all(2 + 2 < event.time_left.seconds < 200 for event in loading)

    told = [event for event in heard if isinstance(event, events.Progressed)]
    burn_in = [event for event in told if event.phase == "burn-in"]
    assert {event.run.scenario.settings.users for event in burn_in} == {1, 8}
    for event in told:
        assert event.users <= event.run.scenario.settings.users
        assert event.elapsed_s <= event.whole_s + 0.5
    left_s = [event.time_left.seconds for event in burn_in]
    assert left_s == sorted(left_s, reverse=True)
