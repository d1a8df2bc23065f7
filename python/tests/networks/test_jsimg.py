"""JMT's files: what is written is read again; what doesn't map is named; attacks are refused."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_networks import networks

from pacelc.cli.model.options import network_named
from pacelc.errors import InputError
from pacelc.jsimg import JsimgError, jsimg_text, normal, parse_jsimg, unmapped
from pacelc.networks import BUILTIN, Network, builtin

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = jsimg_text(builtin("gandini-mongodb-4x4"))
MAPPED = [name for name in BUILTIN if name.startswith("gandini")]


def same(left: Any, right: Any) -> bool:
    """Compare documents; numbers may differ by the rounding of rates."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float | int) and isinstance(right, float | int):
        return left == pytest.approx(right, rel=1e-9, abs=0)
    return left == right


@pytest.mark.slow
@given(networks(for_jmt=True))
def test_a_network_comes_back_from_jmts_format(network: Network) -> None:
    problems = unmapped(network)
    if problems:  # a rule among fewer nodes than other classes of the node go to
        assert all("JMT among all of" in problem for problem in problems)
        return
    back = parse_jsimg(jsimg_text(network))
    expected = zero_is_zero(normal(network).document())
    assert same(zero_is_zero(back.document()), expected), (back.to_yaml(), network.to_yaml())


def zero_is_zero(document: dict[str, Any]) -> dict[str, Any]:
    """Whatever its distribution: a time that is always 0 comes back as 0."""
    for station in document["stations"]:
        for name, service in station["service"].items():
            if isinstance(service, dict) and 0 in (service.get("mean"), service.get("value")):
                station["service"][name] = 0.0
    return document


@pytest.mark.parametrize("name", MAPPED)
def test_the_papers_networks_come_back_exactly(name: str) -> None:
    assert parse_jsimg(jsimg_text(builtin(name))) == normal(builtin(name))


def test_a_file_is_read_by_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "cassandra.jsimg"
    path.write_text(jsimg_text(builtin("gandini-cassandra-1")), encoding="utf-8")
    assert network_named(str(path), ["users=5"]).users == 5


@pytest.mark.parametrize("name", MAPPED)
def test_the_form_of_comparison_is_stable(name: str) -> None:
    once = normal(builtin(name))
    assert normal(once) == once


def test_what_jmt_cannot_say_is_named() -> None:
    network = builtin("quorum-quorum")
    assert unmapped(network) == [
        *(
            f"station {kind}{i}: cached visits (routes past it would do)"
            for i in (1, 2, 3)
            for kind in ("link", "cpu")
        ),
        "fork reading: fewer siblings than branches",
        "fork reading: siblings of other classes",
        "fork writing: siblings of other classes",
    ]
    with pytest.raises(InputError, match="JMT can't say: station link1: cached visits"):
        jsimg_text(network)


def in_source(text: str) -> str:
    return WHOLE.replace(*text.split(" → "))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('className="PSServer" → className="PreemptiveServer"', "node cpu1"),
        ("EPSStrategy → DPSStrategy", "DPSStrategy"),
        ("random.Exponential → random.Pareto", "Pareto"),
        ("FCFSstrategy → LCFSstrategy", "station network with LCFSstrategy"),
        ("FCFSstrategy → LimitedPollingGetStrategy", "LimitedPollingGetStrategy"),
        ("<value>-1</value> → <value>5</value>", "station network with size 5"),
        ("NormalJoin → GuardJoin", "GuardJoin"),
        ("EmpiricalStrategy → PowerOfKRoutingStrategy", "PowerOfKRoutingStrategy"),
        (">true< → >false<", "isn't simplified"),
        ('className="Join" → className="Logger"', "0 joins"),
    ],
)
def test_what_has_no_counterpart_is_named(change: str, said: str) -> None:
    with pytest.raises(JsimgError) as raised:
        parse_jsimg(in_source(change))
    assert said in raised.value.message
    assert raised.value.message.startswith("network.jsimg: pacelc has no counterpart of")


TO_SERVERS = """<section className="PSServer">
<parameter classPath="java.lang.Integer" name="maxRunning"><value>-1</value></parameter>
<parameter classPath="java.lang.Boolean" name="PSPriorityUsed"><value>false</value></parameter>
<parameter array="true" classPath="java.lang.Double" name="serviceWeights">
<refClass>read</refClass>
<subParameter classPath="java.lang.Double" name="serviceWeight"><value>2.0</value></subParameter>
</parameter>
<parameter array="true" classPath="java.lang.Integer" name="classParallelism">
<refClass>read</refClass>
<subParameter classPath="java.lang.Integer" name="serverParallelism"><value>1</value></subParameter>
</parameter>
<parameter array="true" classPath="java.lang.String" name="serverNames">
<subParameter classPath="java.lang.String" name="serverTypesNames"><value>1</value></subParameter>
</parameter>
<parameter array="true" classPath="java.lang.Integer" name="serversPerServerType">
<subParameter classPath="java.lang.Integer" name="serverTypes"><value>4</value></subParameter>
</parameter>
<parameter array="true" classPath="java.lang.Object" name="serverCompatibilities">
<subParameter array="true" classPath="java.lang.Boolean" name="serverTypesCompatibilities">
<subParameter classPath="java.lang.Boolean" name="compatible"><value>true</value></subParameter>
</subParameter>
</parameter>
<parameter classPath="java.lang.String" name="schedulingPolicy"><value>ALIS</value></parameter>"""
"""What JMT says of servers, besides what we do, where nothing of it has an effect."""
ALSO = WHOLE.replace('<section className="PSServer">', TO_SERVERS)


