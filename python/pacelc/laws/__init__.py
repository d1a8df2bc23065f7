"""Laws of scalability: the Universal Scalability Law, Amdahl's and linear, fitted to runs.

Map
---
law     a law fitted to sizes and throughputs, with intervals; which of the three is enough
scale   laws of stored runs, and of tables of others

Examples
--------
>>> fit_law([1, 2, 4, 8], [100, 190, 340, 520], "nodes").chosen
'usl'
"""

from pacelc.laws.law import Law, capacity, fit_law
from pacelc.laws.scale import GroupLaw, laws_of_csv, laws_of_runs

__all__ = ["GroupLaw", "Law", "capacity", "fit_law", "laws_of_csv", "laws_of_runs"]
