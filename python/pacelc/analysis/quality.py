"""What weakens the evidence, and what to do about it.

Start here: :func:`weaknesses`. A warning is about runs, so each names them; a study without
warnings is not thereby right, it only shows none of the faults looked for here:

client          the load generator was itself near its limit
shared-host     client and servers shared one machine's cores
others          other processes used the machine, too
compiler        servers were still compiling what they are asked to do
machine         the machine itself was slower in some runs than in others
hedged          slow reads were sent to further replicas, and made them slower
node-memory     a node reached its memory limit, or was killed for it
short           runs were shorter than what databases do now and then
thin-tail       too few operations were slower than a percentile that is reported
drift           throughput rose or fell within the measure phase, or from repetition to repetition
errors          operations failed, or may have
schedule        faults met a load that has no schedule, or not the one that is known
stall           stretches of time in which nothing was answered
clock           readings are missing for longer than the machine's load explains
repetitions     scenarios with a single run
missing         scenarios that were tried and gave no run
runner          what the runner itself noted
damaged         runs whose files aren't what was stored

Some weaknesses disqualify runs: what they measured is so far from what is asked that no verdict may
rest on them. Bounds are chosen beforehand, and stand below with their reasons.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import numpy as np
import polars as pl
from scipy import stats

from pacelc.analysis.design import described
from pacelc.analysis.estimate import format_number
from pacelc.databases import facts_of
from pacelc.names import COMPILING, HEDGED, NOT_SERVERS, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pacelc.store import Results
    from pacelc.store.format import RunRecord

    Key = tuple[str, str]
    """Source and name of a run."""

__all__ = ["Disqualified", "Quantity", "Weakness", "weaknesses"]

Quantity = Literal["speed", "service"]
"""What runs are asked for: throughput, latency and what they took; or who was served in a
partition. A lost write or a stale read is proof of itself, whatever else the run was."""

CLIENT_BUSY: Final = 0.8
"""Above this share of its threads' time, queueing in the client shows in the latencies."""
SHORT_S: Final = 30.0
FAR_TOO_SHORT_S: Final = 1.0
"""A run has a reading a second: of less, nobody knows what else the machine did, or whether it was
steady. One garbage collection or burst of compilation is a tenth of it."""
LEAST_OPERATIONS: Final = 100
"""Arrivals of so many vary by a tenth by chance, a tenth being what `DRIFT` calls a change."""
TAIL: Final = 100
"""Observations needed beyond a percentile for it to be more than an anecdote."""
DRIFT: Final = 0.10
DRIFT_P: Final = 0.01
SCENARIOS_MIN: Final = 8
"""Of a cluster, below which its first and last repetition aren't compared."""
SATURATED: Final = 0.9
OTHERS: Final = 0.1
"""Share of a machine that others may use: accounts by ticks and exact ones differ by less."""
OTHERS_TOO_MUCH: Final = 0.25
"""From this share on servers may have had a quarter less: more than most levels differ by."""
SLOWER: Final = 0.1
"""Share by which arithmetic took longer than in its study's median run: such runs are named."""
TREND_MIN: Final = 10
"""Intervals below which no trend is looked for."""
STALL: Final = 0.05
PAUSE_S: Final = 2.0
_NUMBER: Final = re.compile(r"\d[\d.,]*")
_BLAMED: Final = re.compile(
    r"the client itself could not keep \S+ operations a second: its p99 start was (?P<late>[\d.]+) "
    r"ms late and its threads were busy (?P<busy>\d+) % of the time; use more threads or machines"
)
_IDLE_PERCENT: Final = 50
"""Of one thread: one that is less busy doesn't keep its users waiting (`IDLE` in crates/load)."""
_QUANTITIES: Final[dict[Quantity, str]] = {
    "speed": "on speed",
    "service": "on who is served in a partition",
}
_BOTH: Final[frozenset[Quantity]] = frozenset({"speed", "service"})
_T = TypeVar("_T")


