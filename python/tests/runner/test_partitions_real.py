"""What real servers lose and serve: acknowledged writes read back, both sides of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from real_servers import first_host, needs_namespaces

from pacelc.analysis import Design
from pacelc.analysis.partitions import letters, sides
from pacelc.runner import events, run_study
from pacelc.runner.lab import LocalLab
from pacelc.store import Results, Store, load
from pacelc.study import Study

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

HOST = first_host(6)

LOAD = """
  users: 100
  spawn_rate: 1000
  arrivals: constant
  rate: 100
  operation_timeout: 1s
  warm_up: 0.5s
  cool_down: 0s
  workload: {records: 50, fields: 1, mix: {read: 0.4, update: 0.2, insert: 0.4}}
"""

# Nothing is written to its disk, and its replicas take over what it has when it is back.
FORGETFUL = f"""
name: redis-forgets
settings:
  database: redis
  measure: 5s
  cluster_options: {{first_host: {HOST}}}
  faults: [{{at: 3s, fault: kill, target: primary, for: 0.5s}}]
{LOAD}
"""

# Two seconds of the partition tell what the system does in it: a client that is held up for a tenth
# of a second by what else the machine does is still seen to be served.
REDIS = f"""
name: redis-two-sides
factors:
  consistency: [weak, quorum]
  side:
    primary: {{faults: [{{at: 2s, fault: isolate, target: primary, client: minority, for: 6s}}]}}
    others: {{faults: [{{at: 2s, fault: isolate, target: primary, client: majority, for: 6s}}]}}
exclude: [{{consistency: quorum, side: others}}]
order: listed
settings:
  database: redis
  measure: 9s
{LOAD}
"""

# Cut off for longer than the others wait (10 s) before they elect another primary, and for long
# enough to elect again: two that stand at the same time share the votes and wait another 10 s. With
# none elected the old one would be primary still when it is back, and keep what it took alone.
MONGODB = f"""
name: mongodb-majority
settings:
  database: mongodb
  consistency: quorum
  measure: 38s
  faults: [{{at: 2s, fault: isolate, target: primary, client: minority, for: 34s}}]
{LOAD}
"""


def run(text: str, directory: Path) -> Results:
    study = Study.parse(text)
    heard: list[events.Event] = []
    with Store.open(directory / "out", create=study.as_document()) as store:
        summary = run_study(study, store, LocalLab(workdir=directory), observe=heard.append)
    failures = [one for one in heard if isinstance(one, events.RunFailed | events.ClusterFailed)]
    assert (summary.finished, summary.failed) == (len(study.schedule()), 0), failures
    return load(directory / "out")


@pytest.mark.timeout(280)
def test_what_a_primary_without_a_disk_had_acknowledged_is_found_to_be_lost(tmp_path: Path) -> None:
    results = run(FORGETFUL, tmp_path)
    kept = results.records[0].read_back
    assert kept is not None
    assert (kept.level, kept.error, kept.inserts.unread) == ("primary", None, 0)
    # Warm-up and three seconds, 40 a second: gone; what came after the restart is there.
    assert 60 < kept.inserts.missing < 200
    assert kept.inserts.found > 10
    assert kept.inserts.missing + kept.inserts.found == kept.inserts.acknowledged
    assert kept.inserts.first_missing_s is not None
    assert kept.inserts.last_missing_s is not None
    assert kept.inserts.first_missing_s < 0.5
    assert 2.5 < kept.inserts.last_missing_s < 4.5
    assert len(kept.inserts.examples) == 20
    # No partition, no letter.
    assert sides(results, Design.of(results)).height == 0


@pytest.mark.timeout(280)
def test_redis_serves_its_primarys_side_and_loses_nothing(tmp_path: Path) -> None:
    needs_namespaces()
    results = run(REDIS, tmp_path)
    design = Design.of(results)
    seen = {(r["level"], r["client"]): r for r in sides(results, design).to_dicts()}
    weak, others = seen["weak", "minority"], seen["weak", "majority"]
    assert (
        weak["reads_ok"] + weak["writes_ok"] > 0.9 * (weak["reads_due"] + weak["writes_due"]) > 80
    )
    assert others["reads_ok"] + others["writes_ok"] == 0
    # Its replicas can't be waited for: on the primary, and not acknowledged.
    waiting = seen["quorum", "minority"]
    assert waiting["reads_ok"] > 0.9 * waiting["reads_due"] > 20
    assert waiting["writes_ok"] == 0
    found = {
        row["level"]: row for row in letters(results, design, sides(results, design)).to_dicts()
    }
    # On a machine that others keep busy, runs are no evidence of who is served.
    if found["weak"]["partition_reason"] != "disqualified":
        assert found["weak"]["letters"] == "PC/EL"
        assert found["weak"]["partition_why"].endswith("reads stale")
    assert found["quorum"]["partition"] == "can't tell"
    for record in results.records:
        kept = record.read_back
        assert kept is not None
        assert (kept.inserts.missing, kept.inserts.unread) == (0, 0)
        assert kept.inserts.acknowledged == kept.inserts.found > 50


@pytest.mark.timeout(280)
def test_mongodb_loses_nothing_that_a_majority_has_acknowledged(tmp_path: Path) -> None:
    needs_namespaces()
    results = run(MONGODB, tmp_path)
    kept = results.records[0].read_back
    assert kept is not None
    assert kept.level == "linearizable from primary"
    assert (kept.inserts.missing, kept.inserts.unread) == (0, 0)
    assert kept.inserts.acknowledged > 50
    # What the primary took alone was rolled back; none of it had been acknowledged.
    assert kept.unacknowledged.unknown > kept.unacknowledged.found
    [side] = sides(results, Design.of(results)).to_dicts()
    assert (side["lost"], side["stale"]) == (0, 0)
    assert side["writes_ok"] == 0 < side["writes_due"]
