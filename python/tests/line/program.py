"""Answer questions on standard input with LINE: for each network, its clients' throughput.

A question is ``{"closed": {"think", "users", "servers", "demands"}}``, a network of queues that
share their processor, or ``{"jsimg": FILE, "solver": NAME, "options": {...}}``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import line_solver as line
from line_solver.api.io import jmt_io


def closed(given: dict[str, Any]) -> Any:
    """Return LINE's table for users that think, and go through queues in turn."""
    model = line.Network("m")
    client = line.Delay(model, "client")
    queues = []
    for number, servers in enumerate(given["servers"]):
        queue = line.Queue(model, f"s{number}", line.SchedStrategy.PS)
        queue.setNumberOfServers(servers)
        queues.append(queue)
    routing = model.initRoutingMatrix()
    for number, users in enumerate(given["users"]):
        job = line.ClosedClass(model, f"c{number}", users, client)
        client.setService(job, line.Exp(1 / given["think"]))
        for queue, demand in zip(queues, given["demands"][number], strict=True):
            queue.setService(job, line.Exp(1 / demand))
        routing.set(job, job, line.Network.serialRouting(client, *queues))
    model.link(routing)
    return line.SolverCTMC(model, verbose=False).getAvgTable()


def from_file(question: dict[str, Any]) -> Any:
    """Return LINE's table for a network in JMT's format."""
    solver = getattr(line, question["solver"])
    return solver(jmt_io.jsim2line(question["jsimg"]), **question["options"]).avg_table()


def throughputs(question: dict[str, Any]) -> list[float]:
    """Return the throughput of each class of users at the client."""
    table = closed(question["closed"]) if "closed" in question else from_file(question)
    rows = table.to_dict("records")
    return [float(row["Tput"]) for row in rows if str(row["Station"]) == "client"]


print(json.dumps([throughputs(question) for question in json.load(sys.stdin)]))
