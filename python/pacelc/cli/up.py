"""``pacelc up``: a cluster to play with."""

from __future__ import annotations

import time
from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from pydantic import ValidationError

from pacelc.cli.options import ForceMemoryOption, number, whole
from pacelc.cli.output import put, say
from pacelc.cli.privilege import may_make_networks
from pacelc.cli.table import aligned
from pacelc.databases import FACTS
from pacelc.errors import InputError
from pacelc.runner.interruption import Interrupted, interruptible
from pacelc.study.links import NetworkLink
from pacelc.study.settings import tidy
from pacelc.study.source import parse_option
from pacelc.study.values import named, nearest, parse_bytes, parse_duration_s

if TYPE_CHECKING:
    from pacelc.clusters import Cluster

__all__ = ["up"]

_POLL_S = 0.5


def _complete_database(incomplete: str) -> list[str]:
    from pacelc.clusters import DATABASES  # noqa: PLC0415 - drivers take long to import

    return [name for name in DATABASES if name.startswith(incomplete)]


def _complete_regions(incomplete: str) -> list[str]:
    from pacelc.clusters.network.regions import REGIONS  # noqa: PLC0415

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in REGIONS if name.startswith(last)]


def up(  # noqa: PLR0917 - options of a command
    database: Annotated[
        str,
        typer.Argument(
            help=f"One of {', '.join(FACTS)}.",
            autocompletion=_complete_database,
        ),
    ],
    nodes: Annotated[int, whole(help="Nodes of the cluster.")] = 3,
    replication: Annotated[
        int | None, whole(help="Copies of each record.", show_default="one on every node")
    ] = None,
    regions: Annotated[
        str | None,
        typer.Option(
            metavar="REGION,…",
            help="Where the nodes are, in turn, on an emulated network.",
            autocompletion=_complete_regions,
        ),
    ] = None,
    client_region: Annotated[
        str | None,
        typer.Option(metavar="REGION", help="Where clients are.", show_default="the first"),
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WAY=LINK",
            help="A link over the regions' own: 'a -> b={loss: 1%}'. Repeatable.",
        ),
    ] = None,
    network: Annotated[
        Literal["auto", "namespaces", "loopback"],
        typer.Option(
            help="Whether nodes are hosts of an emulated network; auto: with regions or links."
        ),
    ] = "auto",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", "-o", metavar="KEY=VALUE", help="An option of the cluster. Repeatable."
        ),
    ] = None,
    sharding: Annotated[
        Literal["none", "client", "mongos"],
        typer.Option(help="MongoDB: how records are spread over replica sets."),
    ] = "none",
    shards: Annotated[int, whole(help="MongoDB: replica sets.")] = 1,
    cores: Annotated[
        float | None,
        number(help="Processor cores of each node, whole or not.", show_default="all, shared"),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory of each node, such as 1GiB.",
            show_default="all, shared",
        ),
    ] = None,
    no_idle_states: Annotated[
        bool,
        typer.Option("--no-idle-states", help="Disable the processors' idle states meanwhile."),
    ] = False,
    force_memory: ForceMemoryOption = False,
    timeout: Annotated[
        str,
        typer.Option(help="How long up to 3 nodes may take until they serve; more in proportion."),
    ] = "180s",
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
    pacelc up cassandra --nodes 3 --regions iowa,south-carolina,oregon
    pacelc up redis --regions iowa,tokyo --link '*={jitter: 2ms, loss: 0.1%}'
    pacelc up mongodb --nodes 4 --sharding client --shards 2 --option port=27100
    pacelc up redis --cores 0.5 --memory 1GiB
    """  # noqa: D301 - \b keeps the lines of the example apart
    # Drivers take long to import, and --help needs none.
    from pacelc.clusters import ClusterSpec, SpecError, open_cluster  # noqa: PLC0415
    from pacelc.clusters.checking import checked  # noqa: PLC0415
    from pacelc.clusters.faults.control import Control  # noqa: PLC0415
    from pacelc.clusters.faults.injection import Injector  # noqa: PLC0415
    from pacelc.clusters.network.links import Link  # noqa: PLC0415

    try:
        spec = ClusterSpec(
            database,
            nodes=nodes,
            replication=replication,
            options=_options(option or []),
            regions=[name.strip() for name in regions.split(",")] if regions else [],
            client_region=client_region,
            links={
                way: Link(**changes.model_dump(by_alias=False))
                for way, changes in map(_link, link or [])
            },
            network=network,
            sharding=sharding,
            shards=shards,
            cores=cores,
            memory_bytes=_memory_bytes(memory),
            no_idle_states=no_idle_states,
        )
        checked(spec)
    except SpecError as error:
        raise InputError(error.message, error.hint) from None
    if spec.emulated:
        may_make_networks()
    serving = False
    with interruptible():
        try:
            with (
                open_cluster(
                    spec,
                    workdir=workdir,
                    on_event=lambda event: say(str(event)),
                    timeout_s=_seconds(timeout),
                    force_memory=force_memory,
                ) as cluster,
                Control(Injector(cluster)) as control,
            ):
                serving = True  # before it is said: whoever reads it may end us at once
                put(_endpoints(cluster))
                if login := _login(cluster):
                    say(login)
                if cluster.network is not None:
                    say(f"to be where clients are: {cluster.network.way_in()} COMMAND")
                say("serving; Ctrl-C ends it")
                while True:
                    time.sleep(_POLL_S)
                    control.injector.check_servers()
        except Interrupted:
            if not serving:
                raise
            say("ended")


def _endpoints(cluster: Cluster) -> str:
    places = {} if cluster.network is None else cluster.network.places
    rows = [
        [
            node.name,
            node.role,
            f"{node.host}:{node.ports['client']}",
            node.pid,
            *([places[node.host]] if places else []),
        ]
        for node in cluster.nodes
    ]
    return aligned(["node", "role", "endpoint", "pid", *(["region"] if places else [])], rows)


def _login(cluster: Cluster) -> str | None:
    """Return how to get in; None where there is no password."""
    login = FACTS[cluster.spec.database].login
    if not login:
        return None
    security, endpoint = cluster.target()["security"], cluster.endpoints[0]
    command = login.format(
        user=security["user"],
        password_file=quote(security["password"]["file"]),
        host=endpoint.host,
        port=endpoint.port,
    )
    return f"to get in: {command}"


def _link(assignment: str) -> tuple[str, NetworkLink]:
    way, equals, text = assignment.partition("=")
    example = "for example --link 'iowa <-> oregon={delay: 50ms, loss: 1%}'"
    if not equals:
        raise InputError(f"--link {assignment}: should be way={{property: value}}", example)
    try:
        return way.strip(), NetworkLink.model_validate(parse_option(f"--link {way}", text))
    except ValidationError as error:
        first = error.errors()[0]
        message, hint = tidy(first)
        field = "".join(f" {part}:" for part in first["loc"])
        raise InputError(f"--link {way}:{field} {message}", hint or example) from None


def _options(assignments: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        # What isn't understood isn't repeated: it may hold a password.
        if not equals or not key:
            raise InputError("--option should be key=value", "for example --option port=17000")
        options[key] = parse_option(f"--option {named(key)}", value)
    return options


def _memory_bytes(text: str | None) -> int | None:
    try:
        return None if text is None else parse_bytes(text)
    except ValueError as error:
        raise InputError(f"--memory {error}") from None


def _seconds(text: str) -> float:
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise InputError(f"--timeout {error}", nearest(text, ())) from None
