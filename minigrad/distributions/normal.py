"""Normal: the bell curve."""

from __future__ import annotations

import math
from typing import Any

from ..autograd import no_grad
from ..functions import random
from ..functions.creation import empty
from ..functions.pointwise import erf, erfinv
from ..tensor import Tensor
from .location_scale import LocationScale


class Normal(LocationScale):
    """The normal distribution of a mean and standard deviation.

    Args:
        loc: the mean, a tensor or a number.
        scale: the standard deviation.
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
        """``scale``."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """scale²."""
        return self.stddev.pow(2)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws, without history."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return random.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + scale · ε, ε from the standard normal distribution."""
        drawn = empty(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + random.normal_(drawn) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        distance = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -distance - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which draws have this probability."""
        return self.loc + self.scale * erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """log(scale · √(2 π e))."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()
