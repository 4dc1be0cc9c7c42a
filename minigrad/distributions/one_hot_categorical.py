"""OneHotCategorical: one of K classes, as a vector with a 1."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..functions.creation import eye
from ..nn.functional import one_hot
from ..tensor import Size, Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import size as size_of


class OneHotCategorical(Distribution):
    """Categorical, whose draws are vectors of length K with a single 1. See there."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> OneHotCategorical:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        return self._renewed(batch_shape, _categorical=self._categorical.expand(batch_shape))

    @property
    def support(self) -> constraints.Constraint:
        """Vectors with a single 1."""
        return constraints.one_hot

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The likeliest class."""
        return one_hot(self.probs.argmax(dim=-1), self._event_shape[0]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Vectors in the dtype of the probabilities."""
        with no_grad():
            classes = self._categorical.sample(size_of(sample_shape))
            return one_hot(classes, self._event_shape[0]).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of the class that has the 1."""
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(dim=-1))

    def entropy(self) -> Tensor:
        """-∑ p log p."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All classes, (K, 1, ..., K), or repeated for the whole ``batch_shape``."""
        n = self._event_shape[0]
        rows = eye(n, dtype=self.probs.dtype, device=self.probs.device)
        rows = rows.view(n, *(1,) * len(self._batch_shape), n)
        return rows.expand(n, *self._batch_shape, n) if expand else rows


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws have the gradient of the probabilities (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Vectors with a single 1, whose gradient is that of ``probs``."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
