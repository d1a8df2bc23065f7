"""What needs no Ray: answers in order, whoever is lost, and nobody too far ahead."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacelc.errors import InputError
from pacelc.workers.crew import Lost, Member
from pacelc.workers.remote_map import Caller, RemoteMap, remote_map

if TYPE_CHECKING:
    from collections.abc import Sequence


class FewHands:
    """Workers in this process, of which some are lost with a piece of work; and their Ray."""

    def __init__(self, workers: int, lost_at: Sequence[int] = (), order: int = 0) -> None:
        self.members = [Member(number, f"id{number}", f"node{number}") for number in range(workers)]
        self.lost_at = list(lost_at)
        self.order = order
        self.begun: list[int] = []
        for member in self.members:
            member.agent = SimpleNamespace(call=SimpleNamespace(remote=self.remote))

    def remote(self, work: Any, arguments: tuple[Any, ...]) -> tuple[int, Any]:
        self.begun.append(arguments[0])
        reference = len(self.begun)
        if reference in self.lost_at:
            return reference, Lost("The actor died. Its process was killed.")
        return reference, Caller().call(work, arguments)

    def wait(self, references: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        assert num_returns == 1
        at = self.order % len(references)
        return [references[at]], references[:at] + references[at + 1 :]

    def taken(self, reference: tuple[int, Any]) -> Any:
        return reference[1]

    def dismiss(self, member: Member) -> None:
        member.agent = None


def square(number: int) -> int:
    return number * number


def refuse(number: int) -> int:
    if number == 3:
        raise InputError("three is too many", "two")
    return number


@given(
    workers=st.integers(1, 5),
    count=st.integers(0, 30),
    lost_at=st.lists(st.integers(1, 30), max_size=8, unique=True),
    order=st.integers(0, 10),
)
def test_answers_are_in_order_whoever_is_lost(
    workers: int, count: int, lost_at: list[int], order: int
) -> None:
    hands = FewHands(workers, lost_at, order)
    told: list[str] = []
    answers = RemoteMap(hands, hands, told.append)(square, [(number,) for number in range(count)])
    assert list(answers) == [number * number for number in range(count)]
    gone = sum(member.agent is None for member in hands.members)
    assert len(told) == gone
    if gone < workers:  # a lost worker's part is done again, and nothing else is
        assert len(hands.begun) == count + gone


def test_a_lost_worker_is_named_and_who_is_left_goes_on() -> None:
    hands = FewHands(2, lost_at=[1, 3])
    told: list[str] = []
    assert list(RemoteMap(hands, hands, told.append)(square, [(n,) for n in range(4)])) == [
        0,
        1,
        4,
        9,
    ]
    said = "of 2 on node {} was lost, and its part is done again {}: The actor died"
    assert told == [
        f"worker 1 {said.format('node0', 'by the 1 left')}",
        f"worker 2 {said.format('node1', 'here')}",
    ]


def test_nobody_works_far_ahead_of_who_takes_the_answers() -> None:
    hands = FewHands(3)
    answers = RemoteMap(hands, hands, print)(square, [(number,) for number in range(100)])
    assert next(answers) == 0
    assert len(hands.begun) <= 2 * 3
    answers.close()
    # What was begun for nothing is in nobody's way.
    assert list(RemoteMap(hands, hands, print)(square, [(7,), (8,)])) == [49, 64]


def test_what_a_worker_refuses_is_refused_here() -> None:
    hands = FewHands(2)
    answers = RemoteMap(hands, hands, print)(refuse, [(number,) for number in range(6)])
    assert [next(answers) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(InputError, match="three is too many") as caught:
        next(answers)
    assert caught.value.hint == "two"


@pytest.mark.parametrize("workers", ["0", "many", "ray://nowhere", "-1"])
def test_the_words_are_those_of_runs(workers: str) -> None:
    with pytest.raises(InputError, match="--workers"), remote_map(workers, print):
        pass
