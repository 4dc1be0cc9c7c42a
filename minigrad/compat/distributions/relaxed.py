"""Soft choices, whose draws have gradients: nearly 1 or 0, nearly one of K classes.

Jang et al. 2017, "Categorical Reparameterization with Gumbel-Softmax"; Maddison et al. 2017, "The Concrete
Distribution".
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from ...backend import dtype as dt
from ...functions.pointwise import log1p, log_softmax, sigmoid
from ...nn.functional import logsigmoid, softplus
from ...tensor import Tensor
from . import constraints
from .choices import Bernoulli, Categorical, OfChoices, ProbsOrLogits
from .utils import Value, broadcast_all, clamp_probs


class Relaxed(OfChoices):
    """Choices with a temperature above 0: the lower it is, the nearer is a draw to a hard choice."""

    has_rsample = True
    _hard: ClassVar[type[ProbsOrLogits]]  # the class of hard choices

    def __init__(
        self,
        temperature: Tensor,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(self._hard(probs, logits, validate_args), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        larger = super().expand(batch_shape)
        larger.temperature = self.temperature  # one for all
        return larger


class LogitRelaxedBernoulli(Relaxed):
    """The log-odds of RelaxedBernoulli: log-odds of a choice with logistic noise, over the temperature."""

    arg_constraints = Bernoulli.arg_constraints
    support = constraints.real
    _hard = Bernoulli

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn, probs = (clamp_probs(p) for p in (self._even(sample_shape, self.probs), self.probs))
        return (drawn.log() - log1p(-drawn) + probs.log() - log1p(-probs)) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value * self.temperature
        return self.temperature.log() + distance + 2 * logsigmoid(-distance)


class RelaxedBernoulli(LogitRelaxedBernoulli):
    """Numbers from 0 to 1, the nearer to an end the lower the temperature, a tensor. See Bernoulli."""

    support = constraints.unit_interval

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        info = dt.finfo(self.probs.dtype)
        return sigmoid(super().rsample(sample_shape)).clamp(min=info.tiny, max=1 - info.eps)

    def _log_prob(self, value: Tensor) -> Tensor:
        info = dt.finfo(value.dtype)
        inside = value.clamp(min=info.tiny, max=1 - info.eps)
        x = inside.log() - log1p(-inside)
        return super()._log_prob(x) + softplus(-x) + softplus(x)


class RelaxedOneHotCategorical(Relaxed):
    """Vectors of K probabilities, the nearer to one-hot the lower the temperature, a tensor. See Categorical."""

    arg_constraints = Categorical.arg_constraints
    support = constraints.simplex
    _hard = Categorical

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = -(-clamp_probs(self._even(sample_shape, self.probs)).log()).log()
        return log_softmax((self.logits + noise) / self.temperature, dim=-1).exp()

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self._event_shape[0]
        logits, x = broadcast_all(self.logits, value.log())
        scores = log_softmax(logits - x * self.temperature, dim=-1).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * self.temperature.log() - x.sum(-1)
