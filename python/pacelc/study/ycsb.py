"""YCSB's workload files as studies: ``pacelc run --ycsb workloada -p recordcount=5000``.

Every property that YCSB's core workload and client document is known here: it becomes a setting, or
it changes nothing here and the reason is given, or it is refused and the reason is given. Anything
else is an error that names the nearest known property. (YCSB takes any property and leaves those
aside that it doesn't know.) docs/reference/ycsb.md has the table.

Map
---
WORKLOAD_FILES      YCSB's six workload files, as data
MAPPED              property → the setting that it becomes
ACCEPTED, REFUSED   property → why it changes nothing here, why it can't be had
Properties          the properties given, each with its place
read_ycsb           a file or a built-in one's name, and ``-p`` options → `Properties`
ycsb_source         `Properties` → a study
length_histogram    YCSB's field length histogram → lengths and weights
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pacelc.databases import FACTS, facts_of
from pacelc.errors import InputError
from pacelc.study.properties import parse_properties
from pacelc.study.source import Source, StudyError
from pacelc.study.values import Json, named, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "ACCEPTED",
    "MAPPED",
    "REFUSED",
    "WORKLOAD_FILES",
    "Properties",
    "length_histogram",
    "read_ycsb",
    "ycsb_source",
]

T = TypeVar("T")

# What YCSB's six files say, all of them and each.
_ALL = {
    "recordcount": "1000",
    "operationcount": "1000",
    "workload": "site.ycsb.workloads.CoreWorkload",
    "readallfields": "true",
    "readproportion": "0",
    "updateproportion": "0",
    "scanproportion": "0",
    "insertproportion": "0",
    "requestdistribution": "zipfian",
}
WORKLOAD_FILES: Mapping[str, Mapping[str, str]] = {
    "workloada": {**_ALL, "readproportion": "0.5", "updateproportion": "0.5"},
    "workloadb": {**_ALL, "readproportion": "0.95", "updateproportion": "0.05"},
    "workloadc": {**_ALL, "readproportion": "1"},
    "workloadd": {
        **_ALL,
        "readproportion": "0.95",
        "insertproportion": "0.05",
        "requestdistribution": "latest",
    },
    "workloade": {
        **_ALL,
        "scanproportion": "0.95",
        "insertproportion": "0.05",
        "maxscanlength": "100",
        "scanlengthdistribution": "uniform",
    },
    "workloadf": {**_ALL, "readproportion": "0.5", "readmodifywriteproportion": "0.5"},
}

_LEVELS = tuple(name for facts in FACTS.values() for name in facts.ycsb_levels)
"""Properties for levels, of all databases."""

# Property → the setting that it becomes. What depends on several is made in `_workload`.
MAPPED: Mapping[str, str] = {
    "recordcount": "workload.records",
    "insertstart": "workload.insert_start",
    "insertcount": "workload.records",
    "operationcount": "operations",
    "threadcount": "users",
    "target": "rate, with arrivals: target",
    "maxexecutiontime": "measure",
    "db": "database",
    "table": "workload.table",
    "fieldcount": "workload.fields",
    "fieldlength": "workload.field_length",
    "minfieldlength": "workload.min_field_length",
    "fieldlengthdistribution": "workload.field_length_distribution",
    "fieldlengthhistogram": "workload.field_length_distribution",
    "readallfields": "workload.read_all_fields",
    "writeallfields": "workload.update_all_fields",
    "readproportion": "workload.mix",
    "updateproportion": "workload.mix",
    "insertproportion": "workload.mix",
    "scanproportion": "workload.mix",
    "readmodifywriteproportion": "workload.mix",
    "requestdistribution": "workload.distribution",
    "hotspotdatafraction": "workload.distribution",
    "hotspotopnfraction": "workload.distribution",
    "exponential.percentile": "workload.distribution",
    "exponential.frac": "workload.distribution",
    "minscanlength": "workload.min_scan_length",
    "maxscanlength": "workload.scan_length",
    "scanlengthdistribution": "workload.scan_length_distribution",
    "insertorder": "workload.insert_order",
    "zeropadding": "workload.zero_padding",
    **dict.fromkeys(_LEVELS, "consistency"),
}

_OWN_RESULTS = "results are pacelc's own: every latency in HDR histograms, one-second samples"
_OWN_STATUS = "pacelc shows its progress by itself"

ACCEPTED: Mapping[str, str] = {
    "workload": "it names the core workload, which is the one there is",
    "dataintegrity": "every value that is read is proven, always",
    "readallfieldsbyname": "the fields are named, or not, as is fastest for each database",
    "core_workload_insertion_retry_limit": "loading tries a record again for 3 s, by itself",
    "core_workload_insertion_retry_interval": "loading tries a record again for 3 s, by itself",
    "status": _OWN_STATUS,
    "status.interval": _OWN_STATUS,
    "label": _OWN_STATUS,
    "exporter": _OWN_RESULTS,
    "exportfile": _OWN_RESULTS,
    "measurementtype": _OWN_RESULTS,
    "measurement.interval": "where there is a schedule, latency counts from the intended start",
    "measurement.trackjvm": "the load generator isn't a Java process",
    "measurement.raw.output_file": "record_operations keeps operations one by one",
    "measurement.raw.no_summary": _OWN_RESULTS,
    "hdrhistogram.fileoutput": _OWN_RESULTS,
    "hdrhistogram.output.path": _OWN_RESULTS,
    "hdrhistogram.percentiles": _OWN_RESULTS,
    "histogram.buckets": _OWN_RESULTS,
    "histogram.verbose": _OWN_RESULTS,
    "timeseries.granularity": "samples are of one second",
    "reportlatencyforeacherror": "failed operations are counted by their error",
    "latencytrackederrors": "failed operations are counted by their error",
    "spin.sleep": "the load loop's timer has its own precision",
    "basicdb.verbose": "it is for YCSB's BasicDB",
    "basicdb.simulatedelay": "it is for YCSB's BasicDB",
    "basicdb.randomizedelay": "it is for YCSB's BasicDB",
    "basicdb.count": "it is for YCSB's BasicDB",
    **{name: why for facts in FACTS.values() for name, why in facts.ycsb_accepted.items()},
}

REFUSED: Mapping[str, str] = {
    "fieldnameprefix": "fields are named field0, field1, … on every database",
    "dotransactions": "a run loads its records first, and then does operations",
    **{name: why for facts in FACTS.values() for name, why in facts.ycsb_refused.items()},
}

_ACCEPTED_PREFIXES = {"htrace.": "there is no tracing"}

# Values that refused and checked properties may have because they change nothing.
_HARMLESS = {
    "fieldnameprefix": "field",
    "dotransactions": "true",
    **{name: value for facts in FACTS.values() for name, value in facts.ycsb_harmless.items()},
}

# YCSB's bindings, by class or by the name that its scripts know.
_DATABASES = {
    binding: facts.name for facts in FACTS.values() for binding in facts.ycsb_bindings
} | {"basic": "noop", "site.ycsb.BasicDB": "noop"}

# YCSB runs until its operations are done, however long it takes.
_NO_LIMIT_S = 86_400

_CORE_WORKLOADS = ("site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload")
_KINDS = {
    "read": ("readproportion", 0.95),
    "update": ("updateproportion", 0.05),
    "insert": ("insertproportion", 0.0),
    "scan": ("scanproportion", 0.0),
    "read_modify_write": ("readmodifywriteproportion", 0.0),
}
# Proportions written with few digits may miss 1 by so much.
_NEARLY = 1e-6
_YES_OR_NO = {"true": True, "false": False}
# YCSB expects twice the inserts that its proportions promise.
_INSERT_MARGIN = 2.0


@dataclass(frozen=True, slots=True)
class Properties:
    """YCSB properties, and where each was written."""

    name: str
    values: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, str] = field(default_factory=dict[str, str])

    def error(self, name: str, problem: str, hint: str | None = None) -> StudyError:
        """Return the one line that a person reads."""
        place = self.places.get(name, self.name)
        # An option names its property.
        where = place if place.startswith("-p") else f"{place}: {named(name)}"
        return StudyError(f"{where}: {problem}", hint)

    def _read(self, name: str, default: T, parse: Callable[[str], T], expected: str) -> T:
        text = self.values.get(name, "").strip()
        if not text:
            return default
        try:
            return parse(text)
        except (ValueError, KeyError):
            raise self.error(name, f"should be {expected}, not {text!r}") from None

    def whole(self, name: str, default: int) -> int:
        """Return a number of things: 64 bits, where YCSB cuts some to 32."""
        number = self._read(name, default, int, "a whole number")
        if number < 0:
            raise self.error(name, f"should be 0 or more, not {number}")
        return number

    def number(self, name: str, default: float) -> float:
        """Return a number."""
        number = self._read(name, default, float, "a number")
        if not math.isfinite(number):
            raise self.error(name, f"should be a number, not {number}")
        return number

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false; YCSB takes any other word for false, which hides mistakes."""
        return self._read(name, default, lambda text: _YES_OR_NO[text.lower()], "true or false")

    def one_of(self, name: str, default: str, known: Sequence[str]) -> str:
        """Return one of some words."""
        word = self.values.get(name, default).strip() or default
        if word not in known:
            raise self.error(name, f"there is no {word!r}", nearest(word, known))
        return word


