"""YCSB itself as the oracle: its client prints what it would ask of a database.

Its jars are fetched once, and pinned. Where they can't be had, or there is no Java, these tests are
skipped and say so.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from scipy.stats import chi2_contingency

from pacelc import _engine
from pacelc.clusters import FetchError
from pacelc.clusters.software.fetch import Jar, locked_jars
from pacelc.clusters.software.java import installed
from pacelc.runner.engine import run_spec
from pacelc.study import Study
from pacelc.study.ycsb import read_ycsb, ycsb_source

if TYPE_CHECKING:
    from collections.abc import Iterable

JARS = tuple(
    Jar(group, artifact, version, "", sha256)
    for group, artifact, version, sha256 in (
        (
            *("site.ycsb", "core", "0.17.0"),
            "e1c64d09bfc642715428c2e53ec129b0a98a0e634ee32bf0ae77e5b4eebb3cda",
        ),
        (
            *("org.hdrhistogram", "HdrHistogram", "2.1.4"),
            "8e68b9608ab107690350b904eab24087785f69218e5c6acd860d28116eded708",
        ),
        (
            *("org.apache.htrace", "htrace-core4", "4.1.0-incubating"),
            "5d45b7904857c3e4ad36b3bcc57be2d2c5f308c69b5f6a58bd86aa7d48a25ef6",
        ),
        (
            *("org.codehaus.jackson", "jackson-core-asl", "1.9.4"),
            "6129e1b91d7850ba250b1375094c8ca215a0f7cf234b6f60a2f4a88d5b1272c9",
        ),
        (
            *("org.codehaus.jackson", "jackson-mapper-asl", "1.9.4"),
            "f013389c3eb92aa997df801e4a352464925af634a4af3e5bd77c6c0763dc9c99",
        ),
    )
)

OPERATIONS = 30_000
RECORDS = 1_000
# One false alarm in 100,000 tests.
LEAST_P = 1e-5
LINE = re.compile(r"^(READ|UPDATE|INSERT|SCAN) usertable (user\d+)(?: (\d+))? \[", re.MULTILINE)


class Asked(NamedTuple):
    """One request to a database."""

    kind: str
    key: str
    limit: int


@cache
def client() -> tuple[str, ...]:
    """The start of its command line."""
    program = next(installed(), None)
    if program is None:
        pytest.skip("there is no Java to run YCSB with")
    try:
        jars = locked_jars("ycsb", JARS, lambda _: None)
    except FetchError as error:
        pytest.skip(f"YCSB's classes can't be had: {error}")
    return str(program), "-cp", ":".join(map(str, jars)), "site.ycsb.Client"


@cache
def ycsbs(workload: str, options: tuple[str, ...], *, load: bool = False) -> list[Asked]:
    properties = read_ycsb(workload, options=options).values
    command = [*client(), "-load" if load else "-t"]
    for name, value in properties.items():
        command += ["-p", f"{name}={value}"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = [Asked(m[1].lower(), m[2], int(m[3] or 0)) for m in LINE.finditer(printed.stdout)]
    assert found, printed.stderr
    return found


def specification(workload: str, options: tuple[str, ...]) -> dict[str, Any]:
    study = Study.from_source(ycsb_source(read_ycsb(workload, options=options), ["memory"]))
    [planned] = study.schedule()
    return run_spec(planned, {"database": "memory"}, None)


def ours(workload: str, options: tuple[str, ...]) -> list[Asked]:
    """As many requests as YCSB makes; a read-modify-write is two."""
    text = json.dumps(specification(workload, options))
    asked: list[Asked] = []
    for kind, key, limit in _engine.operations(text, 0, OPERATIONS):
        if kind == "read_modify_write":
            asked += [Asked("read", key, 0), Asked("update", key, 0)]
        else:
            asked.append(Asked(kind, key, limit))
    return asked


def alike(left: Iterable[object], right: Iterable[object]) -> float:
    """The p-value of two samples being drawn alike; rare values are counted as one."""
    counts = Counter(left), Counter(right)
    frequent = [value for value in counts[0] | counts[1] if sum(c[value] for c in counts) >= 20]
    rows = [[c[value] for value in frequent] for c in counts]
    rest = [c.total() - sum(row) for c, row in zip(counts, rows, strict=True)]
    if all(rest):
        rows = [[*row, other] for row, other in zip(rows, rest, strict=True)]
    if len(rows[0]) < 2:
        return 1.0
    return float(chi2_contingency(rows).pvalue)


COUNTS = (f"recordcount={RECORDS}", f"operationcount={OPERATIONS}")
READS = ("readproportion=1", "updateproportion=0")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("zeropadding=24",),
        ("insertorder=ordered",),
        ("insertorder=ordered", "zeropadding=12", "insertstart=70"),
        ("insertstart=900", "insertcount=50"),
    ],
)
def test_the_same_keys_are_loaded(options: tuple[str, ...]) -> None:
    options = (f"recordcount={RECORDS}", *options)
    spec = specification("workloada", options)
    spec["workload"] |= {"distribution": "sequential", "mix": {"read": 1.0}}
    records = spec["workload"]["records"]
    keys = [key for _, key, _ in _engine.operations(json.dumps(spec), 0, records)]
    # YCSB's loader inserts as many as recordcount where its readers know of insertstart less.
    loaded = ycsbs("workloada", options, load=True)
    assert keys == [asked.key for asked in loaded[: len(keys)]]


@pytest.mark.parametrize("letter", "abcdef")
def test_the_six_workloads_ask_for_the_same(letter: str) -> None:
    workload = f"workload{letter}"
    theirs, own = ycsbs(workload, COUNTS), ours(workload, COUNTS)
    assert alike((a.kind for a in theirs), (a.kind for a in own)) > LEAST_P
    assert alike((a.limit for a in theirs), (a.limit for a in own)) > LEAST_P
    if letter != "d":  # there the hot records move on with the inserts
        reads = [[a.key for a in both if a.kind in {"read", "scan"}] for both in (theirs, own)]
        assert alike(*reads) > LEAST_P
    inserted = [[a.key for a in sample if a.kind == "insert"] for sample in (theirs, own)]
    shortest = min(map(len, inserted))
    assert inserted[0][:shortest] == inserted[1][:shortest]


def test_the_latest_records_are_read_as_often() -> None:
    # So many records that the inserts add little: YCSB keeps a part of its formula at the number
    # of records that there were at first, and its law bends as they grow.
    options = ("recordcount=100000", COUNTS[1])
    spec = specification("workloadd", options)
    spec["workload"] |= {"distribution": "sequential", "mix": {"read": 1.0}}
    loaded = [key for _, key, _ in _engine.operations(json.dumps(spec), 0, 100_000)]
    distances: list[list[int]] = []
    for sample in (ycsbs("workloadd", options), ours("workloadd", options)):
        numbers = {key: number for number, key in enumerate(loaded)}
        distances.append([])
        for asked in sample:
            if asked.kind == "insert":
                numbers[asked.key] = len(numbers)
            else:
                distances[-1].append(len(numbers) - 1 - numbers[asked.key])
    assert alike(*distances) > LEAST_P


@pytest.mark.parametrize(
    "distribution",
    ["uniform", "zipfian", "hotspot", "exponential", "latest", "sequential"],
)
def test_each_distribution_chooses_the_same_records(distribution: str) -> None:
    options = (*COUNTS, *READS, f"requestdistribution={distribution}")
    theirs, own = ycsbs("workloada", options), ours("workloada", options)
    assert alike((a.key for a in theirs), (a.key for a in own)) > LEAST_P


def test_of_1000_records_the_hottest_gets_3_9_per_cent_and_is_the_same_one() -> None:
    options = (*COUNTS, *READS, "requestdistribution=zipfian")
    [theirs, own] = [
        Counter(a.key for a in sample).most_common(1)[0]
        for sample in (ycsbs("workloada", options), ours("workloada", options))
    ]
    assert theirs[0] == own[0]
    assert own[1] / OPERATIONS == pytest.approx(0.039, abs=0.004)


@pytest.mark.parametrize("distribution", ["uniform", "zipfian"])
def test_scans_are_as_long(distribution: str) -> None:
    options = (*COUNTS, "minscanlength=5", f"scanlengthdistribution={distribution}")
    theirs, own = ycsbs("workloade", options), ours("workloade", options)
    lengths = [[a.limit for a in sample if a.kind == "scan"] for sample in (theirs, own)]
    assert min(lengths[1]) == 5
    assert alike(*lengths) > LEAST_P
