"""Figures fit to publish: one Vega-Lite spec each, saved as HTML, SVG or PNG without a network.

The map
-------
figures     one function a figure; each takes what the analysis made and returns an Altair chart
curves      series over a number, in small multiples: what the papers' own figures are made of
faults      what users got while something was wrong
partitions  who was served on either side of a partition
observed    what clients observed: frontier, staleness, visibility; witnesses: one violation each
regression  what a regression left unexplained
predicted   what models say over users; checked: beside what was measured; changed: over time
facets      which factors are panels, and of which each figure is one level
layout      panels side by side, titles where a reader looks for them
style       colours, shapes and type: ``screen``, ``narrow`` (a phone), ``paper`` (grey and black)
save        a chart to a file, by its suffix

Examples
--------
>>> from pacelc.plots import save_figure, throughput_by_load            # doctest: +SKIP
>>> save_figure(throughput_by_load(design, style=PAPER), "figure2.svg")  # doctest: +SKIP
"""

from pacelc.plots.curves import POINTS, curves
from pacelc.plots.facets import Facets, facets_of
from pacelc.plots.faults import fault_bands, faults_over_time
from pacelc.plots.figures import (
    change_between_levels,
    client_use_by_load,
    cpu_by_role,
    latency_percentiles,
    metric_by_load,
    response_time_by_load,
    throughput_by_load,
    throughput_over_time,
)
from pacelc.plots.observed import frontier, staleness_distribution, visibility
from pacelc.plots.partitions import served_in_partitions
from pacelc.plots.regression import residual_checks, residuals_by_column
from pacelc.plots.save import png_bytes, png_of_svg, save_figure, svg_text
from pacelc.plots.style import NARROW, PAPER, SCREEN, Style
from pacelc.plots.witnesses import witness_timeline

__all__ = [
    "NARROW",
    "PAPER",
    "POINTS",
    "SCREEN",
    "Facets",
    "Style",
    "change_between_levels",
    "client_use_by_load",
    "cpu_by_role",
    "curves",
    "facets_of",
    "fault_bands",
    "faults_over_time",
    "frontier",
    "latency_percentiles",
    "metric_by_load",
    "png_bytes",
    "png_of_svg",
    "residual_checks",
    "residuals_by_column",
    "response_time_by_load",
    "save_figure",
    "served_in_partitions",
    "staleness_distribution",
    "svg_text",
    "throughput_by_load",
    "throughput_over_time",
    "visibility",
    "witness_timeline",
]