@dataclass(frozen=True)
class Disqualified:
    """Runs that are no evidence of some quantities.

    Attributes
    ----------
    because
        What was wrong and how many runs it was in, to stand behind *disqualified*.
    runs
        Their sources and names.
    of
        The quantities.
    """

    because: str
    runs: frozenset[Key]
    of: frozenset[Quantity]


@dataclass(frozen=True)
class Weakness:
    """One weakness.

    Attributes
    ----------
    kind
        A word of the module's list.
    text
        What was seen, with numbers.
    advice
        What to do about it.
    runs
        Names of the runs concerned, in order.
    disqualifies
        Those of them that are no evidence; None where all are, such as runs on a machine that
        client and servers shared.
    """

    kind: str
    text: str
    advice: str
    runs: tuple[str, ...] = ()
    disqualifies: Disqualified | None = None

    @property
    def consequence(self) -> str:
        """What verdicts do without, in a sentence."""
        if self.disqualifies is None:
            return "Disqualifies no run."
        of = " and ".join(
            words for name, words in _QUANTITIES.items() if name in self.disqualifies.of
        )
        return f"Disqualifies {counted(len(self.disqualifies.runs), 'run')} from verdicts {of}."


def weaknesses(results: Results) -> list[Weakness]:
    """Return the weaknesses of results, in the order of the module's list.

    Parameters
    ----------
    results
        What :func:`pacelc.store.load` returned.
    """
    checks = (
        _client,
        _shared_host,
        _others,
        _compiler,
        _machine,
        _hedged,
        _node_memory,
        _short,
        _tail,
        _drift,
        _drift_between,
        _stall,
        _errors,
        _schedule,
        _clock,
        _repetitions,
        _missing,
        _runner,
    )
    found = [warning for check in checks for warning in check(results)]
    found.extend(
        Weakness(
            "damaged",
            f"run {run} is left out: {what}",
            "`pacelc run` measures the study's own runs again, and keeps these in damaged/",
            (run,),
            Disqualified(f"run {run} is damaged", frozenset({(source, run)}), _BOTH),
        )
        for (source, run), what in results.damaged.items()
    )
    found.extend(
        Weakness("missing", problem, "the rest of the results was read")
        for problem in results.problems
    )
    return found


def _client(results: Results) -> Iterable[Weakness]:
    shares = {
        key: r.result.client.busy_fraction
        for key, r in _keyed(results)
        if r.result.client.busy_fraction is not None
        and r.result.client.busy_fraction >= CLIENT_BUSY
    }
    busy = _named(shares)
    if busy:
        most = f"{min(max(shares.values()), 1.0):.0%}"
        yield Weakness(
            "client",
            f"a thread of the load generator was busy {most} of its time in "
            f"{_of(busy, results)}: "
            "its own cost is part of what was measured",
            "give the client more threads (client_threads) or a machine of its own, or measure "
            "fewer users",
            tuple(run for run, _ in busy),
            _disqualified(shares, f"the client was busy up to {most} of its time", results),
        )


