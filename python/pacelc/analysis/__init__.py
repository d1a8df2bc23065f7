"""From runs to estimates, tests and warnings. Reads the store, never a cluster.

The map
-------
estimate     a value with its interval and n; means, ratios and changes over the cells of a design
design       which factor is the level, which the load, which make groups
comparison   do two levels differ: the paper's tests, and the paired one
summary      the study in tables
quality      what weakens the evidence, and which runs it disqualifies
verdict      why a question has no answer; qualified: answers without the runs that are no evidence
account      where the time went
unavailability  what faults cost: time without success, to notice, to recover
versions     stale reads and lost writes, as a run's log proves them
observed     what clients observed at each level, beside what it promises
pbs          how soon a write should be visible, predicted from network and levels
classification  PACELC's letters: the rules; partitions: the evidence for them, from runs
regression   one column explained by others, with what weakens it; terms, ols: its design, its fit
records      tables to start from: runs, a CSV file, a paper's
advice       which strongly consistent setting is fastest for a mix and a load; expectation: what
             each would give there

Examples
--------
>>> from pacelc.store import load
>>> from pacelc.analysis import Design, compare
>>> design = Design.of(load("results/quickstart"))                       # doctest: +SKIP
>>> for c in compare(design): print(c.group, c.metric.title, c.change)   # doctest: +SKIP
redis, update throughput -17.7 [-20.3; -15.6] % (n=12)
"""

from pacelc.analysis.account import TimeAccount, time_account
from pacelc.analysis.comparison import (
    Comparison,
    PairedTest,
    PaperTest,
    compare,
    holm,
    normality,
    paired_test,
    paper_test,
)
from pacelc.analysis.design import ALL_OPERATIONS, METRICS, Design, Group, Metric
from pacelc.analysis.estimate import (
    Cells,
    Estimate,
    change_estimate,
    geometric_mean_estimate,
    marginal_mean,
    mean_estimate,
    positive_ends,
    ratio_estimate,
    share_estimate,
)
from pacelc.analysis.quality import Weakness, weaknesses
from pacelc.analysis.regression import Caution, Prediction, Regression, regress
from pacelc.analysis.summary import (
    by_load,
    changes,
    comparisons_frame,
    resource_use,
    resource_use_by_load,
)

__all__ = [
    "ALL_OPERATIONS",
    "METRICS",
    "Caution",
    "Cells",
    "Comparison",
    "Design",
    "Estimate",
    "Group",
    "Metric",
    "PairedTest",
    "PaperTest",
    "Prediction",
    "Regression",
    "TimeAccount",
    "Weakness",
    "by_load",
    "change_estimate",
    "changes",
    "compare",
    "comparisons_frame",
    "geometric_mean_estimate",
    "holm",
    "marginal_mean",
    "mean_estimate",
    "normality",
    "paired_test",
    "paper_test",
    "positive_ends",
    "ratio_estimate",
    "regress",
    "resource_use",
    "resource_use_by_load",
    "share_estimate",
    "time_account",
    "weaknesses",
]
