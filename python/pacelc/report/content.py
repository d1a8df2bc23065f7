"""What a report says: plain values, from the analysis. No markup, no drawing, no files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import polars as pl

from pacelc.analysis import (
    METRICS,
    Comparison,
    Design,
    Estimate,
    TimeAccount,
    Weakness,
    by_load,
    compare,
    comparisons_frame,
    resource_use,
    resource_use_by_load,
    time_account,
    weaknesses,
)
from pacelc.analysis.design import described, design_of
from pacelc.analysis.estimate import format_number, mean_estimate
from pacelc.analysis.qualified import qualified, withheld
from pacelc.analysis.summary import contradictions
from pacelc.analysis.unavailability import (
    RECOVERY_METRICS,
    UNAVAILABILITY_METRICS,
    estimates,
    faults_frame,
    recovery,
    unavailability,
)
from pacelc.analysis.verdict import said
from pacelc.databases import FACTS, display_name
from pacelc.names import counted
from pacelc.networks.exhibits import exhibits_of as exhibits_with_models
from pacelc.papers import Evidence, Finding, TableExhibit, check_claims, claims_of, exhibits_of
from pacelc.papers.cited import paper_of
from pacelc.report.disqualified import LeftOut, left_out
from pacelc.report.headline import Headline, headline, of_paper
from pacelc.report.observed import Observations, observations
from pacelc.report.partitions import Partitions, partitions, read_back
from pacelc.report.terms import labels, shown_label
from pacelc.study.compared import LEVELS
from pacelc.study.outlook import ALPHA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pacelc.papers import Exhibit, Table
    from pacelc.papers.cited import Paper
    from pacelc.store import Results
    from pacelc.store.format import RunRecord, RunResult, SizesRecord

__all__ = ["Content", "Grid", "Tested", "build", "named"]

Grid: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
"""A table's heads and rows."""

_SHOWN: Final = ("latency_ms_p50", "latency_ms_p99")
_ESTIMATED: Final = ("level", "role", "resource", "unit", "loads")
_RUN: Final = ("source", "run")
_TWO_UNITS: Final = 120
"""Seconds below two minutes, and minutes below two hours, are easier to read as such."""
_BYTES: Final = {"memory_bytes": "memory", "memory_limit_bytes": "memory limit"}
_DATABASE: Final = re.compile(rf"\b({'|'.join(FACTS)})\b")


@dataclass(frozen=True)
class Tested:
    """A paper's finding as a row shows it.

    Attributes
    ----------
    id, text, source
        Of the claim.
    verdict
        In words; a finding is contradicted, where a guarantee would be violated.
    kind
        ``holds`` or ``violated``, or empty.
    evidence
        Without the reasons for which runs are disqualified, which stand above.
    """

    id: str
    text: str
    source: str
    verdict: str
    kind: str
    evidence: str


@dataclass(frozen=True, eq=False)
class Content:
    """Everything that the template shows."""

    results: Results
    design: Design
    title: str
    study: str
    summary: str
    terms: tuple[str, ...]
    labels: tuple[tuple[str, str, str], ...]
    description: tuple[str, ...]
    headline: Headline
    weaknesses: tuple[Weakness, ...]
    disqualified: LeftOut
    comparisons: tuple[Comparison, ...]
    contradictions: tuple[str, ...]
    tested: tuple[Comparison, ...]
    disagreements: tuple[tuple[str, tuple[str, ...]], ...]
    paper: Paper | None
    of_paper: str
    findings: tuple[Tested, ...]
    exhibits: tuple[Exhibit, ...]
    exhibit_tables: dict[str, Table]
    loads: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]
    groups: tuple[tuple[str, ...], ...]
    resources: Grid
    failures: tuple[dict[str, Any], ...]
    retried: tuple[dict[str, Any], ...]
    faults: tuple[tuple[str, ...], ...]
    fault_costs: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]
    read_back: tuple[tuple[str, ...], ...]
    partitions: Partitions
    observed: Observations
    environment: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    account: TimeAccount
    activities: tuple[tuple[str, str, str, str], ...]
    tables: dict[str, pl.DataFrame]


