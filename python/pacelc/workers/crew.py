"""The agents on Ray's nodes: asked together, lost ones found, their clocks compared.

Map
---
Member          one worker: its node, its agent
Lost            that an agent didn't answer, and why
WorkerLost      why a run can't be measured, or wasn't
Crew            all of them
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pacelc.errors import CannotRun, one_line
from pacelc.names import counted
from pacelc.workers.agent import Agent
from pacelc.workers.clocks import Offset, offset_of
from pacelc.workers.connection import Local, Remote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Crew", "Lost", "Member", "WorkerLost"]

_SHOWN = 8
_BEGIN_S = 60.0
_ANSWER_S = 10.0
"""An agent that is silent for so long is lost: its answers take milliseconds."""


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer will come."""

    why: str


class WorkerLost(CannotRun):
    """A part of a run is not measured; ``log_tail`` is what Ray says."""

    def __init__(self, message: str, hint: str, log_tail: str) -> None:
        super().__init__(message, hint)
        self.log_tail = log_tail


@dataclass(slots=True)
class Member:
    """One worker."""

    number: int
    """Counted from 0."""
    node_id: str
    node: str
    agent: Any = None
    about: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """As people are told of it."""
        return f"worker {self.number + 1}"


class Crew:
    """The workers of a study.

    Parameters
    ----------
    ray
        The module, connected.
    where
        What was asked for.
    version
        Of the engine that all must have.
    agent
        What each of them runs.
    """

    def __init__(
        self, ray: Any, where: Local | Remote, version: str, agent: type[Agent] = Agent
    ) -> None:
        self._ray = ray
        self._version = version
        self._agent = agent
        nodes = [node for node in ray.nodes() if node["Alive"]]
        if isinstance(where, Local):
            nodes = nodes[:1] * where.workers
        elif not nodes:
            raise CannotRun(f"--workers {where.said}: this Ray has no nodes")
        else:
            nodes.sort(key=lambda node: (node["NodeManagerAddress"], node["NodeID"]))
        self.members = [
            Member(number, node["NodeID"], node["NodeManagerAddress"])
            for number, node in enumerate(nodes)
        ]
        self.complete()

    def __str__(self) -> str:
        """As people are told of it."""
        nodes = list(dict.fromkeys(member.node for member in self.members))
        shown = ", ".join(nodes[:_SHOWN]) + (", …" if len(nodes) > _SHOWN else "")
        return f"{len(self.members)} on {shown}"

    def complete(self) -> None:
        """Start the agents that are missing: all at first, later those that were lost.

        Raises
        ------
        CannotRun
            If a node is gone, has no pacelc, or has another one.
        """
        missing = [member for member in self.members if member.agent is None]
        for member in missing:
            try:
                member.agent = self._begin(member)
            except Exception as error:  # noqa: BLE001 - Ray's client says so here, others when asked
                self._check(member, Lost(one_line(error)))
        for member, answer in zip(
            missing, self.ask(missing, "about", timeout_s=_BEGIN_S), strict=True
        ):
            self._check(member, answer)

    def _begin(self, member: Member) -> Any:
        strategies = self._ray.util.scheduling_strategies
        # Ray's CPUs are for placing work; a worker is where it is, however many it has.
        agent = self._ray.remote(self._agent).options(
            num_cpus=0,
            max_restarts=0,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(
                node_id=member.node_id, soft=False
            ),
        )
        return agent.remote()

    def _check(self, member: Member, answer: dict[str, Any] | Lost) -> None:
        who = f"{member.name} of {len(self.members)} on node {member.node}"
        install = f"pip install 'pacelc[ray]=={self._version}' there"
        if isinstance(answer, Lost):
            self.dismiss(member)
            if "No module named 'pacelc" in answer.why:
                raise CannotRun(f"{who} can't begin: pacelc isn't installed there", install)
            alive = any(n["Alive"] and n["NodeID"] == member.node_id for n in self._ray.nodes())
            why = "Ray could not start it there" if alive else "its node is gone"
            hint = "start it again with the nodes that there are: `ray status` lists them"
            raise WorkerLost(f"{who} can't begin: {why}", hint, answer.why)
        if answer["engine"] != self._version:
            raise CannotRun(
                f"{who} has pacelc {answer['engine']}, and here it is {self._version}", install
            )
        member.about = answer

    def dismiss(self, member: Member) -> None:
        """Give an agent up; `complete` starts another."""
        agent, member.agent = member.agent, None
        if agent is not None:
            try:
                self._ray.kill(agent)
            except Exception:  # noqa: BLE001 - it is gone already, or Ray is
                return

    def ask(
        self,
        members: Sequence[Member],
        method: str,
        arguments: Callable[[Member], tuple[Any, ...]] = lambda _member: (),
        timeout_s: float = _ANSWER_S,
    ) -> list[Any]:
        """Ask all at once; return their answers in order, `Lost` for those who have none."""
        pending: list[Any] = []
        for member in members:
            try:
                pending.append(getattr(member.agent, method).remote(*arguments(member)))
            except Exception as error:  # noqa: BLE001 - whatever it is, this one can't be asked
                pending.append(Lost(one_line(error)))
        asked = [answer for answer in pending if not isinstance(answer, Lost)]
        ready: set[Any] = set()
        if asked:
            done, _ = self._ray.wait(asked, num_returns=len(asked), timeout=timeout_s)
            ready = set(done)
        return [
            answer
            if isinstance(answer, Lost)
            else self.taken(answer)
            if answer in ready
            else Lost(f"it didn't answer within {timeout_s:g} s")
            for answer in pending
        ]

    def taken(self, reference: Any) -> Any:
        """Return an answer that is ready, or `Lost`."""
        try:
            return self._ray.get(reference)
        except Exception as error:  # noqa: BLE001 - Ray's, of a process or a node that ended
            return Lost(one_line(error))

    def clock(self, member: Member) -> Offset | Lost:
        """Return how far a worker's clock is ahead of ours."""

        def ask() -> float:
            return float(self._ray.get(member.agent.clock.remote(), timeout=_ANSWER_S))

        try:
            return offset_of(ask)
        except Exception as error:  # noqa: BLE001 - Ray's, of a process or a node that ended
            return Lost(one_line(error))

    def crowded(self) -> str | None:
        """Return which node has more workers than cores, in words."""
        for place in {member.about["place"] for member in self.members}:
            here = [member for member in self.members if member.about["place"] == place]
            cores = here[0].about["cores"]
            if len(here) > cores:
                return (
                    f"{counted(len(here), 'worker')} share the {counted(cores, 'core')} of "
                    f"{here[0].about['host']}: "
                    "their waits for each other are part of the latencies"
                )
        return None
