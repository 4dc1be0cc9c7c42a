"""Bernoulli: 1 or 0."""

from __future__ import annotations

import math

from ..functions import random
from ..functions.creation import arange, full_like
from ..functions.pointwise import where
from ..nn.functional import binary_cross_entropy_with_logits, softplus
from ..tensor import Size, Tensor
from . import constraints
from .probs_or_logits import ProbsOrLogits
from .utils import broadcast_all, except_where, formula


def _likelier(probs: Tensor) -> Tensor:
    likelier = (probs >= 0.5).to(probs)
    return where(probs == 0.5, full_like(likelier, math.nan), likelier)


class Bernoulli(ProbsOrLogits):
    """1 with a probability, else 0, in the dtype of the probabilities. See ProbsOrLogits."""

    support = constraints.boolean
    has_enumerate_support = True
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: _likelier(d.probs))
    variance = formula(lambda d: d.probs * (1 - d.probs))

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape

    def _sample(self, sample_shape: Size) -> Tensor:
        return random.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """-p log p - (1 - p) log (1 - p)."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def _all_values(self) -> Tensor:
        return arange(2, dtype=self._param.dtype, device=self._param.device)

    def _kl(self, q: Bernoulli) -> Tensor:
        ones = self.probs * (softplus(-q.logits) - softplus(-self.logits))
        ones = except_where((q.probs == 0).expand_as(ones), math.inf, ones)
        ones = except_where((self.probs == 0).expand_as(ones), 0.0, ones)
        nulls = (1 - self.probs) * (softplus(q.logits) - softplus(self.logits))
        nulls = except_where((q.probs == 1).expand_as(nulls), math.inf, nulls)
        return ones + except_where((self.probs == 1).expand_as(nulls), 0.0, nulls)
