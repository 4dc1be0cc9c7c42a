"""The base class of distributions, and the Kullback-Leibler divergence."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ...autograd import no_grad
from ...autograd.tracebacks import border_methods
from ...functions.names import empty, exp, rand
from ...tensor import Size, Tensor
from .constraints import Constraint, is_dependent
from .utils import Shape, size as size_of

Rule = Callable[[Any, Any], Tensor]
NO_AXES = Size()
_RULES: dict[tuple[type, type], Rule] = {}


class Distribution:
    """A batch of independent distributions. The batch has shape ``batch_shape``; each sample has shape ``event_shape``.

    Parameters are tensors whose shapes broadcast; many can also be numbers. A subclass stores them as attributes. Their
    constraints are in ``arg_constraints``, and the constraint on samples is ``support``. A subclass implements
    ``rsample`` or ``_sample``, and ``_log_prob`` (or, as in PyTorch, ``sample`` and ``log_prob``). It also implements
    ``_kl(q)``, the KL divergence from another distribution of the same class.

    Args:
        batch_shape: the shape of the parameters.
        event_shape: the shape of one sample.
        validate_args: whether to raise ValueError if a parameter or value violates its constraint (the default).
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _validate_args = __debug__

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        border_methods(cls, "__init__", "log_prob", "sample", "rsample", "cdf", "icdf", "entropy")

    def __init__(
        self, batch_shape: Shape = NO_AXES, event_shape: Shape = NO_AXES, validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = size_of(batch_shape), size_of(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            follows = name not in self.__dict__ and isinstance(getattr(type(self), name, None), cached_property)
            if not follows and not is_dependent(constraint):
                self._validate_parameter(name)

    def _validate_parameter(self, name: str) -> None:
        value, constraint = getattr(self, name), self.arg_constraints[name]
        if not bool(constraint.check(value).all()):
            raise ValueError(
                f"Expected parameter {name} ({_kind(value)}) of distribution {self!r} to satisfy the "
                f"constraint {constraint!r}, but found invalid values:\n{value}"
            )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check parameters and values by default."""
        Distribution._validate_args = bool(value)

    # Shapes ---------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*size_of(sample_shape), *self._batch_shape, *self._event_shape))

    def _empty(self, sample_shape: Any, like: Tensor) -> Tensor:
        """An uninitialised tensor for samples, with the dtype and device of a parameter."""
        return empty(self._extended_shape(sample_shape), dtype=like.dtype, device=like.device)

    def _even(self, sample_shape: Any, like: Tensor) -> Tensor:
        """Uniform random numbers in [0, 1), with the dtype and device of a parameter."""
        return rand(self._extended_shape(sample_shape), dtype=like.dtype, device=like.device)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """This distribution with its parameters expanded to a larger ``batch_shape``."""
        shape, axes = size_of(batch_shape), len(self._batch_shape)
        larger = copy.copy(self) if _instance is None else _instance
        for name, value in vars(self).items():
            if isinstance(value, (Distribution, Tensor)):
                its_shape = value.batch_shape if isinstance(value, Distribution) else value.shape
                if its_shape[:axes] == self._batch_shape:
                    value = value.expand((*shape, *its_shape[axes:]))
            vars(larger)[name] = value
        larger._batch_shape = shape
        return larger

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """An instance for ``expand`` to fill. A subclass of ``cls`` with its own ``__init__`` must provide one."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                f"define a custom .expand() method."
            )
        return object.__new__(type(self)) if _instance is None else _instance

    # Moments --------------------------------------------------------------------------------------------

    @property
    def mean(self) -> Tensor:
        """The mean of samples."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value, or NaN where it is undefined."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of samples."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of samples."""
        return self.variance.sqrt()

    @property
    def support(self) -> Constraint | None:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The expected value of -log_prob."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return exp(self.entropy())

    # Samples --------------------------------------------------------------------------------------------

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Samples of shape ``sample_shape`` + ``batch_shape`` + ``event_shape``, without a gradient."""
        with no_grad():
            return self._sample(size_of(sample_shape))

    def _sample(self, sample_shape: Size) -> Tensor:
        return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Reparametrised samples, through which gradients reach the parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not support rsample(): use sample() and log_prob()")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All K possible values along a new first axis. The batch axes have length 1 unless ``expand`` is True."""
        values = self._all_values()
        values = values.view(-1, *(1,) * len(self._batch_shape), *self._event_shape)
        return values.expand(-1, *self._batch_shape, *self._event_shape) if expand else values

    def _all_values(self) -> Tensor:
        raise NotImplementedError

    # Probabilities --------------------------------------------------------------------------------------

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability or density. Raises ValueError if the value or its shape is invalid."""
        self._validate_sample(value)
        return self._log_prob(value)

    def _log_prob(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability that a sample is at most the value. Raises ValueError in the same cases as ``log_prob``."""
        self._validate_sample(value)
        return self._cdf(value)

    def _cdf(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of ``cdf``, which returns the quantile for a probability."""
        raise NotImplementedError

    def _validate_sample(self, value: Tensor) -> None:
        if not self._validate_args:
            return
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
                f"Expected value argument ({_kind(value)}) to be within the support ({support!r}) of the "
                f"distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        parts = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                parts.append(f"{name}: {value.item() if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(parts)})"


border_methods(Distribution, "__init__", "log_prob", "sample", "rsample", "cdf", "icdf", "entropy")


def _kind(value: Tensor) -> str:
    return f"{type(value).__name__} of shape {tuple(value.shape)}"


class ExponentialFamily(Distribution):
    """The base class of user-defined exponential families."""


def register_kl(type_p: Any, type_q: Any) -> Callable[[Rule], Rule]:
    """Register a KL rule for two classes: ``@register_kl(Normal, Mine)``. Raises TypeError unless both are classes."""
    for kind in (type_p, type_q):
        if not isinstance(kind, type):
            raise TypeError(f"Expected a Distribution subclass but got {kind}")

    def register(rule: Rule) -> Rule:
        _RULES[type_p, type_q] = rule
        return rule

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The KL divergence ∑ p log(p / q) for each batch element. It is computed by a registered rule or, for
    distributions of the same class, by ``_kl``. Raises NotImplementedError if neither exists."""
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            rule = _RULES.get((kind_p, kind_q))
            if rule is None and kind_p is kind_q:
                rule = vars(kind_p).get("_kl")
            if rule is not None:
                return rule(p, q)
    raise NotImplementedError(f"No KL(p || q) for p type {type(p).__name__} and q type {type(q).__name__}")
