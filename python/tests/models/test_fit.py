"""Calibration gives back what made the runs, predicts others, refuses what can't be known."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from pacelc.analysis import Estimate
from pacelc.errors import InputError
from pacelc.models.demands import Demands, NotIdentified, fit_demands
from pacelc.models.fit import Observation, calibrate, fit, network_of
from pacelc.models.solve import solve
from pacelc.store import RESOURCES_SCHEMA, SAMPLES_SCHEMA, Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

READ_S, UPDATE_S, BACKGROUND = 300e-6, 500e-6, 0.1
DELAYS = {"read": 400e-6, "update": 1500e-6}
TRUE = Demands(
    {"read": Estimate(READ_S, None, None, 0), "update": Estimate(UPDATE_S, None, None, 0)},
    Estimate(BACKGROUND, None, None, 0),
    0,
    (),
)
MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
USERS = (1, 4, 16, 64)


def truth(users: int, share: float, cores: float = 4) -> Observation:
    """What the true model does with so many users, and this share of reads."""
    demands = TRUE
    shares = {"read": share, "update": 1 - share}
    rates = {kind: part for kind, part in shares.items() if part > 0}
    asked = Observation(
        "", 0, (), users, cores, 3, shared=True, rates_per_s=rates, latencies_s={}, cores_used=1.0
    )
    solution = solve(network_of(asked, demands, DELAYS))
    done = {kind: solution.of_class(kind).throughput_per_s for kind in rates}
    times = {kind: float(solution.of_class(kind).response_s or 0) for kind in rates}
    return Observation(
        run=f"{users}-{share}",
        scenario=0,
        group=(),
        users=users,
        cores=cores,
        nodes=3,
        shared=True,
        rates_per_s=done,
        latencies_s=times,
        cores_used=demands.cores(done),
    )


def noisy(one: Observation, rng: np.random.Generator, noise: float = 0.02) -> Observation:
    """The same run as it would be measured."""
    luck = rng.normal(1, noise, 1 + 2 * len(one.rates_per_s)).tolist()
    n = len(one.rates_per_s)
    rates = zip(one.rates_per_s.items(), luck[1:], strict=False)
    times = zip(one.latencies_s.items(), luck[1 + n :], strict=False)
    return Observation(
        **{
            **one.__dict__,
            "rates_per_s": {kind: rate * by for (kind, rate), by in rates},
            "latencies_s": {kind: time * by for (kind, time), by in times},
            "cores_used": one.cores_used * luck[0],
        }
    )


@pytest.fixture(scope="module")
def runs() -> list[Observation]:
    return [truth(users, share) for users in USERS for share in MIXES]


def test_exact_runs_give_their_demands_and_delays_back(runs: list[Observation]) -> None:
    found = calibrate(runs)
    assert found.demands is not None
    for kind, seconds in (("read", READ_S), ("update", UPDATE_S)):
        assert found.demands.by_kind_s[kind].value == pytest.approx(seconds, rel=1e-6)
        assert found.delays_s[kind] == pytest.approx(DELAYS[kind], rel=1e-2)
    assert found.demands.background_cores.value == pytest.approx(BACKGROUND, rel=1e-6)
    assert max(found.errors(fitted=True).values()) < 1e-3


def test_runs_that_were_not_fitted_are_predicted(runs: list[Observation]) -> None:
    rng = np.random.default_rng(1)
    seen = [noisy(one, rng) for one in runs]
    held = frozenset(one.run for one in seen if one.users == 64 or one.run.endswith("0.25"))
    found = calibrate(seen, held)
    assert found.table.filter(pl.col("fitted")).height == 12
    errors = found.errors(fitted=False)
    assert set(errors) == {"throughput_per_s", "read.latency_s", "update.latency_s"}
    # Noise alone is 2 % of what is measured.
    assert max(errors.values()) < 0.05


def test_intervals_hold_the_true_demand_at_their_rate(runs: list[Observation]) -> None:
    held = {"read": 0, "update": 0, "background": 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        used = [one.cores_used * rng.normal(1, 0.03) for one in runs]
        rates = {k: [one.rates_per_s.get(k, 0.0) for one in runs] for k in ("read", "update")}
        found = fit_demands(rates, used)
        held["read"] += not found.by_kind_s["read"].excludes(READ_S)
        held["update"] += not found.by_kind_s["update"].excludes(UPDATE_S)
        held["background"] += not found.background_cores.excludes(BACKGROUND)
    # 95 % of 200, within three standard errors.
    assert all(181 <= count <= 199 for count in held.values()), held


def refusal(found: Sequence[Observation]) -> str:
    result = calibrate(found)
    assert result.network is None
    return f"{result.reason} | {result.hint}"


def test_one_mix_cannot_tell_reads_from_writes(runs: list[Observation]) -> None:
    text = refusal([one for one in runs if one.run.endswith("-0.5")] * 2)
    assert "demands of read and update can't be told apart: runs have too similar mixes" in text
    assert "0, 25, 50, 75 and 100 % reads" in text


def test_shares_that_differ_by_chance_are_one_mix(runs: list[Observation]) -> None:
    rng = np.random.default_rng(2)
    half = [truth(users, 0.5 + rng.normal(0, 0.03)) for users in (1, 2, 4, 8, 16, 32)]
    assert "too similar mixes" in refusal(half)
    assert calibrate(runs).network is not None


def test_part_of_a_core_is_a_slower_server() -> None:
    asked = Observation(
        "",
        0,
        (),
        1,
        0.5,
        2,
        shared=False,
        rates_per_s={"read": 1.0},
        latencies_s={},
        cores_used=1.0,
    )
    idle = Demands(TRUE.by_kind_s, Estimate(0.0, None, None, 0), 0, ())
    network = network_of(asked, idle, DELAYS)
    for name in ("cpu1", "cpu2"):
        assert network.station(name).servers == 1
        assert network.station(name).service["read"].mean_s == pytest.approx(2 * READ_S)


def test_one_load_cannot_tell_the_background() -> None:
    same = [truth(64, share) for share in (1.0, 0.999, 0.998, 0.997, 0.996)]
    assert "can't be told" in refusal(same)
    busy = [truth(users, 1.0) for users in (60, 62, 64, 66)]
    assert "the background can't be told from the operations" in refusal(busy)


def test_as_many_runs_as_unknowns_have_no_errors(runs: list[Observation]) -> None:
    assert "3 runs can't give 3 unknowns" in refusal(runs[1:4])


@pytest.mark.parametrize("used", [[0.0, 1, 2, 3], [float("nan"), 1, 2, 3]])
def test_unknown_processor_time_is_refused(used: list[float]) -> None:
    with pytest.raises(NotIdentified, match="processor time isn't known"):
        fit_demands({"read": [1.0, 2.0, 3.0, 4.0]}, used)


def test_a_demand_below_zero_is_taken_as_zero() -> None:
    rates = {"read": [10.0, 20, 30, 5, 1], "scan": [30.0, 5, 20, 1, 10]}
    used = [0.01 * r - 0.0005 * s + 0.1 for r, s in zip(*rates.values(), strict=True)]
    found = fit_demands(rates, used)
    assert found.by_kind_s["scan"].value == 0
    assert "scan: its demand would be below 0" in "; ".join(found.cautions)


def scenarios() -> Iterator[tuple[int, int, float]]:
    pairs = [(users, share) for users in USERS for share in MIXES]
    for number, (users, share) in enumerate(pairs, start=1):
        yield number, users, share


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two levels, one of them with a single mix, in a results directory."""
    path = tmp_path_factory.mktemp("fit") / "results"
    now = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
    study = {"name": "fit", "factors": {"consistency": ["weak", "strong"], "users": list(USERS)}}
    with Store.open(path, create=study, pacelc_version="0.1.0", now=now) as store:
        for level, offset in (("weak", 0), ("strong", 100)):
            for number, users, share in scenarios():
                if level == "weak" or share == 0.5:
                    _write(store, level, number + offset, users, truth(users, share), now)
    return path


