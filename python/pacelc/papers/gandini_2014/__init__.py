"""Gandini et al. 2014: what cores, nodes and copies do for Cassandra, MongoDB and HBase.

Source: Gandini, Gribaudo, Knottenbelt, Osman, Piazzolla: Performance evaluation of NoSQL databases.
EPEW 2014.

Start here: :func:`table` for the published numbers, :func:`demands` for those of the paper's models
with their units, :data:`CLAIMS` for the findings.

table1          the virtual machines
table2 … 4      CPU demands of the models: Cassandra, MongoDB, HBase
table5          relative errors of the models, per cent
stated          numbers of the text: of the experiments, and of network and disk in the models
tables          the loaders
demands         tables 2 to 4 and the text as one, in seconds, and the throughput that follows
claims          the findings, restated
exhibits        figures 2 to 5, and of tables 2 to 4 what can be measured, made again from runs;
                figures 8 to 10 show models, and are :mod:`pacelc.networks.exhibits`

Its figures have no numbers, so that nothing stands beside those that are made again; what the text
says of them is in their captions, and tested as claims.

The paper in doubt
------------------
- *Units of tables 2 to 4, and of the disk:* see :mod:`pacelc.papers.gandini_2014.demands`.
- *Cassandra's write on four nodes without copies, 0.8:* ten times that of one node (0.075), and
  five times that of four nodes with four copies (0.15). 0.08 would lie between them; 0.8 is kept.
- *Which writes go to the disk:* one in ten "on the DB", which we read as said of all three.
- *The machines:* all nodes of a database have the same, says section 3; in section 4.1 HBase's
  master and ZooKeeper have an m1.xlarge, which table 1 doesn't have.
- *The config server* has "a negligible load" in section 3, and bounds MongoDB's updates in 4.1.
- *How many nodes* section 4.3 has isn't said; tables 2, 3 and 5 and figure 10 have four.
- *Consistency levels, number and choice of records, lengths of runs, versions* aren't given. Nor is
  where MongoDB's reads go: slaves "can only perform read operations", but YCSB reads from masters.
- *Fifty users for one to eight cores:* where they don't fill a node, more cores have nothing to do.
"""

from pacelc.papers.gandini_2014.claims import CLAIMS
from pacelc.papers.gandini_2014.demands import (
    CONFIGURATIONS,
    Demands,
    demands,
    saturation_per_s,
)
from pacelc.papers.gandini_2014.tables import TABLES, stated, table

__all__ = [
    "CLAIMS",
    "CONFIGURATIONS",
    "TABLES",
    "Demands",
    "demands",
    "saturation_per_s",
    "stated",
    "table",
]
