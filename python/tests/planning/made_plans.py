"""Calibrations, loads and clusters to plan with."""

from __future__ import annotations

from hypothesis import strategies as st

from pacelc.calibration.document import Calibration, Demand, calibration_named
from pacelc.networks.solve import check
from pacelc.planning import Candidate, Load, Machine
from pacelc.study.copies import LEVELS

PAPER = calibration_named("gandini-2014-cassandra")
FULL = PAPER.model_copy(
    update={
        "demands": {
            **PAPER.demands,
            "copy_read_cpu": Demand(value=0.8e-3),
            "copy_write_cpu": Demand(value=2e-4),
            "acknowledged_cpu": Demand(value=1e-4),
            "log_cpu": Demand(value=5e-5),
            "write_wait": Demand(value=1e-3),
            "read_uncached": Demand(value=0.6),
        },
    }
)
"""A calibration that names every demand."""
LED = FULL.model_copy(update={"coordinator": "leader"})
REGIONS = ((), ("iowa", "oregon"), ("iowa", "south-carolina", "oregon"))

loads = st.builds(
    Load,
    rate_per_s=st.floats(10, 6_000),
    read_share=st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]),
    read=st.sampled_from(LEVELS),
    write=st.sampled_from(LEVELS),
    limit_s=st.just(0.02),
)
clusters = st.builds(
    lambda copies, more, cores: Candidate(copies + more, copies, Machine(cores=cores)),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(1, 6),
)
coordinators = st.sampled_from(["any", "replica", "leader"])


def load_of(rate_per_s: float, level: str = "quorum", **more: object) -> Load:
    """A load with the same level for reads and writes, and a limit that is no matter."""
    levels = {"read": level, "write": level}
    return Load.model_validate({"rate_per_s": rate_per_s, "limit_s": 1.0, **levels, **more})


def coordinated(calibration: Calibration, coordinator: str) -> Calibration:
    """The same database with another way to find a coordinator."""
    return calibration.model_copy(update={"coordinator": coordinator})


def used(network, cores: int, station: str = "cpu") -> dict[str, float]:
    """Utilisations of an open network's stations, from what is asked of them."""
    found: dict[str, float] = {}
    for chain in check(network).chains:
        for name, seconds in chain.demands_s.items():
            if name.startswith(station):
                found[name] = found.get(name, 0.0) + seconds * chain.arrivals_per_s / cores
    return found
