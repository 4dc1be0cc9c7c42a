"""Laplace: two exponential distributions back to back."""

from __future__ import annotations

from typing import Any

from ..backend import dtype as dt
from ..functions.pointwise import expm1, log1p
from ..functions.random import uniform_
from ..tensor import Tensor
from .location_scale import LocationScale
from .utils import formula


class Laplace(LocationScale):
    """Numbers with the density exp(-|x - loc| / scale) / (2 · scale)."""

    mean = mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: 2**0.5 * d.scale)
    variance = formula(lambda d: 2 * d.scale.pow(2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc - scale · sign(u) · log(1 - |u|), u even in (-1, 1)."""
        drawn = uniform_(self._empty(sample_shape, self.loc), dt.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * drawn.sign() * log1p(-drawn.abs())

    def _log_prob(self, value: Tensor) -> Tensor:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def _cdf(self, value: Tensor) -> Tensor:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * expm1(-distance.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * log1p(-2 * side.abs())

    def entropy(self) -> Tensor:
        """1 + log(2 · scale)."""
        return 1 + (2 * self.scale).log()

    def _kl(self, q: Laplace) -> Tensor:
        ratio, distance = self.scale / q.scale, (self.loc - q.loc).abs()
        return -ratio.log() + distance / q.scale + ratio * (-distance / self.scale).exp() - 1
