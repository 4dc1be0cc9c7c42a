"""Exponential: the time to an event that may come at any moment."""

from __future__ import annotations

from typing import Any

from ..functions.creation import zeros_like
from ..functions.pointwise import exp, log1p
from ..functions.random import exponential_
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all, formula


class Exponential(Distribution):
    """Positive numbers with the density rate · exp(-rate · x); ``rate`` is a tensor or a number."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = stddev = formula(lambda d: d.rate.reciprocal())
    mode = formula(lambda d: zeros_like(d.rate))
    variance = formula(lambda d: d.rate.pow(-2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """x / rate, x from the distribution of rate 1."""
        return exponential_(self._empty(sample_shape, self.rate)) / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.rate.log() - self.rate * value

    def _cdf(self, value: Tensor) -> Tensor:
        return 1 - exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """1 - log rate."""
        return 1 - self.rate.log()

    def _kl(self, q: Exponential) -> Tensor:
        ratio = q.rate / self.rate
        return -ratio.log() + ratio - 1
