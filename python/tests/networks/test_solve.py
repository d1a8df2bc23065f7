"""Solutions and simulations of the built-in networks keep the laws, and agree."""

from __future__ import annotations

import polars as pl
import pytest

from pacelc.errors import InputError
from pacelc.jsimg import jsimg_text, parse_jsimg
from pacelc.networks import (
    BUILTIN,
    Network,
    Quorum,
    Refusal,
    Solution,
    bounds,
    builtin,
    check,
    quorum,
    simulate,
    solve,
    solve_all,
    sweep,
)
from pacelc.networks.predictions import FIGURES, predictions
from pacelc.papers.gandini_2014 import saturation_per_s


@pytest.mark.parametrize("name", BUILTIN)
def test_littles_law_and_the_utilisation_law_hold(name: str) -> None:
    network = builtin(name)
    solution = solve(network)
    away = sum(chain.throughput_per_s * chain.response_s for chain in solution.chains)
    assert away == pytest.approx(network.users, rel=1e-6)  # the client takes no time
    for result in solution.stations:
        station = network.station(result.name)
        visits = {visit.class_: visit for visit in result.classes}
        for of, visit in visits.items():
            assert visit.queue == pytest.approx(
                visit.throughput_per_s * visit.response_s, rel=1e-6, abs=1e-9
            )
            service = station.service.get(of, station.service.get("*"))
            if service is not None:
                work = visit.throughput_per_s * service.mean_s
                servers = 1 if station.kind == "delay" else station.servers
                assert visit.utilisation == pytest.approx(work / servers, rel=1e-6, abs=1e-12)
        assert result.queue == pytest.approx(sum(v.queue for v in visits.values()), rel=1e-6)


@pytest.mark.parametrize("database", ["cassandra", "mongodb", "hbase"])
def test_one_node_is_full_where_the_paper_puts_it(database: str) -> None:
    full = solve(builtin(f"gandini-{database}-1", ["users=500"]))
    assert full.throughput_per_s == pytest.approx(saturation_per_s(database)[0], rel=1e-3)
    assert full.station("cpu").utilisation == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("name", BUILTIN)
def test_more_users_never_do_less(name: str) -> None:
    rates = sweep(builtin(name), [1, 2, 5, 10, 30]).get_column("throughput_per_s").to_list()
    assert rates == sorted(rates)


def test_a_sweep_says_how_each_was_solved() -> None:
    frame = sweep(builtin("gandini-cassandra-1"), [1, 30])
    assert frame.columns[-3:] == ["solver", "exact", "assumes"]
    solution = solve(builtin("gandini-cassandra-1", ["users=30"]))
    assert frame.row(1)[-3:] == (solution.solver, solution.exact, "; ".join(solution.assumes))


def test_waiting_for_more_copies_takes_longer_and_late_ones_load_the_nodes() -> None:
    one, most, every = (solve(builtin(f"quorum-{level}")) for level in ("one", "quorum", "all"))
    for name in ("read", "write"):
        times = [s.of_class(name).response_s or 0.0 for s in (one, most, every)]
        assert times == sorted(times)
    # Whatever they wait for, writes go to all copies; the coordinator's is written with its part.
    for solution in (one, most, every):
        written = sum(
            visit.throughput_per_s
            for number in (1, 2, 3)
            for visit in solution.station(f"cpu{number}").classes
            if visit.class_ in {"own", "written"}
        )
        assert written == pytest.approx(2 * solution.of_class("write").throughput_per_s, rel=1e-6)


@pytest.mark.parametrize("name", ["gandini-hbase-1", "gandini-mongodb-4", "quorum-all"])
def test_solver_and_simulation_agree(name: str) -> None:
    network = builtin(name, ["users=10"])
    solution = solve(network)
    # As precise as a 95th percentile takes, which isn't told by fewer than 100 cycles beyond it.
    found = simulate(network, seed=3, precision=0.01)
    assert found.stopped_by == "precision"
    for of in ("read", "write"):
        rate, response = found.class_estimates(of)
        assert rate is not None
        assert response is not None
        exact = solution.of_class(of)
        assert exact.throughput_per_s == pytest.approx(rate.value, rel=0.05)
        assert exact.response_s == pytest.approx(response.value, rel=0.08)
    frame = found.class_frame().filter(name="read")
    assert frame.item(0, "p50_s") < frame.item(0, "p95_s")
    assert frame.item(0, "response_s_low") < frame.item(0, "response_s_high")
    assert frame.item(0, "p95_s_low") < frame.item(0, "p95_s") < frame.item(0, "p95_s_high")
    stations = found.station_frame()
    assert stations.height == len(network.stations)
    assert (stations.get_column("queue_low") <= stations.get_column("queue")).all()
    assert (stations.get_column("utilisation") <= stations.get_column("utilisation_high")).all()
    visits = found.visit_frame().filter(pl.col("class") == "read")
    exact_visits = solution.visit_frame().filter(pl.col("class") == "read")
    assert visits.get_column("station").to_list() == exact_visits.get_column("station").to_list()
    assert visits.get_column("throughput_per_s").to_list() == pytest.approx(
        exact_visits.get_column("throughput_per_s").to_list(), rel=0.1
    )


