"""Histories: the operations that clients did, one by one, and what checkers find in them.

The checkers are the engine's (``crates/history``); here runs and files are made what they read.

Map
---
log         a run's log of operations → what the checkers say of it
registers   the same → operations on registers
files       a file or a run → whether it is linearizable
"""

from pacelc.history.log import Reading, fates, observe, staleness

__all__ = ["Reading", "fates", "observe", "staleness"]
