"""``pacelc model convert``: between YAML, JSON and JMT's files."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads annotations when it runs
from typing import Annotated

import typer

from pacelc.cli.model.options import NetworkArgument, NetworkSetOption, network_named
from pacelc.cli.output import put
from pacelc.errors import InputError
from pacelc.files import write_text

__all__ = ["convert"]


def convert(
    network: NetworkArgument,
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="A .jsimg, .yaml or .json file to write.")
    ],
    set_: NetworkSetOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a network for JMT (.jsimg), or a file of JMT's as YAML or JSON.

    If a feature has no counterpart, it is named, and nothing is written.

    \b
    pacelc model convert gandini-cassandra-4 cassandra.jsimg
    pacelc model convert theirs.jsimg theirs.yaml
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.jsimg import jsimg_text  # noqa: PLC0415 - as above

    if out.exists() and not force:
        raise InputError(f"{out}: there is such a file", "--force replaces it")
    found = network_named(network, set_ or ())
    if out.suffix == ".jsimg":
        text = jsimg_text(found)
    elif out.suffix in (".yaml", ".yml"):
        text = found.to_yaml()
    elif out.suffix == ".json":
        text = found.to_json(indent=2) + "\n"
    else:
        raise InputError(f"{out}: unknown suffix", "known: .jsimg, .yaml, .json")
    write_text(out, text)
    put(out)
