"""Residuals of a network, carried to configurations nearby by a Gaussian process.

The residual is the logarithm of measured over predicted throughput. Latencies have its inverse, by
Little's law: there are as many users. Far from all runs it is 0, and the network predicts alone.

Features are logarithms of users, nodes and copies; the share of reads, copies that reads and writes
wait for, whether writes wait for the disk. They are standardised; the kernel is a squared
exponential with a length scale each, times a constant, and noise. These maximise the marginal
likelihood of at most 200 points, drawn by a seed; given them, all points are taken (Rasmussen and
Williams: Gaussian Processes for Machine Learning, MIT Press 2006, sections 5.4.1 and 8.3.3).

Map
---
features    a configuration as a row
merged      one point a configuration: geometric means over clusters
Kernel      chosen for some rows and values; with these, or others, a function of a row
"""

# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pacelc.calibration.runs import Configuration, Point

    Floats: TypeAlias = NDArray[np.float64]

__all__ = ["Kernel", "features", "merged"]

_POINTS: Final = 200
_LEAST: Final = 1e-6


def features(one: Configuration) -> Floats:
    """Return a configuration's features."""
    sizes = np.log([one.users, one.nodes, one.replication])
    return np.array([*sizes, one.read_share, one.asked, one.waited, one.on_disk])


def merged(points: Sequence[Point]) -> list[Point]:
    """Return one point a configuration: geometric means over the clusters that have it."""
    alike: dict[tuple[object, ...], list[Point]] = {}
    for one in points:
        rough = one.configuration.rounded()
        alike.setdefault((rough, frozenset(one.measured)), []).append(one)
    found: list[Point] = []
    for own in alike.values():
        shares, cores = ([getattr(one.configuration, name) for one in own] for name in _MEASURED)
        configuration = own[0].configuration._replace(
            read_share=float(np.mean(shares)), cores=float(np.mean(cores))
        )
        logs = {name: [np.log(one.measured[name]) for one in own] for name in own[0].measured}
        means = {name: float(np.exp(np.mean(values))) for name, values in logs.items()}
        found.append(own[0]._replace(configuration=configuration, measured=means))
    return found


_MEASURED: Final = ("read_share", "cores")
"""Of a configuration: they differ a little from run to run."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """How alike two configurations are, of standardised features."""

    kernel: Any
    middle: Floats
    scale: Floats

    @classmethod
    def chosen(cls, rows: Floats, values: Floats, seed: int = 1) -> Self:
        """Return the kernel that makes values the most likely; rows are (points, features)."""
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - long to import
        from sklearn.gaussian_process.kernels import (  # noqa: PLC0415 - as above
            RBF,
            ConstantKernel,
            WhiteKernel,
        )

        middle, scale = rows.mean(axis=0), rows.std(axis=0)
        scale[scale < _LEAST] = 1.0
        deviation = float(np.sqrt(np.mean(values**2))) or 1.0
        scales: Any = RBF([3.0] * rows.shape[1], (0.3, 1e3))
        kernel: Any = ConstantKernel(1.0, (1e-2, 1e3)) * scales + WhiteKernel(1e-2, (1e-6, 1.0))
        some = np.random.default_rng(seed).permutation(len(values))[:_POINTS]
        with warnings.catch_warnings():
            # A length scale at its upper bound is that of a feature without effect.
            warnings.simplefilter("ignore", ConvergenceWarning)
            search = _regressor(kernel, n_restarts_optimizer=1, random_state=seed)
            found = search.fit((rows[some] - middle) / scale, values[some] / deviation)
        return cls(found.kernel_, middle, scale)

    def process(self, rows: Floats, values: Floats) -> Callable[[Floats], float]:
        """Return the prediction of a row from known ones: 0 far from all of them."""
        deviation = float(np.sqrt(np.mean(values**2))) or 1.0
        regressor = _regressor(self.kernel, optimizer=None)
        found = regressor.fit((rows - self.middle) / self.scale, values / deviation)

        def predicted(row: Floats) -> float:
            place = ((row - self.middle) / self.scale)[None]
            return deviation * float(found.predict(place)[0])

        return predicted


def _regressor(kernel: Any, **options: Any) -> Any:
    from sklearn.gaussian_process import (  # noqa: PLC0415 - takes a second to import
        GaussianProcessRegressor,
    )

    regressor: Any = GaussianProcessRegressor  # its types are partly unknown
    return regressor(kernel, **options)
