"""Cauchy: the ratio of two normal numbers, with tails so heavy that there is no mean."""

from __future__ import annotations

import math
from typing import Any

from ..functions.creation import full_like
from ..functions.pointwise import atan, log1p, tan
from ..functions.random import cauchy_
from ..tensor import Tensor
from .location_scale import LocationScale
from .utils import formula


class Cauchy(LocationScale):
    """The Cauchy distribution: ``loc`` is the median, ``scale`` half the width at half the height."""

    mean = formula(lambda d: full_like(d.loc.detach(), math.nan))
    mode = formula(lambda d: d.loc)
    variance = formula(lambda d: full_like(d.loc.detach(), math.inf))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + scale · ε, ε from the Cauchy distribution of loc 0 and scale 1."""
        return self.loc + cauchy_(self._empty(sample_shape, self.loc)) * self.scale

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - log1p(distance**2)

    def _cdf(self, value: Tensor) -> Tensor:
        return atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        """log(4π · scale)."""
        return math.log(4 * math.pi) + self.scale.log()
