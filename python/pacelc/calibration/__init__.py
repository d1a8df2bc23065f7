"""A database's demands, fitted to runs: how sure they are, and how far off predictions are.

Map
---
runs        runs as a calibration needs them; dataset: the same in one file
demands     processor demands by the utilisation law, contention, variance between clusters
model       delays and variation; a configuration's throughput and responses by the network
residuals   of the network, carried to configurations nearby
fit         all of these, and errors of sizes left out: predictions with intervals
calibrate   stored runs → a model a group, and the document that a plan reads
document    that document

Start here: :func:`pacelc.calibration.calibrate.calibrate`.
"""
