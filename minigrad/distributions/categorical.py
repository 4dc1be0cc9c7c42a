"""Categorical: one of K classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..backend import dtype as dt
from ..functions.creation import arange, full
from ..functions.random import multinomial
from ..tensor import Size, Tensor
from . import constraints
from .probs_or_logits import ProbsOrLogits
from .utils import except_where, formula


class Categorical(ProbsOrLogits):
    """Classes 0 to K - 1 with their probabilities, drawn as int64.

    Args:
        probs: (..., K), not negative; normalised to sum to 1.
        logits: (..., K) logarithms of probabilities, up to a constant; in place of ``probs``.

    Raises:
        ValueError: both or neither of ``probs`` and ``logits``; one without axes.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(probs, logits, validate_args)

    def _normalized(self, name: str, value: Any) -> Tensor:
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            return value / value.sum(-1, keepdim=True)
        return value - value.logsumexp(dim=-1, keepdim=True)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @property
    def support(self) -> constraints.Constraint:
        """0 to K - 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    mean = variance = formula(  # classes have none
        lambda d: full(d._extended_shape(), math.nan, dtype=d.probs.dtype, device=d.probs.device)
    )
    mode = formula(lambda d: d.probs.argmax(dim=-1))

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape

    def _sample(self, sample_shape: Size) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        return multinomial(rows, sample_shape.numel(), True).T.reshape(self._extended_shape(sample_shape))

    def _log_prob(self, value: Tensor) -> Tensor:
        shape = np.broadcast_shapes(value.shape, self.logits.shape[:-1])
        index = value.long().expand(shape).unsqueeze(-1)
        return self.logits.expand((*shape, self._num_events)).gather(-1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        """-∑ p log p; a probability of 0 counts nothing."""
        least = dt.finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def _all_values(self) -> Tensor:
        return arange(self._num_events, device=self._param.device)

    def _kl(self, q: Categorical) -> Tensor:
        terms = self.probs * (self.logits - q.logits)
        terms = except_where((q.probs == 0).expand_as(terms), math.inf, terms)
        return except_where((self.probs == 0).expand_as(terms), 0.0, terms).sum(-1)
