"""Load from many machines: the same engine on each of Ray's workers, measured as one run.

The parts of a run are added, never averaged: histograms are merged exactly, and a run of which a
part is missing is a failed run, whose reason names the part.

Map
---
lab             `open_lab`: the runner's lab, with workers or without
connection      what ``--workers`` may say; a Ray of our own, or one that is there
crew            the agents on Ray's nodes: asked together, lost ones found, their clocks compared
agent           what runs on a worker: one engine, asked from afar
engine          the runner's `Engine`: divides a run, starts it everywhere together, merges it
remote_map      a function on workers, answers in order: what a plan divides
division        whose users are whose, and when everybody starts
clocks          how far another machine's clock is ahead of ours
"""