def read_ycsb(workload: str, options: Iterable[str] = ()) -> Properties:
    """Read a property file, or one of YCSB's own by its name, and go over it with options.

    Raises
    ------
    InputError
        If the file cannot be read, or a property is not YCSB's.
    """
    path = Path(workload)
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    if workload in WORKLOAD_FILES and not path.exists():
        values.update(WORKLOAD_FILES[workload])
    else:
        try:
            # Java reads these files as Latin-1.
            text = path.read_text(encoding="latin-1")
        except FileNotFoundError:
            raise InputError(
                f"{workload}: there is no such file", nearest(workload, WORKLOAD_FILES)
            ) from None
        except OSError as error:
            raise InputError(f"{workload}: cannot be read: {error.strerror}") from None
        try:
            entries = parse_properties(text)
        except ValueError as error:
            raise InputError(f"{workload}: {error}") from None
        for name, entry in entries.items():
            values[name], places[name] = entry.value, f"{workload}:{entry.line}"
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name:
            # Whatever it is, it may hold a password.
            known = name in MAPPED or name in ACCEPTED or name in REFUSED
            where = f"-p {name}:" if known else "-p"
            raise InputError(f"{where} should be PROPERTY=VALUE", "-p recordcount=5000")
        values[name], places[name] = value, f"-p {named(name)}"
    properties = Properties(workload, values, places)
    for name in values:
        _check_known(properties, name)
    return properties


