"""The smallest cluster that holds a load: candidates are solved, the likely ones simulated.

Map
---
load        what is asked: rate, mix, levels, objective, regions
candidates  clusters to choose from, with prices
solver      thousands of clusters at once: utilisations, means and percentiles, approximated
losses      what a lost node or region leaves
search      which is the smallest, as simulation confirms → :class:`Plan`
reasons     how sure it is, what drives it, where it wasn't checked
frame       the sweep as a table

Start here: :func:`plan`.
"""

from pacelc.models.planning.candidates import Candidate, Machine, PriceList, candidates
from pacelc.models.planning.load import Load
from pacelc.models.planning.search import Plan, plan

__all__ = ["Candidate", "Load", "Machine", "Plan", "PriceList", "candidates", "plan"]