def build(results: Results, *, level: str | None = None, seed: int = 0) -> Content:
    """Analyse results and say what they say.

    Parameters
    ----------
    results
        What :func:`pacelc.store.load` returned.
    level
        The factor whose levels are compared; by default what the study says. Published findings are
        about what their study compares, whatever it is.
    seed
        Of the bootstrap.
    """
    design = design_of(results, level)
    own = design if level is None else Design.of(results)
    whole = design.whole_groups
    by_kind = [group for group in design.groups if group not in whole]
    weak = tuple(weaknesses(results))
    fast = qualified(results, design, "speed", weak)
    rest = compare(fast.design, groups=fast.design.whole_groups, seed=seed) if fast.without else ()
    tested = tuple(withheld(compare(design, groups=whole, seed=seed), rest, fast.without))
    shown = (
        *compare(design, groups=by_kind, seed=seed),
        *compare(design, metrics=_SHOWN, seed=seed),
    )
    comparisons = tuple(_interleaved(design, tested, shown))
    study: dict[str, Any] = results.studies[0]
    name = str(study.get("name", "study"))
    findings = tuple(check_claims(claims_of(name), results, own, fast if own is design else None))
    evidence = Evidence(results, own)
    exhibits = (*exhibits_of(name), *exhibits_with_models(name))
    exhibit_tables = {
        exhibit.name: table
        for exhibit in exhibits
        if isinstance(exhibit, TableExhibit) and (table := exhibit.build(evidence)) is not None
    }
    account = time_account(results)
    means = by_load(design)
    use = resource_use(results, design)
    faults = faults_frame(results)
    without_success, recovered = unavailability(results), recovery(results)
    tables = {
        "runs": results.runs,
        "by_load": means,
        "changes": _changes_frame(comparisons),
        "tests": comparisons_frame(tested),
        "resources": use,
        "resources_by_load": resource_use_by_load(results, design),
        "time": account.activities,
        "failures": results.failures,
        "warnings": _warnings(weak),
    }
    if results.groups.height:
        tables["groups"] = results.groups
    if faults.height:
        tables |= {"faults": faults, "unavailability": without_success, "recovery": recovered}
    kept, read_back_rows = read_back(results, _labels(results))
    if kept.height:
        tables["read_back"] = kept
    under = partitions(results, design)
    observed = observations(results, design, comparisons)
    gone = left_out(results, weak)
    paper = paper_of(name)
    tables |= under.tables | observed.tables
    tables |= {name: table.frame for name, table in exhibit_tables.items()}
    if findings:
        tables["claims"] = pl.DataFrame(
            [
                {
                    "claim": f.claim.id,
                    "text": f.claim.text,
                    "source": f.claim.source,
                    "verdict": f.verdict,
                    "reason": f.reason,
                    "evidence": f.evidence,
                }
                for f in findings
            ],
            schema_overrides={"reason": pl.String},
        )
    return Content(
        results=results,
        design=design,
        title=str(study.get("title") or name),
        study=name,
        summary=_summary(results, design),
        terms=tuple(_terms(results, design)),
        labels=labels(results),
        description=tuple(filter(None, str(study.get("description", "")).split("\n\n"))),
        headline=headline(results, design, comparisons, means),
        weaknesses=weak,
        disqualified=gone,
        comparisons=comparisons,
        contradictions=tuple(contradictions(comparisons)),
        tested=tested,
        disagreements=tuple(_disagreements(tested)),
        paper=paper,
        of_paper=of_paper(paper, findings) if paper is not None and findings else "",
        findings=tuple(_tested(finding, gone) for finding in findings),
        exhibits=exhibits,
        exhibit_tables=exhibit_tables,
        loads=tuple(_loads(design, means)),
        groups=tuple(_groups(results)),
        resources=_resources(results, use),
        failures=tuple(results.failures.join(results.runs, on=_RUN, how="anti").to_dicts()),
        retried=tuple(results.failures.join(results.runs, on=_RUN, how="semi").to_dicts()),
        faults=tuple(_faults(faults)),
        fault_costs=tuple(_fault_costs(results, without_success, recovered)),
        read_back=read_back_rows,
        partitions=under,
        observed=observed,
        environment=(*_environment(results), *_sizes(results)),
        settings=tuple(_settings(results)),
        account=account,
        activities=tuple(
            (row["what"], f"{row['count']:,}", _duration(row["seconds"]), f"{row['share']:.1%}")
            for row in account.activities.iter_rows(named=True)
        ),
        tables=tables,
    )


