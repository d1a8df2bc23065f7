"""Two nodes of a real Ray, for all tests here that ask for them."""

from __future__ import annotations

from ray_nodes import two_nodes

__all__ = ["two_nodes"]
