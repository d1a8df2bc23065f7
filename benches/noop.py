"""What the engine itself can do: operations a second a core with a binding that speaks to nothing.

Zipfian keys, stamped values of 1 KB for the writes, histograms and samples: all that a real run
does, but the database.
"""

from __future__ import annotations

from statistics import median

from benches.harness import Figure, load_spec, run_client

TARGET_PER_S = 3e6


def measure() -> list[Figure]:
    """One line for the usual mix, one for writes only, which build 1 KB each."""
    figures = []
    for name, mix in [("95/5", {"read": 0.95, "update": 0.05}), ("writes only", {"update": 1.0})]:
        spec = load_spec({"database": "noop"}, workload={"mix": mix})
        rates = []
        for _ in range(3):
            run = run_client(spec, load_records=False)
            ok = sum(kind["ok"] for kind in run.result["operations"].values())
            client = run.result["client"]
            rates.append(ok / (client["cpu_user_s"] + client["cpu_system_s"]))
        rate = median(rates)
        figures.append(
            Figure(
                f"noop, {name}: operations a second a core",
                f"≥ {TARGET_PER_S / 1e6:.0f} million" if name == "95/5" else "–",
                f"{rate / 1e6:.2f} million",
                rate >= TARGET_PER_S if name == "95/5" else None,
            )
        )
    return figures
