"""The smallest cluster that holds a load: candidates are solved, the likely ones simulated.

Map
---
load        what is asked: rate, mix, levels, objective, regions
candidates  clusters to choose from, with prices
solver      thousands of clusters at once: utilisations, means and percentiles, approximated
cases       candidates as the solver takes them; without a node or a region
confirm     what a simulation says of one
degraded    what a lost node or region leaves, as it is simulated
losses      what a lost node or region leaves
search      which is the smallest, as simulation confirms
answer      what was found: :class:`Plan`; as a table
diagnostics how sure it is, what drives it, what it assumes, where it wasn't checked
executor    who solves and simulates: this process, or others
document    a plan for programs
figure      its candidates, drawn

Start here: :func:`plan`.
"""

from pacelc.planning.answer import Plan
from pacelc.planning.candidates import Candidate, Machine, PriceList, candidates
from pacelc.planning.load import Load
from pacelc.planning.search import plan

__all__ = ["Candidate", "Load", "Machine", "Plan", "PriceList", "candidates", "plan"]
