"""Multinomial: how often each of K classes comes in n draws."""

from __future__ import annotations

import math

import numpy as np

from ..functions.creation import tensor, zeros
from ..functions.pointwise import where
from ..tensor import Size, Tensor
from . import constraints
from .one_hot_categorical import OfCategorical
from .utils import formula


def log_factorial(counts: Tensor) -> Tensor:
    """log n!, without history."""
    values = np.vectorize(lambda n: math.lgamma(n + 1), otypes=[np.float64])(counts.numpy(force=True))
    return tensor(values, dtype=counts.dtype, device=counts.device)


class Multinomial(OfCategorical):
    """Counts of the classes in ``total_count`` draws, in the dtype of the probabilities.

    Args:
        total_count: how many draws. probs, logits: see Categorical.

    Raises:
        NotImplementedError: a ``total_count`` that is a tensor. ValueError: see Categorical.
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @property
    def support(self) -> constraints.Constraint:
        """Counts."""
        return constraints.multinomial(self.total_count)

    mean = formula(lambda d: d.probs * d.total_count)
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    def _sample(self, sample_shape: Size) -> Tensor:
        drawn = self._choices.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = zeros(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return counts.scatter_add_(-1, drawn, drawn.to(counts.dtype) * 0 + 1)

    def _log_prob(self, value: Tensor) -> Tensor:
        ways = log_factorial(value.sum(-1)) - log_factorial(value).sum(-1)
        never = (value == 0).logical_and(self.logits == -math.inf)
        powers = where(never, value * 0, self.logits) * value
        return ways + powers.sum(-1)

    def entropy(self) -> Tensor:
        n, p = self.total_count, self.probs
        entropy = n * self._choices.entropy() - math.lgamma(n + 1)
        for k in range(1, n + 1):  # log k! times the probability of k, for each class
            ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
            chance = (ways + k * p.log() + (n - k) * (1 - p).log()).exp() if k < n else p**n
            entropy = entropy + (chance * math.lgamma(k + 1)).sum(-1)
        return entropy
