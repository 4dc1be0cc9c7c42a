"""Multinomial: how often each of K classes comes in n draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..autograd import no_grad
from ..functions.creation import tensor, zeros
from ..functions.pointwise import where
from ..tensor import Size, Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import size as size_of


def log_factorial(counts: Tensor) -> Tensor:
    """log n!, without history."""
    values = np.vectorize(lambda n: math.lgamma(n + 1), otypes=[np.float64])(counts.numpy(force=True))
    return tensor(values, dtype=counts.dtype, device=counts.device)


class Multinomial(Distribution):
    """Counts of the classes in ``total_count`` draws.

    Args:
        total_count: how many draws.
        probs: see Categorical.
        logits: see Categorical.
        validate_args: see Distribution.

    Raises:
        NotImplementedError: a ``total_count`` that is a tensor. ValueError: see Categorical.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._categorical = total_count, Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Multinomial:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        inner = self._categorical.expand(batch_shape)
        return self._renewed(batch_shape, _categorical=inner, total_count=self.total_count)

    @property
    def support(self) -> constraints.Constraint:
        """Counts."""
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        """n p."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Counts in the dtype of the probabilities."""
        shape = size_of(sample_shape)
        with no_grad():
            drawn = self._categorical.sample((self.total_count, *shape)).movedim(0, -1)
            counts = zeros(self._extended_shape(shape), dtype=self.probs.dtype, device=self.probs.device)
            return counts.scatter_add_(-1, drawn, drawn.to(counts.dtype) * 0 + 1)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of counts."""
        if self._validate_args:
            self._validate_sample(value)
        ways = log_factorial(value.sum(-1)) - log_factorial(value).sum(-1)
        never = (value == 0).logical_and(self.logits == -math.inf)
        powers = where(never, value * 0, self.logits) * value
        return ways + powers.sum(-1)

    def entropy(self) -> Tensor:
        """The mean of -log_prob."""
        n, p = self.total_count, self.probs
        entropy = n * self._categorical.entropy() - math.lgamma(n + 1)
        for k in range(1, n + 1):  # log k! times the probability of k, for each class
            ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
            chance = (ways + k * p.log() + (n - k) * (1 - p).log()).exp() if k < n else p**n
            entropy = entropy + (chance * math.lgamma(k + 1)).sum(-1)
        return entropy
