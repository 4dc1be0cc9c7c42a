"""Cauchy: the ratio of two normal numbers, with tails so heavy that there is no mean."""

from __future__ import annotations

import math
from typing import Any

from ..functions.creation import empty, full_like
from ..functions.pointwise import atan, log1p, tan
from ..functions.random import cauchy_
from ..tensor import Tensor
from .location_scale import LocationScale


class Cauchy(LocationScale):
    """The Cauchy distribution.

    Args:
        loc: the median, a tensor or a number.
        scale: half the width at half the height.
        validate_args: see Distribution.

    Raises:
        ValueError: a scale that is not positive; see Distribution.
    """

    @property
    def mean(self) -> Tensor:
        """NaN: there is none."""
        return full_like(self.loc.detach(), float("nan"))

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinite."""
        return full_like(self.loc.detach(), float("inf"))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + scale · ε, ε from the Cauchy distribution of loc 0 and scale 1."""
        drawn = empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + cauchy_(drawn) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        distance = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - log1p(distance**2)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        if self._validate_args:
            self._validate_sample(value)
        return atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which draws have this probability."""
        return tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """log(4π · scale)."""
        return math.log(4 * math.pi) + self.scale.log()
