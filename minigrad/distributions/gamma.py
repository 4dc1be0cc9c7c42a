"""Gamma: the time to several events that may come at any moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend.random import default_generator
from ..functions.creation import tensor
from ..functions.pointwise import xlogy
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all, formula


def standard_gamma(concentration: Tensor) -> Tensor:
    """Draws of rate 1, without history, in the dtype of the concentrations; never 0."""
    shapes = concentration.detach().cpu().numpy()
    drawn = np.random.default_rng(default_generator.random64()).standard_gamma(shapes.astype(np.float64))
    least = np.finfo(shapes.dtype).tiny
    drawn = np.maximum(drawn.astype(shapes.dtype), least)
    return tensor(drawn, dtype=concentration.dtype, device=concentration.device)


class FromGamma(Distribution):
    """What is drawn by ``standard_gamma``: Gamma, Dirichlet, Beta.

    Draws have the right distribution, but PyTorch draws others from the same seed, and they have no gradient (there
    is no ``rsample``): weigh ``log_prob`` instead.
    """

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """There is none.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{type(self).__name__} has no gradients of draws: sample(), and log_prob")


class Gamma(FromGamma):
    """Positive numbers with the density rateᵅ xᵅ⁻¹ exp(-rate · x) / Γ(α). About draws see FromGamma.

    Args:
        concentration: α, a tensor or a number.
        rate: a tensor or a number.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, concentration: Value, rate: Value, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    mean = formula(lambda d: d.concentration / d.rate)
    mode = formula(lambda d: ((d.concentration - 1) / d.rate).clamp(min=0))
    variance = formula(lambda d: d.concentration / d.rate.pow(2))

    def _sample(self, sample_shape: Size) -> Tensor:
        return standard_gamma(self.concentration.expand(self._extended_shape(sample_shape))) / self.rate

    def _log_prob(self, value: Tensor) -> Tensor:
        powers = xlogy(self.concentration, self.rate) + xlogy(self.concentration - 1, value)
        return powers - self.rate * value - self.concentration.lgamma()

    def entropy(self) -> Tensor:
        """α - log rate + log Γ(α) + (1 - α) ψ(α)."""
        alpha = self.concentration
        return alpha - self.rate.log() + alpha.lgamma() + (1 - alpha) * alpha.digamma()

    def _kl(self, q: Gamma) -> Tensor:
        a, b = self.concentration, q.concentration
        constants = b * (self.rate / q.rate).log() + b.lgamma() - a.lgamma()
        return constants + (a - b) * a.digamma() + (q.rate - self.rate) * (a / self.rate)