def test_what_jmt_says_of_servers_has_no_effect_unless_it_is_set() -> None:
    assert parse_jsimg(ALSO) == parse_jsimg(WHOLE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('"maxRunning"><value>-1 → "maxRunning"><value>8', "maxRunning 8"),
        ('"PSPriorityUsed"><value>false → "PSPriorityUsed"><value>true', "PSPriorityUsed true"),
        ('"serverParallelism"><value>1 → "serverParallelism"><value>2', "classParallelism 2"),
        ('"compatible"><value>true → "compatible"><value>false', "serverCompatibilities false"),
        ('"serverTypesNames"> → "serverTypesNames"><value>0</value>', "2 types of servers"),
        ('name="schedulingPolicy" → name="delayOffTime"', "delayOffTime"),
        ('name="schedulingPolicy" → name="SwitchoverStrategy"', "SwitchoverStrategy"),
    ],
)
def test_what_it_sets_of_servers_is_named(change: str, said: str) -> None:
    before, after = change.split(" → ")
    with pytest.raises(JsimgError, match=f"station cpu1 with {said}"):
        parse_jsimg(ALSO.replace(before, after))


BOMB = """<?xml version="1.0"?>
<!DOCTYPE archive [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<archive>&b;</archive>"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "it has a doctype"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "it has a doctype"),
        ("<a>" * 200, "nested more than 100 deep"),
        ("<archive>", "line 1: no element found"),
        ("", "line 1: no element found"),
        ("<archive>&b;</archive>", "line 1: undefined entity"),
        ('<?xml version="1.0" encoding="nothing"?><a/>', "its encoding: "),
        ('<?xml version="1.0" encoding="GB2312"?><a/>', "its encoding: "),
        ("<sim/>", "it holds no stations or no classes"),
    ],
)
def test_damage_and_attacks_are_refused(text: str, said: str) -> None:
    with pytest.raises(JsimgError, match=said):
        parse_jsimg(text)


@pytest.mark.parametrize(
    ("root", "said", "hint"),
    [
        ("solutions", "it holds JMT's results, no model", "the model that was solved"),
        ("results", "it holds JMT's results, no model", "the model that was solved"),
        ("model", "it holds a model of JMT's JMVA or JABA", "Import in JSIM"),
        ("jlqn", "it holds a layered network of JMT's JLQN", "JSIMgraph"),
        ("jmodel", "it holds where JMT draws nodes", "the whole .jsimg"),
        ("archive", "it holds an archive of JMT's without a model", "JSIMgraph"),
        ("pnml", "its outermost element is pnml", ".jsimg"),
    ],
)
def test_other_files_of_jmts_tools_are_called_what_they_are(
    root: str, said: str, hint: str, tmp_path: Path
) -> None:
    path = tmp_path / "theirs.jmva"
    path.write_text(f"<{root}><measure/></{root}>", encoding="utf-8")
    with pytest.raises(JsimgError) as raised:
        network_named(str(path))
    assert raised.value.message.startswith("theirs.jmva: ")
    assert said in raised.value.message
    assert hint in (raised.value.hint or "")


@pytest.mark.parametrize("suffix", [".jsimg", ".jsimw", ".jsim", ".jmodel", ".xml"])
def test_every_suffix_of_jsim_models_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"mongodb{suffix}"
    path.write_text(WHOLE, encoding="utf-8")
    assert network_named(str(path)) == parse_jsimg(WHOLE)


EXPONENTIAL = re.compile(
    r'<subParameter classPath="jmt.engine.random.Exponential" .*?(?:</subParameter>\n){2}',
    re.DOTALL,
)
ENTRY = '<subParameter classPath="java.lang.Double" name="entry"><value>1</value></subParameter>'
VECTOR = f'<subParameter array="true" classPath="java.lang.Object">{ENTRY}</subParameter>'
MATRIX = f'<subParameter array="true" classPath="java.lang.Object">{VECTOR}</subParameter>'
CLASS_OF_SERVICE = re.compile(
    r"<refClass>(?:read|write)</refClass>\n(?=<subParameter[^>]*Service)", re.DOTALL
)


@pytest.mark.parametrize("law", ["MAP", "MMPP2", "PhaseType", "Coxian", "Gamma", "Pareto"])
@pytest.mark.parametrize("by_class", [True, False])
def test_a_service_that_only_jmt_has_is_named_with_its_station(law: str, by_class: bool) -> None:
    service = (
        f'<subParameter classPath="jmt.engine.random.{law}Distr" name="its name"/>\n'
        f'<subParameter classPath="jmt.engine.random.{law}Par" name="distrPar">{MATRIX}'
        "</subParameter>\n"
    )
    text, services = EXPONENTIAL.subn(service, WHOLE)
    assert services > 1
    with pytest.raises(JsimgError) as raised:
        parse_jsimg(text if by_class else CLASS_OF_SERVICE.sub("", text))
    assert raised.value.message.startswith(
        f"network.jsimg: pacelc has no counterpart of station network with {law} for read; "
        f"station network with {law} for write; station cpu1 with {law} for read; "
    )


def test_services_without_classes_are_in_the_order_of_the_classes() -> None:
    unnamed, classes = CLASS_OF_SERVICE.subn("", WHOLE)
    assert classes > 1
    assert parse_jsimg(unnamed) == parse_jsimg(WHOLE)


def test_a_logger_lets_customers_pass() -> None:
    """The same network as with a router in its place."""
    network = Network.parse("""
    classes: [{name: read, users: 3, reference: client}]
    stations:
      - {name: client, kind: delay, service: {read: 1ms}}
      - {name: cpu, service: {read: 2ms}}
    routers: [log]
    routing: {client: {read: log}, log: {read: cpu}, cpu: {read: client}}
    """)
    with_router = jsimg_text(network)
    tunnel = '<section className="ServiceTunnel"/>'
    assert with_router.count(tunnel) == 1
    logger = """<section className="LogTunnel">
    <parameter classPath="java.lang.String" name="logfileName"><value>global.csv</value></parameter>
    <parameter classPath="java.lang.Boolean" name="logJobID"><value>true</value></parameter>
    <parameter classPath="java.lang.Integer" name="numClasses"><value>1</value></parameter>
    </section>"""
    assert parse_jsimg(with_router.replace(tunnel, logger)) == parse_jsimg(with_router)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('name="lambda"> → name="mu">', "station network: lambda is missing"),
        (
            'customers=" → customers="-',
            "class read: users: should be greater than or equal to 0, not -20",
        ),
        (
            'customers=" → customers="1_',
            "class read: customers should be a whole number, not '1_20'",
        ),
        ("<refClass>read → <refClass>rad", "station client: there is no class 'rad'"),
        ('source="cpu1" → source="b"', "a connection's source is no node: 'b'"),
        ('target="cpu1" → target="b"', "a connection's target is no node: 'b'"),
    ],
)
def test_damage_is_told_with_its_place_in_words(change: str, said: str) -> None:
    with pytest.raises(JsimgError) as raised:
        parse_jsimg(in_source(change))
    assert raised.value.message == f"network.jsimg: it is damaged: {said}"


CLASSES = "".join(f'<userClass name="c{i}" type="closed" customers="1"/>' for i in range(100))
FORKS = "".join(f'<node name="f{i}"><section className="Fork"/></node>' for i in range(1_000))
LINKS = "".join(
    f'<connection source="f{i}" target="f{i * j % 1000}"/>' for i in range(1_000) for j in range(10)
)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("a" * 15_000_000, "it holds no stations or no classes"),
        ("a\n" * 7_000_000, "it holds no stations or no classes"),
        ("a" * 2**24, "it is longer than 16 MiB"),
        ("<a/>" * 4_000_000, "it has more than 200,000 elements and attributes"),
        ('<a b="" c="" d="" e=""/>' * 600_000, "it has more than 200,000 elements and attributes"),
        (CLASSES + "<userClass/>", "it has more than 100 elements userClass"),
        (FORKS + "<node/>", "it has more than 1,000 elements node"),
        (LINKS + "<connection/>", "it has more than 10,000 elements connection"),
        (CLASSES + FORKS + LINKS, r"fork f0 with None tasks a link; .*; and 2,[\d,]+ more"),
        (f'<node name="{"x" * 10**6}"/>' * 2, "no counterpart of node x"),
    ],
    ids=lambda text: text[:20],
)
def test_a_vast_file_is_refused_at_once(inside: str, said: str) -> None:
    with pytest.raises(JsimgError, match=said) as raised:
        parse_jsimg(f"<sim>{inside}</sim>")
    assert len(raised.value.message) < 5_000


@given(
    st.integers(0, 10**6),
    st.sampled_from(["", "0", "-1", "nan", "x", "<a/>", "</node>", "cpu1", "1e400", "9" * 5_000]),
)
@settings(max_examples=int(os.environ.get("PACELC_MUTATIONS", "300")))
def test_a_damaged_file_is_an_error_of_its_own(at: int, put: str) -> None:
    at %= len(WHOLE)
    end = max(WHOLE.find("<", at), at)
    message = ""
    try:
        network = parse_jsimg(WHOLE[:at] + put + WHOLE[end:])
        assert Network.parse(network.to_yaml()) == network
    except JsimgError as error:
        message = error.message
    assert not re.search(r"validation error|pydantic|[Ii]nput |damaged: ''", message)
