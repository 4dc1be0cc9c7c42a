"""Discrete distributions, parametrised by probabilities or logits.

Samples of relaxed distributions are differentiable and close to 0 or 1, or to a one-hot vector (Jang et al. 2017,
"Categorical Reparameterization with Gumbel-Softmax"; Maddison et al. 2017, "The Concrete Distribution").
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from ...backend import dtype as dt
from ...backend.random import default_generator
from ...functions import random
from ...functions.names import arange, eye, full, log1p, log_softmax, sigmoid, tensor, where, zeros, zeros_like
from ...nn.functional import binary_cross_entropy_with_logits, logsigmoid, one_hot, softplus
from ...tensor import Size, Tensor
from . import constraints, utils
from .constraints import dependent_property
from .distribution import Distribution
from .gamma import Gamma
from .utils import Maybe, Value, broadcast_all, clamp_probs, formula, inside, lazy_property, method

__all__ = ["Bernoulli", "Binomial", "Categorical", "ContinuousBernoulli", "Geometric", "Multinomial"]
__all__ += ["NegativeBinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough", "RelaxedBernoulli"]
__all__ += ["RelaxedOneHotCategorical"]

param_shape = property(lambda d: d._param.shape, doc="The shape of the parameter.")


class ProbsOrLogits(Distribution):
    """The base class of Bernoulli, Geometric and Categorical. ``probs`` is a probability p, and ``logits`` is log(p /
    (1 - p)). Pass one of them, a tensor or a number; the other is computed. Raises ValueError for both or none."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    _is_binary: ClassVar[bool] = True

    def __init__(self, probs: Maybe = None, logits: Maybe = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        self._param = self.__dict__[name] = self._normalized(name, value)
        shape = self._param.shape
        super().__init__(shape if self._is_binary else shape[:-1], validate_args=validate_args)

    def _normalized(self, name: str, value: Any) -> Tensor:
        (parameter,) = broadcast_all(value)
        return parameter

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return utils.logits_to_probs(self.logits, self._is_binary)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-probabilities, or the log-odds of a binary distribution."""
        return utils.probs_to_logits(self.probs, self._is_binary)


class ContinuousBernoulli(ProbsOrLogits):
    """Numbers x from 0 to 1 with a density proportional to pˣ (1 - p)¹⁻ˣ (Loaiza-Ganem and Cunningham 2019). See
    ProbsOrLogits. As in PyTorch, p is clamped to [eps, 1 - eps]. If p is within ``lims``, polynomials replace the
    formulas, which would divide by almost 0."""

    support = constraints.unit_interval
    has_rsample = True
    param_shape = param_shape

    def __init__(
        self,
        probs: Maybe = None,
        logits: Maybe = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        super().__init__(probs, logits, validate_args)

    def _normalized(self, name: str, value: Any) -> Tensor:
        parameter = super()._normalized(name, value)
        return clamp_probs(parameter) if name == "probs" else parameter

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities, clamped to [eps, 1 - eps]."""
        return clamp_probs(utils.logits_to_probs(self.logits, True))

    def _chosen(self, rule: Any, near: Any) -> Tensor:
        """Apply ``rule`` to p, or ``near`` to p - ½ where p is within ``lims``."""
        far = (self.probs <= self._lims[0]).logical_or(self.probs > self._lims[1])
        return where(far, rule(where(far, self.probs, self._lims[0])), near(self.probs - 0.5))

    def _log_norm(self) -> Tensor:
        return self._chosen(
            lambda p: (log1p(-p) - p.log()).abs().log() - (1 - 2 * p).abs().log(),
            lambda x: math.log(2) + (4 / 3 + 104 / 45 * x**2) * x**2,
        )

    mean = formula(
        lambda d: d._chosen(
            lambda p: p / (2 * p - 1) + 1 / (log1p(-p) - p.log()), lambda x: 0.5 + (1 / 3 + 16 / 45 * x**2) * x
        )
    )
    variance = formula(
        lambda d: d._chosen(
            lambda p: p * (p - 1) / (1 - 2 * p) ** 2 + 1 / (log1p(-p) - p.log()) ** 2,
            lambda x: 1 / 12 - (1 / 15 - 128 / 945 * x**2) * x**2,
        )
    )
    rsample = method(lambda d, sample_shape=(): d.icdf(d._even(sample_shape, d.probs)))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._log_norm()

    def _cdf(self, value: Tensor) -> Tensor:
        inside = self._chosen(lambda p: (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1), lambda x: value)
        return inside.clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return self._chosen(
            lambda p: (log1p(-p + value * (2 * p - 1)) - log1p(-p)) / (p.log() - log1p(-p)), lambda x: value
        )

    def entropy(self) -> Tensor:
        never = log1p(-self.probs)
        return self.mean * (never - self.probs.log()) - self._log_norm() - never


def _divergence(p: Tensor, q: Tensor, log_ratio: Tensor) -> Tensor:
    """p log(p / q), which is infinite where only q is 0, and 0 where p is 0."""
    terms = p * log_ratio
    terms = utils.except_where((q == 0).expand_as(terms), math.inf, terms)
    return utils.except_where((p == 0).expand_as(terms), 0.0, terms)


class Bernoulli(ProbsOrLogits):
    """Samples are 1 with probability p and 0 otherwise, in the dtype of the probabilities. See ProbsOrLogits."""

    support = constraints.boolean
    has_enumerate_support = True
    param_shape = param_shape
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: where(d.probs == 0.5, math.nan, (d.probs >= 0.5).to(d.probs)))
    variance = formula(lambda d: d.probs * (1 - d.probs))
    _sample = method(lambda d, sample_shape: random.bernoulli(d.probs.expand(d._extended_shape(sample_shape))))
    entropy = method(lambda d: binary_cross_entropy_with_logits(d.logits, d.probs, reduction="none"))
    _all_values = method(lambda d: arange(2, dtype=d._param.dtype, device=d._param.device))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def _kl(self, q: Bernoulli) -> Tensor:
        ones = _divergence(self.probs, q.probs, softplus(-q.logits) - softplus(-self.logits))
        return ones + _divergence(1 - self.probs, 1 - q.probs, softplus(q.logits) - softplus(self.logits))


