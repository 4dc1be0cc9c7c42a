"""Gumbel: the largest of many numbers."""

from __future__ import annotations

import math
from typing import Any

from ..backend import dtype as dt
from ..functions.pointwise import exp
from ..functions.random import rand
from ..tensor import Tensor
from .location_scale import LocationScale
from .utils import formula

EULER = 0.57721566490153286060


class Gumbel(LocationScale):
    """loc - scale · log(-log u), u even in (0, 1)."""

    mean = formula(lambda d: d.loc + d.scale * EULER)
    mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: math.pi / math.sqrt(6) * d.scale)
    variance = formula(lambda d: d.stddev.pow(2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc - scale · log(-log u), u even between the least positive number and 1 - eps."""
        info, shape = dt.finfo(self.loc.dtype), self._extended_shape(sample_shape)
        drawn = rand(shape, dtype=self.loc.dtype, device=self.loc.device)
        drawn = info.tiny + drawn * (1 - info.eps - info.tiny)
        return self.loc - self.scale * (-drawn.log()).log()

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = (self.loc - value) / self.scale
        return distance - distance.exp() - self.scale.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return exp(-exp((self.loc - value) / self.scale))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        """log scale + 1 + γ, γ Euler's constant."""
        return self.scale.log() + (1 + EULER)

    def _kl(self, q: Gumbel) -> Tensor:
        ratio, distance = self.scale / q.scale, (q.loc - self.loc) / q.scale
        power = (distance + (ratio + 1).lgamma()).exp()
        return -ratio.log() - distance + ratio * EULER + power - (1 + EULER)