def _shared_host(results: Results) -> Iterable[Weakness]:
    shared: list[str] = []
    saturated: list[tuple[str, float]] = []
    servers = 0
    usage = results.nodes.group_by("source", "run").agg(
        pl.col("cpu_cores").sum(),
        (~pl.col("role").is_in(NOT_SERVERS)).sum().alias("servers"),
        (pl.col("role") == "client").any().alias("client"),
    )
    by_run = {(row["source"], row["run"]): row for row in usage.iter_rows(named=True)}
    sources = results.runs.get_column("source")
    for source, record in zip(sources, results.records, strict=True):
        run, allowed = record.run, record.allowed_cores
        row = by_run.get((source, run))
        # Only a provider that starts the servers here can read their CPU beside the client's.
        if row is None or not row["client"] or row["servers"] == 0:
            continue
        shared.append(run)
        servers = max(servers, row["servers"])
        if allowed is not None and row["cpu_cores"] >= SATURATED * allowed:
            saturated.append((run, row["cpu_cores"] / allowed))
    if shared:
        cores = {cores for r in results.records if (cores := r.machine_cores) is not None}
        quotas = {
            allowed
            for r in results.records
            if (allowed := r.allowed_cores) is not None and allowed != r.machine_cores
        }
        *fewer, most = sorted(cores) or [0]
        have = f" with {''.join(f'{c}/' for c in fewer)}{counted(most, 'core')}" if cores else ""
        if quotas:
            have += f", of which the control group's quota allowed {_listed(quotas)}"
        yield Weakness(
            "shared-host",
            f"{counted(servers, 'server')} and the client shared one "
            f"machine{have}: the client takes "
            "CPU from the servers, and nodes compete for the same cores",
            "read differences between levels, not absolute throughput; for those, use a cluster of "
            "several machines",
            tuple(shared),
        )
    if saturated:
        yield Weakness(
            "shared-host",
            f"servers and client used at least {SATURATED:.0%} of the cores that they could have "
            f"(up to {max(s for _, s in saturated):.0%}) in "
            f"{_of(saturated, results)}: throughput there is the machine's limit, not the "
            "database's",
            "measure fewer users or nodes, or use a larger machine",
            tuple(run for run, _ in saturated),
        )


def _listed(numbers: Iterable[float]) -> str:
    return "/".join(f"{number:.4g}" for number in sorted(numbers))


def _others(results: Results) -> Iterable[Weakness]:
    used: list[tuple[str, float]] = []
    too_much: dict[Key, tuple[float, float]] = {}
    others = results.runs.get_column("others_cores")
    for (key, r), cores in zip(_keyed(results), others, strict=True):
        machine = r.machine.get("cores")
        if cores is None or not isinstance(machine, int | float) or cores < OTHERS * machine:
            continue
        used.append((r.run, cores))
        if cores >= OTHERS_TOO_MUCH * machine:
            too_much[key] = cores, machine
    if used:
        most, whole = max(too_much.values(), default=(0.0, 0.0))
        because = (
            f"others used at least {OTHERS_TOO_MUCH:.0%} of the machine, "
            f"up to {most:.1f} of {counted(whole, 'core')},"
        )
        yield Weakness(
            "others",
            f"processes that aren't part of the study used up to {max(c for _, c in used):.1f} "
            f"cores of the machine in {_of(used, results)}: servers and load generator waited for "
            "them",
            "measure on a machine that does nothing else, and repeat these runs",
            tuple(run for run, _ in used),
            _disqualified(too_much, because, results, _BOTH),
        )


def _compiler(results: Results) -> Iterable[Weakness]:
    shares = results.runs.select("run", "compiler_share").filter(
        pl.col("compiler_share") > COMPILING
    )
    compiling: list[tuple[str, float]] = shares.rows()
    if compiling:
        yield Weakness(
            "compiler",
            f"just-in-time compilers took up to {max(s for _, s in compiling):.0%} of the servers' "
            f"processor time in {_of(compiling, results)}: what isn't compiled yet is slow",
            "burn in for longer (burn_in), and repeat these runs",
            tuple(run for run, _ in compiling),
        )


def _machine(results: Results) -> Iterable[Weakness]:
    # Studies may come from different machines.
    step = pl.col("machine_step_ns")
    by = results.runs.select("run", by=step / step.median().over("source") - 1)
    slower: list[tuple[str, float]] = by.filter(pl.col("by") > SLOWER).rows()
    if slower:
        yield Weakness(
            "machine",
            f"the machine itself was up to {max(s for _, s in slower):.0%} slower in "
            f"{_of(slower, results)} than in the median run: the same arithmetic took longer",
            "other virtual machines or a hot processor may be the cause: measure on a machine of "
            "your own, and repeat scenarios at different times (order: blocks)",
            tuple(run for run, _ in slower),
        )


