"""Stored runs in the formats of other tools.

Start here: :func:`export`, which writes files; what each format holds is described for their users
in ``docs/reference/export.md``.

An export means what the other tool's file means. Where YCSB counts differently, the export counts
as YCSB does. What pacelc doesn't measure is left out, never filled in. The tests compare exports
with YCSB's own recorded output and with HdrHistogram's own tools.

Map
---
files       which runs, which files, written whole or not at all
ycsb        a run as YCSB's exporters print it
jepsen      a run's operations as a history of Jepsen's
tables      runs and samples as tables of plain columns, CSV or Parquet
"""

from pacelc.export.files import FORMATS, STDOUT, TABLES, export, export_path, one_run

__all__ = ["FORMATS", "STDOUT", "TABLES", "export", "export_path", "one_run"]
