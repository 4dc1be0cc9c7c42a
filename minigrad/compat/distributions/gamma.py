"""Distributions of random events in continuous time, and distributions derived from them.

Exponential models the time to the first event, Gamma the time to several events, and Poisson the number of events in an
interval. Chi2 is the Gamma distribution of a sum of squared normal variables. StudentT is a normal variable divided by
a root mean square. Dirichlet divides K gamma variables by their sum to obtain probabilities. Beta is the first of two.

Samples are correctly distributed but, except for Exponential, differ from PyTorch's for the same seed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...autograd import is_grad_enabled
from ...backend import dtype as dt
from ...backend.random import default_generator
from ...functions import random
from ...functions.names import as_tensor, exp, log1p, randn, softmax, stack, tensor, where, xlogy, zeros_like
from ...nn.functional import one_hot
from ...tensor import Tensor
from ..functions.special import igamma, igammac
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all, formula, method


class Exponential(Distribution):
    """Positive numbers with density rate · exp(-rate · x). ``rate`` is a tensor or a number."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = stddev = formula(lambda d: d.rate.reciprocal())
    mode = formula(lambda d: zeros_like(d.rate))
    variance = formula(lambda d: d.rate.pow(-2))
    rsample = method(lambda d, sample_shape=(): random.exponential_(d._empty(sample_shape, d.rate)) / d.rate)
    _log_prob = method(lambda d, value: d.rate.log() - d.rate * value)
    _cdf = method(lambda d, value: 1 - exp(-d.rate * value))
    icdf = method(lambda d, value: -log1p(-value) / d.rate)
    entropy = method(lambda d: 1 - d.rate.log())
    _kl = method(lambda p, q: (ratio := q.rate / p.rate) - ratio.log() - 1)


class Poisson(Distribution):
    """Counts n with probability rateⁿ exp(-rate) / n!. ``rate``, a tensor or a number, is the expected count."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = variance = formula(lambda d: d.rate)
    mode = formula(lambda d: d.rate.floor())
    _sample = method(lambda d, sample_shape: random.poisson(d.rate.expand(d._extended_shape(sample_shape))))
    _kl = method(lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate))
    _log_prob = method(lambda d, value: xlogy(value, d.rate) - d.rate - (value + 1).lgamma())


def standard_gamma(alpha: Tensor) -> Tensor:
    """A differentiable, nonzero sample from Gamma(α, 1) for each concentration α, in the dtype of α."""
    shapes = alpha.detach().cpu().double().numpy()
    draws = np.random.default_rng(default_generator.random64()).standard_gamma(shapes)
    draws = np.maximum(draws, dt.finfo(alpha.dtype).tiny)
    return _with_grad(tensor(draws, dtype=alpha.dtype, device=alpha.device), alpha, lambda: _grad(shapes, draws))


def _with_grad(samples: Tensor, alpha: Tensor, grad: Any) -> Tensor:
    """Connect samples to the graph of α, if it has one. ``grad()`` computes their derivative with respect to α."""
    if not (alpha.requires_grad and is_grad_enabled()):
        return samples
    return samples + tensor(grad(), dtype=samples.dtype, device=samples.device) * (alpha - alpha.detach())


def _grad(alpha: Any, samples: Any) -> Any:
    """The derivative dz/dα of gamma samples z at a fixed value of the CDF F. It is -∂F/∂α divided by the density
    (Figurnov et al. 2018). ∂F/∂α is approximated by a finite difference of F, or of F - 1 where z exceeds α."""
    step, z = 1e-4 * np.minimum(alpha, np.sqrt(alpha)), tensor(samples)
    below, above = (
        np.where(samples < alpha, igamma(a, z).numpy(), -igammac(a, z).numpy())
        for a in (tensor(alpha - step), tensor(alpha + step))
    )
    density = np.exp((alpha - 1) * np.log(samples) - samples - tensor(alpha).lgamma().numpy())
    return (below - above) / (2 * step * density)


def _positive(samples: Tensor) -> Tensor:
    """Clamp samples to positive numbers, as rounding may have made them 0."""
    return samples.clamp(min=dt.finfo(samples.dtype).tiny)


class Gamma(Distribution):
    """Positive numbers with density rateᵅ xᵅ⁻¹ exp(-rate · x) / Γ(α). α is ``concentration``, a tensor or a number."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Value, rate: Value, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    mean = formula(lambda d: d.concentration / d.rate)
    mode = formula(lambda d: ((d.concentration - 1) / d.rate).clamp(min=0))
    variance = formula(lambda d: d.concentration / d.rate.pow(2))
    _cdf = method(lambda d, value: igamma(d.concentration, d.rate * value))
    entropy = method(lambda d: (a := d.concentration) - d.rate.log() + a.lgamma() + (1 - a) * a.digamma())

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        return _positive(standard_gamma(concentration) / self.rate)

    def log_prob(self, value: Value) -> Tensor:
        """The logarithm of the density. ``value`` may also be a number."""
        return super().log_prob(as_tensor(value, dtype=self.rate.dtype, device=self.rate.device))

    def _log_prob(self, value: Tensor) -> Tensor:
        powers = xlogy(self.concentration, self.rate) + xlogy(self.concentration - 1, value)
        return powers - self.rate * value - self.concentration.lgamma()

    def _kl(self, q: Gamma) -> Tensor:
        a, b = self.concentration, q.concentration
        constants = b * (self.rate / q.rate).log() + b.lgamma() - a.lgamma()
        return constants + (a - b) * a.digamma() + (q.rate - self.rate) * (a / self.rate)


