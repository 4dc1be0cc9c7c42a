"""Distributions derived from others: Independent, mixtures, and transformed distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from ...functions.names import full_like, log_softmax, ones_like, where, zeros_like
from ...tensor import Size, Tensor
from . import constraints, transforms as tf
from .choices import Categorical
from .constraints import dependent_property
from .distribution import Distribution, kl_divergence
from .gamma import Exponential, Gamma
from .location_scale import EULER, Cauchy, LocationScale, Normal, Uniform
from .utils import Value, broadcast_all, formula, method, size as size_of, sum_rightmost

Transforms = tf.Transform | Sequence[tf.Transform]
__all__ = ["HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LogNormal", "LogisticNormal"]
__all__ += ["MixtureSameFamily", "Pareto", "TransformedDistribution", "Weibull"]


class Independent(Distribution):
    """``base_distribution`` with its last ``reinterpreted_batch_ndims`` batch axes included in the event, so that
    log-probabilities are summed over these axes. Raises ValueError if the batch has fewer axes.
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        axes = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:axes], (*batch[axes:], *base_distribution.event_shape), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        return super().expand(batch_shape, self._get_checked_instance(Independent, _instance))

    has_rsample = property(lambda d: d.base_dist.has_rsample)

    @dependent_property
    def support(self) -> Any:
        base, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, count) if base is not None and count else base

    mean = formula(lambda d: d.base_dist.mean)
    mode = formula(lambda d: d.base_dist.mode)
    variance = formula(lambda d: d.base_dist.variance)
    _sample = method(lambda d, sample_shape: d.base_dist.sample(sample_shape))
    rsample = method(lambda d, sample_shape=(): d.base_dist.rsample(sample_shape))
    log_prob = method(lambda d, value: d._sum(d.base_dist.log_prob(value)))
    entropy = method(lambda d: d._sum(d.base_dist.entropy()))
    _sum = method(lambda d, value: sum_rightmost(value, d.reinterpreted_batch_ndims))
    __repr__ = method(lambda d: f"Independent({d.base_dist}, {d.reinterpreted_batch_ndims})")

    def _kl(self, q: Independent) -> Tensor:
        if self.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
            raise NotImplementedError("no KL divergence of Independent distributions with different numbers of axes")
        return self._sum(kl_divergence(self.base_dist, q.base_dist))


