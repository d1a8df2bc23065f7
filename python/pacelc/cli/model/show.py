"""``pacelc model show``: the built-in networks, or one network as YAML."""

from __future__ import annotations

from typing import Annotated

import typer

from pacelc.cli.model.options import NetworkSetOption, network_named
from pacelc.cli.options import JsonOption  # noqa: TC001 - as above
from pacelc.cli.output import put
from pacelc.cli.table import aligned

__all__ = ["show"]


def show(
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="[NETWORK]", help="A file or a built-in network's name.", show_default=False
        ),
    ] = None,
    set_: NetworkSetOption = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="List a built-in network's settings instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print a network as YAML; without a name, list those that come with pacelc.

    \b
    pacelc model show
    pacelc model show gandini-cassandra-1 > mine.yaml
    pacelc model show quorum-all --settings
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.errors import InputError  # noqa: PLC0415 - with the rest
    from pacelc.networks import BUILTIN  # noqa: PLC0415 - data frames take long

    if network is None:
        rows = [[name, one.about] for name, one in BUILTIN.items()]
        put(aligned(["network", "what it is"], rows))
    elif settings:
        if network not in BUILTIN:
            raise InputError(f"{network} is no built-in network: only those have settings")
        put(_settings(network))
    else:
        found = network_named(network, set_ or ())
        put(found.to_json(indent=2) if as_json else found.to_yaml(), end="\n" if as_json else "")


def _settings(name: str) -> str:
    from pacelc.networks import BUILTIN  # noqa: PLC0415 - as above
    from pacelc.networks.times import format_time  # noqa: PLC0415 - as above

    chosen = BUILTIN[name]
    defaults = chosen.fields()
    rows: list[list[object]] = []
    for field_name, field in chosen.settings.model_fields.items():
        key = field.alias or field_name
        default = defaults[key]
        shown = "" if default is None else str(default)
        if field_name.endswith("_s") and default is not None:
            shown = format_time(float(default))
        rows.append([key, shown, " ".join((field.description or "").split())])
    return aligned(["setting", "default", "what it is"], rows)
