"""The Kullback-Leibler divergence of pairs of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..functions.creation import full_like
from ..functions.pointwise import where
from ..nn.functional import softplus
from ..tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .categorical import Categorical
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import EULER, Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .log_normal import LogNormal
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .poisson import Poisson
from .uniform import Uniform

Rule = Callable[[Any, Any], Tensor]
_RULES: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Rule], Rule]:
    """Make a function the rule for a pair of classes: ``@register_kl(Normal, Mine)``.

    Raises:
        TypeError: something else than distributions.
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected a Distribution subclass but got {kind}")

    def register(rule: Rule) -> Rule:
        _RULES[type_p, type_q] = rule
        return rule

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """∑ p log(p / q), for each of the batch.

    Raises:
        NotImplementedError: no rule for this pair.
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if rule := _RULES.get((kind_p, kind_q)):
                return rule(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


def _except(value: Tensor, condition: Tensor, instead: float) -> Tensor:
    """A number in place of the value where the condition holds."""
    return where(condition, full_like(value.detach(), instead), value)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = _except(terms, (q.probs == 0).expand_as(terms), math.inf)
    return _except(terms, (p.probs == 0).expand_as(terms), 0.0).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = _except(ones, (q.probs == 0).expand_as(ones), math.inf)
    ones = _except(ones, (p.probs == 0).expand_as(ones), 0.0)
    nulls = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    nulls = _except(nulls, (q.probs == 1).expand_as(nulls), math.inf)
    return ones + _except(nulls, (p.probs == 1).expand_as(nulls), 0.0)


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _except(result, (q.low > p.low).logical_or(q.high < p.high), math.inf)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    constants = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return constants + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1, keepdim=True)
    constants = total.squeeze(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return constants + ((a - b) * (a.digamma() - total.digamma())).sum(-1)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, distance = p.scale / q.scale, (q.loc - p.loc) / q.scale
    power = (distance + (ratio + 1).lgamma()).exp()
    return -ratio.log() - distance + ratio * EULER + power - (1 + EULER)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    inverse = q._whitening()
    trace = (inverse @ p.scale_tril).pow(2).sum((-2, -1))
    distance = (inverse @ (q.loc - p.loc).unsqueeze(-1)).squeeze(-1).pow(2).sum(-1)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    log_ratio = (math.sqrt(2 * math.pi) * q.scale / width).log()
    return log_ratio + 0.5 * (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / q.scale.pow(2)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("Independent distributions of different numbers of axes")
    return p._sum(kl_divergence(p.base_dist, q.base_dist))


def _by_part(part: str) -> Rule:
    return lambda p, q: kl_divergence(getattr(p, part), getattr(q, part))


for _kind, _part in (
    (OneHotCategorical, "_choices"),
    (LogNormal, "base_dist"),
    (HalfNormal, "base_dist"),
    (Beta, "_dirichlet"),
):
    register_kl(_kind, _kind)(_by_part(_part))  # the divergence of what they are made from
