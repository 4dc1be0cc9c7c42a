"""Dirichlet: probabilities of K classes."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..functions.pointwise import where, xlogy
from ..nn.functional import one_hot
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import standard_gamma
from .utils import size as size_of


class Dirichlet(Distribution):
    """Vectors of K probabilities.

    Draws have the right distribution, but are others than PyTorch's from the same seed, and have no
    gradient (there is no ``rsample``): weigh ``log_prob`` instead.

    Args:
        concentration: (..., K).
        validate_args: see Distribution.

    Raises:
        ValueError: a concentration that is not positive, or without axes; see Distribution.
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Dirichlet:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = size_of(batch_shape)
        return self._renewed(shape, concentration=self.concentration.expand((*shape, *self._event_shape)))

    @property
    def support(self) -> constraints.Constraint:
        """Probabilities that sum to 1."""
        return constraints.simplex

    @property
    def mean(self) -> Tensor:
        """α / ∑ α."""
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        """(α - 1) / ∑ (α - 1), each α - 1 at least 0; the first class alone where all α are below 1."""
        above = (self.concentration - 1).clamp(min=0)
        corner = one_hot(above.argmax(-1), self._event_shape[0]).to(above)  # PyTorch's choice of corners
        below = (self.concentration < 1).all(-1).unsqueeze(-1).expand_as(above)
        return where(below, corner, above / above.sum(-1, keepdim=True))

    @property
    def variance(self) -> Tensor:
        """α (a - α) / (a² (a + 1)), a = ∑ α."""
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws, without history: not PyTorch's, but of their distribution."""
        with no_grad():
            drawn = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
            return drawn / drawn.sum(-1, keepdim=True)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """There is none.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{type(self).__name__} has no gradients of draws: sample(), and log_prob")

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        if self._validate_args:
            self._validate_sample(value)
        alpha = self.concentration
        return xlogy(alpha - 1, value).sum(-1) + alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        """The mean of -log_prob."""
        alpha, k = self.concentration, self._event_shape[0]
        total = alpha.sum(-1)
        constant = alpha.lgamma().sum(-1) - total.lgamma()
        return constant - (k - total) * total.digamma() - ((alpha - 1) * alpha.digamma()).sum(-1)
