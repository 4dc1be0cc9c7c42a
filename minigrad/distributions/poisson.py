"""Poisson: the number of events in a span of time."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..functions import random
from ..functions.pointwise import xlogy
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all
from .utils import size as size_of


class Poisson(Distribution):
    """Counts with the probability rateⁿ exp(-rate) / n!.

    Args:
        rate: the expected count, a tensor or a number.
        validate_args: see Distribution.

    Raises:
        ValueError: a rate below 0; see Distribution.
    """

    arg_constraints = {"rate": constraints.nonnegative}

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Poisson:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        return self._renewed(batch_shape, rate=self.rate.expand(size_of(batch_shape)))

    @property
    def support(self) -> constraints.Constraint:
        """0, 1, 2 and so on."""
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        """``rate``."""
        return self.rate

    variance = mean

    @property
    def mode(self) -> Tensor:
        """The whole part of the rate."""
        return self.rate.floor()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Counts in the dtype of the rate, by ``poisson``: not PyTorch's draws, but their distribution."""
        with no_grad():
            return random.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a count."""
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return xlogy(value, rate) - rate - (value + 1).lgamma()
