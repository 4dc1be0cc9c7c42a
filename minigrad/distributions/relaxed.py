"""Choices made soft, so that draws have gradients: what the two kinds of them share.

Jang et al. 2017, "Categorical Reparameterization with Gumbel-Softmax"; Maddison et al. 2017, "The Concrete
Distribution".
"""

from __future__ import annotations

from typing import Any

from ..functions.random import rand
from ..tensor import Tensor
from .distribution import Distribution
from .utils import clamp_probs
from .utils import size as size_of


class Relaxed(Distribution):
    """A temperature, and the distribution of hard choices in ``_hard``."""

    has_rsample = True
    temperature: Tensor
    _hard: Any

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = size_of(batch_shape)
        return self._renewed(shape, temperature=self.temperature, _hard=self._hard.expand(shape))

    @property
    def probs(self) -> Tensor:
        """The probabilities of the hard choices."""
        probs: Tensor = self._hard.probs
        return probs

    @property
    def logits(self) -> Tensor:
        """Their log-odds, or logarithms."""
        logits: Tensor = self._hard.logits
        return logits

    def _uniform(self, sample_shape: Any) -> Tensor:
        """Even numbers, a rounding error away from 0 and 1."""
        shape = self._extended_shape(sample_shape)
        return clamp_probs(rand(shape, dtype=self.probs.dtype, device=self.probs.device))
