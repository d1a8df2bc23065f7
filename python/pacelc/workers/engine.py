"""The runner's engine, on many machines: divides a run, starts it everywhere together, merges it.

Map
---
RayEngine       the runner's `Engine`
RayJob          a run that several workers measure
Readings        what their processes use
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pacelc import _engine
from pacelc.errors import InputError
from pacelc.names import counted
from pacelc.runner.reading import CLIENT, Reading
from pacelc.workers.agent import place
from pacelc.workers.crew import Crew, Lost, Member, WorkerLost
from pacelc.workers.division import Agreement, Share, agree, divide, part_spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.runner.engine import Engine, Job
    from pacelc.workers.clocks import Offset

__all__ = ["RayEngine", "RayJob", "Readings"]

_TRY_AGAIN = "its process or its node ended, or can't be reached; the log tail is Ray's message"
_POLL_S = 0.25
_RESULT_S = 120.0
_SKEW_S = 0.1
"""Workers that start further apart than this are warned of: a tenth of a sample."""


@dataclass(slots=True)
class _Part:
    """What one worker does of a run, and how far it is."""

    member: Member
    share: Share
    clock: Offset
    progress: Mapping[str, Any]
    done: bool = False


class RayEngine:
    """The same engine on every worker.

    What happens once (creating the table, loading, reading back) is done here, by our own engine.

    Parameters
    ----------
    own
        Our own engine.
    crew
        The workers.
    lead_s
        How long they get to open their connections before they start together.
    """

    def __init__(self, own: Engine, crew: Crew, lead_s: float) -> None:
        self._own = own
        self._crew = crew
        self._lead_s = lead_s
        self.version = own.version
        self.probe = own.probe
        self.prepare = own.prepare
        self.clear = own.clear
        self.load = own.load
        self.read_back = own.read_back
        self.readings = Readings()

    def check(self, spec_json: str) -> None:
        """Refuse what `run` would refuse."""
        self._own.check(spec_json)
        users, workers = json.loads(spec_json)["users"], len(self._crew.members)
        if users < workers:
            raise InputError(
                f"{counted(users, 'user')} can't be divided among {counted(workers, 'worker')}",
                f"at least {counted(workers, 'user')}, or fewer workers",
            )

    def run(self, spec_json: str) -> Job:
        """Begin a run on all workers."""
        spec: dict[str, Any] = json.loads(spec_json)
        members = self._crew.members
        self._crew.complete()
        self._refuse_loopback(spec)
        parts: list[_Part] = []
        for member, share in zip(members, divide(spec["users"], len(members)), strict=True):
            clock = self._crew.clock(member)
            if isinstance(clock, Lost):
                self._crew.dismiss(member)
                raise WorkerLost(
                    f"{member.name} of {len(members)} on node {member.node} was lost before the "
                    f"start: {_unmeasured(share)}",
                    _TRY_AGAIN,
                    clock.why,
                )
            parts.append(_Part(member, share, clock, {}))
        agreement = agree(spec, time.time(), self._lead_s)
        job = RayJob(self._crew, parts, agreement, self.readings)
        job.start(spec)
        return job

    def _refuse_loopback(self, spec: Mapping[str, Any]) -> None:
        """Refuse servers that a worker can't reach: loopback is another one on each machine."""
        endpoints: Sequence[str] = spec["target"].get("endpoints", ())
        ours = [e for e in endpoints if e.startswith(("127.", "localhost", "[::1]"))]
        for member in self._crew.members:
            if ours and member.about["place"] != place():
                raise InputError(
                    f"{member.name} on node {member.node} can't reach {ours[0]}, which is on this "
                    "machine's loopback",
                    "workers on other machines need a cluster that they can reach",
                )


class Readings:
    """The kernel's accounting of the workers' processes, as their answers bring it."""

    def __init__(self) -> None:
        self._kept: list[Reading] = []
        self._latest: dict[str, Reading] = {}
        self._interval_s = 1.0

    def begin(self, interval_s: float) -> None:
        """Forget, and keep one an interval of each worker from now on."""
        self._kept.clear()
        self._latest.clear()
        self._interval_s = interval_s

    def add(self, part: _Part, reading: Mapping[str, Any]) -> None:
        """Take one, from a worker's clock to ours."""
        read = replace(Reading(**reading), node=part.member.name, role=CLIENT)
        read = replace(read, unix_s=part.clock.here(read.unix_s))
        before = max((r.unix_s for r in self._kept if r.node == read.node), default=0.0)
        if read.unix_s - before >= self._interval_s:
            self._kept.append(read)
        self._latest[read.node] = read

    def end(self) -> list[Reading]:
        """Return those kept, and the last of each worker."""
        return [*self._kept, *(r for r in self._latest.values() if r not in self._kept)]


