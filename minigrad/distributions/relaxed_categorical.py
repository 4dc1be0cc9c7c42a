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
    """Vectors of K probabilities, the nearer to one-hot the lower the temperature.

    Args:
        temperature: above 0, a tensor.
        probs: (..., K), not negative; made to sum to 1.
        logits: (..., K) logarithms of probabilities, up to a constant; in place of ``probs``.
        validate_args: see Distribution.

    Raises:
        ValueError: both or neither of ``probs`` and ``logits``; one without axes; see Distribution.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature, self._hard = temperature, Categorical(probs, logits, validate_args)
        super().__init__(self._hard.batch_shape, self._hard.param_shape[-1:], validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        """Probabilities that sum to 1."""
        return constraints.simplex

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The softmax of (logits + Gumbel noise) / temperature."""
        noise = -(-self._uniform(sample_shape).log()).log()
        return log_softmax((self.logits + noise) / self.temperature, dim=-1).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        k = self._event_shape[0]
        logits, x = broadcast_all(self.logits, value.log())
        scores = log_softmax(logits - x * self.temperature, dim=-1).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * self.temperature.log() - x.sum(-1)
