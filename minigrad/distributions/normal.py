"""Normal: the bell curve."""

from __future__ import annotations

import math
from typing import Any

from ..functions import random
from ..functions.pointwise import erf, erfinv
from ..tensor import Size, Tensor
from .location_scale import LocationScale
from .utils import formula


class Normal(LocationScale):
    """The normal distribution with the mean ``loc`` and the standard deviation ``scale``."""

    mean = mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: d.scale)
    variance = formula(lambda d: d.stddev.pow(2))

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return random.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + scale · ε, ε from the standard normal distribution."""
        return self.loc + random.normal_(self._empty(sample_shape, self.loc)) * self.scale

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -distance - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def _cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """log(scale · √(2 π e))."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def _kl(self, q: Normal) -> Tensor:
        ratio = (self.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((self.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())
