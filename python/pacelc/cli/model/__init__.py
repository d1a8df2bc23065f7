"""``pacelc model``: queueing networks that predict, and laws of scalability; one file a verb.

Map
---
show, check, solve, simulate, change, trace, draw, convert      networks
scale, fit, dataset                                             from stored runs
options     what several of them have
"""

from __future__ import annotations

import typer

from pacelc.cli.model.change import change
from pacelc.cli.model.check import check
from pacelc.cli.model.convert import convert
from pacelc.cli.model.dataset import dataset
from pacelc.cli.model.draw import draw
from pacelc.cli.model.fit import fit
from pacelc.cli.model.scale import scale
from pacelc.cli.model.show import show
from pacelc.cli.model.simulate import simulate
from pacelc.cli.model.solve import solve
from pacelc.cli.model.trace import trace

__all__ = ["model"]

model = typer.Typer(
    name="model",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Predict: queueing networks, solved and simulated; laws of scalability.",
    epilog="Begin with: pacelc model solve gandini-cassandra-1 --users 1..30",
)
for verb in (show, check, solve, simulate, change, trace, draw, convert, scale, fit, dataset):
    model.command()(verb)