def _interleaved(
    design: Design, tested: Sequence[Comparison], shown: Sequence[Comparison]
) -> list[Comparison]:
    """Both kinds in one list, by group and pair of levels."""
    order = {group: i for i, group in enumerate(design.groups)}
    return sorted([*tested, *shown], key=lambda c: (order[c.group], design.levels.index(c.level)))


def _changes_frame(comparisons: Sequence[Comparison]) -> pl.DataFrame:
    frame = comparisons_frame(comparisons)
    return frame.select(
        name for name in frame.columns if not name.startswith(("paper", "paired", "disagreement"))
    )


def named(text: str) -> str:
    """Return a text with databases as their makers write them.

    Examples
    --------
    >>> named("mongodb / cassandra, weak: 0.48")
    'MongoDB / Cassandra, weak: 0.48'
    """
    return _DATABASE.sub(lambda found: display_name(found[0]), text)


def _tested(finding: Finding, gone: LeftOut) -> Tested:
    claim, verdict = finding.claim, finding.verdict
    evidence = re.sub(r": violated(?=;|$)", ": contradicted", gone.briefly(finding.evidence))
    return Tested(
        claim.id,
        claim.text,
        claim.source,
        said("contradicted" if verdict == "violated" else verdict, finding.reason),
        "" if finding.reason else verdict,
        named(evidence),
    )