def _check_known(properties: Properties, name: str) -> None:
    if name in MAPPED or name in ACCEPTED or name.startswith(tuple(_ACCEPTED_PREFIXES)):
        if name == "workload" and properties.values[name].strip() not in _CORE_WORKLOADS:
            raise properties.error(name, "only YCSB's core workload is there", _CORE_WORKLOADS[0])
        return
    if name in REFUSED:
        if properties.values[name].strip().lower() != _HARMLESS.get(name):
            raise properties.error(name, f"can't be had: {REFUSED[name]}")
        return
    raise properties.error(
        name,
        "YCSB's core workload has no such property",
        nearest(name, [*MAPPED, *ACCEPTED, *REFUSED]) or "docs/reference/ycsb.md has them all",
    )


def ycsb_source(properties: Properties, databases: Sequence[str] = ()) -> Source:
    """Return the study that the properties describe, on ``databases`` or the one that they name.

    Raises
    ------
    StudyError
        If a value cannot be that property's, or the properties contradict one another.
    """
    chosen = list(databases) or _database(properties)
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", Path(properties.name).stem).lstrip("-._") or "workload"
    workload, places = _workload(properties)
    settings: dict[str, Json] = {
        "workload": workload,
        "users": properties.whole("threadcount", 1),
        "warm_up": 0,
        "cool_down": 0,
    }
    operations = properties.whole("operationcount", 0)
    if operations > 0:
        settings["operations"] = operations
        # As YCSB does: a thread needs an operation.
        settings["users"] = min(properties.whole("threadcount", 1), operations)
    limit_s = properties.whole("maxexecutiontime", 0)
    if not operations and not limit_s:
        raise properties.error(
            "operationcount", "a run needs an end", "-p operationcount=… or -p maxexecutiontime=…"
        )
    settings["measure"] = limit_s or _NO_LIMIT_S
    # YCSB starts all its threads at once.
    settings["spawn_rate"] = 10_000
    rate = properties.number("target", 0)
    if rate > 0:
        settings |= {"arrivals": "target", "rate": rate}
    consistency = _consistency(properties, chosen)
    if consistency:
        settings["consistency"] = consistency
    document: dict[str, Json] = {
        "name": f"ycsb-{stem}",
        "title": f"YCSB's workload of {properties.name}",
        "factors": {"database": list(chosen)},
        "settings": settings,
    }
    indexed: list[Json] = [one for one in chosen if facts_of(one).scans_need_index]
    if indexed and properties.number("scanproportion", 0) > 0:
        document["overrides"] = [
            {"when": {"database": indexed}, "set": {"client_options": {"scan_index": True}}}
        ]
    known: dict[tuple[str | int, ...], str] = {
        ("settings", *name): properties.places.get(written, properties.name)
        for name, written in (
            (("users",), "threadcount"),
            (("operations",), "operationcount"),
            (("measure",), "maxexecutiontime"),
            (("rate",), "target"),
            *(
                (("consistency", kind), name)
                for facts in FACTS.values()
                for name, kind in facts.ycsb_levels.items()
            ),
        )
    }
    return Source(properties.name, document, {**known, **places})


