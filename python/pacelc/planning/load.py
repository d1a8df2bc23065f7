"""What a cluster has to hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pacelc.networks.network import Probability  # noqa: TC001 - pydantic reads annotations
from pacelc.study.copies import Level  # noqa: TC001 - pydantic reads annotations
from pacelc.study.model import Frozen

__all__ = ["Load"]


class Load(Frozen):
    """A rate of operations, and how fast the slow ones may be."""

    rate_per_s: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """Operations that arrive, whether or not earlier ones were answered."""
    read_share: Probability = 0.95
    """Of all operations."""
    read: Level = "quorum"
    """Copies that a read waits for."""
    write: Level = "quorum"
    """Copies that a write waits for."""
    percent: Annotated[float, Field(gt=0, lt=100)] = 99.0
    """Which percentile is limited, of reads and of writes, each."""
    limit_s: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    """It may be at most this."""
    regions: tuple[str, ...] = ()
    """Where nodes are, in turn; the clients are in the first."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Operations that there are."""
        shares = {"read": self.read_share, "write": 1 - self.read_share}
        return tuple(name for name, share in shares.items() if share > 0)
