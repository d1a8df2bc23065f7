"""Studies: a question about databases, written down so that a machine can put it.

A study says what is varied (**factors** and their levels), what is kept (**settings**), how often
and in what order scenarios are run. From it follow its **scenarios**, the combinations of levels,
and its **schedule**, the planned runs. Nothing here touches a server.

Start here: `Study.load`, then `Study.scenarios` and `Study.schedule`.

Map
---
definition      Study, Scenario, PlannedRun
settings        what one scenario needs to be run
external        a cluster that the user has
faults          what goes wrong in a run, and when
model           what all parts of a document have in common
values          durations, ranges, labels
source          YAML with the line of every value
assignments     ``--set key=value``
compared        which factor is compared, and which scales the load
outlook         what a study could tell from chance at best
consistency     levels resolved and checked by the engine
copies          levels as numbers of copies, whatever the database
promises        what each level promises, and where its vendor says so
distributions   how keys are chosen
workloads       the built-in workloads, by name
ycsb            YCSB's workload files as studies
properties      Java's property files
scenario_file   the scenario file of Ferreira et al. (2024), read and written
schema          JSON Schema for editors
"""

from pacelc.study.definition import (
    ClusterSharing,
    ListedScenario,
    Override,
    PlannedRun,
    Scenario,
    Study,
)
from pacelc.study.settings import Settings, Workload
from pacelc.study.source import StudyError, builtin_names

__all__ = [
    "ClusterSharing",
    "ListedScenario",
    "Override",
    "PlannedRun",
    "Scenario",
    "Settings",
    "Study",
    "StudyError",
    "Workload",
    "builtin_names",
]
