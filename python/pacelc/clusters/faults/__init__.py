"""Faults: what goes wrong in a running cluster, by schedule or by hand."""
