"""Haughian, Osman, Knottenbelt 2016: what replication costs Cassandra and MongoDB.

Source: Haughian, Osman, Knottenbelt: Benchmarking replication in Cassandra and MongoDB NoSQL
datastores. DEXA 2016.

Start here: :func:`table` for the published numbers, :data:`CLAIMS` for the findings,
:func:`difference_percent` for what the tables' numbers are.

table2      Cassandra: difference between replicated and non-replicated clusters, per cent
table3      MongoDB: the same
averages    the means of those differences that the text states
tables      the loaders, and the formula
claims      the findings, restated
exhibits    figures 2 and 3, tables 2 and 3, made again from runs

What "difference (%)" is
------------------------
The paper doesn't say. Values up to 143 can't be the share that is lost. Of the baseline over the
replicated cluster less one, they would make its write-heavy throughput 3 to 8 % below the
read-heavy one with copies, where the text has 30 to 40 %. The symmetric difference, of the mean of
both, fits: with the text's 33.1 % between the workloads on clusters without replication, table 2
then gives 40, 35 and 28 % for the three distributions (stated: 39.6, 37.9, 30.3) and 17, 40 and
47 % for the three levels (stated: 19.5, 38.6, 49.7). So 100 % means a third of the baseline's
throughput, and nothing exceeds 200.

Where the paper disagrees with itself
-------------------------------------
- *Table 3, latest, ALL, workload H:* its four values, 76.7, 127, 137.4 and 122.2, are those of
  table 2's cell of the same place. Everything around them is below 80. They are in the text's
  averages: 40.3 % from 6 nodes on needs them, without them it would be 29.2.
- *The text's averages for Cassandra:* 55.1 and 94.4 % (G) at QUORUM and ALL, where table 2 has
  means of 37.6 and 56.9; 104 and 120.7 (H), where it has 100.3 and 119.2. Those of all levels,
  41.1 and 98 %, are the table's.
- *QUORUM of two copies is both of them:* on three nodes Cassandra's QUORUM and ALL ask for the
  same, and what table 2 has between them there (up to 12 points) is what two runs differ by.
- *Replication factor 2 of MongoDB:* the text counts the two secondaries of a shard of three.
"""

from pacelc.papers.haughian_2016.claims import CLAIMS
from pacelc.papers.haughian_2016.tables import TABLES, difference_percent, table

__all__ = ["CLAIMS", "TABLES", "difference_percent", "table"]
