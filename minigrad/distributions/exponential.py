"""Exponential: the time to an event that may come at any moment."""

from __future__ import annotations

from typing import Any

from ..functions.creation import empty, zeros_like
from ..functions.pointwise import exp, log1p
from ..functions.random import exponential_
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all
from .utils import size as size_of


class Exponential(Distribution):
    """Positive numbers with the density rate · exp(-rate · x).

    Args:
        rate: a tensor or a number.
        validate_args: see Distribution.

    Raises:
        ValueError: a rate that is not positive; see Distribution.
    """

    arg_constraints = {"rate": constraints.positive}
    has_rsample = True

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Exponential:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        return self._renewed(batch_shape, rate=self.rate.expand(size_of(batch_shape)))

    @property
    def support(self) -> constraints.Constraint:
        """0 and above."""
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        """1 / rate."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.rate)

    @property
    def stddev(self) -> Tensor:
        """1 / rate."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        """1 / rate²."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """x / rate, x from the distribution of rate 1."""
        shape = self._extended_shape(sample_shape)
        return exponential_(empty(shape, dtype=self.rate.dtype, device=self.rate.device)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """log rate - rate · value."""
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        if self._validate_args:
            self._validate_sample(value)
        return 1 - exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which draws have this probability."""
        return -log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """1 - log rate."""
        return 1 - self.rate.log()
