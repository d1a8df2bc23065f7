"""The highest rate that holds an objective, found by open-loop runs; ladders of rates and knees.

What is asked is an `Objective`; one run's `Verdict` says whether it held, or who stood in the way.
The rules (`Search`, `Ladder`, `AutoLadder`) are pure functions from the trials so far to the next
rate, and the `Conductor` runs what they ask for, each rung an ordinary run of an ordinary results
directory.

Map
---
objective   limits, and what one run says of them
search      which rate to try next; the bracket
ladder      ladders of rates, given or found
threshold   a 95 % interval from all runs of a search
knee        where a latency-throughput curve has its knee
rung        a stored run, as the search sees it
plan        a study → runs at rates
conduct     replay, run, answer
answer      what was found; ``saturation.json``
"""

from pacelc.saturation.answer import Answer, conclude
from pacelc.saturation.conduct import Conductor
from pacelc.saturation.knee import Knee, Point, find_knee
from pacelc.saturation.ladder import AutoLadder, Ladder, parse_ladder, parse_rate
from pacelc.saturation.objective import Objective, Seen, Verdict, judge
from pacelc.saturation.plan import Load, Plan, one_scenario
from pacelc.saturation.rung import Rung, read_rung
from pacelc.saturation.search import Bracket, Search, Trial, tallies
from pacelc.saturation.threshold import threshold_interval

__all__ = [
    "Answer",
    "AutoLadder",
    "Bracket",
    "Conductor",
    "Knee",
    "Ladder",
    "Load",
    "Objective",
    "Plan",
    "Point",
    "Rung",
    "Search",
    "Seen",
    "Trial",
    "Verdict",
    "conclude",
    "find_knee",
    "judge",
    "one_scenario",
    "parse_ladder",
    "parse_rate",
    "read_rung",
    "tallies",
    "threshold_interval",
]
