"""Distributions of choices, whose probabilities are a parameter, or else their logarithms."""

from __future__ import annotations

from typing import Any, ClassVar

from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all, formula, lazy_property, logits_to_probs, probs_to_logits


class ProbsOrLogits(Distribution):
    """What Bernoulli, Geometric and Categorical share: one parameter, and the other computed when it is needed.

    Args:
        probs: a probability, a tensor or a number.
        logits: its log-odds, log p / (1 - p); in place of ``probs``.

    Raises:
        ValueError: both or neither of ``probs`` and ``logits``.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    _is_binary: ClassVar[bool] = True

    def __init__(
        self, probs: Value | None = None, logits: Value | None = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        self._param = self.__dict__[name] = self._normalized(name, value)
        shape = self._param.shape
        super().__init__(shape if self._is_binary else shape[:-1], validate_args=validate_args)

    def _normalized(self, name: str, value: Any) -> Tensor:
        (parameter,) = broadcast_all(value)
        return parameter

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, self._is_binary)

    @lazy_property
    def logits(self) -> Tensor:
        """Their logarithms; log-odds where there are two choices."""
        return probs_to_logits(self.probs, self._is_binary)


class OfChoices(Distribution):
    """A distribution that builds on one of choices, ``_choices``, and shares its probabilities."""

    _choices: ProbsOrLogits
    probs = formula(lambda d: d._choices.probs, doc="The probabilities of the choices.")
    logits = formula(lambda d: d._choices.logits, doc="Their log-odds, or logarithms.")
