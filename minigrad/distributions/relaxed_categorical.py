"""RelaxedOneHotCategorical: nearly one of K classes."""

from __future__ import annotations

import math
from typing import Any

from ..functions.pointwise import log_softmax
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical
from .relaxed import Relaxed
from .utils import broadcast_all


class RelaxedOneHotCategorical(Relaxed):
    """Vectors of K probabilities, the nearer to one-hot the lower the temperature, a tensor. See Categorical."""

    arg_constraints = Categorical.arg_constraints
    support = constraints.simplex

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature, self._choices = temperature, Categorical(probs, logits, validate_args)
        super().__init__(self._choices.batch_shape, self._choices.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The softmax of (logits + Gumbel noise) / temperature."""
        noise = -(-self._uniform(sample_shape).log()).log()
        return log_softmax((self.logits + noise) / self.temperature, dim=-1).exp()

    def _log_prob(self, value: Tensor) -> Tensor:
        k = self._event_shape[0]
        logits, x = broadcast_all(self.logits, value.log())
        scores = log_softmax(logits - x * self.temperature, dim=-1).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * self.temperature.log() - x.sum(-1)
