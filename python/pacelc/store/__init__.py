"""Run directories: what a study wrote, kept so that nothing written can be lost or changed.

Start here: :meth:`Store.open` to write (one runner at a time), :func:`load` to read (any number of
readers).

The map
-------
::

    RESULTS/
      study.json                  format version, resolved study, pacelc version
      runs/<run_id>/              one directory a run, e.g. 0012-r1; complete or absent
        run.json                  scenario, seed, versions, machine, results (RunRecord)
        samples.parquet           one row an interval and operation (SAMPLES_SCHEMA)
        resources.parquet         one row a reading and node (RESOURCES_SCHEMA)
        latency.hdr               HdrHistogram interval log, tags <operation>.<outcome>
        operations.parquet        only where a history was recorded
        read_back.parquet         only after faults: the records that were written, as they are then
        observed.json             only where operations were recorded: what clients observed
      failures/<run_id>.<n>.json  attempts that gave no run (FailureRecord)
      damaged/<run_id>.<n>/       damaged runs that were measured again
      timeline.jsonl              what the study spent its time on (Activity)
      saturation.json             of a search for the highest rate: its answer

A run is written in a sibling directory whose name begins with a dot, flushed to the disk, and
renamed into place. So a reader never sees half a run, and a study killed at any moment has lost
only the run that it was measuring.

The format is described for other tools in ``docs/reference/run-format.md``.

In the code
-----------
format        names, columns, records, and the checks they pass
writer        :class:`Store`
reader        :func:`load`, :class:`Results`
whole         whether a stored run is what was written
disk          whole files, flushed and renamed; the lock
latency_log   HdrHistogram interval logs
observed      what clients observed, of one run and of many
"""

from pacelc.store.disk import parquet_bytes
from pacelc.store.format import (
    FORMAT,
    RESOURCES_SCHEMA,
    SAMPLES_SCHEMA,
    FailureRecord,
    RunRecord,
    StoreError,
)
from pacelc.store.latency_log import Histogram, LatencyLog, LatencyLogError, read_latency_log
from pacelc.store.reader import Results, load
from pacelc.store.writer import Store

__all__ = [
    "FORMAT",
    "RESOURCES_SCHEMA",
    "SAMPLES_SCHEMA",
    "FailureRecord",
    "Histogram",
    "LatencyLog",
    "LatencyLogError",
    "Results",
    "RunRecord",
    "Store",
    "StoreError",
    "load",
    "parquet_bytes",
    "read_latency_log",
]
