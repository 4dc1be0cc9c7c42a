"""Gumbel: the largest of many numbers."""

from __future__ import annotations

import math
from typing import Any

from ..backend import dtype as dt
from ..functions.pointwise import exp
from ..functions.random import rand
from ..tensor import Tensor
from .location_scale import LocationScale

EULER = 0.57721566490153286060


class Gumbel(LocationScale):
    """loc - scale · log(-log u), u even in (0, 1).

    Args:
        loc: the mode, a tensor or a number.
        scale: the width.
        validate_args: see Distribution.

    Raises:
        ValueError: a scale that is not positive; see Distribution.
    """

    @property
    def mean(self) -> Tensor:
        """loc + γ · scale, γ Euler's constant."""
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """π · scale / √6."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        """(π · scale)² / 6."""
        return self.stddev.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc - scale · log(-log u), u even between the least positive number and 1 - eps."""
        info, shape = dt.finfo(self.loc.dtype), self._extended_shape(sample_shape)
        drawn = rand(shape, dtype=self.loc.dtype, device=self.loc.device)
        drawn = info.tiny + drawn * (1 - info.eps - info.tiny)
        return self.loc - self.scale * (-drawn.log()).log()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        distance = (self.loc - value) / self.scale
        return distance - distance.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        if self._validate_args:
            self._validate_sample(value)
        return exp(-exp((self.loc - value) / self.scale))

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which draws have this probability."""
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        """log scale + 1 + γ."""
        return self.scale.log() + (1 + EULER)