class Geometric(ProbsOrLogits):
    """The number n of failures before a success. Its probability is (1 - p)ⁿ p, where 0 < p ≤ 1. See ProbsOrLogits."""

    support = constraints.nonnegative_integer
    mean = formula(lambda d: 1 / d.probs - 1)
    mode = formula(lambda d: zeros_like(d.probs))
    variance = formula(lambda d: (1 / d.probs - 1) / d.probs)
    _kl = method(lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits)

    def _validate_parameter(self, name: str) -> None:
        super()._validate_parameter(name)
        p = self._param
        if name == "probs" and not bool((p > 0).all()):
            raise ValueError(
                f"Expected parameter probs ({type(p).__name__} of shape {tuple(p.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{p[p <= 0]}"
            )

    def _sample(self, sample_shape: Size) -> Tensor:
        """log u / log(1 - p), rounded down, where u is uniform in (0, 1)."""
        noise = random.uniform_(self._empty(sample_shape, self.probs), dt.finfo(self.probs.dtype).tiny, 1)
        return (noise.log() / log1p(-self.probs)).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1).logical_and(value == 0)
        return value * log1p(-where(sure, zeros_like(probs), probs)) + self.probs.log()

    def entropy(self) -> Tensor:
        p = where(self.probs < 1, self.probs, 0.5)
        return -self.probs.log() - where(self.probs < 1, (1 - p) * log1p(-p) / p, 0.0)


