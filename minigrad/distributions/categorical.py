"""Categorical: one of K classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import no_grad
from ..backend import dtype as dt
from ..functions.creation import arange, full
from ..functions.random import multinomial
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, one_of, probs_to_logits
from .utils import size as size_of


class Categorical(Distribution):
    """Classes 0 to K - 1 with given probabilities.

    Args:
        probs: (..., K), not negative; made to sum to 1.
        logits: (..., K) logarithms of probabilities, up to a constant; in place of ``probs``.
        validate_args: see Distribution.

    Raises:
        ValueError: both or neither of ``probs`` and ``logits``; one without axes; see Distribution.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        one_of(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        if given is None or given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if logits is None:
            self.__dict__["probs"] = given / given.sum(-1, keepdim=True)
        else:
            self.__dict__["logits"] = given - given.logsumexp(dim=-1, keepdim=True)
        self._param: Tensor = self.__dict__[name]
        self._num_events = int(given.shape[-1])
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return probs_to_logits(self.probs)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Categorical:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = (*size_of(batch_shape), self._num_events)
        kept = {n: self.__dict__[n].expand(shape) for n in ("probs", "logits") if n in self.__dict__}
        param = next(iter(kept.values()))
        return self._renewed(batch_shape, **kept, _param=param, _num_events=self._num_events)

    @property
    def support(self) -> constraints.Constraint:
        """0 to K - 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        """NaN: classes have no mean."""
        return full(self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    @property
    def mode(self) -> Tensor:
        """The likeliest class."""
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Classes, int64, by ``multinomial`` with replacement."""
        shape = size_of(sample_shape)
        with no_grad():
            rows = self.probs.reshape(-1, self._num_events)
            return multinomial(rows, shape.numel(), True).T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a class."""
        if self._validate_args:
            self._validate_sample(value)
        shape = np.broadcast_shapes(value.shape, self.logits.shape[:-1])
        index = value.long().expand(shape).unsqueeze(-1)
        return self.logits.expand((*shape, self._num_events)).gather(-1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        """-∑ p log p; a probability of 0 counts nothing."""
        least = dt.finfo(self.logits.dtype).min
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All classes, (K, 1, ...), or repeated for the whole ``batch_shape``."""
        classes = arange(self._num_events, device=self._param.device)
        classes = classes.view(-1, *(1,) * len(self._batch_shape))
        return classes.expand(-1, *self._batch_shape) if expand else classes
