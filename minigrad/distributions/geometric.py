"""Geometric: the failures before the first success."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..backend import dtype as dt
from ..functions.creation import empty, zeros_like
from ..functions.pointwise import log1p, where
from ..functions.random import uniform_
from ..nn.functional import binary_cross_entropy_with_logits
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all, lazy_property, logits_to_probs, one_of, probs_to_logits
from .utils import size as size_of


class Geometric(Distribution):
    """Counts with the probability (1 - p)ⁿ p.

    Args:
        probs: the probability p of success, a tensor or a number, in (0, 1].
        logits: its log-odds, log p / (1 - p); in place of ``probs``.
        validate_args: see Distribution.

    Raises:
        ValueError: both or neither of ``probs`` and ``logits``; a probability of 0; see Distribution.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(
        self, probs: Value | None = None, logits: Value | None = None, validate_args: bool | None = None
    ) -> None:
        one_of(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        (param,) = broadcast_all(given)
        self.__dict__[name] = param
        super().__init__(param.shape, validate_args=validate_args)
        if self._validate_args and name == "probs" and not bool((param > 0).all()):
            raise ValueError(
                f"Expected parameter probs ({type(param).__name__} of shape {tuple(param.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{param[param <= 0]}"
            )

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        """Its log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Geometric:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = size_of(batch_shape)
        kept = {n: self.__dict__[n].expand(shape) for n in ("probs", "logits") if n in self.__dict__}
        return self._renewed(shape, **kept)

    @property
    def support(self) -> constraints.Constraint:
        """0, 1, 2 and so on."""
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        """1 / p - 1."""
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        """0."""
        return zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        """(1 / p - 1) / p."""
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Counts in the dtype of the probabilities: log u / log(1 - p), rounded down."""
        shape, probs = self._extended_shape(sample_shape), self.probs
        with no_grad():
            drawn = empty(shape, dtype=probs.dtype, device=probs.device)
            drawn = uniform_(drawn, dt.finfo(probs.dtype).tiny, 1)
            return (drawn.log() / log1p(-probs)).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a count."""
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1).logical_and(value == 0)
        return value * log1p(-where(sure, zeros_like(probs), probs)) + self.probs.log()

    def entropy(self) -> Tensor:
        """That of a trial / p."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
