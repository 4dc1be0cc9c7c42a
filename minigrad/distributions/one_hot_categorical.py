"""OneHotCategorical: one of K classes, as a vector with a 1."""

from __future__ import annotations

from typing import Any

from ..functions.creation import eye
from ..nn.functional import one_hot
from ..tensor import Size, Tensor
from . import constraints
from .categorical import Categorical
from .probs_or_logits import OfChoices
from .utils import formula


class OfCategorical(OfChoices):
    """Vectors with a number for each of K classes. Parameters are Categorical's."""

    arg_constraints = Categorical.arg_constraints

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._choices: Categorical = Categorical(probs, logits)
        shape = self.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._choices.param_shape


class OneHotCategorical(OfCategorical):
    """Categorical, whose draws are vectors of length K with a single 1, in the dtype of the probabilities."""

    support = constraints.one_hot
    has_enumerate_support = True
    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: one_hot(d.probs.argmax(dim=-1), d._event_shape[0]).to(d.probs))
    variance = formula(lambda d: d.probs * (1 - d.probs))

    def _sample(self, sample_shape: Size) -> Tensor:
        return one_hot(self._choices.sample(sample_shape), self._event_shape[0]).to(self.probs)

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._choices.log_prob(value.argmax(dim=-1))

    def entropy(self) -> Tensor:
        """-∑ p log p."""
        return self._choices.entropy()

    def _all_values(self) -> Tensor:
        return eye(self._event_shape[0], dtype=self.probs.dtype, device=self.probs.device)

    def _kl(self, q: OneHotCategorical) -> Tensor:
        return self._choices._kl(q._choices)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws have the gradient of the probabilities (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Vectors with a single 1, whose gradient is that of ``probs``."""
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