def _hedged(results: Results) -> Iterable[Weakness]:
    by = results.runs.select("run", "hedges_per_read").filter(pl.col("hedges_per_read") > HEDGED)
    hedged: list[tuple[str, float]] = by.rows()
    if hedged:
        runs = dict(hedged)
        settings = (r.scenario.settings for r in results.records if r.run in runs)
        advice = dict.fromkeys(facts_of(s.get("database", "")).hedging_advice for s in settings)
        yield Weakness(
            "hedged",
            f"slow reads were sent to further replicas in {_of(hedged, results)}, up to "
            f"{max(n for _, n in hedged):.2g} more requests each: with this extra load, throughput "
            "may fall as users are added",
            "; ".join(filter(None, advice)),
            tuple(run for run, _ in hedged),
        )


def _node_memory(results: Results) -> Iterable[Weakness]:
    kills_of: dict[Key, int] = {}
    full: list[tuple[str, int]] = []
    for key, r in _keyed(results):
        nodes = r.sizes.nodes.values() if r.sizes is not None else ()
        if kills := sum(node.oom_kills or 0 for node in nodes):
            kills_of[key] = kills
        if hits := sum(node.limit_hits or 0 for node in nodes):
            full.append((r.run, hits))
    if killed := _named(kills_of):
        yield Weakness(
            "node-memory",
            f"in {_of(killed, results)} the kernel killed processes of nodes whose memory ran out: "
            "the run measured a failure and the recovery from it",
            "give the nodes more memory, or the database a smaller heap or cache",
            tuple(run for run, _ in killed),
            _disqualified(kills_of, "nodes were killed for want of memory", results, _BOTH),
        )
    if full:
        yield Weakness(
            "node-memory",
            f"in nodes of {_of(full, results)} were at their memory limit, up to "
            f"{max(hits for _, hits in full):,} times: the kernel took memory back, files' cached "
            "pages first, which costs time and reads from disk",
            "give the nodes more memory, unless the study is about memory",
            tuple(run for run, _ in full),
        )


def _short(results: Results) -> Iterable[Weakness]:
    short = [(r.run, r.result.measured_s) for r in results.records if r.result.measured_s < SHORT_S]
    moments = {
        key: r.result.measured_s
        for key, r in _keyed(results)
        if r.result.measured_s < FAR_TOO_SHORT_S
    }
    if short:
        shortest = format_number(min(s for _, s in short))
        yield Weakness(
            "short",
            f"{_of(short, results)} measured less than {SHORT_S:.0f} s (the shortest "
            f"{shortest} s): "
            "compaction, garbage collection and checkpoints may not have happened meanwhile",
            _longer(results),
            tuple(run for run, _ in short),
            _disqualified(
                moments, f"less than {FAR_TOO_SHORT_S:g} s measured, down to {shortest} s", results
            ),
        )


def _tail(results: Results) -> Iterable[Weakness]:
    thin = [
        (r.run, n)
        for r in results.records
        if (
            n := min(
                (o.latency_ns.n for o in r.result.operations.values() if o.latency_ns.n), default=0
            )
        )
        < 100 * TAIL
    ]
    oks = {key: sum(o.ok for o in r.result.operations.values()) for key, r in _keyed(results)}
    few = {key: ok for key, ok in oks.items() if ok < LEAST_OPERATIONS}
    if thin:
        yield Weakness(
            "thin-tail",
            f"{_of(thin, results)} had fewer than {TAIL} observations beyond the 99th percentile "
            "of an operation "
            f"(the fewest {min(n for _, n in thin) // 100}): read those percentiles, and all "
            "higher ones, with care",
            f"{_longer(results)}, or report the median and 90th percentile",
            tuple(run for run, _ in thin),
            _disqualified(few, f"fewer than {LEAST_OPERATIONS} operations measured", results),
        )


def _longer(results: Results) -> str:
    """Say how to measure more: of a count of operations, or for longer."""
    if any(r.scenario.settings.get("operations") for r in results.records):
        return "measure more operations: --set operations=1000000"
    return "measure longer: --set measure=60s"


