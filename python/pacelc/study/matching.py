"""Which exclusions and overrides hold for a combination of levels: all of them at once.

A study may have thousands of them and as many scenarios. So each is a bit, each level of a factor
has a number with the bits of those that allow it, and a combination is as many ``&`` as factors.

Map
---
Matches         many matches; ``holding`` tells which of them hold, as bits
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pacelc.study.values import label_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pacelc.study.values import Scalar

__all__ = ["Matches"]


class Matches:
    """Matches (factor → the levels wanted), numbered from 0.

    Examples
    --------
    >>> matches = Matches([{"users": [1, 2]}, {}, {"users": 2, "nodes": 3}])
    >>> bin(matches.holding({"users": 2, "nodes": 5}))
    '0b11'
    """

    def __init__(self, matches: Sequence[Mapping[str, Scalar | Sequence[Scalar]]]) -> None:
        self._all = (1 << len(matches)) - 1
        self._asking: dict[str, int] = {}
        """For each factor those that name it."""
        self._allowing: dict[str, dict[Scalar | tuple[str], int]] = {}
        """Of those, for each key of a level (see `label_keys`) the ones that want it."""
        for number, match in enumerate(matches):
            bit = 1 << number
            for factor, wanted in match.items():
                self._asking[factor] = self._asking.get(factor, 0) | bit
                allowing = self._allowing.setdefault(factor, {})
                for label in [wanted] if isinstance(wanted, str | int | float) else wanted:
                    for key in label_keys(label):
                        allowing[key] = allowing.get(key, 0) | bit

    def holding(self, labels: Mapping[str, Scalar]) -> int:
        """Return those of which every factor's level is wanted: the nth has the bit 2ⁿ."""
        holding = self._all
        for factor, asking in self._asking.items():
            allowing = self._allowing[factor]
            value, text = label_keys(labels[factor])
            holding &= ~asking | allowing.get(value, 0) | allowing.get(text, 0)
        return holding