class Categorical(ProbsOrLogits):
    """Classes 0 to K - 1, sampled as int64. Pass one tensor (..., K): nonnegative ``probs``, which are normalised, or
    ``logits``, which are unnormalised log-probabilities. Raises ValueError for both, neither or a scalar."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False
    param_shape = param_shape

    def _normalized(self, name: str, value: Any) -> Tensor:
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            return value / value.sum(-1, keepdim=True)
        return value - value.logsumexp(dim=-1, keepdim=True)

    support = dependent_property(
        lambda d: constraints.integer_interval(0, d._param.shape[-1] - 1), is_discrete=True, event_dim=0
    )
    mean = variance = formula(  # not defined for classes
        lambda d: full(d._extended_shape(), math.nan, dtype=d.probs.dtype, device=d.probs.device)
    )
    mode = formula(lambda d: d.probs.argmax(dim=-1))
    entropy = method(lambda d: -(d.logits.clamp(min=dt.finfo(d.logits.dtype).min) * d.probs).sum(-1))
    _all_values = method(lambda d: arange(d._param.shape[-1], device=d._param.device))
    _kl = method(lambda p, q: _divergence(p.probs, q.probs, p.logits - q.logits).sum(-1))

    def _sample(self, sample_shape: Size) -> Tensor:
        rows = self.probs.reshape(-1, self._param.shape[-1])
        return random.multinomial(rows, sample_shape.numel(), True).T.reshape(self._extended_shape(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        shape = np.broadcast_shapes(value.shape, self.logits.shape[:-1])
        index = value.long().expand(shape).unsqueeze(-1)
        return self.logits.expand((*shape, -1)).gather(-1, index).squeeze(-1)


class OfChoices(Distribution):
    """A distribution that wraps a discrete distribution of class ``_hard`` and shares its parameters."""

    _hard: ClassVar[type[ProbsOrLogits]] = Categorical
    arg_constraints = Categorical.arg_constraints

    def __init__(self, probs: Maybe = None, logits: Maybe = None, validate_args: bool | None = None) -> None:
        self._choices: Any = self._hard(probs, logits, validate_args)
        shape, axes = self._param.shape, len(self._choices.batch_shape)
        super().__init__(shape[:axes], shape[axes:], validate_args)

    _param = formula(lambda d: d._choices._param, doc="The parameter.")
    probs = formula(lambda d: d._choices.probs, doc="The probabilities of the choices.")
    logits = formula(lambda d: d._choices.logits, doc="The log-odds or log-probabilities.")


class OneHotCategorical(OfChoices):
    """A Categorical whose samples are one-hot vectors of length K, in the dtype of the probabilities."""

    param_shape = param_shape
    support = constraints.one_hot
    has_enumerate_support = True
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: one_hot(d.probs.argmax(dim=-1), d._event_shape[0]).to(d.probs))
    variance = formula(lambda d: d.probs * (1 - d.probs))
    _sample = method(lambda d, sample_shape: one_hot(d._choices.sample(sample_shape), d._event_shape[0]).to(d.probs))
    _log_prob = method(lambda d, value: d._choices.log_prob(value.argmax(dim=-1)))
    entropy = method(lambda d: d._choices.entropy())
    _all_values = method(lambda d: eye(d._event_shape[0], dtype=d.probs.dtype, device=d.probs.device))
    _kl = method(lambda p, q: p._choices._kl(q._choices))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A OneHotCategorical whose samples pass their gradient on to the probabilities (Bengio et al. 2013)."""

    has_rsample = True
    rsample = method(lambda d, sample_shape=(): d.sample(sample_shape) + (d.probs - d.probs.detach()))


