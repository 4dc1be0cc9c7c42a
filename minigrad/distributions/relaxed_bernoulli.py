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
    """Numbers from 0 to 1, the nearer to an end the lower the temperature.

    Args:
        temperature: above 0, a tensor.
        probs: the probability of 1, a tensor or a number.
        logits: its log-odds; in place of ``probs``.
        validate_args: see Distribution.

    Raises:
        ValueError: both or neither of ``probs`` and ``logits``; see Distribution.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(
        self,
        temperature: Tensor,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature, self._hard = temperature, Bernoulli(probs, logits, validate_args)
        super().__init__(self._hard.batch_shape, validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        """From 0 to 1."""
        return constraints.unit_interval

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The sigmoid of (log-odds of p + log-odds of u) / temperature, u even in (0, 1)."""
        drawn, probs = self._uniform(sample_shape), clamp_probs(self.probs)
        odds = drawn.log() - log1p(-drawn) + probs.log() - log1p(-probs)
        info = dt.finfo(probs.dtype)
        return sigmoid(odds / self.temperature).clamp(min=info.tiny, max=1 - info.eps)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        info = dt.finfo(value.dtype)
        kept = value.clamp(min=info.tiny, max=1 - info.eps)
        logits, x = broadcast_all(self.logits, kept.log() - log1p(-kept))
        distance = logits - x * self.temperature
        density = self.temperature.log() + distance - 2 * log1p(distance.exp())
        return density + softplus(-x) + softplus(x)
