"""How fast histories of registers are checked, beside Porcupine in the same run.

Histories of a million operations by eight sessions, and for Porcupine of ten thousand by ten on one
register, which it can do before its memory ends. All is processor time, by the thread that checks
(`crates/history/examples/speed.rs`) and by Porcupine's process; reading the history isn't in it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches import peers
from benches.harness import Figure, MissingError

if TYPE_CHECKING:
    from collections.abc import Iterator

OPERATIONS = 1_000_000
LEAST_PER_S = {"check": 10e6, "online": 3e6}
MOST_REGISTERS = 1_000
"""Histories on more registers, and sampled ones, are measured, too; nothing is promised of them."""
MOST_S = 2.0
LEAST_RATIO = 1_000


def measure() -> Iterator[Figure]:
    """One line a checker and history, and one for Porcupine. Rates are of a core's second."""
    if shutil.which("cargo") is None:
        raise MissingError("it needs cargo")
    porcupine = peers.porcupine()
    command = ["cargo", "run", "--release", "--quiet", "--package", "pacelc-history"]
    command += ["--example", "speed", "--", *([str(porcupine)] if porcupine else [])]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    found: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    cases = [case for case in found if "registers" in case]
    for checker, name in (("check", "register check"), ("online", "register check online")):
        for case in cases:
            if case["behind"] == 0:
                yield _rate(name, case, checker, LEAST_PER_S[checker])
    for case in cases:
        if case["behind"] > 0:
            seconds = OPERATIONS / case["distance"]
            title = f"Γ and Δ where it is stale, {_size(case)}"
            yield Figure(title, f"< {MOST_S:.0f} s", f"{seconds:.2f} s", seconds < MOST_S)
    for checker, name in (("staleness", "staleness"), ("sessions", "session guarantees")):
        for case in cases:
            if case["behind"] > 0:
                yield _rate(f"{name} where it is stale", case, checker)
    yield _porcupine(found[-1])


def _size(case: dict[str, Any]) -> str:
    registers = "1 register" if case["registers"] == 1 else f"{case['registers']:,} registers"
    sample = "" if case["one_in"] == 1 else f", sampled from {case['one_in']} times as many"
    return f"a million operations on {registers}{sample}"


def _rate(name: str, case: dict[str, Any], checker: str, least: float = 0.0) -> Figure:
    rate = case[checker]
    promised = least > 0 and case["registers"] <= MOST_REGISTERS and case["one_in"] == 1
    return Figure(
        f"{name}, {_size(case)}: operations a second",
        f"≥ {least / 1e6:.0f} million" if promised else "",
        f"{rate / 1e6:.1f} million",
        rate >= least if promised else None,
    )


def _porcupine(case: dict[str, Any]) -> Figure:
    title, target = "register check of 10,000 operations, against Porcupine", f"≥ {LEAST_RATIO:,} ×"
    if "porcupine_s" not in case:
        return Figure(title, target, "Porcupine can't be built here: it needs go", None)
    ratio = case["porcupine_s"] / case["check_s"]
    times = f"{case['check_s'] * 1e3:.2f} ms / {case['porcupine_s']:.1f} s"
    return Figure(title, target, f"{ratio:,.0f} × ({times})", ratio >= LEAST_RATIO)