class Multinomial(OfChoices):
    """How often each class occurs in ``total_count`` draws, in the dtype of the probabilities. See Categorical."""

    param_shape = param_shape

    def __init__(
        self, total_count: int = 1, probs: Maybe = None, logits: Maybe = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    support = dependent_property(lambda d: constraints.multinomial(d.total_count), is_discrete=True, event_dim=1)
    mean = formula(lambda d: d.probs * d.total_count)
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    def _sample(self, sample_shape: Size) -> Tensor:
        classes = self._choices.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = zeros(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return counts.scatter_add_(-1, classes, classes.to(counts.dtype) * 0 + 1)

    def _log_prob(self, value: Tensor) -> Tensor:
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        never = (value == 0).logical_and(self.logits == -math.inf)
        powers = where(never, value * 0, self.logits) * value
        return ways + powers.sum(-1)

    def entropy(self) -> Tensor:
        n, p = self.total_count, self.probs
        entropy = n * self._choices.entropy() - math.lgamma(n + 1)
        for k in range(1, n + 1):  # log k! times the probability of the count k, for each class
            ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
            chance = (ways + k * p.log() + (n - k) * (1 - p).log()).exp() if k < n else p**n
            entropy = entropy + (chance * math.lgamma(k + 1)).sum(-1)
        return entropy


class Relaxed(OfChoices):
    """The base class of relaxed distributions. As the positive temperature approaches 0, samples become discrete."""

    has_rsample = True

    def __init__(
        self, temperature: Tensor, probs: Maybe = None, logits: Maybe = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        larger = super().expand(batch_shape)
        larger.temperature = self.temperature  # shared by the whole batch
        return larger


class LogitRelaxedBernoulli(Relaxed):
    """The log-odds of RelaxedBernoulli samples, which are (``logits`` + logistic noise) / ``temperature``."""

    arg_constraints = Bernoulli.arg_constraints
    support = constraints.real
    _hard = Bernoulli

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise, probs = (clamp_probs(p) for p in (self._even(sample_shape, self.probs), self.probs))
        return (noise.log() - log1p(-noise) + probs.log() - log1p(-probs)) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value * self.temperature
        return self.temperature.log() + distance + 2 * logsigmoid(-distance)


class RelaxedBernoulli(LogitRelaxedBernoulli):
    """Numbers from 0 to 1. The lower the ``temperature`` (a tensor), the closer they are to 0 or 1. See Bernoulli."""

    support = constraints.unit_interval

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return inside(sigmoid(super().rsample(sample_shape)))

    def _log_prob(self, value: Tensor) -> Tensor:
        x = utils.log_odds(value)
        return super()._log_prob(x) + softplus(-x) + softplus(x)


class RelaxedOneHotCategorical(Relaxed):
    """Vectors of K probabilities, closer to one-hot vectors for a lower ``temperature`` (a tensor). See Categorical."""

    support = constraints.simplex

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = -(-clamp_probs(self._even(sample_shape, self.probs)).log()).log()
        return log_softmax((self.logits + noise) / self.temperature, dim=-1).exp()

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self._event_shape[0]
        logits, x = broadcast_all(self.logits, value.log())
        scores = log_softmax(logits - x * self.temperature, dim=-1).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * self.temperature.log() - x.sum(-1)


class _Trials(ProbsOrLogits):
    """The base class of Binomial and NegativeBinomial, with the additional parameter ``total_count``."""

    param_shape = param_shape

    def __init__(
        self, total_count: Value = 1, probs: Maybe = None, logits: Maybe = None, validate_args: bool | None = None
    ) -> None:
        parameter = logits if probs is None else probs
        if parameter is not None:
            count, parameter = broadcast_all(total_count, parameter)
            self.total_count = count.type_as(parameter)
        super().__init__(None if probs is None else parameter, None if logits is None else parameter, validate_args)


class Binomial(_Trials):
    """The number of successes in ``total_count`` trials, where ``total_count`` is an int or a tensor. See ProbsOrLogits
    for the success probability. Samples are correctly distributed but differ from PyTorch's for the same seed."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, **ProbsOrLogits.arg_constraints}
    has_enumerate_support = True
    mean = formula(lambda d: d.total_count * d.probs)
    mode = formula(lambda d: ((d.total_count + 1) * d.probs).floor().minimum(d.total_count))
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))
    support = dependent_property(
        lambda d: constraints.integer_interval(0, d.total_count), is_discrete=True, event_dim=0
    )

    def _sample(self, sample_shape: Size) -> Tensor:
        shape = self._extended_shape(sample_shape)
        n, p = (value.detach().expand(shape).cpu().numpy() for value in (self.total_count, self.probs))
        counts = np.random.default_rng(default_generator.random64()).binomial(n.astype(np.int64), p)
        return tensor(counts, dtype=self._param.dtype, device=self._param.device)

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * self.logits - n * softplus(self.logits)

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def _all_values(self) -> Tensor:
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return arange(most + 1, dtype=self._param.dtype, device=self._param.device)

    def _kl(self, q: Binomial) -> Tensor:
        p, n = self.probs, self.total_count
        return n * (p * (self.logits - q.logits) + logsigmoid(-self.logits) - logsigmoid(-q.logits))


class NegativeBinomial(_Trials):
    """The number of successes before ``total_count`` failures. ``total_count`` may be fractional. See ProbsOrLogits for
    the success probability. Samples are correctly distributed but differ from PyTorch's for the same seed."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    mean = formula(lambda d: d.total_count * d.logits.exp())
    mode = formula(lambda d: ((d.total_count - 1) * d.logits.exp()).floor().clamp(min=0))
    variance = formula(lambda d: d.mean / (-d.logits).sigmoid())

    def _sample(self, sample_shape: Size) -> Tensor:
        rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
        return random.poisson(rates.sample(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        powers = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        return powers + ways.masked_fill(n + value == 0, 0)
