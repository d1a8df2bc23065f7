"""How well models predict what they weren't fitted to, beside simple baselines.

Map
---
baselines   nearest configuration, log-linear regression, scalability law, Gaussian process
protocol    which clusters are fitted and which evaluate; what is left out; scores
"""
