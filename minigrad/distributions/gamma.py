"""Gamma: the time to several events that may come at any moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import no_grad
from ..backend.random import default_generator
from ..functions.creation import tensor
from ..functions.pointwise import xlogy
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all
from .utils import size as size_of


def standard_gamma(concentration: Tensor) -> Tensor:
    """Draws of rate 1, without history, in the dtype of the concentrations; never 0.

    They have the right distribution, but PyTorch draws others from the same seed.
    """
    shapes = concentration.detach().cpu().numpy()
    drawn = np.random.default_rng(default_generator.random64()).standard_gamma(shapes.astype(np.float64))
    least = np.finfo(shapes.dtype).tiny
    drawn = np.maximum(drawn.astype(shapes.dtype), least)
    return tensor(drawn, dtype=concentration.dtype, device=concentration.device)


class Gamma(Distribution):
    """Positive numbers with the density rateᵅ xᵅ⁻¹ exp(-rate · x) / Γ(α).

    Draws have the right distribution, but are others than PyTorch's from the same seed, and have no
    gradient (there is no ``rsample``): weigh ``log_prob`` instead.

    Args:
        concentration: α, a tensor or a number.
        rate: a tensor or a number.
        validate_args: see Distribution.

    Raises:
        ValueError: a parameter that is not positive; see Distribution.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}

    def __init__(self, concentration: Value, rate: Value, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Gamma:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = size_of(batch_shape)
        return self._renewed(shape, concentration=self.concentration.expand(shape), rate=self.rate.expand(shape))

    @property
    def support(self) -> constraints.Constraint:
        """0 and above."""
        return constraints.nonnegative

    @property
    def mean(self) -> Tensor:
        """α / rate."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """(α - 1) / rate, and not below 0."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """α / rate²."""
        return self.concentration / self.rate.pow(2)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws, without history: not PyTorch's, but of their distribution."""
        with no_grad():
            drawn = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
            return drawn / self.rate

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
        powers = xlogy(self.concentration, self.rate) + xlogy(self.concentration - 1, value)
        return powers - self.rate * value - self.concentration.lgamma()

    def entropy(self) -> Tensor:
        """α - log rate + log Γ(α) + (1 - α) ψ(α)."""
        alpha = self.concentration
        return alpha - self.rate.log() + alpha.lgamma() + (1 - alpha) * alpha.digamma()
