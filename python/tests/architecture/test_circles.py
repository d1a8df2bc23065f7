"""No file uses another that uses it, directly or not; the map says truly who uses whom."""

from __future__ import annotations

import tomllib

import pytest
from imports import CRATES, PACKAGE, ROOT, circles, python_files, rust_modules

BELOW_ALL = frozenset(
    {
        *(
            "connected",
            "databases",
            "delimited",
            "documents",
            "errors",
            "files",
            "former_names",
            "names",
        ),
        *("numerals", "outside", "_engine"),
    }
)


NOTHING = "\N{EN DASH}"


def rooms() -> dict[str, set[str]]:
    """Return which packages each package uses."""
    used: dict[str, set[str]] = {}
    for name, others in python_files().items():
        room = name.split(".")[1] if "." in name else ""
        if (PACKAGE / room).is_dir() and room:
            own = used.setdefault(room, set())
            own |= {other.split(".")[1] for other in others if "." in other} - {room}
    return used


def rows(head: str) -> dict[str, str]:
    """Return a table of the map: its first column, and its last."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    lines = text.partition(f"| {head} | what it is for |")[2].splitlines()[2:]
    cells = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells.append([cell.strip() for cell in line.strip("|").split("|")])
    return {first.strip("`"): last for first, *_, last in cells}


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}}) == []


def test_no_file_of_the_package_uses_one_that_uses_it() -> None:
    used = python_files()
    assert len(used) > 200
    assert circles(used) == []


def test_no_package_uses_one_that_uses_it() -> None:
    assert circles(rooms()) == []


@pytest.mark.parametrize("crate", sorted(path.name for path in CRATES.iterdir()))
def test_no_rust_module_uses_one_that_uses_it(crate: str) -> None:
    assert circles(rust_modules(CRATES / crate)) == []


def test_paths_of_rust_are_followed() -> None:
    used = rust_modules(CRATES / "queueing")
    assert "crate::simulate::jobs" in used["crate::simulate::fork"]
    assert "crate::distribution" in used["crate::network"]


def test_the_map_says_which_packages_use_which() -> None:
    said = rows("package")
    used = rooms()
    assert set(said) | BELOW_ALL == {*used, "studies"} | BELOW_ALL
    for room, uses in said.items():
        names = set(uses.replace("`", "").split(", ")) - {NOTHING} - BELOW_ALL
        assert uses == "all" or used.get(room, set()) - BELOW_ALL == names, room


def test_the_map_says_which_crates_use_which() -> None:
    said = rows("crate")
    assert set(said) == {path.name for path in CRATES.iterdir()}
    for crate, uses in said.items():
        manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text(encoding="utf-8"))
        others = {name for name in manifest.get("dependencies", {}) if name.startswith("pacelc-")}
        names = set(uses.split(", ")) - {NOTHING}
        assert uses == "all" or {f"pacelc-{name}" for name in names} == others, crate
