"""The built-in workloads, by name: ``workload: ycsb-a``.

A name stands for the settings below. They go under whatever is set beside it or later, so that
``workload: ycsb-a`` with ``records: 5000`` is YCSB's A on 5,000 records. What is not listed is as
always: 1,000 records of ten fields of 100 bytes, as YCSB's own files have it.

Map
---
BUILTIN_WORKLOADS   name → settings of ``workload``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pacelc.study.values import Json

__all__ = ["BUILTIN_WORKLOADS"]

# What Ferreira et al. (2024) store: ten fields that with their key make 8,192 bytes.
_FERREIRA: dict[str, Json] = {"fields": 10, "field_length": 819, "distribution": "uniform"}

BUILTIN_WORKLOADS: Mapping[str, Mapping[str, Json]] = {
    # YCSB's six core workloads. https://doi.org/10.1145/1807128.1807152
    "ycsb-a": {"mix": {"read": 0.5, "update": 0.5}, "distribution": "ycsb-zipfian"},
    "ycsb-b": {"mix": {"read": 0.95, "update": 0.05}, "distribution": "ycsb-zipfian"},
    "ycsb-c": {"mix": {"read": 1.0}, "distribution": "ycsb-zipfian"},
    "ycsb-d": {"mix": {"read": 0.95, "insert": 0.05}, "distribution": "latest"},
    "ycsb-e": {
        "mix": {"scan": 0.95, "insert": 0.05},
        # Twice the inserts among its 1,000 operations, as YCSB reckons.
        "distribution": {"ycsb-zipfian": {"expected_inserts": 100}},
        "scan_from": "key",
        "scan_length": 100,
        "min_scan_length": 1,
        "scan_length_distribution": "uniform",
    },
    "ycsb-f": {"mix": {"read": 0.5, "read_modify_write": 0.5}, "distribution": "ycsb-zipfian"},
    # Haughian, Osman, Knottenbelt (2016): read-heavy and write-heavy; the distribution is a factor.
    "haughian-g": {"mix": {"read": 0.95, "update": 0.05}},
    "haughian-h": {"mix": {"read": 0.05, "update": 0.95}},
    # Ferreira et al. (2024): a SELECT without a filter, and an INSERT.
    "ferreira-read": {**_FERREIRA, "mix": {"scan": 1.0}, "scan_length": 1000, "scan_from": "start"},
    "ferreira-write": {**_FERREIRA, "mix": {"insert": 1.0}},
}
