"""Network: every node a host of its own, where it is, and what happens to packets on the way."""
