"""Tests of `pacelc.clusters`."""
