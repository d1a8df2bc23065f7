"""The report of a study: one HTML file that opens offline, and its figures and tables beside it.

The map
-------
write     :func:`write_report`: results directory → files
content   what the report says, as plain values, from the analysis
headline  the first answer
terms     what the study's labels mean
disqualified  which runs decide nothing, and why
observed  what clients observed at each level, beside its promise and its price
partitions  PACELC's letters, and what faults took
figures   which figures it shows
template  how it is laid out (Jinja2; everything that came from outside is escaped)

The first screen answers what consistency cost, with what weakens the answer beside it. Everything
below is the evidence.

A report holds no script, and its figures are embedded as SVG. So it opens offline, prints, and will
still be readable in ten years.
"""

from pacelc.report.write import ReportPaths, write_report

__all__ = ["ReportPaths", "write_report"]
