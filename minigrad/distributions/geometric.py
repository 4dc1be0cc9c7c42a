"""Geometric: the failures before the first success."""

from __future__ import annotations

from ..backend import dtype as dt
from ..functions.creation import zeros_like
from ..functions.pointwise import log1p, where
from ..functions.random import uniform_
from ..nn.functional import binary_cross_entropy_with_logits
from ..tensor import Size, Tensor
from . import constraints
from .probs_or_logits import ProbsOrLogits
from .utils import Value, broadcast_all, formula


class Geometric(ProbsOrLogits):
    """Counts with the probability (1 - p)ⁿ p, p in (0, 1] being the probability of success. See ProbsOrLogits."""

    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Value | None = None, logits: Value | None = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)
        p = self._param
        if self._validate_args and logits is None and not bool((p > 0).all()):
            raise ValueError(
                f"Expected parameter probs ({type(p).__name__} of shape {tuple(p.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{p[p <= 0]}"
            )

    mean = formula(lambda d: 1 / d.probs - 1)
    mode = formula(lambda d: zeros_like(d.probs))
    variance = formula(lambda d: (1 / d.probs - 1) / d.probs)

    def _sample(self, sample_shape: Size) -> Tensor:
        """log u / log(1 - p), rounded down, u even in (0, 1)."""
        drawn = uniform_(self._empty(sample_shape, self.probs), dt.finfo(self.probs.dtype).tiny, 1)
        return (drawn.log() / log1p(-self.probs)).floor()

    def _log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1).logical_and(value == 0)
        return value * log1p(-where(sure, zeros_like(probs), probs)) + self.probs.log()

    def entropy(self) -> Tensor:
        """That of a trial / p."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs

    def _kl(self, q: Geometric) -> Tensor:
        return -self.entropy() - (-q.probs).log1p() / self.probs - q.logits
