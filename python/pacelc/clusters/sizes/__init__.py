"""Sizes: how many processors and how much memory a node has, and what a cluster will take."""
