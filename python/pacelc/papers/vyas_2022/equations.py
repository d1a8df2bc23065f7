"""What the paper's regressions explain, and by what.

Only equation 2's variables are named in the paper (read latency, write latency, threads, proportion
of writes); those of 3 and 4 are found by trying: with these, and no other coding that we tried, the
paper's records give what it prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["EQUATIONS", "Equation"]


@dataclass(frozen=True)
class Equation:
    """One of the paper's regressions.

    Attributes
    ----------
    number
        As in the paper.
    title
        In words.
    y, x
        Columns of :func:`~pacelc.papers.vyas_2022.mixed`; ``x`` in the order X1, X2 …
    caution
        What the model itself can't give, whatever the records.
    """

    number: int
    title: str
    y: str
    x: tuple[str, ...]
    caution: str


_TOGETHER: Final = (
    "from 1R-3W to 3R-1W writes wait for fewer replicas and reads for more: the coefficient of "
    "write_consistency covers both, and assumes that 2R-2W is halfway"
)

EQUATIONS: Final = {
    e.number: e
    for e in (
        Equation(
            2,
            "the write consistency that goes with given latencies",
            "write_consistency",
            ("read_latency_s", "write_latency_s", "thousand_threads", "write_share"),
            "the equation reverses cause and effect, since the setting determines the latencies; "
            "its fitted y is seldom 0, ½ or 1",
        ),
        Equation(
            3,
            "read latency",
            "read_latency_s",
            ("write_consistency", "thousand_threads", "write_share"),
            _TOGETHER,
        ),
        Equation(
            4,
            "write latency",
            "write_latency_s",
            ("write_consistency", "thousand_threads", "write_share"),
            _TOGETHER,
        ),
    )
}
