"""Settings of a configuration: what isn't waited for is done all the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import WAITS, clusters, truth

from pacelc.models.configuration import Ready, Waits, settings_of
from pacelc.models.host import on_one_host
from pacelc.models.quorum import quorum
from pacelc.models.solve import check

if TYPE_CHECKING:
    from pacelc.models.observations import Cluster
    from pacelc.models.quorum import Quorum

ALL = [
    one._replace(journaled=one.waited > 1)
    for coordinator in ("any", "leader")
    for one in clusters(coordinator=coordinator)
]
shares = st.floats(0.0, 1.0)


def work_s(model: Quorum) -> float:
    """What an operation takes of processors, waited for or not."""
    (chain,) = check(on_one_host(quorum(model))).chains
    return chain.demands_s["cpu"]


@settings(max_examples=60, deadline=None)
@given(cluster=st.sampled_from(ALL), beside=shares, later=shares)
def test_what_is_not_waited_for_is_done_all_the_same(
    cluster: Cluster, beside: float, later: float
) -> None:
    waits = replace(WAITS, woken_beside=beside, written_later=later)
    none = replace(WAITS, woken_beside=0.0, written_later=0.0)
    some, all_of_it = (settings_of(cluster, truth(), one) for one in (waits, none))
    assert work_s(some) == pytest.approx(work_s(all_of_it), rel=1e-9)
    assert all_of_it.write_after_cpu_s == all_of_it.coordinator_after_cpu_s == 0


@settings(max_examples=60, deadline=None)
@given(cluster=st.sampled_from(ALL), beside=shares, later=shares, available=st.floats(0.5, 1.0))
def test_a_configuration_that_is_ready_has_the_processor_times_of_its_waits(
    cluster: Cluster, beside: float, later: float, available: float
) -> None:
    work = truth()
    waits = Waits({}, woken_beside=beside, written_later=later, available=available)
    found = Ready(cluster, work).settings(waits)
    free = (cluster.cores * available - work.background_cores(cluster)) / found.cores
    for name, seconds in work.demands_s(cluster, beside, later).items():
        assert getattr(found, name) == pytest.approx(seconds / free, rel=1e-9, abs=1e-15), name