def _intervals(results: Results) -> pl.DataFrame:
    """Ok operations by run and interval, from the start of measuring to its end.

    An operation counts in the interval in which it ended, so that the last ones of the warm-up are
    in the first interval, and a drain follows the last. Runs with faults are left out: that they
    are not steady is what they are for.
    """
    calm = [not record.faults for record in results.records]
    ends = results.runs.select("source", "run", "measured_s").filter(
        pl.Series(calm, dtype=pl.Boolean)
    )
    return (
        results.samples.join(ends, on=["source", "run"], how="inner")
        .filter((pl.col("t_s") >= 0) & (pl.col("t_s") < pl.col("measured_s")))
        .group_by("source", "run", "t_s")
        .agg(pl.col("ok").sum(), pl.col("interval_s").max(), pl.col("measured_s").first())
        .filter(pl.col("interval_s") > 0)
        .sort("source", "run", "t_s")
    )


def _drift(results: Results) -> Iterable[Weakness]:
    changes: dict[Key, float] = {}
    chances: dict[Key, float] = {}
    series = (
        _intervals(results)
        .group_by("source", "run", maintain_order=True)
        .agg("t_s", (pl.col("ok") / pl.col("interval_s")).alias("rate"))
    )
    for row in series.iter_rows(named=True):
        t, rate = np.array(row["t_s"]), np.array(row["rate"])
        if t.size < TREND_MIN or float(np.median(rate)) <= 0 or float(np.ptp(rate)) == 0:
            continue
        trend = stats.kendalltau(t, rate)
        slope = stats.theilslopes(rate, t).slope
        change = float(slope) * float(t[-1] - t[0]) / float(np.median(rate))
        if float(trend.pvalue) < DRIFT_P and abs(change) > DRIFT:
            key = row["source"], row["run"]
            changes[key], chances[key] = change, float(trend.pvalue)
    if drifting := _named(changes):
        worst = max(changes, key=lambda key: abs(changes[key]))
        # Of a hundred steady runs one seems to drift by chance, and is no worse for it.
        certain = {
            key: abs(change)
            for key, change in changes.items()
            if chances[key] < DRIFT_P / series.height
        }
        because = f"throughput drifted by up to {max(certain.values(), default=0.0):.0%}"
        yield Weakness(
            "drift",
            f"throughput did not settle in {_of(drifting, results)}: it changed by more than "
            f"{DRIFT:.0%} within the "
            f"measure phase (worst: {changes[worst]:+.0%} in {_run(worst, results)})",
            "warm up longer: --set warm_up=30s",
            tuple(run for run, _ in drifting),
            _disqualified(certain, because, results),
        )


def _drift_between(results: Results) -> Iterable[Weakness]:
    """Compare the first and the last repetition of each cluster, scenario by scenario."""
    runs = results.runs.filter(pl.col("throughput_per_s") > 0)
    own = [name for name in ("database", "nodes", "replication") if name in runs.columns]
    for key, part in runs.group_by("source", *own, maintain_order=True):
        numbers = part.get_column("repetition")
        first, last = (
            part.filter(pl.col("repetition") == number).select("scenario", "throughput_per_s")
            for number in (numbers.min(), numbers.max())
        )
        pairs = first.join(last, on="scenario", suffix="_last")
        logs = (pairs["throughput_per_s_last"] / pairs["throughput_per_s"]).log().to_numpy()
        if logs.size < SCENARIOS_MIN or float(np.ptp(logs)) == 0:
            continue
        change = float(np.expm1(logs.mean()))
        if abs(change) > DRIFT and float(stats.ttest_1samp(logs, 0.0).pvalue) < DRIFT_P:
            words = ", ".join(f"{name} {value}" for name, value in zip(own, key[1:], strict=True))
            yield Weakness(
                "drift",
                f"{words}: {counted(logs.size, 'scenario')} had {change:+.0%} throughput in "
                f"repetition "
                f"{numbers.max()}, compared with repetition {numbers.min()}: the cluster, or the "
                "machine, was still changing",
                "burn in for longer (burn_in), and keep `order: blocks`, so that all scenarios "
                "share the change; on a virtual machine set `no_idle_states: true`",
                tuple(part.get_column("run")),
            )


