"""Location-scale families, and the uniform and von Mises distributions.

The location-scale families are Normal, Laplace, Gumbel and Cauchy. Laplace is a two-sided exponential distribution.
Gumbel is the limit of the maximum of many variables. Cauchy is the ratio of two normal variables; its tails are too
heavy for a mean. Uniform has a constant density between two bounds. VonMises is a circular analogue of Normal.
"""

from __future__ import annotations

import math
from typing import Any

from ...backend import dtype as dt
from ...functions import random
from ...functions.names import atan, erf, erfinv, exp, expm1, full_like, log1p, rand, tan, where, zeros
from ...tensor import Size, Tensor
from ..special import i0e, i1e
from . import constraints
from .constraints import dependent_property
from .distribution import Distribution, register_kl
from .utils import Value, broadcast_all, except_where, formula, method


class LocationScale(Distribution):
    """The base class of Normal, Laplace, Gumbel and Cauchy. ``loc`` is the location, and ``scale`` is the width, which
    must be positive. Both are tensors or numbers."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)


class Normal(LocationScale):
    """The normal distribution with mean ``loc`` and standard deviation ``scale``."""

    mean = mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: d.scale)
    variance = formula(lambda d: d.stddev.pow(2))
    rsample = method(lambda d, sample_shape=(): d.loc + random.normal_(d._empty(sample_shape, d.loc)) * d.scale)
    _cdf = method(lambda d, value: 0.5 * (1 + erf((value - d.loc) * d.scale.reciprocal() / math.sqrt(2))))
    icdf = method(lambda d, value: d.loc + d.scale * erfinv(2 * value - 1) * math.sqrt(2))
    entropy = method(lambda d: 0.5 + 0.5 * math.log(2 * math.pi) + d.scale.log())

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return random.normal(self.loc.expand(shape), self.scale.expand(shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        distance = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -distance - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def _kl(self, q: Normal) -> Tensor:
        ratio = (self.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((self.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


class Laplace(LocationScale):
    """The distribution with density exp(-|x - loc| / scale) / (2 · scale)."""

    mean = mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: 2**0.5 * d.scale)
    variance = formula(lambda d: 2 * d.scale.pow(2))
    _log_prob = method(lambda d, value: -(2 * d.scale).log() - (value - d.loc).abs() / d.scale)
    _cdf = method(lambda d, value: 0.5 - 0.5 * (value - d.loc).sign() * expm1(-(value - d.loc).abs() / d.scale))
    icdf = method(lambda d, value: d.loc - d.scale * (value - 0.5).sign() * log1p(-2 * (value - 0.5).abs()))
    entropy = method(lambda d: 1 + (2 * d.scale).log())

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = random.uniform_(self._empty(sample_shape, self.loc), dt.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * noise.sign() * log1p(-noise.abs())

    def _kl(self, q: Laplace) -> Tensor:
        ratio, distance = self.scale / q.scale, (self.loc - q.loc).abs()
        return -ratio.log() + distance / q.scale + ratio * (-distance / self.scale).exp() - 1


EULER = 0.57721566490153286060


class Gumbel(LocationScale):
    """The distribution of loc - scale · log(-log u), where u is uniform in (0, 1)."""

    mean = formula(lambda d: d.loc + d.scale * EULER)
    mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: math.pi / math.sqrt(6) * d.scale)
    variance = formula(lambda d: d.stddev.pow(2))
    _log_prob = method(lambda d, value: (distance := (d.loc - value) / d.scale) - distance.exp() - d.scale.log())
    _cdf = method(lambda d, value: exp(-exp((d.loc - value) / d.scale)))
    icdf = method(lambda d, value: d.loc - d.scale * (-value.log()).log())
    entropy = method(lambda d: d.scale.log() + (1 + EULER))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        info = dt.finfo(self.loc.dtype)
        noise = info.tiny + self._even(sample_shape, self.loc) * (1 - info.eps - info.tiny)
        return self.loc - self.scale * (-noise.log()).log()

    def _kl(self, q: Gumbel) -> Tensor:
        ratio, distance = self.scale / q.scale, (q.loc - self.loc) / q.scale
        power = (distance + (ratio + 1).lgamma()).exp()
        return -ratio.log() - distance + ratio * EULER + power - (1 + EULER)


class Cauchy(LocationScale):
    """The Cauchy distribution with median ``loc`` and half width at half maximum ``scale``."""

    mean = formula(lambda d: full_like(d.loc.detach(), math.nan))
    mode = formula(lambda d: d.loc)
    variance = formula(lambda d: full_like(d.loc.detach(), math.inf))
    rsample = method(lambda d, sample_shape=(): d.loc + random.cauchy_(d._empty(sample_shape, d.loc)) * d.scale)
    _log_prob = method(lambda d, value: -math.log(math.pi) - d.scale.log() - log1p(((value - d.loc) / d.scale) ** 2))
    _cdf = method(lambda d, value: atan((value - d.loc) / d.scale) / math.pi + 0.5)
    icdf = method(lambda d, value: tan(math.pi * (value - 0.5)) * d.scale + d.loc)
    entropy = method(lambda d: math.log(4 * math.pi) + d.scale.log())


class Uniform(Distribution):
    """The uniform distribution on [``low``, ``high``). Both bounds are tensors or numbers, and ``low`` < ``high``."""

    has_rsample = True

    def __init__(self, low: Value, high: Value, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    arg_constraints = property(
        lambda d: {"low": constraints.less_than(d.high), "high": constraints.greater_than(d.low)}
    )
    support = dependent_property(lambda d: constraints.interval(d.low, d.high), is_discrete=False, event_dim=0)
    mean = formula(lambda d: (d.high + d.low) / 2)
    mode = formula(lambda d: full_like(d.high, math.nan))  # all values are equally likely
    stddev = formula(lambda d: (d.high - d.low) / 12**0.5)
    variance = formula(lambda d: (d.high - d.low).pow(2) / 12)
    _cdf = method(lambda d, value: ((value - d.low) / (d.high - d.low)).clamp(min=0, max=1))
    icdf = method(lambda d, value: value * (d.high - d.low) + d.low)
    entropy = method(lambda d: (d.high - d.low).log())
    rsample = method(lambda d, sample_shape=(): d.low + d._even(sample_shape, d.low) * (d.high - d.low))

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def _kl(self, q: Uniform) -> Tensor:
        outside = (q.low > self.low).logical_or(q.high < self.high)
        return except_where(outside, math.inf, ((q.high - q.low) / (self.high - self.low)).log())


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    log_ratio = (math.sqrt(2 * math.pi) * q.scale / width).log()
    return log_ratio + 0.5 * (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / q.scale.pow(2)


class VonMises(Distribution):
    """A distribution of angles from -π to π whose density is proportional to exp(concentration · cos(x - loc))."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = formula(lambda d: d.loc)
    variance = formula(lambda d: 1 - i1e(d.concentration) / i0e(d.concentration))

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self.concentration
        return k * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(k).log()

    def _sample(self, sample_shape: Size) -> Tensor:
        """Draw samples in float64 by rejection sampling (Best and Fisher 1979)."""
        shape, k = self._extended_shape(sample_shape), self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        r = where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))
        x = zeros(shape, dtype=k.dtype, device=k.device)
        mask = x != 0
        while not bool(mask.all()):
            u1, u2, u3 = rand((3, *shape), dtype=k.dtype, device=k.device).unbind()
            z = (math.pi * u1).cos()
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accepted = (c * (2 - c) - u2 > 0).logical_or((c / u2).log() + 1 - c >= 0)
            x = where(accepted, (u3 - 0.5).sign() * f.acos(), x)
            mask = mask.logical_or(accepted)
        return ((x + math.pi + self.loc.double()) % (2 * math.pi) - math.pi).to(self.loc.dtype)
