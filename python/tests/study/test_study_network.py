"""Regions and links of a study: durations and shares are read, mistakes are found at their line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.study import Study, StudyError

BASE = "name: mine\nsettings:\n  database: redis\n"


def settings_of(text: str):
    return Study.parse(BASE + text).scenarios()[0].settings


def test_links_are_read_as_people_write_them() -> None:
    settings = settings_of(
        "  regions: [iowa, oregon]\n"
        "  links:\n"
        "    '*': {loss: 0.1%, bandwidth: 100Mbit, queue: 256KiB}\n"
        "    iowa <-> oregon: {delay: 18.2ms, jitter: 1ms, distribution: pareto}\n"
    )
    everywhere, between = settings.links["*"], settings.links["iowa <-> oregon"]
    assert everywhere.loss == pytest.approx(0.001)
    assert (everywhere.bandwidth_bps, everywhere.queue_bytes) == (1e8, 262_144)
    assert (between.delay_s, between.jitter_s) == pytest.approx((0.0182, 0.001))
    assert between.distribution == "pareto"
    assert settings.asks_for_network


@given(st.floats(0, 100, allow_nan=False))
def test_a_share_in_per_cent_is_the_share(percent: float) -> None:
    settings = settings_of(f"  links: {{'*': {{loss: {percent:f}%}}}}\n")
    assert settings.links["*"].loss == pytest.approx(float(f"{percent:f}") / 100)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  links: {'*': {delay: soon}}\n", "should be a duration"),
        ("  links: {'*': {delay: 2m}}\n", "less than or equal to 60"),
        ("  links: {'*': {loss: 1.5}}\n", "less than or equal to 1"),
        ("  links: {'*': {loss: 150%}}\n", "less than or equal to 1"),
        ("  links: {'*': {bandwidth: 10MB}}\n", "100Mbit"),
        ("  links: {'*': {queue: 0}}\n", "greater than 0"),
        ("  links: {'*': {distribution: gaussian}}\n", "'uniform', 'normal'"),
        ("  links: {'*': {dealy: 1ms}}\n", "not permitted"),
        ("  network: tap\n", "'auto', 'namespaces' or 'loopback'"),
        ("  regions: [iowa]\n  external: {endpoints: ['db:6379']}\n", "network of its own"),
        ("  regions: [iowa]\n  database: noop\n", "inside the engine"),
        ("  clients: {iowa: 8}\n", "clients are in regions, and the nodes have none"),
        ("  regions: [iowa]\n  clients: {iowa: 8}\n  users: 9\n", "8 users together, and users"),
        ("  regions: [iowa]\n  clients: {iowa: 0}\n", "greater than 0"),
        ("  regions: [iowa]\n  clients: {iowa: many}\n", "should be a whole number, not 'many'"),
        ("  regions: [iowa]\n  clients: {iowa: 1}\n  client_region: iowa\n", "client_region is"),
        ("  session: random\n", "'sticky' or 'roaming'"),
    ],
)
def test_a_mistake_is_found_where_it_was_written(text: str, words: str) -> None:
    base = BASE.replace("  database: redis\n", "") if "database" in text else BASE
    with pytest.raises(StudyError) as caught:
        Study.parse(base + text).scenarios()
    assert words in caught.value.message
    assert caught.value.message.startswith("study.yaml:")


def test_clusters_differ_where_their_networks_do() -> None:
    study = Study.parse(
        "name: mine\n"
        "factors:\n"
        "  deployment:\n"
        "    single: {regions: [iowa-a, iowa-b, iowa-c]}\n"
        "    multi: {regions: [iowa-a, south-carolina, oregon]}\n"
        "    none: {}\n"
        "    auto: {network: auto}\n"
        "settings: {database: redis}\n"
    )
    single, multi, none, auto = (
        run.cluster_key for run in sorted(study.schedule(), key=lambda run: run.run_id)
    )
    assert len({single, multi, none}) == 3
    assert none == auto == "redis-n3-rf3"


def test_users_in_several_places_are_the_runs_users() -> None:
    settings = settings_of("  regions: [iowa, tokyo]\n  clients: {iowa: 8, tokyo: 4}\n")
    assert settings.users == 12
    assert type(settings).model_validate(settings.model_dump()).users == 12
    assert settings_of("  users: 3\n  clients: {}\n").users == 3


def test_users_as_a_factor_beside_clients_are_refused_with_a_way_out() -> None:
    study = (
        "name: mine\nfactors: {users: [1, 2]}\n"
        "settings: {database: redis, regions: [iowa, tokyo], clients: {iowa: 1, tokyo: 1}}\n"
    )
    with pytest.raises(StudyError) as caught:
        Study.parse(study).scenarios()
    assert "2 users together, and users is 1" in caught.value.message
    assert "vary clients as a factor" in (caught.value.hint or "")


def test_clusters_have_the_hosts_of_their_clients_however_many_users_they_are() -> None:
    study = Study.parse(
        "name: mine\n"
        "factors:\n"
        "  where:\n"
        "    few: {clients: {iowa: 1, tokyo: 1}}\n"
        "    many: {clients: {tokyo: 8, iowa: 4}}\n"
        "    one: {clients: {iowa: 4}}\n"
        "settings: {database: redis, regions: [iowa, tokyo]}\n"
    )
    few, many, one = (run.cluster_key for run in sorted(study.schedule(), key=lambda r: r.run_id))
    assert few == many != one
