"""What a network misses is carried over to neighbours, as far as it is more than chance."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacelc.models.configuration import Configuration
from pacelc.models.misses import fit_misses
from pacelc.models.observations import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Missed = Callable[[Cluster, str], float]

CLUSTERS = [
    Cluster(nodes, copies, 1, waited, users, share, coordinator="any", cores=2.0, shared=True)
    for nodes, copies, waited in ((1, 1, 1), (3, 1, 1), (3, 3, 1), (3, 3, 2), (3, 3, 3))
    for share, users in itertools.product((0.0, 0.25, 0.5, 0.75, 1.0), (1, 4, 16, 64))
]
NETWORK_S = {"read": 0.001, "write": 0.003}
CHANCE = 0.03


def smooth(cluster: Cluster, kind: str) -> float:
    """Few users are quicker than the network says, mixes slower, and writes of several copies."""
    mixed = cluster.read_share * (1 - cluster.read_share)
    more = 0.1 * np.log2(cluster.users) - 0.3 + mixed
    return float(np.exp(more + 0.1 * (cluster.waited - 1) * (kind == "write")))


def nothing(_cluster: Cluster, _kind: str) -> float:
    return 1.0


def kinds(cluster: Cluster) -> dict[str, float]:
    shares = {"read": cluster.read_share, "write": 1 - cluster.read_share}
    return {kind: share for kind, share in shares.items() if share > 0}


def times(cluster: Cluster, missed: Missed) -> dict[str, float]:
    """Return what would be measured of a cluster, all of whose users are busy."""
    means = {kind: NETWORK_S[kind] * missed(cluster, kind) for kind in kinds(cluster)}
    response = sum(share * means[kind] for kind, share in kinds(cluster).items())
    found = {"throughput_per_s": cluster.users / response}
    for kind, seconds in means.items():
        found |= {f"{kind}.latency_s": seconds, f"{kind}.p99_s": 3 * seconds}
    return found


def measured(cluster: Cluster, missed: Missed, rng: np.random.Generator) -> Configuration:
    seen = {
        name: value * float(rng.lognormal(0, CHANCE))
        for name, value in times(cluster, missed).items()
    }
    errors = {name: CHANCE * value for name, value in seen.items()}
    return Configuration(
        cluster,
        fitted=True,
        runs=3,
        clusters=1,
        measured=seen,
        standard_errors=errors,
        cores_used=2.0,
    )


def errors_of(held: Sequence[Cluster], missed: Missed, seed: int = 1) -> dict[str, float]:
    """Return the largest errors, by measure, of clusters that weren't fitted."""
    rng = np.random.default_rng(seed)
    fitted = [measured(one, missed, rng) for one in CLUSTERS if one not in held]
    said: list[Mapping[str, float | None]] = [times(one.cluster, nothing) for one in fitted]
    misses = fit_misses(fitted, said)
    worst: dict[str, float] = {}
    for one in held:
        truth = times(one, missed)
        found = misses.added(one, times(one, nothing))
        assert found.keys() == truth.keys()
        for name, value in truth.items():
            measure = name.split(".")[-1]
            worst[measure] = max(worst.get(measure, 0.0), abs(found[name] / value - 1))
    return worst


HELD = {
    "every third": CLUSTERS[1::3],
    "users": [one for one in CLUSTERS if one.users == 16],
    "mix": [one for one in CLUSTERS if one.read_share == 0.5],
    "level": [one for one in CLUSTERS if one.waited == 2],
}


@pytest.mark.parametrize("what", HELD)
def test_what_neighbours_miss_is_added(what: str) -> None:
    """Of up to 50 % that is missed."""
    worst = errors_of(HELD[what], smooth)
    assert max(worst.values()) < 0.1, worst


@pytest.mark.slow
def test_where_nothing_is_missed_little_is_added() -> None:
    for seed in range(5):
        worst = errors_of(HELD["every third"], nothing, seed)
        assert max(worst.values()) < 2 * CHANCE, worst