def test_the_same_seed_simulates_the_same() -> None:
    network = builtin("quorum-one", ["users=3"])
    assert simulate(network, seed=7, precision=0.1) == simulate(network, seed=7, precision=0.1)


def test_jmts_file_is_the_same_model() -> None:
    network = builtin("gandini-mongodb-4")
    back = parse_jsimg(jsimg_text(network))
    assert solve(back).throughput_per_s == pytest.approx(solve(network).throughput_per_s, rel=1e-9)


def test_many_are_solved_at_once_and_none_stops_the_others() -> None:
    good = builtin("gandini-cassandra-1")
    bad = good.model_copy(update={"routing": {}})
    found = solve_all([good, bad, good])
    assert isinstance(found[0], Solution)
    assert found[0] == found[2] == solve(good)
    assert isinstance(found[1], Refusal)
    assert "routing" in found[1].message


def test_bounds_hold_and_a_check_tells_the_demands() -> None:
    network = builtin("gandini-cassandra-1")
    [bound] = bounds(network)
    solution = solve(network)
    least, most = bound.throughput_per_s.least, bound.throughput_per_s.most
    assert least <= solution.throughput_per_s <= most
    assert bound.bottleneck == "cpu"
    [chain] = check(network).chains
    assert chain.demands_s["cpu"] == pytest.approx(0.6125e-3)
    with pytest.raises(InputError, match="no bounds"):
        bounds(builtin("quorum-all"))


def test_what_is_wrong_with_a_network_is_named() -> None:
    text = """
classes: [{name: read, users: 3}]
stations: [{name: cpu, service: {read: 1ms}}, {name: alone, service: {read: 1ms}}]
routing: {cpu: {read: cpu}, alone: {read: cpu}}
"""
    network = Network.parse(text)
    for door in (check, solve, simulate):
        with pytest.raises(InputError, match="station alone: no customer ever gets there"):
            door(network)


def test_users_and_arrivals_share_a_station() -> None:
    network = Network.parse("""
classes: [{name: user, users: 1}, {name: guest, interarrival: 500ms}]
stations:
  - {name: think, kind: delay, service: {user: 2s}}
  - {name: cpu, discipline: ps, service: {user: 1s, guest: 200ms}}
routing: {think: {user: cpu}, cpu: {user: think, guest: sink}, source: {guest: cpu}}
""")
    solution = solve(network)
    assert (solution.solver, solution.exact, solution.assumes) == ("mixed", True, ())
    # Guests take 0.4 of the server: the user finds what is left of it.
    assert solution.of_class("user").response_s == pytest.approx(1 / 0.6)
    queue = (1 / 0.6) / (2 + 1 / 0.6)
    assert solution.of_class("guest").response_s == pytest.approx(0.2 * (1 + queue) / 0.6)


def test_frames_have_a_row_each() -> None:
    solution = solve(builtin("gandini-mongodb-4"))
    assert solution.class_frame().get_column("name").to_list() == ["read", "write"]
    assert solution.station_frame().height == 10
    assert set(solution.visit_frame().filter(station="cpu2").get_column("class")) == {"read"}


def test_predictions_have_lines_and_points() -> None:
    _, names = FIGURES["gandini-figure-8"]
    networks = {name: builtin(name) for name in names}
    frame = predictions(networks, [1, 10], [10], precision=0.1)
    assert set(frame.get_column("panel")) == {
        "throughput (operations/s)",
        "mean read latency (ms)",
        "mean write latency (ms)",
    }
    assert frame.filter(source="solver").height == 3 * 3 * 2
    points = frame.filter(source="simulation")
    assert points.height == 3 * 3
    assert (points.get_column("low") <= points.get_column("value")).all()


CACHED = """
classes: [{name: all, users: 3, reference: client}]
stations:
  - {name: client, kind: delay, service: {'*': 1ms}}
  - {name: cpu, servers: 2, discipline: ps, service: {'*': 1ms}}
  - {name: disk, service: {'*': 5ms}, cached: {'*': 1}}
routing: {client: {'*': cpu}, cpu: {'*': disk}, disk: {'*': client}}
"""


@pytest.mark.parametrize(
    "solver", ["mva", "convolution", "ctmc", "schweitzer", "linearizer", "simulation"]
)
def test_a_station_whose_visits_all_take_no_time_is_as_none(solver: str) -> None:
    def rate_per_s(text: str) -> float:
        if solver != "simulation":
            return solve(Network.parse(text), solver).throughput_per_s
        found = simulate(Network.parse(text), precision=0.005).throughput_per_s
        assert found is not None
        return found.value

    without = "\n".join(line for line in CACHED.splitlines() if "name: disk" not in line)
    without = without.replace("cpu: {'*': disk}, disk: {'*': client}", "cpu: {'*': client}")
    near = 0.02 if solver == "simulation" else 1e-9
    assert rate_per_s(CACHED) == pytest.approx(rate_per_s(without), rel=near)


def test_no_sibling_may_need_the_network() -> None:
    one = {"users": 3, "nodes": 1, "replication": 1, "node_round_trip": 1.0}
    found = solve(quorum(Quorum.model_validate(one)))
    assert found.throughput_per_s > 3 / one["node_round_trip"]
