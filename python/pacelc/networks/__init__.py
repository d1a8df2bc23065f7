"""Queueing networks: as data, solved, simulated, traced, changed while they run; the built-in ones.

A network is data: stations, classes of customers, routes. It is read from YAML or JSON, built in
code, or one of those that come with pacelc; the engine checks, solves and simulates it.

Map
---
network         a network, frozen and checked as far as names go
distributions   of service times and of times between arrivals; times: how people write them
solve           the engine's solvers: typed results and frames; simulate: its simulator
changes, trace  what happens when something changes at a given time; one customer's way
predictions     networks over users, solved and simulated; exhibits: papers' networks beside runs
builtin         the networks that come with pacelc: gandini, quorum
regional        quorum levels under a rate of arrivals, in one place or in regions

Examples
--------
>>> from pacelc.networks import builtin
>>> builtin("gandini-cassandra-1").station("cpu").servers
2
"""

from pacelc.networks.builtin import BUILTIN, builtin
from pacelc.networks.changes import Changed, simulate_changes
from pacelc.networks.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Hyperexponential,
    Lognormal,
)
from pacelc.networks.gandini import Gandini, gandini
from pacelc.networks.network import Chosen, Class, Fork, Network, NetworkError, Pool, Station
from pacelc.networks.quorum import Quorum, quorum
from pacelc.networks.simulate import Simulated, simulate
from pacelc.networks.solve import Refusal, Solution, Summary, bounds, check, solve, solve_all, sweep
from pacelc.networks.trace import Trace, trace_customer

__all__ = [
    "BUILTIN",
    "Changed",
    "Chosen",
    "Class",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "Fork",
    "Gandini",
    "Hyperexponential",
    "Lognormal",
    "Network",
    "NetworkError",
    "Pool",
    "Quorum",
    "Refusal",
    "Simulated",
    "Solution",
    "Station",
    "Summary",
    "Trace",
    "bounds",
    "builtin",
    "check",
    "gandini",
    "quorum",
    "simulate",
    "simulate_changes",
    "solve",
    "solve_all",
    "sweep",
    "trace_customer",
]
