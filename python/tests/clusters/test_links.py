"""Every pair of hosts has the link that regions and entries give it, and nothing else is taken."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.clusters import ClusterSpec, SpecError
from pacelc.clusters.network.emulation import hosts_of
from pacelc.clusters.network.links import DISTRIBUTIONS, Host, Link, Way, as_request, links_between
from pacelc.clusters.network.regions import (
    REGIONS,
    ROUND_TRIPS_MS,
    ZONES_ROUND_TRIP_MS,
    region_of,
    round_trip_ms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACES = st.sampled_from([name + zone for name in REGIONS for zone in ("", "-a", "-b")])
SHARES = st.none() | st.floats(0, 1)
LINKS = st.builds(
    Link,
    delay_s=st.none() | st.floats(0, 60),
    jitter_s=st.none() | st.floats(0, 60),
    distribution=st.none() | st.sampled_from(DISTRIBUTIONS),
    loss=SHARES,
    duplicate=SHARES,
    reorder=SHARES,
    bandwidth_bps=st.none() | st.floats(1, 1e12),
    queue_bytes=st.none() | st.integers(1, 10**9),
)


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[Host], dict[str, Link]]:
    """Draw hosts, and entries whose ends are places of theirs, hosts or everything."""
    places = draw(st.lists(PLACES, min_size=1, max_size=5))
    hosts = [Host(f"n{i + 1}", f"10.77.0.{i + 1}", place) for i, place in enumerate(places)]
    hosts.append(Host("client", "10.77.255.1", places[0]))
    end = st.sampled_from(["*", *places, *map(region_of, places), *(host.name for host in hosts)])
    ways = st.builds("{} {} {}".format, end, st.sampled_from(["->", "<->"]), end) | st.just("*")
    return hosts, draw(st.dictionaries(ways, LINKS, max_size=4))


@given(networks())
def test_a_pair_has_the_last_value_that_an_entry_for_it_gives_else_its_regions(
    network: tuple[list[Host], dict[str, Link]],
) -> None:
    hosts, entries = network
    links = links_between(hosts, entries)
    assert set(links) == {(a.name, b.name) for a, b in itertools.permutations(hosts, 2)}
    for source, target in itertools.permutations(hosts, 2):
        said = []
        for text, link in entries.items():
            left, arrow, right = text.split(" ") if text != "*" else ("*", "->", "*")
            forth = source.is_in(left) and target.is_in(right)
            back = arrow == "<->" and source.is_in(right) and target.is_in(left)
            if forth or back:
                said.append(link)
        delays = [link.delay_s for link in said if link.delay_s is not None]
        own_s = (round_trip_ms(source.place, target.place) or 0) / 2000
        assert links[source.name, target.name].delay_s == (delays[-1] if delays else own_s)
        losses = [link.loss for link in said if link.loss is not None]
        assert links[source.name, target.name].loss == (losses[-1] if losses else None)


@given(networks())
def test_changes_that_are_taken_back_leave_what_was_there(
    network: tuple[list[Host], dict[str, Link]],
) -> None:
    hosts, entries = network
    assert links_between(hosts, entries, {}) == links_between(hosts, entries)
    assert links_between(hosts, {}, entries) == links_between(hosts, entries)


@given(networks())
def test_a_request_says_everything_of_every_pair_in_the_engines_units(
    network: tuple[list[Host], dict[str, Link]],
) -> None:
    links = links_between(*network)
    request = as_request(links)
    assert [(r["from"], r["to"]) for r in request] == [([a], [b]) for a, b in links]
    for said, link in zip(request, links.values(), strict=True):
        assert said["delay_us"] == pytest.approx((link.delay_s or 0) * 1e6, abs=0.5)
        assert said["bandwidth_bps"] is None or said["bandwidth_bps"] >= 1
        assert said["jitter"] in DISTRIBUTIONS
        assert not any(value is None for name, value in said.items() if not name.endswith("s"))


@given(PLACES, PLACES, PLACES)
def test_round_trips_are_the_same_both_ways_and_shortest_at_home(
    one: str, other: str, third: str
) -> None:
    there, back = round_trip_ms(one, other), round_trip_ms(other, one)
    assert there is not None
    assert there == back
    assert (there == 0) == (one == other)
    if region_of(one) == region_of(other):
        assert there <= ZONES_ROUND_TRIP_MS
        assert round_trip_ms(one, third) is not None


def test_every_pair_of_regions_has_one_round_trip() -> None:
    pairs = {frozenset(pair) for pair in ROUND_TRIPS_MS}
    assert pairs == {frozenset(pair) for pair in itertools.combinations(REGIONS, 2)}
    assert len(pairs) == len(ROUND_TRIPS_MS)


@given(st.text(st.sampled_from("ab*<-> "), max_size=12))
def test_any_text_is_a_way_or_refused(text: str) -> None:
    try:
        way = Way.parse(text)
    except SpecError:
        return
    arrow = "<->" if way.both else "->"
    assert Way.parse(f"{way.source} {arrow} {way.target}") == way
    assert "".join(text.split()) in {f"{way.source}{arrow}{way.target}", "*"}


@pytest.mark.parametrize(
    "link",
    [
        {"delay_s": -1e-9},
        {"delay_s": 61.0},
        {"delay_s": math.nan},
        {"jitter_s": math.inf},
        {"loss": 1.01},
        {"duplicate": -0.1},
        {"reorder": math.nan},
        {"bandwidth_bps": 0.0},
        {"queue_bytes": 0},
        {"distribution": "gaussian"},
    ],
)
def test_numbers_that_no_link_has_are_refused(link: Mapping[str, float]) -> None:
    with pytest.raises(SpecError, match=next(iter(link)).partition("_")[0]):
        Link(**link)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"regions": ["iwoa"]}, "did you mean 'iowa'"),
        ({"regions": ["iowa", "oregno"]}, "did you mean 'oregon'"),
        ({"regions": ["iowa"], "client_region": "ohio"}, "unknown region 'ohio'"),
        ({"regions": ["home", "away"], "links": {"home -> away": Link(delay_s=0.01)}}, "how far"),
        ({"regions": ["iowa"], "links": {"iowa -> oregno": Link()}}, "did you mean 'oregon'"),
        ({"regions": ["iowa"], "links": {"iowa - oregon": Link()}}, "no way"),
        ({"regions": ["client"]}, "client"),
        ({"regions": ["a b"], "links": {"*": Link(delay_s=0.01)}}, "name of a region"),
        ({"client_region": "iowa"}, "no regions"),
        ({"clients": ["iowa", "tokyo"]}, "clients need nodes with regions"),
        ({"regions": ["iowa"], "clients": ["iowa", "iowa"]}, "named twice"),
        ({"regions": ["iowa"], "clients": ["ohio"]}, "unknown region 'ohio'"),
        ({"regions": ["client-iowa"], "clients": ["iowa", "tokyo"]}, "name of a region"),
        ({"network": "loopback", "regions": ["iowa"]}, "regions need an emulated network"),
        ({"network": "loopback", "links": {"*": Link()}}, "links need an emulated network"),
        ({"network": "namespaces", "options": {"first_host": "127.0.1.1"}}, "first_host"),
    ],
)
def test_regions_and_links_that_mean_nothing_are_refused(
    spec: Mapping[str, object], words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        ClusterSpec("redis", **spec)  # pyright: ignore[reportArgumentType]
    assert words in str(caught.value)


def test_regions_are_taken_in_turn_and_the_client_is_with_the_first() -> None:
    spec = ClusterSpec("cassandra", nodes=4, regions=["iowa-a", "oregon"])
    hosts = hosts_of(spec, ["10.77.0.1", "10.77.0.1", "10.77.0.2", "10.77.0.3", "10.77.0.4"])
    assert [(host.name, host.place) for host in hosts] == [
        ("n1", "iowa-a"),
        ("n2", "oregon"),
        ("n3", "iowa-a"),
        ("n4", "oregon"),
        ("client", "iowa-a"),
    ]


def test_users_in_several_places_have_a_host_in_each() -> None:
    spec = ClusterSpec("redis", nodes=2, regions=["iowa", "oregon"], clients=["iowa-b", "tokyo"])
    hosts = hosts_of(spec, ["10.77.0.1", "10.77.0.2"])
    assert [(host.name, host.address, host.place) for host in hosts[2:]] == [
        ("client-iowa-b", "10.77.255.1", "iowa-b"),
        ("client-tokyo", "10.77.255.2", "tokyo"),
    ]
    links = links_between(hosts, {"client -> *": Link(loss=0.5), "client-tokyo -> n1": Link(0.2)})
    assert links["client-iowa-b", "n1"].delay_s == pytest.approx(0.00015)
    assert links["client-tokyo", "n1"].delay_s == pytest.approx(0.2)
    assert all(link.loss == 0.5 for (end, _), link in links.items() if end.startswith("client"))
    assert links["n1", "client-tokyo"].loss is None


def test_a_network_is_emulated_where_something_asks_for_one() -> None:
    assert not ClusterSpec("redis").emulated
    assert ClusterSpec("redis", network="namespaces").emulated
    assert ClusterSpec("redis", links={"*": Link(delay_s=0.001)}).emulated
    own = {"home <-> away": Link(delay_s=0.01)}
    assert ClusterSpec("redis", regions=["home", "away"], links=own).emulated
