"""Uniform: all numbers of an interval alike."""

from __future__ import annotations

import math
from typing import Any

from ..functions.creation import full_like
from ..functions.random import rand
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all, except_where, formula


class Uniform(Distribution):
    """Numbers from ``low`` up to ``high``, tensors or numbers; ``high`` is not drawn.

    Raises:
        ValueError: low is not below high.
    """

    has_rsample = True

    def __init__(self, low: Value, high: Value, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:  # type: ignore[override]
        """Each bound is limited by the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @property
    def support(self) -> constraints.Constraint:
        """From low to high."""
        return constraints.interval(self.low, self.high)

    mean = formula(lambda d: (d.high + d.low) / 2)
    mode = formula(lambda d: full_like(d.high, math.nan))  # all are alike
    stddev = formula(lambda d: (d.high - d.low) / 12**0.5)
    variance = formula(lambda d: (d.high - d.low).pow(2) / 12)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """low + u · (high - low), u from [0, 1)."""
        shape = self._extended_shape(sample_shape)
        drawn = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + drawn * (self.high - self.low)

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def _cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """log(high - low)."""
        return (self.high - self.low).log()

    def _kl(self, q: Uniform) -> Tensor:
        outside = (q.low > self.low).logical_or(q.high < self.high)
        return except_where(outside, math.inf, ((q.high - q.low) / (self.high - self.low)).log())
