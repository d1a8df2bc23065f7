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
read_ycsb           files or built-in ones' names, and ``-p`` options → `Properties`
ycsb_source         `Properties` → a study
length_histogram    YCSB's field length histogram → lengths and weights
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pacelc.databases import FACTS, Facts, facts_of
from pacelc.delimited import parse_rows
from pacelc.errors import InputError
from pacelc.files import read_text
from pacelc.numerals import MOST, parse_number, parse_whole
from pacelc.study.model import LONGEST_OPERATION_S
from pacelc.study.properties import parse_properties
from pacelc.study.source import Source, StudyError
from pacelc.study.values import Json, instead, named, nearest

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

_OF_DATABASES: Mapping[str, str] = {
    **{name: "consistency" for facts in FACTS.values() for name in facts.ycsb_levels},
    **{facts.ycsb_timeout: "operation_timeout" for facts in FACTS.values() if facts.ycsb_timeout},
}
"""Properties of one database each, and the setting that each becomes."""

# Property → the setting that it becomes. What depends on several is made in `_workload`, what
# depends on the database in `_own`.
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
    "warmuptime": "warm_up",
    **_OF_DATABASES,
}

_OWN_RESULTS = "results are pacelc's own: every latency in HDR histograms, one-second samples"
_OWN_STATUS = "pacelc shows its progress by itself"

ACCEPTED: Mapping[str, str] = {
    "workload": "it names the core workload, which is the one there is",
    "dataintegrity": "every value that is read is proven, always",
    "readallfieldsbyname": "the fields are named, or not, as is fastest for each database",
    "dropdata": "a study's tables are its own, and it loads them itself",
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
    "measurement.histogram.verbose": _OWN_RESULTS,
    "timeseries.granularity": "samples are of one second",
    "reportlatencyforeacherror": "failed operations are counted by their error",
    "latencytrackederrors": "failed operations are counted by their error",
    "debug": _OWN_STATUS,
    "verbose": _OWN_STATUS,
    "silence": _OWN_STATUS,
    "spin.sleep": "the load loop's timer has its own precision",
    "basicdb.verbose": "it is for YCSB's BasicDB",
    "basicdb.simulatedelay": "it is for YCSB's BasicDB",
    "basicdb.randomizedelay": "it is for YCSB's BasicDB",
    "basicdb.count": "it is for YCSB's BasicDB",
    **{name: why for facts in FACTS.values() for name, why in facts.ycsb_accepted.items()},
}

_SCANS = "a scan is one operation of the client, at full speed, whose records are all verified"

REFUSED: Mapping[str, str] = {
    "maxscanrate": _SCANS,
    "scanoptimelimit": _SCANS,
    "discardscannedrecord": _SCANS,
    "batch.size": "operations are sent one by one: the measured operation would be another",
    "fieldnameprefix": "fields are named field0, field1, … on every database",
    "dotransactions": "a run loads its records first, and then does operations",
    **{name: why for facts in FACTS.values() for name, why in facts.ycsb_refused.items()},
}

_ACCEPTED_PREFIXES = {"htrace.": "there is no tracing"}

# What forks of YCSB call their own properties, and how the same is said here, of a given number.
_FOREIGN = {
    re.compile(r"zipf|theta|skew"): "--set 'distribution={{ycsb-zipfian: {{theta: {}}}}}'",
    re.compile(r"delete"): "--set 'mix={{read: …, delete: {}}}'",
    re.compile(r"seed"): "--set seed={}",
}

