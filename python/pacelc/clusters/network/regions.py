"""Regions: where hosts are, and how far apart; presets with their sources.

A host is in a *place*: a region (``iowa``), or a zone of one (``iowa-b``: a region's name, a
hyphen and one letter). Two hosts of one place are in the same zone, and nothing is added to the way
between them. What is told here are round trips; a link's delay is half of one.

**Sources.** The regions are Google Cloud's, and so is the set-up of ferreira-2024: client and
primary in Iowa, replicas in South Carolina and Oregon. That paper gives no round trips, so these
are pings between virtual machines in each pair of regions, published with the evaluation of Enes et
al., "State-Machine Replication for Planet-Scale Systems" (EuroSys 2020; repository
vitorenesduarte/fantoch, ``latency/*.dat``): the mean of both directions' averages. They are
approximate: a provider's network changes from year to year by a few milliseconds. (The paper's own
numbers agree with them: its Redis waits some 39 ms for both replicas; Oregon is 39.6 ms away.)

Pings within each of the seven regions took 0.22 to 0.35 ms on average, and Google promises less
than 1 ms for 95 % of round trips ("Best practices for Compute Engine regions selection"): hence
`ZONES_ROUND_TRIP_MS`.

Map
---
REGIONS             name → what it is
round_trip_ms       between two places; None where no preset says
region_of           the region of a place
"""

from __future__ import annotations

import re

REGIONS = {
    "iowa": "us-central1, United States",
    "south-carolina": "us-east1, United States",
    "oregon": "us-west1, United States",
    "belgium": "europe-west1, Europe",
    "tokyo": "asia-northeast1, Asia",
    "sao-paulo": "southamerica-east1, South America",
    "sydney": "australia-southeast1, Australia",
}
"""The presets' regions: the first three are those of ferreira-2024."""

ZONES_ROUND_TRIP_MS = 0.3
"""Between two zones of one region."""

ROUND_TRIPS_MS = {
    ("iowa", "south-carolina"): 36.4,
    ("iowa", "oregon"): 39.6,
    ("south-carolina", "oregon"): 66.8,
    ("iowa", "belgium"): 105.2,
    ("south-carolina", "belgium"): 93.2,
    ("oregon", "belgium"): 138.8,
    ("iowa", "tokyo"): 121.7,
    ("south-carolina", "tokyo"): 154.4,
    ("oregon", "tokyo"): 88.4,
    ("belgium", "tokyo"): 226.5,
    ("iowa", "sao-paulo"): 144.9,
    ("south-carolina", "sao-paulo"): 117.4,
    ("oregon", "sao-paulo"): 176.9,
    ("belgium", "sao-paulo"): 212.0,
    ("tokyo", "sao-paulo"): 259.4,
    ("iowa", "sydney"): 172.4,
    ("south-carolina", "sydney"): 199.2,
    ("oregon", "sydney"): 160.8,
    ("belgium", "sydney"): 277.5,
    ("tokyo", "sydney"): 103.9,
    ("sao-paulo", "sydney"): 304.5,
}
"""Between two regions, either way round."""

_ZONE = re.compile(r"(.+)-([a-z])")


def region_of(place: str) -> str:
    """Return the region of a place: its name without the zone.

    Examples
    --------
    >>> region_of("south-carolina-b"), region_of("oregon")
    ('south-carolina', 'oregon')
    """
    zone = _ZONE.fullmatch(place)
    return zone[1] if zone else place


def zone_of(place: str) -> str | None:
    """Return the zone's letter; None where a place is a region as a whole."""
    zone = _ZONE.fullmatch(place)
    return zone[2] if zone else None


def round_trip_ms(one: str, other: str) -> float | None:
    """Return the round trip between two places; None if a region is in no preset.

    Examples
    --------
    >>> round_trip_ms("iowa", "iowa"), round_trip_ms("iowa-a", "iowa-b")
    (0.0, 0.3)
    >>> round_trip_ms("oregon", "iowa-a")
    39.6
    """
    if one == other:
        return 0.0
    here, there = region_of(one), region_of(other)
    if here == there:
        return ZONES_ROUND_TRIP_MS
    return ROUND_TRIPS_MS.get((here, there), ROUND_TRIPS_MS.get((there, here)))
