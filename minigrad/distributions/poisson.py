"""Poisson: the number of events in a span of time."""

from __future__ import annotations

from ..functions import random
from ..functions.pointwise import xlogy
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all, formula


class Poisson(Distribution):
    """Counts with the probability rateⁿ exp(-rate) / n!; ``rate``, the expected count, is a tensor or a number.

    Draws have the dtype of the rate and the right distribution, but PyTorch draws others from the same seed.
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = variance = formula(lambda d: d.rate)
    mode = formula(lambda d: d.rate.floor())

    def _sample(self, sample_shape: Size) -> Tensor:
        return random.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return xlogy(value, rate) - rate - (value + 1).lgamma()

    def _kl(self, q: Poisson) -> Tensor:
        return self.rate * (self.rate.log() - q.rate.log()) - (self.rate - q.rate)
