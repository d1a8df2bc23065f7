"""Random clusters with quorum levels, for laws."""

from __future__ import annotations

from hypothesis import strategies as st

from pacelc.networks.quorum import Quorum
from pacelc.study.copies import LEVELS

TIMES = ("read_cpu", "write_cpu", "copy_read_cpu", "copy_write_cpu", "acknowledged_cpu")
DELAYS = ("client_round_trip", "node_round_trip", "write_wait")


@st.composite
def clusters(draw: st.DrawFn) -> Quorum:
    """Any sizes, levels and times; nothing needs a disk."""
    copies = draw(st.integers(1, 4))
    return Quorum.model_validate(
        {
            "users": draw(st.integers(1, 40)),
            "nodes": copies + draw(st.integers(0, 4)),
            "replication": copies,
            "cores": draw(st.integers(1, 4)),
            "read": draw(st.sampled_from(LEVELS)),
            "write": draw(st.sampled_from(LEVELS)),
            "read_share": draw(st.sampled_from([0.0, 0.3, 1.0])),
            "coordinator": draw(st.sampled_from(["any", "replica", "leader"])),
            "read_uncached": 0.0,
            "write_uncached": 0.0,
            **{name: draw(st.floats(1e-6, 2e-3)) for name in (*TIMES, *DELAYS)},
        }
    )