# Values that refused and checked properties may have because they change nothing.
_HARMLESS = {
    "maxscanrate": "0",
    "scanoptimelimit": "0",
    "discardscannedrecord": "false",
    "batch.size": "1",
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

# The last one is go-ycsb's.
_CORE_WORKLOADS = (
    *("site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"),
    "core",
)
_KINDS = {
    "read": ("readproportion", 0.95),
    "update": ("updateproportion", 0.05),
    "insert": ("insertproportion", 0.0),
    "scan": ("scanproportion", 0.0),
    "read_modify_write": ("readmodifywriteproportion", 0.0),
}
# Proportions written with few digits may miss 1 by so much.
_NEARLY = 1e-6
# A weight has 32 bits, as in YCSB.
_MOST_WEIGHT = 2**31
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

    def _read(self, name: str, default: T, parse: Callable[[str], T]) -> T:
        text = self.values.get(name, "").strip()
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(name, f"{error}{instead(text)}") from None

    def whole(self, name: str, default: int, most: int = MOST) -> int:
        """Return a number of things: 64 bits, where YCSB cuts some to 32."""
        number = self._read(name, default, parse_whole)
        if not 0 <= number <= most:
            raise self.error(name, f"should be from 0 to {most:,}, not {number}")
        return number

    def number(self, name: str, default: float) -> float:
        """Return a number."""
        return self._read(name, default, parse_number)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false; YCSB takes any other word for false, which hides mistakes."""
        return self._read(name, default, _yes_or_no)

    def one_of(self, name: str, default: str, known: Sequence[str]) -> str:
        """Return one of some words."""
        word = self.values.get(name, default).strip() or default
        if word not in known:
            raise self.error(name, f"there is no {word!r}", nearest(word, known))
        return word


def _yes_or_no(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        msg = "should be true or false"
        raise ValueError(msg)
    return text.lower() == "true"


def read_ycsb(*workloads: str, options: Iterable[str] = ()) -> Properties:
    """Read property files, or YCSB's own by their names: later ones over earlier, options over all.

    Raises
    ------
    InputError
        If a file cannot be read, or a property is not YCSB's.
    """
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    for workload in workloads:
        path = Path(workload)
        if workload in WORKLOAD_FILES and not path.exists():
            values |= WORKLOAD_FILES[workload]
            places = {name: places[name] for name in places if name not in WORKLOAD_FILES[workload]}
            continue
        # Java reads these files as Latin-1.
        text = read_text(path, InputError, nearest(workload, WORKLOAD_FILES), encoding="latin-1")
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
    properties = Properties(", ".join(workloads), values, places)
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
    for pattern, here in _FOREIGN.items():
        if pattern.search(name.lower()):
            try:
                number = f"{parse_number(properties.values[name]):g}"
            except ValueError:
                number = "…"
            raise properties.error(
                name, "YCSB has no such property", f"here: {here.format(number)}"
            )
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
    stems = "-".join(Path(name).stem for name in properties.name.split(", "))
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", stems).lstrip("-._") or "workload"
    workload, places = _workload(properties)
    settings: dict[str, Json] = {
        "workload": workload,
        "users": properties.whole("threadcount", 1),
        "warm_up": properties.whole("warmuptime", 0),
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
    own = {database: _own(properties, facts_of(database)) for database in chosen}
    if len(own) == 1:
        settings |= own.popitem()[1]
    _check_databases(properties, chosen)
    document: dict[str, Json] = {
        "name": f"ycsb-{stem}",
        "title": f"YCSB's workload of {properties.name}",
        "factors": {"database": list(chosen)},
        "settings": settings,
    }
    if own:
        document["overrides"] = [
            {"when": {"database": database}, "set": what} for database, what in own.items() if what
        ]
    given = properties.places
    known: dict[tuple[str | int, ...], str] = {
        ("settings", *name): given.get(written, properties.name)
        for name, written in (
            (("users",), "threadcount"),
            (("operations",), "operationcount"),
            (("measure",), "maxexecutiontime"),
            (("rate",), "target"),
            (("warm_up",), "warmuptime"),
            *(((setting,), name) for name, setting in _OF_DATABASES.items() if name in given),
        )
    }
    return Source(properties.name, document, {**known, **places})


def _database(properties: Properties) -> list[str]:
    if "db" not in properties.values:
        raise StudyError(
            f"{properties.name}: no database is named", "add --set database=redis, or -p db=redis"
        )
    return [_DATABASES[properties.one_of("db", "", [*_DATABASES])]]


def _check_databases(properties: Properties, chosen: Sequence[str]) -> None:
    """Refuse a property that becomes a setting of a database which isn't measured."""
    known = {
        name for facts in map(facts_of, chosen) for name in (*facts.ycsb_levels, facts.ycsb_timeout)
    }
    for name, setting in _OF_DATABASES.items():
        if name in properties.values and name not in known:
            raise properties.error(
                name, f"isn't for {', '.join(chosen)}", f"--set {setting}=… is for all"
            )


def _own(properties: Properties, facts: Facts) -> dict[str, Json]:
    """Return the settings that follow from YCSB's binding of a database."""
    own: dict[str, Json] = {}
    if facts.ycsb_default_levels:
        levels = dict(facts.ycsb_default_levels)
        for name, level in facts.ycsb_levels.items():
            word = properties.values.get(name, "").strip()
            if word and level.words:
                known = {one.lower(): one for one in level.words}
                if word.lower() not in known:
                    raise properties.error(
                        name, f"there is no level {word!r}", nearest(word, level.words)
                    )
                levels[level.kind] = level.words[known[word.lower()]]
            elif word:
                levels[level.kind] = word
        own["consistency"] = levels
    if properties.values.get(facts.ycsb_timeout, "").strip():
        # 0 is none, to Jedis as to Cassandra's driver.
        timeout_ms = properties.whole(facts.ycsb_timeout, 0)
        own["operation_timeout"] = timeout_ms / 1000 if timeout_ms else LONGEST_OPERATION_S
    if facts.scans_need_index and properties.number("scanproportion", 0) > 0:
        own["client_options"] = {"scan_index": True}
    return own


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
            weights = length_histogram(read_text(path, encoding="latin-1"), str(path))
        except InputError as error:
            hint = error.hint or "paths count from the current directory, as in YCSB"
            raise properties.error("fieldlengthhistogram", error.message, hint) from None
        rows: list[Json] = [[length, weight] for length, weight in weights]
        return {**lengths, "field_length_distribution": {"histogram": rows}}
    if name != "constant":
        lengths["min_field_length"] = properties.whole("minfieldlength", 1)
    return {**lengths, "field_length_distribution": name}


def length_histogram(text: str, name: str = "histogram") -> list[tuple[int, int]]:
    r"""Return lengths and weights as YCSB draws them from a histogram file called ``name``.

    The first line is ``BlockSize``, a tab, and a number; each one after it a bucket's number from
    0, a tab, and its weight. YCSB draws a number from 0 to the sum of the weights - 1 and takes the
    first bucket whose cumulative weight isn't below it, so that the first bucket gets 1 more than
    its weight and the last used one gets 1 less; the last bucket's length is one block too short.
    Both are kept: lengths are then spread as they would be by YCSB.

    Raises
    ------
    InputError
        If it is no such file, with the line at fault.

    Examples
    --------
    >>> length_histogram("BlockSize\t10\n0\t3\n1\t5\n2\t4\n")
    [(10, 4), (20, 8)]
    """
    numbers: list[int] = []
    for line, cells in parse_rows(text, name, "\t"):
        first = str(len(numbers) - 1) if numbers else "BlockSize"
        if len(cells) != 2 or cells[0] != first:  # noqa: PLR2004
            raise InputError(
                f"{name}:{line}: should be {first}, a tab and a number",
                "BlockSize and its bytes, then a line a bucket: its number from 0, and its weight",
            )
        try:
            numbers.append(parse_whole(cells[1]))
        except ValueError as error:
            raise InputError(f"{name}:{line}: {error}{instead(cells[1])}") from None
        if not (0 if len(numbers) > 1 else 1) <= numbers[-1] < _MOST_WEIGHT:
            raise InputError(f"{name}:{line}: {numbers[-1]} is too low, or has more than 31 bits")
    block, buckets = (numbers or [0])[0], numbers[1:]
    if len(buckets) < 2 or sum(buckets) == 0:  # noqa: PLR2004
        raise InputError(
            f"{name}: should have BlockSize, two buckets at least, and weights above 0"
        )
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
