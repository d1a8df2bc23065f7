"""Probabilistically bounded staleness: against closed forms, and on networks known by heart."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from pacelc.analysis.pbs import predicted, predicted_of_reads, visible_from
from pacelc.clusters.network.links import Host, Link, links_between
from pacelc.store.format import RunRecord

TRIALS = 200_000


def chance(moments: np.ndarray, t: float) -> float:
    return float((moments <= t).mean())


@pytest.mark.parametrize(
    ("copies", "writes", "reads"),
    [(2, 1, 1), (3, 1, 1), (3, 1, 2), (3, 2, 1), (5, 2, 2)],
)
def test_exponential_writes_become_visible_as_their_closed_form_says(
    copies: int, writes: int, reads: int
) -> None:
    # Without memory: of the copies that haven't answered yet, each takes as long again. A read of
    # any R copies misses all that have, with the paper's equation 1, and then waits for the first.
    rng = np.random.default_rng(1)
    mean, nothing, all_ = 4.0, np.zeros((TRIALS, copies)), range(copies)
    moments = visible_from(
        rng.exponential(mean, (TRIALS, copies)),
        nothing,
        nothing,
        nothing,
        [(all_, writes)],
        [(all_, reads)],
        asked_first=rng.random((TRIALS, copies)),
    )
    missed = math.comb(copies - writes, reads) / math.comb(copies, reads)
    for t in (0.0, 1.0, 4.0, 10.0):
        truth = 1 - missed * math.exp(-reads * t / mean)
        assert chance(moments, t) == pytest.approx(truth, abs=4 * 0.5 / math.sqrt(TRIALS))


@pytest.mark.parametrize(("mean_w", "mean_a", "mean_r"), [(10, 1, 1), (0.25, 1, 1), (1, 3, 2)])
def test_exponential_messages_on_two_copies_give_the_closed_form(
    mean_w: float, mean_a: float, mean_r: float
) -> None:
    # Both are asked. A read misses the write if the first to answer, after the shorter of two R, is
    # the copy whose W is longer than the other's W' and A' together, and then t, and then that R.
    # W has no memory, so it outlasts each of them independently.
    rng = np.random.default_rng(2)
    w, a, r = (rng.exponential(mean, (TRIALS, 2)) for mean in (mean_w, mean_a, mean_r))
    both = [(range(2), 1)]
    moments = visible_from(w, a, r, np.zeros((TRIALS, 2)), both, both)
    missed = 0.5 * (mean_w / (mean_w + mean_a)) * (mean_w / (mean_w + mean_r / 2))
    for t in (0.0, 0.5, 2.0, 10.0):
        truth = 1 - missed * math.exp(-t / mean_w)
        assert chance(moments, t) == pytest.approx(truth, abs=4 * 0.5 / math.sqrt(TRIALS))


@pytest.mark.parametrize("nearest", [True, False])
def test_levels_that_overlap_always_see_the_newest(nearest: bool) -> None:
    rng = np.random.default_rng(3)
    for copies in range(1, 6):
        for writes, reads in product(range(1, copies + 1), repeat=2):
            w, a, r, s = rng.exponential(1.0, (4, 2_000, copies))
            order = rng.random((2_000, copies)) if nearest else None
            level_w, level_r = [(range(copies), writes)], [(range(copies), reads)]
            moments = visible_from(w, a, r, s, level_w, level_r, asked_first=order)
            assert (chance(moments, 0.0) == 1.0) == (writes + reads > copies)


# --- Of a run ---


def record(**changes: Any) -> RunRecord:
    """A run of users in Iowa and Tokyo on nodes in Iowa, Oregon and Tokyo, all at ONE."""
    levels = {"read": "ONE", "update": "ONE", "insert": "ONE"} | changes.pop("levels", {})
    clients = changes.pop("clients", {"client-iowa": "iowa", "client-tokyo": "tokyo"})
    places = {"n1": "iowa", "n2": "oregon", "n3": "tokyo", **clients}
    hosts = [Host(name, f"10.77.0.{n}", place) for n, (name, place) in enumerate(places.items())]
    links = links_between(hosts, changes.pop("links", {}))
    median_ms = {kind: changes.pop(f"{kind}_ms", 1.0) for kind in ("read", "update")}
    operations = {
        kind: {"ok": 9, "latency_ns": {"n": 9, "p50": ms * 1e6}} for kind, ms in median_ms.items()
    }
    settings = {"database": "cassandra", "nodes": 3, "replication": 3}
    settings |= changes.pop("settings", {})
    document = {
        "format": 1,
        "study": "s",
        "run": "0001-r1",
        "scenario": {"number": 1, "factors": {}, "settings": settings},
        "repetition": 1,
        "seed": 1,
        "started_utc": "2026-01-05T09:00:00Z",
        "pacelc": "0",
        "target": {"endpoints": [f"10.77.0.{n}:9042" for n in range(3)]},
        "consistency": levels,
        "network": {
            "hosts": [vars(host) for host in hosts],
            "links": [{"from": a, "to": b, **link.as_record()} for (a, b), link in links.items()],
        },
        "result": {"measured_s": 1.0, "operations": operations},
    }
    return RunRecord.model_validate(document | changes)


def chances(run: RunRecord, *t_ms: float) -> list[float]:
    frame = predicted(run, [t * 1e6 for t in t_ms])
    assert not isinstance(frame, str)
    return frame["probability"].to_list()


def test_what_is_written_here_is_seen_there_when_it_has_crossed_the_ocean() -> None:
    # Half of a user's reads see a write of its own region, at once but for 1 ms of the servers'.
    # Of the other region they see it once it has crossed: 121.7 ms a round trip, 60.85 ms one way.
    early, before, after, late = chances(record(), 10.0, 50.0, 75.0, 120.0)
    assert early == pytest.approx(0.5, abs=0.01)
    assert before == pytest.approx(0.5, abs=0.01)
    assert after > 0.99
    assert late == pytest.approx(1.0, abs=1e-4)


def test_levels_are_told_apart() -> None:
    assert chances(record(levels={"read": "QUORUM", "update": "QUORUM"}), 0.0) == [1.0]
    assert chances(record(levels={"update": "ALL"}), 0.0) == [1.0]
    assert chances(record(levels={"update": "EACH_QUORUM"}), 0.0) == [1.0]
    # A quorum with Oregon: Iowa waits 39.6 ms, and Tokyo 88.4 ms, for which the write is under way
    # to the other. From Iowa it has 60.85 - 39.6 ms to go; from Tokyo it is there.
    quorum = record(levels={"update": "QUORUM"}, update_ms=39.6)
    assert chances(quorum, 0.0, 30.0)[0] == pytest.approx(0.75, abs=0.02)
    assert chances(quorum, 0.0, 30.0)[1] > 0.99


def test_users_in_one_place_have_one_coordinator_unless_they_choose_others() -> None:
    client = {"client": "iowa"}
    # n1, next to them, acknowledges by itself and answers itself.
    assert chances(record(clients=client), 0.0)[0] > 0.999
    far = record(clients=client, settings={"client_options": {"coordinator": "last"}})
    assert chances(far, 0.0)[0] > 0.999
    # A read that goes to any node is there no sooner than the write that came from another one.
    # Its median is that over Oregon, 39.6 ms away; 1 ms is the servers'.
    medians = {"read_ms": 40.6, "update_ms": 40.6}
    roaming = record(clients=client, settings={"session": "roaming"}, **medians)
    assert 0.75 < chances(roaming, 0.0)[0] < 0.99
    assert chances(roaming, 20.0)[0] > 0.99


def with_groups(iowas_updates: int, tokyos_updates: int) -> dict[str, Any]:
    """The result of a run with a user in each place."""

    def group(user: int, region: str, updates: int) -> dict[str, Any]:
        done = {"read": 100, "update": updates}
        operations = {
            kind: {"ok": ok, "latency_ns": {"n": ok, "p50": 1e6}} for kind, ok in done.items()
        }
        return {"region": region, "users": (user, user), "operations": operations}

    groups = [group(0, "iowa", iowas_updates), group(1, "tokyo", tokyos_updates)]
    return record().result.model_dump() | {"groups": groups}


def test_places_count_by_what_their_users_did() -> None:
    result = with_groups(90, 10)
    # Nine of ten writes are Iowa's: over a slow way from there half of the reads miss them.
    slow = {"links": {"iowa -> tokyo": Link(delay_s=0.3)}}
    assert chances(record(result=result, **slow), 100.0)[0] == pytest.approx(0.55, abs=0.01)


def test_a_slower_link_makes_writes_visible_later() -> None:
    slow = {"iowa -> tokyo": Link(delay_s=0.2)}
    assert chances(record(links=slow), 75.0)[0] == pytest.approx(0.75, abs=0.01)
    varying = {"*": Link(jitter_s=0.02, distribution="exponential")}
    assert chances(record(links=varying), 75.0)[0] < chances(record(), 75.0)[0]


def test_a_runs_own_reads_have_their_own_times_and_places() -> None:
    ms = 1_000_000
    iowa, tokyo = 0, 1
    rows = [
        ("update", 5, tokyo, 100, 101, "ok"),
        ("update", 5, iowa, 499, 500, "ok"),
        ("update", 6, tokyo, 505, 506, "ok"),  # of another record
        ("update", 5, tokyo, 505, 506, "unknown"),
        ("read", 5, iowa, 510, 511, "ok"),
        ("read", 5, tokyo, 510, 511, "ok"),
        ("read", 5, tokyo, 580, 581, "ok"),
        ("read", 5, tokyo, 1001, 1002, "ok"),  # after the run's 1 s
        ("read", 7, tokyo, 510, 511, "ok"),  # of what nobody has written
    ]
    names = ("operation", "record", "user", "start_ns", "end_ns", "outcome")
    log = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        pl.col("start_ns", "end_ns").cast(pl.UInt64) * ms
    )
    run = record(result=with_groups(50, 50))
    told = predicted_of_reads(run, log, [0.0, 5.0 * ms, 50.0 * ms])
    assert not isinstance(told, str)
    assert told.select("from_ns", "reads").rows() == [(5.0 * ms, 2), (50.0 * ms, 1)]
    # Iowa's own write is there at once, but not yet in Tokyo.
    assert told["probability"].to_list() == pytest.approx([0.5, 1.0], abs=0.01)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"settings": {"database": "mongodb"}}, "the model is of Cassandra"),
        ({"network": None}, "no emulated network"),
        ({"levels": {"read": "SERIAL"}}, "SERIAL uses Paxos"),
        ({"settings": {"replication": 2}}, "no copy"),
        ({"links": {"*": Link(loss=0.1)}}, "links with loss"),
        (
            {"faults": [{"fault": "kill", "target": "n1", "by": "schedule", "asked_unix_us": 1}]},
            "a fault",
        ),
        ({"result": {"measured_s": 1.0, "operations": {}}}, "no reads"),
    ],
)
def test_where_it_cant_be_told_there_is_a_reason(changes: dict[str, Any], reason: str) -> None:
    told = predicted(record(**changes))
    assert isinstance(told, str)
    assert reason in told


def test_the_same_seed_predicts_the_same() -> None:
    first, again = predicted(record(), seed=7), predicted(record(), seed=7)
    assert not isinstance(first, str)
    assert not isinstance(again, str)
    assert first.equals(again)