def _database(properties: Properties) -> list[str]:
    if "db" not in properties.values:
        raise StudyError(
            f"{properties.name}: no database is named", "add --set database=redis, or -p db=redis"
        )
    return [_DATABASES[properties.one_of("db", "", [*_DATABASES])]]


def _consistency(properties: Properties, databases: Sequence[str]) -> dict[str, Json]:
    for facts in FACTS.values():
        given: dict[str, Json] = {
            kind: properties.values[name].strip()
            for name, kind in facts.ycsb_levels.items()
            if name in properties.values
        }
        if given and list(databases) != [facts.name]:
            name = next(name for name in facts.ycsb_levels if name in properties.values)
            raise properties.error(
                name, f"isn't for {', '.join(databases)}", "--set consistency=… is for all"
            )
        if given:
            default: Json = facts.ycsb_default_level
            return {**dict.fromkeys(facts.ycsb_levels.values(), default), **given}
    return {}


def _workload(properties: Properties) -> tuple[Json, dict[tuple[str | int, ...], str]]:
    start, count = _numbers(properties)
    mix = _mix(properties)
    workload: dict[str, Json] = {
        "records": count,
        "insert_start": start,
        "insert_order": properties.one_of("insertorder", "hashed", ("hashed", "ordered")),
        "zero_padding": properties.whole("zeropadding", 1),
        "table": properties.values.get("table", "").strip() or "usertable",
        "fields": properties.whole("fieldcount", 10),
        "mix": {kind: share for kind, share in mix.items() if share > 0},
        "distribution": _distribution(properties),
        "read_all_fields": properties.flag("readallfields", default=True),
        "update_all_fields": properties.flag("writeallfields", default=False),
        **_field_lengths(properties),
    }
    if mix["scan"] > 0:
        workload |= {
            "scan_from": "key",
            "scan_length": properties.whole("maxscanlength", 1000),
            "min_scan_length": properties.whole("minscanlength", 1),
            "scan_length_distribution": properties.one_of(
                "scanlengthdistribution", "uniform", ("uniform", "zipfian")
            ),
        }
    # Where a setting that doesn't hold was written.
    places: dict[tuple[str | int, ...], str] = {}
    for name, setting in MAPPED.items():
        first, _, inner = setting.partition(".")
        if first == "workload" and name in properties.places:
            places["settings", "workload", inner] = properties.places[name]
    return workload, places


def _numbers(properties: Properties) -> tuple[int, int]:
    """Return the number of the first record, and how many there are."""
    records = properties.whole("recordcount", 0)
    if records == 0:
        raise properties.error("recordcount", "how many records are there?", "-p recordcount=1000")
    start = properties.whole("insertstart", 0)
    count = properties.whole("insertcount", max(0, records - start))
    if start + count > records:
        raise properties.error(
            "recordcount",
            f"{records} is below insertstart + insertcount, {start} + {count}",
            "recordcount counts the records of all clients",
        )
    if count == 0:
        raise properties.error("insertcount", "there would be no records")
    return start, count


def _mix(properties: Properties) -> dict[str, float]:
    mix = {kind: properties.number(name, share) for kind, (name, share) in _KINDS.items()}
    for kind, share in mix.items():
        if share < 0:
            raise properties.error(_KINDS[kind][0], f"should be 0 or more, not {share:g}")
    total = sum(mix.values())
    if abs(total - 1) > _NEARLY:
        # YCSB would divide by the sum without a word: of `-p scanproportion=1` alone it makes half
        # a workload of scans, since reads and updates have defaults.
        raise StudyError(
            f"{properties.name}: the proportions sum to {total:g}, not to 1: {_listed(mix, 1)}",
            f"YCSB would scale them to {_listed(mix, total)}" if total else None,
        )
    return mix


