"""Uniform: all numbers of an interval alike."""

from __future__ import annotations

from typing import Any

from ..functions.creation import full_like
from ..functions.random import rand
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all
from .utils import size as size_of


class Uniform(Distribution):
    """Numbers from ``low`` up to ``high``.

    Args:
        low: the lower bound, a tensor or a number.
        high: the upper bound, which is not drawn.
        validate_args: see Distribution.

    Raises:
        ValueError: low is not below high; see Distribution.
    """

    has_rsample = True

    def __init__(self, low: Value, high: Value, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:  # type: ignore[override]
        """Each bound is limited by the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def expand(self, batch_shape: Any, _instance: Any = None) -> Uniform:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = size_of(batch_shape)
        return self._renewed(shape, low=self.low.expand(shape), high=self.high.expand(shape))

    @property
    def support(self) -> constraints.Constraint:
        """From low to high."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: all are alike."""
        return full_like(self.high, float("nan"))

    @property
    def stddev(self) -> Tensor:
        """(high - low) / √12."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        """(high - low)² / 12."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """low + u · (high - low), u from [0, 1)."""
        shape = self._extended_shape(sample_shape)
        drawn = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """-log(high - low) inside, -inf outside."""
        if self._validate_args:
            self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which draws have this probability."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """log(high - low)."""
        return (self.high - self.low).log()
