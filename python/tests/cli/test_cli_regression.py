"""``pacelc regress`` and ``pacelc advise``, word for word."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pacelc.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


PRINTED = {
    "regress-vyas-equation-2": ["regress", "vyas-2022", "--equation", "2"],
    "regress-vyas-own-columns": [
        "regress", "vyas-2022", "--y", "read_latency_us", "--x", "threads,setting",
        "--interaction", "threads*setting", "--predict", "threads=450,setting=1R-3W",
    ],
    "regress-csv": ["regress", "--csv", "t.csv", "--y", "ms", "--x", "users,level"],
    "regress-columns": ["regress", "vyas-2022", "--columns"],
    "advise-vyas-tie": ["advise", "--mix", "70/30", "--users", "200"],
    "advise-vyas-clear": ["advise", "--mix", "90/10", "--users", "50"],
    "advise-vyas-outside": ["advise", "--mix", "95/5", "--users", "2000"],
}  # fmt: skip

MISTAKES = {
    "regress-no-source": ["regress"],
    "regress-two-sources": ["regress", "vyas-2022", "--csv", "t.csv"],
    "regress-no-such-source": ["regress", "vyas-2023"],
    "regress-no-such-file": ["regress", "--csv", "u.csv", "--y", "ms", "--x", "users"],
    "regress-no-csv": ["regress", "--csv", "broken.csv", "--y", "ms", "--x", "users"],
    "regress-nothing-to-explain": ["regress", "--csv", "t.csv"],
    "regress-unknown-column": ["regress", "--csv", "t.csv", "--y", "ms", "--x", "user"],
    "regress-dependent": ["regress", "--csv", "t.csv", "--y", "ms", "--x", "users,twice"],
    "regress-too-few-rows": ["regress", "--csv", "short.csv", "--y", "ms", "--x", "users,level"],
    "regress-equation-without-columns": ["regress", "--csv", "t.csv", "--equation", "3"],
    "regress-equation-and-columns": ["regress", "vyas-2022", "--equation", "3", "--y", "threads"],
    "regress-predict-by-three": ["regress", "vyas-2022", "--predict", "write_share=0.5"],
    "regress-predict-too-little": [
        "regress", "vyas-2022", "--equation", "3", "--predict", "write_share=0.5",
    ],
    "regress-predict-unknown-level": [
        "regress", "--csv", "t.csv", "--y", "ms", "--x", "level", "--predict", "level=TWO",
    ],
    "regress-one-interaction": [
        "regress", "--csv", "t.csv", "--y", "ms", "--x", "users", "--interaction", "users",
    ],
    "regress-no-runs": ["regress", "empty", "--y", "ms", "--x", "users"],
    "advise-mix-not-100": ["advise", "--mix", "70/40", "--users", "200"],
    "advise-no-users": ["advise", "--mix", "70/30"],
    "advise-no-such-source": ["advise", "--mix", "70/30", "--users", "2", "--from", "nowhere"],
    "advise-no-runs": ["advise", "--mix", "70/30", "--users", "2", "--from", "empty"],
    "advise-no-such-metric": ["advise", "--mix", "70/30", "--users", "200", "--metric", "p99"],
    "advise-not-replicated-so": [
        "advise", "--mix", "70/30", "--users", "200", "--replication", "5",
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    """Put tables and an empty study where the commands run."""
    rows = [
        (users, level, 2 * users, base + 0.5 * users + wobble)
        for users, wobble in ((1, 0.2), (2, -0.3), (4, 0.1), (8, 0.0))
        for level, base in (("ONE", 3.0), ("ALL", 5.0 + wobble))
    ]
    text = "".join(f"{users},{level},{twice},{ms}\n" for users, level, twice, ms in rows)
    (tmp_path / "t.csv").write_text(f"users,level,twice,ms\n{text}")
    (tmp_path / "short.csv").write_text("users,level,ms\n1,ONE,2\n2,ALL,3\n3,ONE,4\n")
    (tmp_path / "broken.csv").write_text("users,ms\n1,2,3\n")
    Store.open(tmp_path / "empty", create={"name": "empty"}).close()


@pytest.mark.parametrize("name", PRINTED)
def test_what_it_prints_fits_a_terminal(
    name: str, pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    printed = pacelc(*PRINTED[name])
    assert printed.status == 0
    assert printed.err == ""
    assert max(map(len, printed.out.splitlines())) <= 100
    snapshot(name, printed)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line_and_a_hint(
    mistake: str, pacelc: Callable[..., Any], snapshot: Callable[[str, object], None]
) -> None:
    printed = pacelc(*MISTAKES[mistake])
    assert printed.status in (2, 3)
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert sum(line.startswith("error: ") for line in printed.err.splitlines()) == 1
    snapshot(f"mistake-{mistake}", printed)


def test_json_has_every_figure_and_no_nan(pacelc: Callable[..., Any]) -> None:
    document = json.loads(
        pacelc(
            "regress", "vyas-2022", "--equation", "4", "--json",
            "--predict", "write_consistency=1,thousand_threads=0.2,write_share=0.3",
        ).out,
        parse_constant=pytest.fail,
    )  # fmt: skip
    (regression,) = document["regressions"]
    assert [round(c["value"], 4) for c in regression["coefficients"]] == [
        0.1, 0.0018, 0.7827, -0.0981,
    ]  # fmt: skip
    assert all(row["agrees"] for row in regression["published"])
    (prediction,) = document["predictions"]
    assert prediction["prediction_low"] < prediction["confidence_low"] < prediction["value"]
    advice = json.loads(
        pacelc("advise", "--mix", "90/10", "--users", "50", "--json").out,
        parse_constant=pytest.fail,
    )
    assert advice["fastest"] == "1R-3W"
    assert [c["setting"] for c in advice["candidates"]] == ["1R-3W", "2R-2W", "3R-1W"]


def test_plots_and_figures_are_written(pacelc: Callable[..., Any], tmp_path: Path) -> None:
    assert pacelc("regress", "vyas-2022", "--out", "figures").status == 0
    written = {p.name for p in (tmp_path / "figures").iterdir()}
    assert written == {"regression.json"} | {
        f"equation-{n}-{name}.{suffix}"
        for n in (2, 3, 4)
        for name in ("residuals", "residuals-by-column")
        for suffix in ("svg", "png")
    }
    svg = (tmp_path / "figures" / "equation-3-residuals-by-column.svg").read_text()
    assert "thousand_threads" in svg
    assert "180 rows" in svg
    assert (
        pacelc("regress", "--csv", "t.csv", "--y", "ms", "--x", "level", "--out", "text").status
        == 0
    )
    assert not (tmp_path / "text" / "residuals-by-column.svg").exists()
    assert pacelc("regress", "vyas-2022", "--out", "t.csv").status == 3