class MixtureSameFamily(Distribution):
    """A mixture of the components along the last batch axis of ``component_distribution``. For each sample, the
    Categorical ``mixture_distribution`` draws the component. Raises ValueError if the two do not match."""

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        shape, count = component_distribution.batch_shape, mixture_distribution.logits.shape[-1]
        if shape[-1] != count:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({shape[-1]})"
            )
        super().__init__(shape[:-1], component_distribution.event_shape, validate_args)

    support = dependent_property(lambda d: constraints.MixtureSameFamilyConstraint(d.component_distribution.support))
    mean = formula(lambda d: d._mean(d.component_distribution.mean))
    __repr__ = method(lambda d: f"MixtureSameFamily(\n  {d.mixture_distribution},\n  {d.component_distribution})")

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances plus the variance of their means."""
        components = self.component_distribution
        return self._mean(components.variance) + self._mean((components.mean - self._one_more(self.mean)).pow(2))

    def _one_more(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - len(self._event_shape))

    def _mean(self, values: Tensor) -> Tensor:
        axes = len(self._event_shape)
        probs = self.mixture_distribution.probs
        return (probs.reshape(*probs.shape, *(1,) * axes) * values).sum(-1 - axes)

    def _sample(self, sample_shape: Size) -> Tensor:
        index = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
        samples, place = self.component_distribution.sample(sample_shape), index.dim()
        index = index.reshape(*index.shape, *(1,) * (samples.dim() - place))
        return samples.gather(place, index.expand(*index.shape[: place + 1], *self._event_shape)).squeeze(place)

    def _log_prob(self, value: Tensor) -> Tensor:
        chances = log_softmax(self.mixture_distribution.logits, -1)
        return (self.component_distribution.log_prob(self._one_more(value)) + chances).logsumexp(-1)

    def _cdf(self, value: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._one_more(value)) * self.mixture_distribution.probs).sum(-1)


class TransformedDistribution(Distribution):
    """The distribution of samples from ``base_distribution`` after one transform, or after several in order. Raises
    ValueError if ``transforms`` contains objects of other types, or if the base has too few axes."""

    base_dist: Any

    def __init__(
        self, base_distribution: Distribution, transforms: Transforms, validate_args: bool | None = None
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, tf.Transform) else list(transforms)
        if not all(isinstance(t, tf.Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        axes, whole = len(base_distribution.event_shape), self._whole
        before, after = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < before:
            raise ValueError(f"base_distribution needs to have shape with size at least {before}, but got {shape}.")
        result = size_of(whole.forward_shape(shape))
        if (wide := tuple(whole.inverse_shape(result))) != shape:
            base_distribution = base_distribution.expand(wide[: len(wide) - axes])
        self.base_dist = Independent(base_distribution, before - axes) if before > axes else base_distribution
        cut = len(result) - max(after, axes + after - before)
        super().__init__(result[:cut], result[cut:], validate_args)

    @dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more else support

    has_rsample = property(lambda d: d.base_dist.has_rsample)
    _whole = property(lambda d: tf.ComposeTransform(d.transforms))
    rsample = method(lambda d, sample_shape=(): d._whole(d.base_dist.rsample(sample_shape)))
    _sample = method(lambda d, sample_shape: d._whole(d.base_dist.sample(sample_shape)))
    cdf = method(lambda d, value: d._turned(d.base_dist.cdf(d._whole.inv(value))))
    icdf = method(lambda d, value: d._whole(d.base_dist.icdf(d._turned(value))))

    def _log_prob(self, value: Tensor) -> Tensor:
        axes, total = len(self._event_shape), 0.0
        for t in reversed(self.transforms):
            x = t.inv(value)
            axes += t.domain.event_dim - t.codomain.event_dim
            total = total - sum_rightmost(t.log_abs_det_jacobian(x, value), axes - t.domain.event_dim)
            value = x
        return total + sum_rightmost(self.base_dist.log_prob(value), axes - len(self.base_dist.event_shape))

    def _turned(self, probability: Tensor) -> Tensor:
        """A probability, or its complement if the composed transform is decreasing."""
        sign = self._whole.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5


class LogNormal(TransformedDistribution):
    """The distribution of eˣ, where x is normal (``base_dist``) with mean ``loc`` and standard deviation ``scale``."""

    arg_constraints = LocationScale.arg_constraints
    support = constraints.positive

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), tf.ExpTransform(), validate_args)

    loc = formula(lambda d: d.base_dist.loc, doc="The mean of the logarithm.")
    scale = formula(lambda d: d.base_dist.scale, doc="The standard deviation of the logarithm.")
    mean = formula(lambda d: (d.loc + d.scale.pow(2) / 2).exp())
    mode = formula(lambda d: (d.loc - d.scale.square()).exp())
    variance = formula(lambda d: d.scale.pow(2).expm1() * (2 * d.loc + d.scale.pow(2)).exp())
    entropy = method(lambda d: d.base_dist.entropy() + d.loc)
    _kl = method(lambda p, q: p.base_dist._kl(q.base_dist))


class LogisticNormal(TransformedDistribution):
    """Vectors of K probabilities, which StickBreakingTransform computes from K - 1 normal variables."""

    arg_constraints = LocationScale.arg_constraints
    support = constraints.simplex

    def __init__(self, loc: Tensor, scale: Tensor, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), tf.StickBreakingTransform(), validate_args)

    loc = formula(lambda d: d.base_dist.base_dist.loc, doc="The means of the normal variables.")
    scale = formula(lambda d: d.base_dist.base_dist.scale, doc="The standard deviations of the normal variables.")


class _Half(TransformedDistribution):
    """The distribution of |x|, where x is drawn from ``base_dist``, which is symmetric about 0 with width ``scale``."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    _signed: ClassVar[type[LocationScale]]  # the class of ``base_dist``

    def __init__(self, scale: Value, validate_args: bool | None = None) -> None:
        super().__init__(self._signed(0, scale, False), tf.AbsTransform(), validate_args)

    scale = formula(lambda d: d.base_dist.scale, doc="The width of ``base_dist``.")
    mode = formula(lambda d: zeros_like(d.scale))
    icdf = method(lambda d, value: d.base_dist.icdf((value + 1) / 2))
    entropy = method(lambda d: d.base_dist.entropy() - math.log(2))
    _kl = method(lambda p, q: kl_divergence(p.base_dist, q.base_dist))

    def _log_prob(self, value: Tensor) -> Tensor:
        inside = self.base_dist.log_prob(value) + math.log(2)
        return where((value >= 0).expand_as(inside), inside, full_like(inside.detach(), -math.inf))

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1


