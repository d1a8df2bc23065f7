"""Kumarasinghe, Liyanage, Madushanka, Mendis 2015: YCSB on one machine, three databases.

Source: Kumarasinghe, Liyanage, Madushanka, Mendis: Performance comparison of NoSQL databases in
pseudo distributed mode: Cassandra, MongoDB & Redis. 2015.

Its results are figures without numbers, so there are no tables here: the findings in its text are
:data:`CLAIMS`, its figures are made again from runs (``exhibits``).

The paper in doubt
------------------
- *Size of the second experiment:* the text has 1,000,000 records, the captions of figures 22 to 24
  have 100,000.
- *Its workload* isn't named; it has reads and updates, as A does.
- *A run is 1,000 operations*, a second or less; nothing is repeated, and no interval is given.
- *Cassandra's writes* are weak "by default", says the text: YCSB's own default level, ONE.
"""

from pacelc.papers.kumarasinghe_2015.claims import CLAIMS

__all__ = ["CLAIMS"]
