"""Random networks for laws: closed or open, with changes of class, forks, rules and pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from pacelc.networks import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ["cpu", "disk", "a b", "Ünit", "x<&>'\"", "node.1"]
TIMES = st.one_of(
    st.integers(1, 9999).map(lambda n: n / 1e6), st.sampled_from([1e-9, 0.00017, 2.5, 3600.0])
)


def bare(times: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    scv = st.integers(1, 400).map(lambda n: n / 10)
    return st.one_of(
        times,
        st.just(0.0),
        times.map(lambda t: {"distribution": "deterministic", "value": t}),
        st.builds(
            lambda t, k: {"distribution": "erlang", "mean": t, "shape": k},
            times,
            st.integers(1, 50),
        ),
        st.builds(
            lambda t, c: {"distribution": "hyperexponential", "mean": t, "scv": max(c, 1.0)},
            times,
            scv,
        ),
        st.builds(lambda t, c: {"distribution": "lognormal", "mean": t, "scv": c}, times, scv),
    )


def empirical(times: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.lists(times, min_size=1, max_size=4).map(
        lambda values: {
            "distribution": "empirical",
            "values": values,
            "counts": [1.0 + i for i in range(len(values))],
        }
    )


@st.composite
def routes(draw: st.DrawFn, places: Sequence[str]) -> Any:
    """A place, probabilities in tenths, or a rule among all places."""
    kind = draw(st.sampled_from(["place", "chance", "chance", "rule"]))
    if kind == "place" or len(places) == 1:
        return draw(st.sampled_from(places))
    if kind == "rule":
        rule = draw(st.sampled_from(["round_robin", "shortest_queue"]))
        return {"choose": rule, "to": list(places)}
    cut = draw(st.integers(0, 10))
    two = draw(st.permutations(places))[:2]
    return {two[0]: cut / 10, two[1]: (10 - cut) / 10}


@st.composite
def documents(draw: st.DrawFn, *, for_jmt: bool = False) -> dict[str, Any]:  # noqa: C901 - parts
    """A network's document; ``for_jmt`` keeps to what JMT can say."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(2, 5))]
    classes = ["read", "write", "other"][: draw(st.integers(1, 3))]
    is_open = draw(st.booleans())
    service = bare(TIMES) if for_jmt else st.one_of(bare(TIMES), empirical(TIMES))
    document: dict[str, Any] = {"name": draw(st.sampled_from(["", "a network"]))}
    document["classes"] = [
        {"name": name, "priority": draw(st.integers(-2, 2))}
        | (
            {"interarrival": draw(TIMES)}
            if is_open
            else {"users": draw(st.integers(1, 50)), "reference": names[0]}
        )
        for name in classes
    ]
    document["stations"] = [
        {
            "name": name,
            "kind": draw(st.sampled_from(["queue", "queue", "delay"])),
            "servers": draw(st.integers(1, 8)),
            "discipline": draw(st.sampled_from(["fcfs", "ps", "priority", "siro"])),
            "service": {"*": draw(service)}
            if draw(st.booleans())
            else {one: draw(service) for one in classes},
        }
        for name in names
    ]
    end = "sink" if is_open else names[0]
    if not for_jmt and draw(st.booleans()):
        document["stations"][1] |= {"rates": [1.0, 1.5], "cached": {"*": 0.25}}
        if document["stations"][1]["discipline"] == "ps":
            document["stations"][1]["servers"] = 1
    middle = [*names[1:]]
    routing: dict[str, Any] = {}
    if draw(st.booleans()):
        document["routers"] = ["router"]
        routing["router"] = {"*": draw(routes(middle))}
        middle = ["router", *middle]
    places = [*middle, *(f"{place}/{one}" for place in middle[:1] for one in classes)]
    start = "source" if is_open else names[0]
    routing[start] = {one: draw(routes(middle)) for one in classes}
    if draw(st.booleans()):
        routing[start] = {"*": draw(st.sampled_from(places))}
    for name in names[1:]:
        routing[name] = {"*": end}
    if is_open:
        routing[names[0]] = {"*": "sink"}
    if draw(st.booleans()) and len(names) > 3:
        fork: dict[str, Any] = {"name": "fork", "branches": names[-2:]}
        if draw(st.booleans()):
            fork["join"] = draw(st.integers(1, 2))
        if not for_jmt and draw(st.booleans()):
            fork |= {"copies": 1, "join": 1, "late": "timeout", "timeout": 0.5}
        document["forks"] = [fork]
        routing[names[1]] = {"*": "fork"}
        routing |= {name: {"*": "fork.join"} for name in names[-2:]}
        routing["fork.join"] = {"*": end}
    if draw(st.booleans()):
        pool: dict[str, Any] = {"name": "threads", "stations": [names[1]], "places": 3}
        if not for_jmt:
            pool["waiting"] = draw(st.integers(0, 5))
        document["pools"] = [pool]
    document["routing"] = routing
    return document


def networks(*, for_jmt: bool = False) -> st.SearchStrategy[Network]:
    return documents(for_jmt=for_jmt).map(Network.of)
