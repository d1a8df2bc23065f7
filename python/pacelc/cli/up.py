"""``pacelc up``: a cluster to play with."""

from __future__ import annotations

import time
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from ruamel.yaml import YAML

from pacelc.cli.door import say
from pacelc.cli.table import aligned
from pacelc.errors import InputError
from pacelc.runner.interruption import Interrupted, interruptible
from pacelc.study.values import nearest, parse_duration_s

if TYPE_CHECKING:
    from pacelc.clusters import Cluster

__all__ = ["up"]

_POLL_S = 0.5


def _complete_database(incomplete: str) -> list[str]:
    from pacelc.clusters import DATABASES  # noqa: PLC0415 - drivers take long to import

    return [name for name in DATABASES if name.startswith(incomplete)]


def up(  # noqa: PLR0917 - options of a command
    database: Annotated[
        str,
        typer.Argument(
            help="One of redis, valkey, mongodb, cassandra, hbase.",
            autocompletion=_complete_database,
        ),
    ],
    nodes: Annotated[int, typer.Option(help="Nodes of the cluster.")] = 3,
    replication: Annotated[
        int | None, typer.Option(help="Copies of each record.", show_default="one on every node")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", "-o", metavar="KEY=VALUE", help="An option of the cluster. Repeatable."
        ),
    ] = None,
    timeout: Annotated[str, typer.Option(help="How long it may take until it serves.")] = "180s",
    workdir: Annotated[
        Path | None,
        typer.Option(help="Directory for its data.", show_default="the system's temporary one"),
    ] = None,
) -> None:
    """Start a cluster of real servers and keep it up until Ctrl-C.

    Prints its endpoints when it serves. Whatever ends this command ends the servers and removes
    their data.

    \b
    pacelc up redis
    pacelc up cassandra --nodes 3 --replication 3
    pacelc up mongodb --option port=27100
    """  # noqa: D301 - \b keeps the lines of the example apart
    # Drivers take long to import, and --help needs none.
    from pacelc.clusters import ClusterSpec, SpecError, open_cluster  # noqa: PLC0415
    from pacelc.clusters.control import Control  # noqa: PLC0415
    from pacelc.clusters.faults import Injector  # noqa: PLC0415

    try:
        spec = ClusterSpec(
            database, nodes=nodes, replication=replication, options=_options(option or [])
        )
    except SpecError as error:
        raise InputError(error.message, error.hint) from None
    serving = False
    with interruptible():
        try:
            with (
                open_cluster(
                    spec,
                    workdir=workdir,
                    on_event=lambda event: say(str(event)),
                    timeout_s=_seconds(timeout),
                ) as cluster,
                Control(Injector(cluster)) as control,
            ):
                serving = True  # before it is said: whoever reads it may end us at once
                typer.echo(_endpoints(cluster))
                say("serving; Ctrl-C ends it")
                while True:
                    time.sleep(_POLL_S)
                    control.injector.check_servers()
        except Interrupted:
            if not serving:
                raise
            say("ended")


def _endpoints(cluster: Cluster) -> str:
    rows = [
        [node.name, node.role, f"{node.host}:{node.ports['client']}", node.pid]
        for node in cluster.nodes
    ]
    return aligned(["node", "role", "endpoint", "pid"], rows)


def _options(assignments: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key:
            raise InputError(
                f"--option {assignment}: should be key=value", "for example --option port=17000"
            )
        options[key] = cast("Any", YAML(typ="safe", pure=True)).load(value)
    return options


def _seconds(text: str) -> float:
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise InputError(f"--timeout {error}", nearest(text, ())) from None