def _disagreements(tested: Sequence[Comparison]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return why pooled and paired tests disagree, and what they disagree about."""
    found: dict[str, list[str]] = {}
    for c in tested:
        if c.disagreement is None:
            continue
        if c.paired.verdict == "differs":
            why = (
                "Only the paired test shows a difference: pooled, the variation between loads "
                "counts as noise, which hides it"
            )
        elif c.paired.p is not None and c.paired.p < ALPHA:
            why = (
                "Only the pooled test, which isn't adjusted for the number of tests, shows a "
                "difference"
            )
        else:
            why = "Only the pooled test shows a difference: at the same load it is not consistent"
        change = "" if c.ratio is None else f" ({c.ratio.as_change().text()})"
        what = f"{c.group}, {c.reference} → {c.level}, {c.metric.title}{change}"
        found.setdefault(why, []).append(what)
    yield from ((why, tuple(of)) for why, of in found.items())


def _warnings(weak: Sequence[Weakness]) -> pl.DataFrame:
    rows = [
        {
            "kind": w.kind,
            "text": w.text,
            "advice": w.advice,
            "runs": " ".join(w.runs),
            "disqualifies": " ".join(sorted(w.disqualifies.of)) if w.disqualifies else "",
            "disqualified": " ".join(sorted({run for _, run in w.disqualifies.runs}))
            if w.disqualifies
            else "",
        }
        for w in weak
    ]
    names = ("kind", "text", "advice", "runs", "disqualifies", "disqualified")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String))


def _terms(results: Results, design: Design) -> Iterator[str]:
    """Define the words that the report uses from its first line on."""
    if not results.runs.height:
        return
    if results.factors:
        yield "A scenario is one combination of the study's factors; a run measures one scenario."
    arrivals = {r.scenario.settings.get("arrivals") for r in results.records}
    if arrivals == {"closed"}:
        yield "A user sends an operation, waits for its answer, and sends the next."
    if len(design.levels) > 1:
        level = "level" if design.level_factor in LEVELS else design.level_factor
        yield f"The reference {level}, with which the others are compared, is {design.reference}."


def _summary(results: Results, design: Design) -> str:
    runs = results.runs.height
    if runs == 0:
        return "No run is finished yet."
    scenarios = results.runs.select("source", "scenario").n_unique()
    first, last = (
        results.runs.get_column("started_utc").min(),
        results.runs.get_column("started_utc").max(),
    )
    days = " to ".join(dict.fromkeys(f"{moment:%Y-%m-%d}" for moment in (first, last)))
    ok = int(results.runs.get_column("ok").sum())
    load = ""
    if design.load_factor:
        load = f"; {design.load_factor} {', '.join(f'{x:g}' for x in design.loads)}"
    what = "levels" if design.level_factor == "consistency" else design.level_factor
    levels = f"; {what} {', '.join(design.levels)}" if design.level_factor else ""
    seconds = results.runs.get_column("measured_s")
    long = " to ".join(dict.fromkeys(f"{x:.3g}" for x in (seconds.min(), seconds.max())))
    return (
        f"{counted(runs, 'run')} of {counted(scenarios, 'scenario')}, {long} s each, "
        f"{counted(ok, 'successful operation')}, {days}{levels}{load}."
    )


def _loads(
    design: Design, means: pl.DataFrame
) -> list[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    """Tables (caption, heads, rows): a row a group and load, a column a level."""
    tables: list[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]] = []
    if means.height == 0:
        return tables
    names = list(design.groups[0].names)
    columns = design.levels if design.level_factor else ("mean",)
    for metric in METRICS.values():
        part = means.filter(pl.col("metric") == metric.name)
        cells = {
            (tuple(str(row[n]) for n in names), row["load"], row["level"]): _estimate(row)
            for row in part.iter_rows(named=True)
        }
        keys = list(dict.fromkeys((group, load) for group, load, _ in cells))
        order = {g.labels: i for i, g in enumerate(design.groups)}
        keys.sort(key=lambda key: (order[key[0]], key[1]))
        rows = tuple(
            (
                *map(shown_label, names, group),
                *((f"{load:g}",) if design.load_factor else ()),
                *(str(cells.get((group, load, level), "")) for level in design.levels),
            )
            for group, load in keys
        )
        heads = (*names, *((design.load_factor,) if design.load_factor else ()), *columns)
        tables.append((f"{metric.title} ({metric.unit})", heads, rows))
    return tables


def _estimate(row: dict[str, Any]) -> Estimate:
    return Estimate(row["value"], row["low"], row["high"], row["n"], method=row["method"])


def _groups(results: Results) -> list[tuple[str, ...]]:
    """Rows (scenario, region, kind, throughput, p50, p99): means over a scenario's runs."""
    labels = _labels(results)
    scenarios = results.runs.select("source", "run", "scenario")
    runs = results.groups.join(scenarios, on=["source", "run"], how="left")
    key = ["source", "scenario", "region", "operation"]
    rows: list[tuple[str, ...]] = []
    for (source, scenario, region, kind), of in runs.group_by(key, maintain_order=True):
        columns = ("throughput_per_s", "latency_ms_p50", "latency_ms_p99")
        runs_of = (of.get_column(name).drop_nulls() for name in columns)
        means = (str(mean_estimate(values)) if len(values) else "" for values in runs_of)
        label = labels[str(source), int(cast("int", scenario))]
        rows.append((label, str(region), str(kind), *means))
    return rows


def _resources(results: Results, use: pl.DataFrame) -> Grid:
    """Rows (group, level, node, CPU, memory): of machines of one size, shares repeat cores."""
    names = [
        c for c in use.columns if c not in (*_ESTIMATED, "value", "low", "high", "n", "method")
    ]
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row in use.iter_rows(named=True):
        group = described({name: row[name] for name in names})
        if row["value"] is None:
            rows.setdefault((group, row["level"], row["role"]), {})[row["resource"]] = row["method"]
            continue
        estimate = _estimate(row)
        if row["resource"] == "memory":
            estimate = estimate.scaled(1 / (1 << 20))
        rows.setdefault((group, row["level"], row["role"]), {})[row["resource"]] = str(estimate)
    sizes = {r.machine_cores for r in results.records}
    heads = {"cpu": "CPU, % of the machine", "cpu_cores": "CPU, cores", "memory": "memory, MiB"}
    if len(sizes) == 1 and (cores := next(iter(sizes))):
        del heads["cpu"]
        heads["cpu_cores"] = f"CPU, of {counted(cores, 'core')}"
    return (
        ("group", "level", "node", *heads.values()),
        tuple((*key, *(cells.get(name, "") for name in heads)) for key, cells in rows.items()),
    )


def _faults(faults: pl.DataFrame) -> list[tuple[str, ...]]:
    """Rows (run, fault, nodes, by, planned, began, ended, note)."""

    def seconds(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    return [
        (
            row["run"],
            f"{row['fault']} {row['target']}",
            row["nodes"],
            row["by"],
            "" if row["planned_at_s"] is None else f"{row['planned_at_s']:g}",
            seconds(row["begin_s"]),
            seconds(row["end_s"]),
            row["error"] or "",
        )
        for row in faults.iter_rows(named=True)
    ]


def _fault_costs(
    results: Results, without_success: pl.DataFrame, recovered: pl.DataFrame
) -> list[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]]:
    """Tables (caption, heads, rows), in seconds: a row a scenario and kind of operation."""
    labels = _labels(results)
    tables: list[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]] = []
    for caption, frame, metrics in (
        ("Time without success, seconds", without_success, UNAVAILABILITY_METRICS),
        ("From each fault, seconds", recovered, RECOVERY_METRICS),
    ):
        cells: dict[tuple[str, ...], list[str]] = {}
        for row in estimates(frame, metrics).iter_rows(named=True):
            what = (labels[row["source"], row["scenario"]] or "all runs",)
            what += (row["fault"],) if "fault" in row else ()
            key = (*what, row["operation"], row["level"], str(row.get("number", "")))
            cells.setdefault(key, []).append(_seconds_cell(row))
        if cells:
            fault = ("fault",) if frame is recovered else ()
            heads = ("scenario", *fault, "operation", "level", *metrics.values())
            rows = tuple((*key[:-1], *values) for key, values in cells.items())
            tables.append((caption, heads, rows))
    return tables