def _errors(results: Results) -> Iterable[Weakness]:
    shares: dict[Key, float] = {}
    kinds: dict[str, int] = {}
    total = 0
    for key, r in _keyed(results):
        ok = sum(o.ok for o in r.result.operations.values())
        errors = 0
        for o in r.result.operations.values():
            for outcome, counts in (("fail", o.fail), ("unknown", o.unknown)):
                for kind, count in counts.items():
                    if count:
                        kinds[f"{kind} ({outcome})"] = kinds.get(f"{kind} ({outcome})", 0) + count
                        errors += count
        total += errors
        if errors:
            shares[key] = errors / (ok + errors)
    if bad := _named(shares):
        worst = max(shares, key=shares.__getitem__)
        most = ", ".join(
            f"{k} {n:,}" for k, n in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))[:3]
        )
        yield Weakness(
            "errors",
            f"{counted(total, 'operation')} in {_of(bad, results)} did not end ok ({most}; worst "
            f"{shares[worst]:.2%} in {_run(worst, results)}); "
            "throughput and latency are of ok operations",
            "look at the kinds of error in run.json, and at the servers' logs",
            tuple(run for run, _ in bad),
        )


def _stall(results: Results) -> Iterable[Weakness]:
    busy = (
        _intervals(results)
        .filter(pl.col("ok") > 0)
        .group_by("source", "run", maintain_order=True)
        .agg((pl.col("interval_s").sum() / pl.col("measured_s").first()).alias("share"))
    )
    shares: dict[Key, float] = {
        (row["source"], row["run"]): 1 - row["share"]
        for row in busy.iter_rows(named=True)
        if 1 - row["share"] > STALL
    }
    if idle := _named(shares):
        worst = max(shares, key=shares.__getitem__)
        yield Weakness(
            "stall",
            f"in {_of(idle, results)} there were intervals in which no operation ended ok "
            f"(worst: {shares[worst]:.0%} of the time in {_run(worst, results)})",
            "look at the servers' logs: elections, full garbage collections, flow control",
            tuple(run for run, _ in idle),
        )


def _schedule(results: Results) -> Iterable[Weakness]:
    faulty = [r for r in results.records if r.faults]
    closed = [(r.run, 0) for r in faulty if r.scenario.settings.get("arrivals") == "closed"]
    if closed:
        yield Weakness(
            "schedule",
            f"{_of(closed, results)} had faults and a closed loop: waiting users send nothing, so "
            "unavailability can't be measured",
            "give operations a schedule: --set arrivals=constant --set rate=…",
            tuple(run for run, _ in closed),
        )
    poisson = [(r.run, 0) for r in faulty if r.scenario.settings.get("arrivals") == "poisson"]
    if poisson and not results.has_due_times:
        yield Weakness(
            "schedule",
            f"{_of(poisson, results)} had faults and Poisson arrivals without recorded due times: "
            "an operation that waited for a free user counts from its start",
            "to measure unavailability: --set arrivals=constant, or more users than can wait",
            tuple(run for run, _ in poisson),
        )
    behind = [
        (r.run, r.result.schedule.not_started)
        for r in faulty
        if r.result.schedule is not None and r.result.schedule.not_started
    ]
    if behind:
        yield Weakness(
            "schedule",
            f"after faults, up to {counted(max(n for _, n in behind), 'operation')} that "
            f"were due had not "
            f"started when measuring ended, in {_of(behind, results)}: they aren't counted",
            "measure longer after the last fault, or give the schedule more users",
            tuple(run for run, _ in behind),
        )


def _clock(results: Results) -> Iterable[Weakness]:
    gaps = (
        results.resources.sort("source", "run", "node", "t_s")
        .with_columns(pl.col("t_s").diff().over("source", "run", "node").alias("step"))
        .group_by("source", "run", maintain_order=True)
        .agg(pl.col("step").max().alias("longest"), pl.col("step").median().alias("usual"))
    )
    paused = [
        (row["run"], row["longest"])
        for row in gaps.iter_rows(named=True)
        if row["longest"] is not None and row["longest"] > max(PAUSE_S, 5 * row["usual"])
    ]
    if paused:
        yield Weakness(
            "clock",
            f"in {_of(paused, results)} no reading was taken for up to "
            f"{max(s for _, s in paused):.1f} s: the machine was overloaded, asleep, or its clock "
            "was set",
            "repeat these runs on a machine with less to do",
            tuple(run for run, _ in paused),
        )


