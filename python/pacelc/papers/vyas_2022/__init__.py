"""Vyas and Jat 2022: what ONE, QUORUM and ALL cost Cassandra, and regressions on it.

Source: Vyas, Jat: Study of consistency and performance trade-off in Cassandra. Computer Science &
Information Technology (CS & IT), 2022, pp. 61-77, doi:10.5121/csit.2022.121907 (CC BY).

Start here: :func:`mixed` (tables 6 to 10 in one frame), :func:`individual` (tables 4 and 5),
:func:`coefficients` (tables 11 to 13), :data:`EQUATIONS`, :data:`CLAIMS`.

table4, table5     reads alone, writes alone: latency and throughput by threads and level
table6 … table10   reads and writes mixed, 10/90 to 90/10: latencies by threads and setting
coefficients       tables 11 to 13: the regressions, as printed
tables             the loaders
equations          what the regressions' variables are, found by trying
claims             the findings, restated so that new runs can test them

Quality of the data
-------------------
Every table is one reading a cell: no repetition, no deviation, and no word on the order of runs.

- *The transcription is right.* The records of tables 6 to 10 give every figure of tables 11 to 13
  to its last printed digit, p-values of 10⁻¹¹³ included. Half a millisecond more or less in any
  one of the 360 latencies changes a printed digit.
- *There are 180 records, not 200.* 12 thread counts, 5 mixes, 3 settings; the printed p-values
  belong to 180 (with 200, p of equation 2's X1 would be 2·10⁻²⁸, where 1.2·10⁻²⁷ is printed).
- *Latencies went into the regressions in seconds, to four decimals*, threads in thousands, the
  write proportion as a fraction, the "write consistency measure" as 0, ½ and 1 for one, two and
  three written replicas. The paper says only that variables "are compressed".
- *Table 6, 2R-2W, 10 to 200 threads:* reads take two to four times as long as writes (191,277 µs at
  10 threads, and less at 50), where every other cell has less than 1.6. They were in the paper's
  regressions as printed.
- *Table 9, 2R-2W at 50 threads:* a read of 35,040 µs beside a write of 71,423, half of it.
- *Table 5, ALL at 200 threads:* 84,844 µs is below ONE's 138,283 and QUORUM's 162,299, against the
  paper's own sentence that ALL is slowest; with its 768 operations a second, 200 threads would have
  been busy for a third of the time, where the others were for two thirds or more.
- *Table 5, ALL at 50 threads:* the throughput's first digits are marked in the source; 593 agrees
  with the cell's latency (a share of busy threads of 0.81, its neighbours have 0.83 and 0.84).
- *The text against the tables:* "between 1240 and 110" for the throughput of reads at QUORUM and
  ALL, where table 4 has maxima of 1,235 and 1,107; "lowest consistency" where the lowest latency is
  meant; 1R-3W best "regardless of the current workload" for more reads, and in the next sentence
  2R-2W best at 90/10 with many threads, where table 10 has it in 600 and 800 threads only; "2R-1W"
  in a list of settings where 2R-2W or 1R-2W must be meant.
"""

from pacelc.papers.vyas_2022.claims import CLAIMS
from pacelc.papers.vyas_2022.equations import EQUATIONS, Equation
from pacelc.papers.vyas_2022.tables import TABLES, coefficients, individual, mixed, table

__all__ = [
    "CLAIMS",
    "EQUATIONS",
    "TABLES",
    "Equation",
    "coefficients",
    "individual",
    "mixed",
    "table",
]
