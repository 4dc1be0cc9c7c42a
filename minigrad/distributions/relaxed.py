"""Soft choices, whose draws have gradients: what the two kinds of them share.

Jang et al. 2017, "Categorical Reparameterization with Gumbel-Softmax"; Maddison et al. 2017, "The Concrete
Distribution".
"""

from __future__ import annotations

from typing import Any, Self

from ..functions.random import rand
from ..tensor import Tensor
from .probs_or_logits import OfChoices
from .utils import clamp_probs


class Relaxed(OfChoices):
    """Choices with a temperature above 0: the lower it is, the nearer is a draw to a hard choice."""

    has_rsample = True
    temperature: Tensor

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        larger = super().expand(batch_shape)
        larger.temperature = self.temperature  # one for all
        return larger

    def _uniform(self, sample_shape: Any) -> Tensor:
        """Even numbers, a rounding error away from 0 and 1."""
        shape = self._extended_shape(sample_shape)
        return clamp_probs(rand(shape, dtype=self.probs.dtype, device=self.probs.device))
