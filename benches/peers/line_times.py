"""LINE's times for the networks of ``benches/queueing.py``: the same stations and classes.

Reads a list of networks (``method``, ``think_s``, ``demands_s`` by class and station, ``users``
by class, ``servers``) on standard input, and prints the seconds that each takes, best of three,
and its throughput.
"""

from __future__ import annotations

import json
import sys
import time

import line_solver as line


def solve(network: dict) -> dict:
    """Build the network anew for each time: solutions are kept in it."""
    best = float("inf")
    throughput = 0.0
    for _ in range(3):
        model = line.Network("m")
        client = line.Delay(model, "client")
        queues = []
        for index, servers in enumerate(network["servers"]):
            queue = line.Queue(model, f"s{index}", line.SchedStrategy.PS)
            queue.setNumberOfServers(servers)
            queues.append(queue)
        matrix = model.initRoutingMatrix()
        for number, (users, demands) in enumerate(
            zip(network["users"], network["demands_s"], strict=True)
        ):
            job = line.ClosedClass(model, f"c{number}", users, client)
            client.setService(job, line.Exp(1 / network["think_s"]))
            for queue, demand in zip(queues, demands, strict=True):
                queue.setService(job, line.Exp(1 / demand))
            matrix.set(job, job, line.Network.serialRouting(client, *queues))
        model.link(matrix)
        begin = time.perf_counter()
        table = line.SolverMVA(model, method=network["method"], verbose=False).getAvgTable()
        best = min(best, time.perf_counter() - begin)
        throughput = float(table["Tput"].iloc[0])
    return {"seconds": best, "throughput_per_s": throughput}


if __name__ == "__main__":
    json.dump([solve(network) for network in json.load(sys.stdin)], sys.stdout)