def test_what_is_a_clusters_own_is_no_other_sizes() -> None:
    """Three nodes with three copies are known; the others of a kind are slower by chance."""

    def own(cluster: Cluster, _kind: str) -> float:
        return {(1, 1): 0.94, (3, 1): 1.06, (3, 3): 1.0}[cluster.nodes, cluster.replication]

    # To those of the same cluster it is carried over.
    worst = errors_of(HELD["every third"], own)
    assert max(worst.values()) < 2 * CHANCE, worst
    worst = errors_of([one for one in CLUSTERS if one.replication == 3], own)
    assert max(worst.values()) < 2 * CHANCE, worst


SIZES = ((1, 1), (2, 1), (2, 2), (3, 1), (3, 3))


@pytest.mark.slow
@pytest.mark.parametrize("held", [(3, 1), (3, 3), (2, 2)])
def test_clusters_that_differ_by_chance_mislead_about_no_other_size(held: tuple[int, int]) -> None:
    """Each by 7 %: in the mean, throughput of a size that wasn't fitted is within 6 % all the same.

    With all that is missed carried over to neighbours it was within 12, 9 and 8 %.
    """
    mixes = itertools.product((0.0, 0.25, 0.5, 0.75, 1.0), (1, 4, 16, 64))
    at_one = [CLUSTERS[0]._replace(read_share=share, users=users) for share, users in mixes]
    off: list[float] = []
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        own = {size: float(rng.lognormal(0, 0.07)) for size in SIZES}
        missed: list[Configuration] = []
        for nodes, copies in (size for size in SIZES if size != held):

            def slower(cluster: Cluster, kind: str, by: float = own[nodes, copies]) -> float:
                return by * smooth(cluster, kind)

            there = [one._replace(nodes=nodes, replication=copies) for one in at_one]
            missed += [measured(one, slower, rng) for one in there]
        misses = fit_misses(missed, [times(one.cluster, nothing) for one in missed])
        for one in (o._replace(nodes=held[0], replication=held[1]) for o in at_one):
            found = misses.added(one, times(one, nothing))["throughput_per_s"]
            off.append(abs(found / times(one, smooth)["throughput_per_s"] - 1))
    assert np.mean(off) < 0.06


def test_far_from_what_was_fitted_the_network_stands_alone() -> None:
    rng = np.random.default_rng(2)
    fitted = [measured(one, smooth, rng) for one in CLUSTERS]
    misses = fit_misses(fitted, [times(one.cluster, nothing) for one in fitted])
    far = CLUSTERS[10]._replace(users=2**60, nodes=300)
    said = times(far, nothing)
    assert misses.added(far, said) == pytest.approx(said)


def test_few_latencies_tell_nothing() -> None:
    rng = np.random.default_rng(2)
    fitted = [measured(one, smooth, rng) for one in CLUSTERS if one.read_share == 1][:7]
    misses = fit_misses(fitted, [times(one.cluster, nothing) for one in fitted])
    said = times(CLUSTERS[3], nothing)
    assert misses.added(CLUSTERS[3], said) == said


def test_what_the_network_cannot_tell_stays_unknown() -> None:
    rng = np.random.default_rng(2)
    fitted = [measured(one, smooth, rng) for one in CLUSTERS]
    misses = fit_misses(fitted, [times(one.cluster, nothing) for one in fitted])
    assert misses.added(CLUSTERS[3], {"throughput_per_s": None, "write.p99_s": None}) == {}


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(len(CLUSTERS))), unit=st.floats(1e-6, 1e6))
def test_neither_order_nor_units_matter(order: list[int], unit: float) -> None:
    rng = np.random.default_rng(3)
    fitted = [measured(one, smooth, rng) for one in CLUSTERS]
    said: list[Mapping[str, float | None]] = [times(one.cluster, nothing) for one in fitted]
    scaled = [
        replace(
            one,
            measured={name: value * unit for name, value in one.measured.items()},
            standard_errors={name: value * unit for name, value in one.standard_errors.items()},
        )
        for one in fitted
    ]
    of_unit = [
        {name: value * unit for name, value in times(one.cluster, nothing).items()}
        for one in fitted
    ]
    new = CLUSTERS[7]._replace(users=8)
    first = fit_misses(fitted, said).added(new, times(new, nothing))
    other = fit_misses([scaled[i] for i in order], [of_unit[i] for i in order])
    again = other.added(new, {name: value * unit for name, value in times(new, nothing).items()})
    # Where the search ends differs by its own precision.
    assert again == pytest.approx({name: v * unit for name, v in first.items()}, rel=1e-3)
