"""Bernoulli: 1 or 0."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..functions import random
from ..functions.creation import arange, full_like
from ..functions.pointwise import where
from ..nn.functional import binary_cross_entropy_with_logits
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all, lazy_property, logits_to_probs, one_of, probs_to_logits
from .utils import size as size_of


class Bernoulli(Distribution):
    """1 with a given probability, else 0.

    Args:
        probs: the probability of 1, a tensor or a number.
        logits: its log-odds, log p / (1 - p); in place of ``probs``.
        validate_args: see Distribution.

    Raises:
        ValueError: both or neither of ``probs`` and ``logits``; see Distribution.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True

    def __init__(
        self, probs: Value | None = None, logits: Value | None = None, validate_args: bool | None = None
    ) -> None:
        one_of(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        (self._param,) = broadcast_all(given)
        self.__dict__[name] = self._param
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        """Its log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Bernoulli:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = size_of(batch_shape)
        kept = {n: self.__dict__[n].expand(shape) for n in ("probs", "logits") if n in self.__dict__}
        return self._renewed(shape, **kept, _param=next(iter(kept.values())))

    @property
    def support(self) -> constraints.Constraint:
        """0 and 1."""
        return constraints.boolean

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        """The probability of 1."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likelier one; NaN where they are alike."""
        likelier = (self.probs >= 0.5).to(self.probs)
        return where(self.probs == 0.5, full_like(likelier, float("nan")), likelier)

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Zeros and ones in the dtype of the probabilities."""
        with no_grad():
            return random.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of 1 or of 0."""
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """-p log p - (1 - p) log (1 - p)."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1, (2, 1, ...), or repeated for the whole ``batch_shape``."""
        both = arange(2, dtype=self._param.dtype, device=self._param.device)
        both = both.view(-1, *(1,) * len(self._batch_shape))
        return both.expand(-1, *self._batch_shape) if expand else both
