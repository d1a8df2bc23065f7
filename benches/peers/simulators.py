"""Other simulators on the benchmark's network; run by the Python that they are installed in.

``python simulators.py NAME VISITS`` prints how many visits to stations were simulated, and the
processor time that took, without what starting up takes.
"""

# pyright: basic, reportMissingImports=false
from __future__ import annotations

import json
import random
import resource
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS = 20
MEANS_S = {"think": 1.0, "cpu": 0.05, "disk": 0.04, "net": 0.03}
SERVERS = {"cpu": 2, "disk": 1, "net": 1}
ROUTES = {
    "think": {"cpu": 1.0},
    "cpu": {"disk": 0.5, "net": 0.5},
    "disk": {"cpu": 1.0},
    "net": {"think": 0.5, "cpu": 0.5},
}
VISITS_PER_S = 85.0
"""About; for those that are told how long to simulate, not how much."""


def cpu_s() -> float:
    """Processor time so far, of child processes too."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def ldes(visits: int) -> tuple[int, float]:
    """LINE's compiled simulator."""
    import line_solver as line  # noqa: PLC0415 -- only where it is installed

    line.GlobalConstants.set_verbose(line.VerboseLevel.SILENT)
    model = line.Network("benchmark")
    stations = {"think": line.Delay(model, "think")}
    for name, servers in SERVERS.items():
        stations[name] = line.Queue(model, name, line.SchedStrategy.FCFS)
        stations[name].setNumberOfServers(servers)
    users = line.ClosedClass(model, "users", USERS, stations["think"])
    routing = model.initRoutingMatrix()
    for name, station in stations.items():
        station.setService(users, line.Exp(1.0 / MEANS_S[name]))
        for to, probability in ROUTES[name].items():
            routing.set(users, users, station, stations[to], probability)
    model.link(routing)
    begin = cpu_s()
    line.LDES(model, seed=1, samples=visits).getAvgTable()
    return visits, cpu_s() - begin


def ciw(visits: int) -> tuple[int, float]:
    """Ciw."""
    import ciw  # noqa: PLC0415 -- only where it is installed

    names = list(MEANS_S)
    once = ciw.dists.Sequential([1e-9] * USERS + [float("inf")])
    network = ciw.create_network(
        arrival_distributions=[once, None, None, None],
        service_distributions=[ciw.dists.Exponential(1.0 / MEANS_S[name]) for name in names],
        number_of_servers=[SERVERS.get(name, float("inf")) for name in names],
        routing=[[ROUTES[name].get(to, 0.0) for to in names] for name in names],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    begin = cpu_s()
    simulation.simulate_until_max_time(visits / VISITS_PER_S)
    took = cpu_s() - begin
    return len(simulation.get_all_records()), took


def simpy(visits: int) -> tuple[int, float]:
    """SimPy."""
    import simpy  # noqa: PLC0415 -- only where it is installed

    environment = simpy.Environment()
    queues = {name: simpy.Resource(environment, servers) for name, servers in SERVERS.items()}
    ways = {name: (list(to), list(to.values())) for name, to in ROUTES.items()}
    draw = random.Random(1)
    done = 0

    def user() -> Iterator[simpy.Event]:
        nonlocal done
        at = "think"
        while True:
            if at == "think":
                yield environment.timeout(draw.expovariate(1.0 / MEANS_S[at]))
            else:
                with queues[at].request() as place:
                    yield place
                    yield environment.timeout(draw.expovariate(1.0 / MEANS_S[at]))
            done += 1
            to, weights = ways[at]
            at = to[0] if len(to) == 1 else draw.choices(to, weights)[0]

    for _ in range(USERS):
        environment.process(user())
    begin = cpu_s()
    environment.run(until=visits / VISITS_PER_S)
    return done, cpu_s() - begin


if __name__ == "__main__":
    simulated, took_s = {"ldes": ldes, "ciw": ciw, "simpy": simpy}[sys.argv[1]](int(sys.argv[2]))
    json.dump({"visits": simulated, "cpu_s": took_s}, sys.stdout)
