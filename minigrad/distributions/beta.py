"""Beta: a probability, the first of Dirichlet's two."""

from __future__ import annotations

from typing import Any

from ..functions.shaping import stack
from ..tensor import Tensor
from . import constraints
from .dirichlet import Dirichlet
from .distribution import Distribution
from .utils import Value, broadcast_all


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

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
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