def _write(  # noqa: PLR0917 - a run in full
    store: Store, level: str, number: int, users: int, one: Observation, now: datetime
) -> None:
    measured_s, run_id = 10.0, f"{number:04d}-r1"
    operations: dict[str, Any] = {}
    for kind, rate in one.rates_per_s.items():
        count = round(rate * measured_s)
        mean_ns = one.latencies_s[kind] * 1e9
        operations[kind] = {"ok": count, "latency_ns": {"n": count, "mean": mean_ns}}
    client_s = 0.2 * one.cores_used * measured_s
    servers_s = 0.8 * one.cores_used * measured_s
    resources = pl.DataFrame(
        [
            {
                "t_s": t,
                "phase": "measure",
                "node": f"n{n}",
                "role": "node",
                "cpu_user_s": t / 10 * servers_s / 3,
                "cpu_system_s": 0.0,
            }
            for n in (1, 2, 3)
            for t in (0.0, 10.0)
        ]
    )
    missing = [
        pl.lit(None, dtype=t).alias(c)
        for c, t in RESOURCES_SCHEMA.items()
        if c not in resources.columns
    ]
    store.write_run(
        run_id,
        {
            "study": "fit",
            "run": run_id,
            "scenario": {
                "number": number,
                "factors": {"consistency": level, "users": users, "mix": str(number)},
                "settings": {"users": users, "nodes": 3},
            },
            "repetition": 1,
            "seed": number,
            "started_utc": now,
            "pacelc": "0.1.0",
            "machine": {"cores": 4},
            "consistency": {},
            "result": {
                "measured_s": measured_s,
                "operations": operations,
                "client": {"cpu_user_s": client_s, "cpu_system_s": 0.0, "threads": 1},
            },
        },
        pl.DataFrame(schema=SAMPLES_SCHEMA),
        resources.with_columns(missing),
        "#[Histogram log format version 1.3]\n#[StartTime: 0.0 (seconds since epoch)]\n",
    )


def test_a_results_directory_gives_a_model_for_each_level(results: Path) -> None:
    weak, strong = fit(results)
    assert (weak.name, strong.name) == ("consistency weak", "consistency strong")
    assert weak.demands is not None
    # Servers and the client share the machine: their demands are one.
    assert weak.demands.by_kind_s["read"].value == pytest.approx(READ_S, rel=0.01)
    assert weak.network is not None
    assert weak.network.station("cpu").servers == 4
    assert weak.table.filter(~pl.col("fitted")).height == 7  # every third of twenty
    assert max(weak.errors(fitted=False).values()) < 0.01
    assert strong.network is None
    assert "too similar mixes" in strong.reason or "can't give" in strong.reason


def test_runs_can_be_held_out_by_level(results: Path) -> None:
    weak = fit(results, ["users=64"])[0]
    assert weak.table.filter(~pl.col("fitted")).get_column("users").unique().to_list() == [64]
    assert max(weak.errors(fitted=False).values()) < 0.02
    with pytest.raises(InputError, match="should be FACTOR=LEVEL"):
        fit(results, ["usres=64"])
