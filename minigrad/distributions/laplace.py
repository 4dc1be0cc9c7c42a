"""Laplace: two exponential distributions back to back."""

from __future__ import annotations

from typing import Any

from ..backend import dtype as dt
from ..functions.creation import empty
from ..functions.pointwise import expm1, log1p
from ..functions.random import uniform_
from ..tensor import Tensor
from .location_scale import LocationScale


class Laplace(LocationScale):
    """Numbers with the density exp(-|x - loc| / scale) / (2 · scale).

    Args:
        loc: the mean, a tensor or a number.
        scale: the mean distance from it.
        validate_args: see Distribution.

    Raises:
        ValueError: a scale that is not positive; see Distribution.
    """

    @property
    def mean(self) -> Tensor:
        """``loc``."""
        return self.loc

    mode = mean

    @property
    def stddev(self) -> Tensor:
        """√2 · scale."""
        return 2**0.5 * self.scale

    @property
    def variance(self) -> Tensor:
        """2 · scale²."""
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc - scale · sign(u) · log(1 - |u|), u even in (-1, 1)."""
        info, shape = dt.finfo(self.loc.dtype), self._extended_shape(sample_shape)
        drawn = uniform_(empty(shape, dtype=self.loc.dtype, device=self.loc.device), info.eps - 1, 1)
        return self.loc - self.scale * drawn.sign() * log1p(-drawn.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        if self._validate_args:
            self._validate_sample(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * expm1(-distance.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which draws have this probability."""
        side = value - 0.5
        return self.loc - self.scale * side.sign() * log1p(-2 * side.abs())

    def entropy(self) -> Tensor:
        """1 + log(2 · scale)."""
        return 1 + (2 * self.scale).log()