def _repetitions(results: Results) -> Iterable[Weakness]:
    if results.runs.height == 0:
        return
    counts = results.runs.group_by("source", "scenario").agg(
        pl.len().alias("n"), pl.col("run").first()
    )
    single = counts.filter(pl.col("n") == 1).sort("source", "scenario")
    if single.height:
        yield Weakness(
            "repetitions",
            f"one run only in {single.height} of {counted(counts.height, 'scenario')}: the "
            f"variation between "
            "runs is unknown there, and "
            "intervals are across loads or absent",
            "repeat: --set repetitions=3 or more",
            tuple(single.get_column("run")),
        )


def _missing(results: Results) -> Iterable[Weakness]:
    if results.failures.height == 0:
        return
    done = set(results.runs.select("source", "run").iter_rows())
    lost = [
        key
        for key in results.failures.select("source", "run").unique(maintain_order=True).iter_rows()
        if key not in done
    ]
    if lost:
        yield Weakness(
            "missing",
            f"{counted(len(lost), 'run')} failed and "
            f"{'are' if len(lost) > 1 else 'is'} missing here",
            "see the failures below; running the study again tries them again",
            tuple(run for _, run in lost),
        )


def _runner(results: Results) -> Iterable[Weakness]:
    """Tell the runs' own warnings; of those that differ in numbers only, the first."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for r in results.records:
        for text in (_blamed_rightly(text, r) for text in r.result.warnings):
            alike.setdefault(_NUMBER.sub("#", text), []).append((text, r.run))
    for told in alike.values():
        text = told[0][0]
        runs = [run for _, run in told]
        example = "such as: " if len({text for text, _ in told}) > 1 else ""
        yield Weakness("runner", f"{example}{text} ({_of(runs, results)})", "", tuple(runs))


def _blamed_rightly(text: str, record: RunRecord) -> str:
    """Take back what engines said before they knew whose time a late start is.

    They blamed the client for all that was late, also one whose threads were idle; a stored run
    keeps their words.
    """
    blamed = _BLAMED.fullmatch(text)
    if blamed is None or int(blamed["busy"]) * record.result.client.threads > _IDLE_PERCENT:
        return text
    return (
        f"the client's machine was late: the p99 start was {blamed['late']} ms late, though the "
        f"client's threads were busy only {blamed['busy']} % of the time; servers or other "
        "processes took its processors"
    )


def _keyed(results: Results) -> Iterator[tuple[Key, RunRecord]]:
    sources = results.runs.get_column("source")
    for source, record in zip(sources, results.records, strict=True):
        yield (source, record.run), record


def _run(key: Key, results: Results) -> str:
    """Name a run, and say what it measured: its number alone tells nobody."""
    scenario = next(r.scenario for at, r in _keyed(results) if at == key)
    words = described(scenario.factors)
    return f"{key[1]}, {words}" if words else key[1]


def _named(found: Mapping[Key, _T]) -> list[tuple[str, _T]]:
    return [(run, value) for (_, run), value in found.items()]


def _disqualified(
    runs: Iterable[Key],
    because: str,
    results: Results,
    of: frozenset[Quantity] = frozenset({"speed"}),
) -> Disqualified | None:
    """Say which runs are no evidence, and of what; None if there are none."""
    gone = list(runs)
    said = f"{because} in {_of([run for _, run in gone], results)}"
    return Disqualified(said, frozenset(gone), of) if gone else None


def _of(runs: list[tuple[str, float]] | list[str] | list[tuple[str, int]], results: Results) -> str:
    total = len(results.records)
    if len(runs) == total:
        return f"all {counted(total, 'run')}" if total > 1 else "the run"
    return f"{len(runs)} of {counted(total, 'run')}"
