"""Ferreira et al. 2024: what weak and strong consistency cost Cassandra, MongoDB and Redis.

Source: Ferreira, Mendonça, Nogueira, Tiengo, Andrade: Impacts of data consistency levels in
cloud-based NoSQL for data-intensive applications. Journal of Cloud Computing 13, 2024.

Start here: :func:`table` for the published numbers, :data:`CLAIMS` for the findings.

table5    CPU and memory of the primary node, per cent, mean over 1 to 10 users
table6    normality and p-values, single region
table7    normality and p-values, multiple regions
table8    change from weak to strong, per cent
points    what the text gives at one user count, and the change that it states
peaks     highest values that the text gives

Where the paper's numbers don't agree with each other, both are kept: at 1,389 and 1,083 writes a
second Redis loses 22 %, where the text says 25 %; the conclusion has the response time *decrease*
by 4,360 %, where it increases, and the mean increase of the writes that it seems to be about is
3,454 % in table 8. Section and table differ on MongoDB's reads in a single region too: the text
finds no significant variation, table 6 has p = 0.0013 for throughput.
"""

from pacelc.papers.ferreira_2024.claims import CLAIMS
from pacelc.papers.ferreira_2024.tables import TABLES, table

__all__ = ["CLAIMS", "TABLES", "table"]