def _listed(mix: Mapping[str, float], total: float) -> str:
    shares = ((_KINDS[kind][0], share / total) for kind, share in mix.items())
    return ", ".join(f"{name}={share:g}" for name, share in shares if share)


def _distribution(properties: Properties) -> Json:
    name = properties.one_of(
        "requestdistribution",
        "uniform",
        ("uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"),
    )
    match name:
        case "zipfian":
            inserts = properties.number("insertproportion", 0)
            operations = properties.whole("operationcount", 0)
            expected = int(operations * inserts * _INSERT_MARGIN)
            return {"ycsb-zipfian": {"expected_inserts": expected}} if expected else "ycsb-zipfian"
        case "hotspot":
            return {
                "hotspot": {
                    "hot_set_fraction": properties.number("hotspotdatafraction", 0.2),
                    "hot_operation_fraction": properties.number("hotspotopnfraction", 0.8),
                }
            }
        case "exponential":
            return {
                "exponential": {
                    "percentile": properties.number("exponential.percentile", 95),
                    "fraction": properties.number("exponential.frac", 0.8571428571),
                }
            }
        case _:
            return name


def _field_lengths(properties: Properties) -> dict[str, Json]:
    name = properties.one_of(
        "fieldlengthdistribution", "constant", ("constant", "uniform", "zipfian", "histogram")
    )
    lengths: dict[str, Json] = {"field_length": properties.whole("fieldlength", 100)}
    if name == "histogram":
        path = Path(properties.values.get("fieldlengthhistogram", "").strip() or "hist.txt")
        try:
            weights = length_histogram(path.read_text(encoding="latin-1"))
        except OSError as error:
            problem = f"{path} cannot be read: {error.strerror}"
            raise properties.error("fieldlengthhistogram", problem) from None
        except ValueError as error:
            raise properties.error("fieldlengthhistogram", f"{path}: {error}") from None
        rows: list[Json] = [[length, weight] for length, weight in weights]
        return {**lengths, "field_length_distribution": {"histogram": rows}}
    if name != "constant":
        lengths["min_field_length"] = properties.whole("minfieldlength", 1)
    return {**lengths, "field_length_distribution": name}


def length_histogram(text: str) -> list[tuple[int, int]]:
    r"""Return lengths and weights as YCSB draws them from a histogram file.

    The first line is ``BlockSize``, a tab, and a number; each one after it a bucket's number from
    0, a tab, and its weight. YCSB draws a number from 0 to the sum of the weights - 1 and takes the
    first bucket whose cumulative weight isn't below it, so that the first bucket gets 1 more than
    its weight and the last used one gets 1 less; the last bucket's length is one block too short.
    Both are kept: lengths are then spread as they would be by YCSB.

    Raises
    ------
    ValueError
        If it is no such file.

    Examples
    --------
    >>> length_histogram("BlockSize\t10\n0\t3\n1\t5\n2\t4\n")
    [(10, 4), (20, 8)]
    """
    lines = [line.split("\t") for line in text.splitlines()]
    try:
        (name, size), *rows = lines
        block = int(size)
        buckets = [int(weight) for _, weight in rows]
        numbers = [int(number) for number, _ in rows]
    except ValueError:
        msg = (
            "should be `BlockSize`, a tab and a number, then a bucket, a tab and its weight a line"
        )
        raise ValueError(msg) from None
    if name != "BlockSize" or numbers != list(range(len(numbers))):
        msg = "should begin with BlockSize, and its buckets should be numbered from 0"
        raise ValueError(msg)
    if len(buckets) < 2 or block < 1 or min(buckets) < 0 or sum(buckets) == 0:  # noqa: PLR2004
        msg = "should have two buckets at least, and weights above 0"
        raise ValueError(msg)
    area, before, cumulative = sum(buckets), 0, 0
    weights: dict[int, int] = {}
    last = len(buckets) - 1
    for bucket, weight in enumerate(buckets):
        cumulative += weight
        up_to = area if bucket == last else min(cumulative + 1, area)
        length = (bucket if bucket == last else bucket + 1) * block
        weights[length] = weights.get(length, 0) + up_to - before
        before = up_to
    return [(length, weight) for length, weight in weights.items() if weight > 0]