class Chi2(Gamma):
    """The sum of the squares of ``df`` standard normal variables. ``df`` is positive and may be fractional."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Value, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = formula(lambda d: 2 * d.concentration, doc="The number of squares in the sum.")


class StudentT(Distribution):
    """loc + scale · z / √(c / df), where z is standard normal and c is drawn from Chi2(df). Parameters are tensors or
    numbers; ``df`` and ``scale`` must be positive. The mean exists if ``df`` > 1, and the variance if ``df`` > 2."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Value, loc: Value = 0.0, scale: Value = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    mode = formula(lambda d: d.loc)
    mean = formula(lambda d: where(d.df > 1, d.loc, math.nan))

    @property
    def variance(self) -> Tensor:
        """scale² df / (df - 2) where df > 2, inf where 1 < df ≤ 2, and NaN elsewhere."""
        finite = self.scale.pow(2) * self.df / (self.df - 2).clamp(min=1e-30)
        return where(self.df > 2, finite, where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = randn(shape, dtype=self.df.dtype, device=self.df.device)
        squares = 2 * standard_gamma((self.df / 2).expand(shape))
        return self.loc + self.scale * normal * (squares / self.df).rsqrt()

    def _log_prob(self, value: Tensor) -> Tensor:
        distance, half = (value - self.loc) / self.scale, self.df / 2
        constants = self.scale.log() + 0.5 * (self.df.log() + math.log(math.pi)) + half.lgamma()
        return (half + 0.5).lgamma() - constants - (half + 0.5) * log1p(distance**2 / self.df)

    def entropy(self) -> Tensor:
        half = self.df / 2
        beta = half.lgamma() + 0.5 * math.log(math.pi) - (half + 0.5).lgamma()
        return self.scale.log() + (half + 0.5) * ((half + 0.5).digamma() - half.digamma()) + 0.5 * self.df.log() + beta


class Dirichlet(Distribution):
    """Vectors of K probabilities with density ∏ xᵅ⁻¹ / B(α). α is ``concentration``, (..., K), and must be positive."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    _total = formula(lambda d: d.concentration.sum(-1, keepdim=True), doc="∑ α.")
    mean = formula(lambda d: d.concentration / d._total)
    variance = formula(lambda d: d.mean * (1 - d.mean) / (d._total + 1))
    _log_prob = method(
        lambda d, value: xlogy((a := d.concentration) - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)
    )

    @property
    def mode(self) -> Tensor:
        """(α - 1) / ∑ (α - 1), with α - 1 clamped to at least 0. If all α are below 1, it is one-hot for class 0."""
        above = (self.concentration - 1).clamp(min=0)
        corner = one_hot(above.argmax(-1), self._event_shape[0]).to(above)  # as in PyTorch
        below = (self.concentration < 1).all(-1).unsqueeze(-1).expand_as(above)
        return where(below, corner, above / above.sum(-1, keepdim=True))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Divide gamma samples G(α + 1) u^(1 / α) by their sum, in log space to avoid underflow. Clamp to (0, 1)."""
        alpha, info = self.concentration.expand(self._extended_shape(sample_shape)), dt.finfo(self.concentration.dtype)
        shapes = alpha.detach().cpu().double().numpy()
        generator = np.random.default_rng(default_generator.random64())
        powers, draws = np.log1p(-generator.random(shapes.shape)) / shapes, generator.standard_gamma(shapes + 1)
        logs = tensor(powers + np.log(draws), device=alpha.device)
        logs = _with_grad(logs, alpha, lambda: _grad(shapes + 1, draws) / draws - powers / shapes)
        return softmax(logs, -1).to(alpha.dtype).clamp(info.tiny, 1 - info.eps / 2)

    def entropy(self) -> Tensor:
        alpha, k = self.concentration, self._event_shape[0]
        total = alpha.sum(-1)
        constant = alpha.lgamma().sum(-1) - total.lgamma()
        return constant - (k - total) * total.digamma() - ((alpha - 1) * alpha.digamma()).sum(-1)

    def _kl(self, q: Dirichlet) -> Tensor:
        a, b = self.concentration, q.concentration
        constants = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
        return constants + ((a - b) * (a.digamma() - self._total.digamma())).sum(-1)


class Beta(Distribution):
    """Numbers from 0 to 1 with density xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b). a is ``concentration1``; b is ``concentration0``."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
        both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    concentration1 = formula(lambda d: d._dirichlet.concentration[..., 0], doc="The exponent of x, plus 1.")
    concentration0 = formula(lambda d: d._dirichlet.concentration[..., 1], doc="The exponent of 1 - x, plus 1.")
    mean = formula(lambda d: d.concentration1 / (d.concentration1 + d.concentration0))
    mode = formula(lambda d: d._dirichlet.mode[..., 0])
    variance = formula(lambda d: d._dirichlet.variance[..., 0])
    rsample = method(lambda d, sample_shape=(): d._dirichlet.rsample(sample_shape)[..., 0])
    _log_prob = method(lambda d, value: d._dirichlet.log_prob(stack((value, 1 - value), -1)))
    entropy = method(lambda d: d._dirichlet.entropy())
    _kl = method(lambda p, q: p._dirichlet._kl(q._dirichlet))


class FisherSnedecor(Distribution):
    """The ratio of two Chi2 variables, divided by their degrees of freedom ``df1`` and ``df2`` (tensors or numbers)."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Value, df2: Value, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    mean = formula(lambda d: where(d.df2 > 2, d.df2 / (d.df2 - 2), math.nan))
    mode = formula(lambda d: where(d.df1 > 2, (d.df1 - 2) / d.df1 * d.df2 / (d.df2 + 2), math.nan))

    @property
    def variance(self) -> Tensor:
        """2 b² (a + b - 2) / (a (b - 2)² (b - 4)), where a is df1 and b is df2, or NaN where b is 4 or less."""
        a, b = self.df1, self.df2
        return where(b > 4, 2 * b.pow(2) * (a + b - 2) / (a * (b - 2).pow(2) * (b - 4)), math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        first, second = (standard_gamma((df / 2).expand(shape)) / df for df in (self.df1, self.df2))
        return _positive(first / _positive(second))

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        constant = (a + b).lgamma() - a.lgamma() - b.lgamma() + a * ratio.log()
        return constant + (a - 1) * value.log() - (a + b) * log1p(ratio * value)