class RayJob:
    """A run that several workers measure.

    Parameters
    ----------
    crew
        The workers.
    parts
        What each does.
    agreement
        The moments that all keep.
    readings
        Hears of the processes.
    """

    def __init__(
        self, crew: Crew, parts: Sequence[_Part], agreement: Agreement, readings: Readings
    ) -> None:
        self._crew = crew
        self._parts = parts
        self._agreement = agreement
        self._readings = readings
        self._stopped = False
        self._clock_of = {part.member.number: part for part in parts}

    def start(self, spec: Mapping[str, Any]) -> None:
        """Tell every worker its part."""

        def told(member: Member) -> tuple[str]:
            part = self._clock_of[member.number]
            return (
                json.dumps(part_spec(spec, member.number, part.share, self._agreement, part.clock)),
            )

        answers = self._crew.ask([part.member for part in self._parts], "start", told)
        for part, answer in zip(self._parts, answers, strict=True):
            if answer is not None:
                self.stop()
                raise self._failure(part, answer)

    def wait(self, timeout_s: float) -> bool:
        """Wait; True when all are done. Raises `WorkerLost` as soon as one is not to be had."""
        end_s = time.monotonic() + timeout_s
        while True:
            time.sleep(max(0.0, min(_POLL_S, end_s - time.monotonic())))
            self._poll()
            if all(part.done for part in self._parts):
                return True
            if time.monotonic() >= end_s:
                return False

    def _poll(self) -> None:
        going = [part for part in self._parts if not part.done]
        answers = self._crew.ask([part.member for part in going], "poll")
        failures: list[WorkerLost] = []
        for part, answer in zip(going, answers, strict=True):
            if isinstance(answer, Lost) or answer["error"] is not None:
                part.done = True
                failures.append(
                    self._failure(part, answer if isinstance(answer, Lost) else answer["error"])
                )
                continue
            part.done = answer["done"]
            part.progress = answer["progress"]
            self._readings.add(part, answer["reading"])
        if failures and not self._stopped:
            # All that were lost together are named together.
            raise WorkerLost(
                "; ".join(failure.message for failure in failures),
                failures[0].hint or "",
                "\n".join(failure.log_tail for failure in failures if failure.log_tail),
            )

    def _failure(self, part: _Part, answer: Lost | Mapping[str, Any]) -> WorkerLost:
        member, many = part.member, len(self._parts)
        who = f"{member.name} of {many} on node {member.node}"
        seconds = time.time() - self._agreement.start_unix_s
        when = f"at {seconds:.1f} s" if seconds > 0 else "before the start"
        unmeasured = _unmeasured(part.share)
        if isinstance(answer, Lost):
            self._crew.dismiss(member)
            return WorkerLost(
                f"{who} was lost {when}: {unmeasured}",
                _TRY_AGAIN,
                answer.why,
            )
        hint = answer["hint"] or "the other workers were stopped"
        if answer["message"].startswith("measure_start_unix_s:"):
            hint = "opening connections took longer than --workers-lead: raise it"
        return WorkerLost(f"{who} failed {when}: {answer['message']}: {unmeasured}", hint, "")

    def progress(self) -> dict[str, Any]:
        """Return the sum of all; percentiles are the worst worker's, since these can't be added."""
        told = [part.progress for part in self._parts if part.progress]
        if not told:
            return {}
        summed = ("users", "ok", "fail", "unknown", "throughput_per_s")
        kinds = {kind for progress in told for kind in progress["operations"]}
        return {
            "phase": told[0]["phase"],
            "elapsed_s": max(progress["elapsed_s"] for progress in told),
            "measure_start_unix_s": self._measure_start_unix_s(),
            **{name: sum(progress[name] for progress in told) for name in summed},
            "p99_ns": _worst(progress["p99_ns"] for progress in told),
            "operations": {
                kind: _together([p["operations"][kind] for p in told if kind in p["operations"]])
                for kind in sorted(kinds)
            },
        }

    def _measure_start_unix_s(self) -> float | None:
        """Return when the last one begins to measure; None until that is known."""
        if self._agreement.is_kept:
            return self._agreement.measure_start_unix_s
        moments = [part.progress.get("measure_start_unix_s") for part in self._parts]
        known = [
            part.clock.here(moment)
            for part, moment in zip(self._parts, moments, strict=True)
            if moment is not None
        ]
        return max(known) if len(known) == len(self._parts) else None

    def stop(self) -> None:
        """End it soon, everywhere."""
        self._stopped = True
        self._crew.ask([part.member for part in self._parts if not part.done], "stop")

    def result(self) -> str:
        """Return the merged result, and how each worker did."""
        answers = self._crew.ask(
            [part.member for part in self._parts], "result", timeout_s=_RESULT_S
        )
        for part, answer in zip(self._parts, answers, strict=True):
            if isinstance(answer, Lost):
                raise self._failure(part, answer)
        merged = json.loads(_engine.merge(answers))
        results = [json.loads(answer) for answer in answers]
        origins = [_origin_unix_s(*of) for of in zip(self._parts, results, strict=True)]
        # Single operations count from the first worker's origin.
        merged["before_measure_s"] = max(0.0, merged["started_unix_s"] - min(origins))
        merged["workers"] = [
            _told(part, result, self._agreement)
            | {"log_shift_ns": round((origin_unix_s - min(origins)) * 1e9)}
            for part, result, origin_unix_s in zip(self._parts, results, origins, strict=True)
        ]
        merged["warnings"] += [
            text for text in (_skew(merged["workers"]), self._crew.crowded()) if text
        ]
        return json.dumps(merged)


