"""Models that predict: queueing networks, what they say of a cluster, and laws of scalability.

A network is data: stations, classes of customers, routes. It is read from YAML or JSON, built in
code, or one of those that come with pacelc; the engine checks, solves and simulates it.

Map
---
network         a network, frozen and checked as far as names go; distributions, times
solve           the engine's solvers: typed results and frames; simulate: its simulator
changes, trace  what happens when something changes at a given time; one customer's way
predictions     networks over users, solved and simulated; exhibits: papers' models beside runs
builtin         the networks that come with pacelc: gandini, quorum
regional        quorum levels under a rate of arrivals, in one place or in regions
calibration     demands of a database, how sure they are, and where they were checked
fit             a calibration from runs: observations, without what they share at a time (drift),
                then work (regression), delays, and what the network misses (misses); what a
                configuration is, and the host that its nodes share
kept            what a calibration is fitted from, in one file
planning        the smallest cluster that holds a load
laws            the Universal Scalability Law, Amdahl's, linear; scale: of stored runs and tables
jsimg           JMT's files

Examples
--------
>>> from pacelc.models import builtin
>>> builtin("gandini-cassandra-1").station("cpu").servers
2
"""

from pacelc.models.builtin import BUILTIN, builtin, network_named
from pacelc.models.changes import Changed, simulate_changes
from pacelc.models.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Hyperexponential,
    Lognormal,
)
from pacelc.models.gandini import Gandini, gandini
from pacelc.models.laws import Law, capacity, fit_law
from pacelc.models.network import Chosen, Class, Fork, Network, NetworkError, Pool, Station
from pacelc.models.quorum import Quorum, quorum
from pacelc.models.simulate import Simulated, simulate
from pacelc.models.solve import Refusal, Solution, Summary, bounds, check, solve, solve_all, sweep
from pacelc.models.trace import Trace, trace_customer

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
    "Law",
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
    "capacity",
    "check",
    "fit_law",
    "gandini",
    "network_named",
    "quorum",
    "simulate",
    "simulate_changes",
    "solve",
    "solve_all",
    "sweep",
    "trace_customer",
]