class HalfNormal(_Half):
    """The absolute value of a normal variable with mean 0 and standard deviation ``scale``."""

    _signed = Normal
    mean = formula(lambda d: d.scale * math.sqrt(2 / math.pi))
    variance = formula(lambda d: d.scale.pow(2) * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The distribution of |x|, where x is drawn from Cauchy(0, ``scale``)."""

    _signed = Cauchy
    mean = formula(lambda d: full_like(d.scale.detach(), math.inf))
    variance = formula(lambda d: d.base_dist.variance)


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x, where x is drawn from Gamma(``concentration``, ``rate``)."""

    arg_constraints = Gamma.arg_constraints
    support = constraints.positive

    def __init__(self, concentration: Value, rate: Value, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, False)
        super().__init__(base, tf.PowerTransform(-ones_like(base.rate)), validate_args)

    concentration = formula(lambda d: d.base_dist.concentration, doc="The concentration of ``base_dist``.")
    rate = formula(lambda d: d.base_dist.rate, doc="The rate of ``base_dist``.")
    mean = formula(lambda d: where(d.concentration > 1, d.rate / (d.concentration - 1), math.inf))
    mode = formula(lambda d: d.rate / (d.concentration + 1))
    variance = formula(
        lambda d: where((a := d.concentration) > 2, d.rate.square() / ((a - 1).square() * (a - 2)), math.inf)
    )
    entropy = method(lambda d: (a := d.concentration) + d.rate.log() + a.lgamma() - (1 + a) * a.digamma())


class Pareto(TransformedDistribution):
    """Numbers above ``scale`` with density α scaleᵅ / xᵅ⁺¹, where α is ``alpha``."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    support = dependent_property(lambda d: constraints.greater_than_eq(d.scale), event_dim=0)

    def __init__(self, scale: Value, alpha: Value, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        transforms = [tf.ExpTransform(), tf.AffineTransform(0, self.scale)]
        super().__init__(Exponential(self.alpha, False), transforms, validate_args)

    mode = formula(lambda d: d.scale)
    mean = formula(lambda d: (a := d.alpha.clamp(min=1)) * d.scale / (a - 1))
    variance = formula(lambda d: d.scale.pow(2) * (a := d.alpha.clamp(min=2)) / ((a - 1).pow(2) * (a - 2)))
    entropy = method(lambda d: (d.scale / d.alpha).log() + (1 + d.alpha.reciprocal()))


class Weibull(TransformedDistribution):
    """The distribution of scale · xᵏ, where x is drawn from Exponential(1) and k = 1 / ``concentration``."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Value, concentration: Value, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        transforms = [tf.PowerTransform(self._k), tf.AffineTransform(0, self.scale)]
        super().__init__(Exponential(ones_like(self.scale), False), transforms, validate_args)

    _k = formula(lambda d: d.concentration.reciprocal(), doc="The exponent k.")
    mean = formula(lambda d: d.scale * (1 + d._k).lgamma().exp())
    mode = formula(lambda d: d.scale * ((d.concentration - 1) / d.concentration) ** d._k)
    variance = formula(lambda d: d.scale.pow(2) * ((1 + 2 * d._k).lgamma().exp() - (2 * (1 + d._k).lgamma()).exp()))
    entropy = method(lambda d: EULER * (1 - d._k) + (d.scale * d._k).log() + 1)


class Kumaraswamy(TransformedDistribution):
    """(1 - u^(1/b))^(1/a), where u is uniform in (0, 1), a is ``concentration1``, and b is ``concentration0``."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = a, b = broadcast_all(concentration1, concentration0)
        even = Uniform(zeros_like(b), ones_like(b), validate_args=False)
        first, last = (tf.PowerTransform(x.reciprocal()) for x in (b, a))
        super().__init__(even, [first, tf.AffineTransform(1.0, -1.0), last], validate_args)

    mean = formula(lambda d: d._moment(1))
    variance = formula(lambda d: d._moment(2) - d._moment(1).pow(2))

    def _moment(self, n: int) -> Tensor:
        b, ratio = self.concentration0, 1 + n / self.concentration1
        return (b.log() + ratio.lgamma() + b.lgamma() - (ratio + b).lgamma()).exp()

    @property
    def mode(self) -> Tensor:
        """((a - 1) / (a b - 1))^(1 / a), computed as in PyTorch, or NaN where a or b is below 1."""
        a, b = self.concentration1, self.concentration0
        log_mode = a.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return where((a < 1).logical_or(b < 1), math.nan, log_mode.exp())

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * ((b + 1).digamma() + EULER) - a.log() - b.log()
