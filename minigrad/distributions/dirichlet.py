"""Dirichlet: probabilities of K classes, and Beta, its pair of classes."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..functions.pointwise import where, xlogy
from ..functions.shaping import stack
from ..nn.functional import one_hot
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import standard_gamma
from .utils import Value, broadcast_all
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
        """(α - 1) / ∑ (α - 1), where that is not below 0; where all α are below 1, the greatest alone."""
        above = (self.concentration - 1).clamp(min=0)
        corner = one_hot(self.concentration.argmax(-1), self._event_shape[0]).to(above)
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


class Beta(Distribution):
    """Numbers from 0 to 1 with the density x^(concentration1 - 1) · (1 - x)^(concentration0 - 1) / B.

    As of Dirichlet, draws are others than PyTorch's from the same seed, and have no gradient.

    Args:
        concentration1: a tensor or a number.
        concentration0: a tensor or a number.
        validate_args: see Distribution.

    Raises:
        ValueError: a concentration that is not positive; see Distribution.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}

    def __init__(self, concentration1: Value, concentration0: Value,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Beta:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        return self._renewed(batch_shape, _dirichlet=self._dirichlet.expand(batch_shape))

    @property
    def support(self) -> constraints.Constraint:
        """From 0 to 1."""
        return constraints.unit_interval

    @property
    def concentration1(self) -> Tensor:
        """That of x."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """That of 1 - x."""
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self) -> Tensor:
        """concentration1 / (concentration1 + concentration0)."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self) -> Tensor:
        """The likeliest draw; NaN where all are alike."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """That of Dirichlet's first."""
        return self._dirichlet.variance[..., 0]

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws, without history: not PyTorch's, but of their distribution."""
        return self._dirichlet.sample(sample_shape)[..., 0]

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
        return self._dirichlet.log_prob(stack((value, 1 - value), -1))

    def entropy(self) -> Tensor:
        """The mean of -log_prob."""
        return self._dirichlet.entropy()
