"""HalfNormal: the sizes of normal numbers."""

from __future__ import annotations

import math
from typing import Any

from ..functions.creation import full_like, zeros_like
from ..functions.pointwise import where
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .normal import Normal
from .utils import Value
from .utils import size as size_of


class HalfNormal(Distribution):
    """|x|, x normal with mean 0; ``base_dist`` is the distribution of x.

    Args:
        scale: the standard deviation of x, a tensor or a number.
        validate_args: see Distribution.

    Raises:
        ValueError: a scale that is not positive; see Distribution.
    """

    arg_constraints = {"scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Value, validate_args: bool | None = None) -> None:
        self.base_dist = Normal(0, scale, validate_args=False)
        super().__init__(self.base_dist.batch_shape, validate_args=validate_args)
        if self._validate_args:
            self._validate_parameter("scale")

    def expand(self, batch_shape: Any, _instance: Any = None) -> HalfNormal:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = size_of(batch_shape)
        return self._renewed(shape, base_dist=self.base_dist.expand(shape))

    @property
    def support(self) -> constraints.Constraint:
        """0 and above."""
        return constraints.nonnegative

    @property
    def scale(self) -> Tensor:
        """The standard deviation of x."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """scale · √(2 / π)."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """scale² · (1 - 2 / π)."""
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws, without history."""
        return self.base_dist.sample(sample_shape).abs()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """|scale · ε|, ε from the standard normal distribution."""
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, -inf below 0."""
        if self._validate_args:
            self._validate_sample(value)
        inside = self.base_dist.log_prob(value) + math.log(2)
        return where((value >= 0).expand_as(inside), inside, full_like(inside.detach(), -math.inf))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which draws have this probability."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """That of the normal distribution - log 2."""
        return self.base_dist.entropy() - math.log(2)
