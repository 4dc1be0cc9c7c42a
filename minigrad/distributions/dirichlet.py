"""Dirichlet: probabilities of K classes."""

from __future__ import annotations

from ..functions.pointwise import where, xlogy
from ..nn.functional import one_hot
from ..tensor import Size, Tensor
from . import constraints
from .gamma import FromGamma, standard_gamma
from .utils import formula


class Dirichlet(FromGamma):
    """Vectors of K probabilities, with the density ∏ xᵅ⁻¹ / B(α). About draws see FromGamma.

    Args:
        concentration: α, (..., K).

    Raises:
        ValueError: a concentration that is not positive, or without axes.
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    mean = formula(lambda d: d.concentration / d.concentration.sum(-1, keepdim=True))
    mode = formula(lambda d: d._mode())

    def _mode(self) -> Tensor:
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

    def _sample(self, sample_shape: Size) -> Tensor:
        drawn = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return drawn / drawn.sum(-1, keepdim=True)

    def _log_prob(self, value: Tensor) -> Tensor:
        alpha = self.concentration
        return xlogy(alpha - 1, value).sum(-1) + alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        alpha, k = self.concentration, self._event_shape[0]
        total = alpha.sum(-1)
        constant = alpha.lgamma().sum(-1) - total.lgamma()
        return constant - (k - total) * total.digamma() - ((alpha - 1) * alpha.digamma()).sum(-1)

    def _kl(self, q: Dirichlet) -> Tensor:
        a, b = self.concentration, q.concentration
        total = a.sum(-1, keepdim=True)
        constants = total.squeeze(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
        return constants + ((a - b) * (a.digamma() - total.digamma())).sum(-1)