def _unmeasured(share: Share) -> str:
    return f"{share} {'was' if share.users == 1 else 'were'} not measured"


def _origin_unix_s(part: _Part, result: Mapping[str, Any]) -> float:
    """Return when a worker's times begin, by our clock."""
    return part.clock.here(result["started_unix_s"]) - result["before_measure_s"]


def _told(part: _Part, result: Mapping[str, Any], agreement: Agreement) -> dict[str, Any]:
    """Return what is kept of a worker."""
    first_unix_s = result["first_start_unix_s"]
    skew_s = (
        None
        if first_unix_s is None
        else part.clock.here(first_unix_s) - agreement.measure_start_unix_s
    )
    return {
        "name": part.member.name,
        "node": part.member.node,
        "host": part.member.about["host"],
        "users": [part.share.first, part.share.last],
        "offset_ms": part.clock.offset_s * 1e3,
        "uncertainty_ms": part.clock.uncertainty_s * 1e3,
        "first_start_skew_ms": None if skew_s is None else skew_s * 1e3,
        "ok": sum(kind["ok"] for kind in result["operations"].values()),
        "client": result["client"],
    }


def _skew(workers: Sequence[Mapping[str, Any]]) -> str | None:
    """Return in words how far apart the workers started, if that is far."""
    started = [worker for worker in workers if worker["first_start_skew_ms"] is not None]
    if not started:
        return None
    first = min(started, key=lambda worker: worker["first_start_skew_ms"])
    last = max(started, key=lambda worker: worker["first_start_skew_ms"])
    skew_ms = last["first_start_skew_ms"] - first["first_start_skew_ms"]
    if skew_ms <= _SKEW_S * 1e3:
        return None
    uncertainty_ms = first["uncertainty_ms"] + last["uncertainty_ms"]
    return (
        f"workers started to measure {skew_ms:.0f} ms apart (± {uncertainty_ms:.1f} ms): "
        f"{last['name']} on node {last['node']} was the last"
    )


def _together(kinds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    summed = ("ok", "fail", "unknown", "latency_sum_ns")
    return {
        **{name: sum(kind[name] for kind in kinds) for name in summed},
        **{name: _worst(kind[name] for kind in kinds) for name in ("p50_ns", "p99_ns")},
    }


def _worst(values: Any) -> float | None:
    return max((value for value in values if value is not None), default=None)
