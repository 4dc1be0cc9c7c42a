"""RelaxedBernoulli: nearly 1 or 0."""

from __future__ import annotations

from typing import Any

from ..backend import dtype as dt
from ..functions.pointwise import log1p, sigmoid
from ..nn.functional import softplus
from ..tensor import Tensor
from . import constraints
from .bernoulli import Bernoulli
from .relaxed import Relaxed
from .utils import Value, broadcast_all, clamp_probs


class RelaxedBernoulli(Relaxed):
    """Numbers from 0 to 1, the nearer to an end the lower the temperature, a tensor. See Bernoulli."""

    arg_constraints = Bernoulli.arg_constraints
    support = constraints.unit_interval

    def __init__(
        self,
        temperature: Tensor,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature, self._choices = temperature, Bernoulli(probs, logits, validate_args)
        super().__init__(self._choices.batch_shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The sigmoid of (log-odds of p + log-odds of u) / temperature, u even in (0, 1)."""
        drawn, probs = self._uniform(sample_shape), clamp_probs(self.probs)
        odds = drawn.log() - log1p(-drawn) + probs.log() - log1p(-probs)
        info = dt.finfo(probs.dtype)
        return sigmoid(odds / self.temperature).clamp(min=info.tiny, max=1 - info.eps)

    def _log_prob(self, value: Tensor) -> Tensor:
        info = dt.finfo(value.dtype)
        inside = value.clamp(min=info.tiny, max=1 - info.eps)
        logits, x = broadcast_all(self.logits, inside.log() - log1p(-inside))
        distance = logits - x * self.temperature
        density = self.temperature.log() + distance - 2 * log1p(distance.exp())
        return density + softplus(-x) + softplus(x)
