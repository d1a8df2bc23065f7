"""The verbs, in the order in which help lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from pacelc import __version__
from pacelc.cli import output
from pacelc.cli.advise import advise
from pacelc.cli.check import check
from pacelc.cli.claims import claims
from pacelc.cli.clean import clean
from pacelc.cli.doctor import doctor
from pacelc.cli.export import export
from pacelc.cli.fault import fault
from pacelc.cli.levels import levels
from pacelc.cli.model import model
from pacelc.cli.output import put
from pacelc.cli.plan import plan
from pacelc.cli.power import power
from pacelc.cli.regress import regress
from pacelc.cli.report import report
from pacelc.cli.run import run
from pacelc.cli.saturate import saturate
from pacelc.cli.scenarios import scenarios
from pacelc.cli.schema import schema
from pacelc.cli.studies import studies
from pacelc.cli.up import up

__all__ = ["app"]

app = typer.Typer(
    name="pacelc",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure what consistency costs: Cassandra, MongoDB, Redis and HBase, on real clusters.",
    epilog="Begin with: pacelc run quickstart",
)


def _version(wanted: bool) -> None:
    if wanted:
        put(f"pacelc {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", envvar="PACELC_DEBUG", help="Show tracebacks instead of one-line errors."
        ),
    ] = False,
    _version_wanted: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Measure what consistency costs: Cassandra, MongoDB, Redis and HBase, on real clusters."""
    output.debug = debug


for verb in (
    run,
    saturate,
    scenarios,
    power,
    report,
    claims,
    export,
    check,
    clean,
    regress,
    advise,
    plan,
    up,
    doctor,
    fault,
    studies,
    levels,
    schema,
):
    app.command()(verb)
app.add_typer(model)