def _labels(results: Results) -> dict[tuple[str, int], str]:
    """Return what each scenario is called, by source and number."""
    return {
        (source, record.scenario.number): described(record.scenario.factors)
        for source, record in zip(results.runs.get_column("source"), results.records, strict=True)
    }


def _seconds_cell(row: dict[str, Any]) -> str:
    """Print an estimate; how many runs had a value, where not all had."""
    if row["value"] is None:
        return f"never (0 of {counted(row['runs'], 'run')})"
    text = str(_estimate(row))
    return text if row["n"] == row["runs"] else f"{text}, of {counted(row['runs'], 'run')}"


def _environment(results: Results) -> list[tuple[str, str]]:
    """Versions, machine and levels in force; each value once, with its runs if not all."""
    found: dict[str, dict[str, int]] = {}

    def add(name: str, value: object) -> None:
        texts = found.setdefault(name, {})
        text = (
            value
            if isinstance(value, str)
            else json.dumps(value, ensure_ascii=False, sort_keys=True)
        )
        texts[text] = texts.get(text, 0) + 1

    for r in results.records:
        add("pacelc", r.pacelc)
        for name, version in sorted(r.versions.items()):
            add(display_name(name) if name in FACTS else name, version)
        for name, value in r.machine.items():
            if name in _BYTES and isinstance(value, int | float):
                add(_BYTES[name], f"{format_number(value / (1 << 30))} GiB")
            else:
                add(name, value)
        for name, text in (_in_force(r) | _division(r.scenario.settings, r.result)).items():
            add(name, text)
    if apart := [ms for r in results.records if (ms := _started_apart_ms(r.result)) is not None]:
        add("workers started within, in each run", f"{format_number(max(apart))} ms")
    rows: list[tuple[str, str]] = []
    for name, texts in found.items():
        several = len(texts) > 1
        rows.append(
            (
                name,
                "; ".join(
                    f"{text} ({counted(n, 'run')})" if several else text
                    for text, n in texts.items()
                ),
            )
        )
    return rows


