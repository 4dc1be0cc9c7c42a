"""Distribution: what all of them share."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from ..autograd import no_grad
from ..functions.pointwise import exp
from ..tensor import Size, Tensor
from .constraints import Constraint
from .utils import Shape
from .utils import size as size_of

NO_AXES = Size()


class Distribution:
    """Independent draws of one kind: ``batch_shape`` of them, each of shape ``event_shape``.

    A subclass has its parameters as attributes, names their constraints in ``arg_constraints``, and writes
    ``sample`` or ``rsample``, and ``log_prob``.

    Args:
        batch_shape: the shape of the parameters.
        event_shape: the shape of one draw.
        validate_args: check parameters and values; by default so.

    Raises:
        ValueError: a parameter that breaks its constraint.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _validate_args = __debug__

    def __init__(
        self, batch_shape: Shape = NO_AXES, event_shape: Shape = NO_AXES, validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = size_of(batch_shape), size_of(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            if name not in self.__dict__ or constraint.name == "Dependent":
                continue  # it is made from another one when it is first asked for
            self._validate_parameter(name)

    def _validate_parameter(self, name: str) -> None:
        value, constraint = getattr(self, name), self.arg_constraints[name]
        if not bool(constraint.check(value).all()):
            raise ValueError(
                f"Expected parameter {name} ({_told(value)}) of distribution {self!r} to satisfy the "
                f"constraint {constraint!r}, but found invalid values:\n{value}"
            )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked where nothing is said."""
        Distribution._validate_args = bool(value)

    # Shapes ---------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*size_of(sample_shape), *self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its parameters repeated to a larger ``batch_shape``."""
        raise NotImplementedError

    # What a subclass writes -----------------------------------------------------------------------------

    @property
    def support(self) -> Constraint | None:
        """The constraint that draws satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean of draws."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The likeliest draw."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of draws."""
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws as functions of the parameters, so that gradients reach these."""
        raise NotImplementedError

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of its density, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw up to a value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which draws have this probability."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All that can be drawn, along the first axis."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The mean of -log_prob."""
        raise NotImplementedError

    # What follows from it -------------------------------------------------------------------------------

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws: ``sample_shape`` + ``batch_shape`` + ``event_shape``, without history."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``, by its old name."""
        warnings.warn("sample_n(n) is deprecated: call sample((n,))", FutureWarning, stacklevel=2)
        return self.sample((n,))

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of draws."""
        return self.variance.sqrt()

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return exp(self.entropy())

    def _validate_sample(self, value: Tensor) -> None:
        """Refuse a value that cannot be drawn, or whose shape does not go with the parameters'."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        dims = len(self._event_shape)
        if value.shape[max(value.dim() - dims, 0) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        try:
            np.broadcast_shapes(value.shape, self._extended_shape())
        except ValueError as error:
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {self._extended_shape()}."
            ) from error
        support = self.support
        if support is not None and not bool(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({_told(value)}) to be within the support ({support!r}) of the "
                f"distribution {self!r}, but found invalid values:\n{value}"
            )

    def _renewed(self, batch_shape: Any, **kept: Any) -> Any:
        """One of the same class with other parameters, which are not checked again."""
        made = type(self).__new__(type(self))
        made.__dict__.update(kept)
        Distribution.__init__(made, size_of(batch_shape), self._event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    def __repr__(self) -> str:
        told = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                told.append(f"{name}: {value.item() if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(told)})"


def _told(value: Tensor) -> str:
    return f"{type(value).__name__} of shape {tuple(value.shape)}"
