"""Copies in regions: where they are, and which of them are asked."""

from __future__ import annotations

import pytest

from pacelc.errors import InputError
from pacelc.networks.regional import chances, placed


def test_copies_are_asked_from_the_nearest_on() -> None:
    copies = placed(5, ("iowa", "oregon", "tokyo"))
    assert [copy.region for copy in copies] == ["iowa", "iowa", "oregon", "oregon", "tokyo"]
    assert [copy.distance_s for copy in copies] == [0.0, 0.0, 0.0396, 0.0396, 0.1217]
    assert chances(copies, 3) == (1.0, 1.0, 0.5, 0.5, 0.0)
    assert sum(chances(copies, 4)) == 4


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (("iowa", "oregno"), "there is no region 'oregno'"),
        (("iowa", "iowa"), "named twice"),
        (("iowa", "oregon", "tokyo", "sydney"), "sydney has none"),
    ],
)
def test_regions_are_checked(regions: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        placed(3, regions)