def _in_force(record: RunRecord) -> dict[str, str]:
    """Say what consistency was in force; levels that are compared are explained by their labels."""
    factors, settings = record.scenario.factors, record.scenario.settings
    if not set(LEVELS).isdisjoint(factors):
        return {}
    database = display_name(str(settings.get("database", factors.get("database", ""))))
    return {
        f"consistency in force, {' '.join(filter(None, (database, kind)))}": text
        for kind, text in sorted(record.consistency.items())
    }


def _sizes(results: Results) -> list[tuple[str, str]]:
    """Return what limits the nodes, each size once."""
    texts = dict.fromkeys(_size(r.sizes) for r in results.records if r.sizes is not None)
    return [("size of a node, in force", "; ".join(texts))] if texts else []


def _size(sizes: SizesRecord) -> str:
    """Say what one node may use, as the kernel says it, and by what means."""
    node = next(iter(sizes.nodes.values()), None)
    parts: list[str] = []
    if node is not None and node.cpu_quota_us and node.cpu_period_us:
        parts.append(
            f"{counted(node.cpu_quota_us / node.cpu_period_us, 'core')} "
            f"({node.cpu_quota_us} of each {node.cpu_period_us} µs)"
        )
    if node is not None and node.cpus is not None:
        parts.append(f"{counted(len(node.cpus), 'core')}, its own as far as there are enough")
    if node is not None and node.memory_limit_bytes is not None:
        parts.append(f"{format_number(node.memory_limit_bytes / (1 << 30))} GiB of memory")
    return f"{', '.join(parts)} by {sizes.mechanism}"


def _division(settings: Mapping[str, Any], result: RunResult) -> dict[str, str]:
    """Say what records are spread over, and which machines measured, where it is several."""
    said: dict[str, str] = {}
    sets = settings.get("shards", 1)
    match settings.get("sharding", "none"):
        case "client":
            keys = f"the load generator hashes keys over {counted(sets, 'replica set')}"
            said["sharding"] = f"client: {keys}, without mongos"
        case "mongos":
            said["sharding"] = f"mongos, before {counted(sets, 'replica set')}"
        case _:
            pass
    if result.workers:
        nodes = dict.fromkeys(worker.node for worker in result.workers)
        said["workers"] = f"{len(result.workers)} on {', '.join(nodes)}"
    return said


def _started_apart_ms(result: RunResult) -> float | None:
    """Return from the first worker's first measured operation to the last's, at the most."""
    started = [w for w in result.workers if w.first_start_skew_ms is not None]
    if len(started) <= 1:
        return None
    first, *_, last = sorted(started, key=lambda worker: worker.first_start_skew_ms or 0.0)
    apart_ms = (last.first_start_skew_ms or 0.0) - (first.first_start_skew_ms or 0.0)
    return apart_ms + first.uncertainty_ms + last.uncertainty_ms


def _settings(results: Results) -> list[tuple[str, str]]:
    """Every setting with the values that it had."""
    found: dict[str, list[str]] = {}
    for r in results.records:
        for name, value in _flat(r.scenario.settings):
            if value is None or value in ({}, []):
                continue
            texts = found.setdefault(name, [])
            text = (
                value
                if isinstance(value, str)
                else json.dumps(value, ensure_ascii=False, sort_keys=True)
            )
            if text not in texts:
                texts.append(text)
    return [(name, ", ".join(texts)) for name, texts in found.items()]


def _flat(settings: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in settings.items():
        if name == "workload" and isinstance(value, dict):
            rows += _flat(cast("dict[str, Any]", value), f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}", value))
    return rows


def _duration(seconds: float) -> str:
    if seconds < _TWO_UNITS:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < _TWO_UNITS else f"{minutes / 60:.1f} h"
