"""Families of one shape that is moved and stretched.

By a ``loc`` and a ``scale``: Normal is the bell curve; Laplace two exponential distributions back to back; Gumbel the
largest of many numbers; Cauchy the ratio of two normal numbers, with tails so heavy that there is no mean. By its
bounds: Uniform, all numbers of an interval alike.
"""

from __future__ import annotations

import math
from typing import Any

from ...backend import dtype as dt
from ...functions import random
from ...functions.creation import full_like
from ...functions.pointwise import atan, erf, erfinv, exp, expm1, log1p, tan
from ...tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, register_kl
from .utils import Value, broadcast_all, except_where, formula


class LocationScale(Distribution):
    """What Normal, Laplace, Gumbel and Cauchy share.

    Args:
        loc: where the distribution is, a tensor or a number.
        scale: how wide it is, positive.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)


class Normal(LocationScale):
    """The normal distribution with the mean ``loc`` and the standard deviation ``scale``."""

    mean = mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: d.scale)
    variance = formula(lambda d: d.stddev.pow(2))

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return random.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + random.normal_(self._empty(sample_shape, self.loc)) * self.scale

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -distance - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def _cdf(self, value: Tensor) -> Tensor:
        return 0.5 * (1 + erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def _kl(self, q: Normal) -> Tensor:
        ratio = (self.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((self.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


class Laplace(LocationScale):
    """Numbers with the density exp(-|x - loc| / scale) / (2 · scale)."""

    mean = mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: 2**0.5 * d.scale)
    variance = formula(lambda d: 2 * d.scale.pow(2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = random.uniform_(self._empty(sample_shape, self.loc), dt.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * drawn.sign() * log1p(-drawn.abs())

    def _log_prob(self, value: Tensor) -> Tensor:
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def _cdf(self, value: Tensor) -> Tensor:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * expm1(-distance.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * log1p(-2 * side.abs())

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()

    def _kl(self, q: Laplace) -> Tensor:
        ratio, distance = self.scale / q.scale, (self.loc - q.loc).abs()
        return -ratio.log() + distance / q.scale + ratio * (-distance / self.scale).exp() - 1


EULER = 0.57721566490153286060


class Gumbel(LocationScale):
    """loc - scale · log(-log u), u even in (0, 1)."""

    mean = formula(lambda d: d.loc + d.scale * EULER)
    mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: math.pi / math.sqrt(6) * d.scale)
    variance = formula(lambda d: d.stddev.pow(2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        info = dt.finfo(self.loc.dtype)
        drawn = info.tiny + self._even(sample_shape, self.loc) * (1 - info.eps - info.tiny)
        return self.loc - self.scale * (-drawn.log()).log()

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = (self.loc - value) / self.scale
        return distance - distance.exp() - self.scale.log()

    def _cdf(self, value: Tensor) -> Tensor:
        return exp(-exp((self.loc - value) / self.scale))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)

    def _kl(self, q: Gumbel) -> Tensor:
        ratio, distance = self.scale / q.scale, (q.loc - self.loc) / q.scale
        power = (distance + (ratio + 1).lgamma()).exp()
        return -ratio.log() - distance + ratio * EULER + power - (1 + EULER)


class Cauchy(LocationScale):
    """The Cauchy distribution: ``loc`` is the median, ``scale`` half the width at half the height."""

    mean = formula(lambda d: full_like(d.loc.detach(), math.nan))
    mode = formula(lambda d: d.loc)
    variance = formula(lambda d: full_like(d.loc.detach(), math.inf))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + random.cauchy_(self._empty(sample_shape, self.loc)) * self.scale

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - log1p(distance**2)

    def _cdf(self, value: Tensor) -> Tensor:
        return atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Numbers from ``low`` up to ``high``, tensors or numbers; ``high``, which is larger, is not drawn."""

    has_rsample = True

    def __init__(self, low: Value, high: Value, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:  # type: ignore[override]
        """Each bound is limited by the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    mean = formula(lambda d: (d.high + d.low) / 2)
    mode = formula(lambda d: full_like(d.high, math.nan))  # all are alike
    stddev = formula(lambda d: (d.high - d.low) / 12**0.5)
    variance = formula(lambda d: (d.high - d.low).pow(2) / 12)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.low + self._even(sample_shape, self.low) * (self.high - self.low)

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def _cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()

    def _kl(self, q: Uniform) -> Tensor:
        outside = (q.low > self.low).logical_or(q.high < self.high)
        return except_where(outside, math.inf, ((q.high - q.low) / (self.high - self.low)).log())


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    log_ratio = (math.sqrt(2 * math.pi) * q.scale / width).log()
    return log_ratio + 0.5 * (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / q.scale.pow(2)
