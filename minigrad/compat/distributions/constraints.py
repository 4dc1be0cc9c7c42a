"""Constraints on parameters and values. ``constraint.check(value)`` returns True where the constraint is satisfied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, ClassVar

from ...backend import dtype as dt
from ...functions.names import cat as _cat, full, stack as _stack
from ...tensor import Tensor
from ..linalg import eigvalsh, vector_norm

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent"]
__all__ += ["dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent"]
__all__ += ["integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky", "lower_triangular"]
__all__ += ["multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite"]
__all__ += ["positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square", "stack"]
__all__ += ["symmetric", "unit_interval"]


class Constraint:
    """A condition on tensors. A subclass implements ``check``, which takes a tensor and returns one bool for each
    event. An event spans the last ``event_dim`` axes. ``is_discrete`` says whether the values are discrete."""

    is_discrete = False
    event_dim = 0
    _bounds: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *bounds: Any, **options: Any) -> None:
        vars(self).update(zip(self._bounds, bounds, strict=False), **options)

    def check(self, value: Tensor) -> Tensor:
        """Return True where the value satisfies the constraint."""
        raise NotImplementedError

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{type(self).__name__.removeprefix('_')}({bounds})"


def _kind(name: str, test: Callable[..., Any], event_dim: int = 0, is_discrete: bool = False) -> Any:
    """Create a constraint class from ``test(value, *bounds)``. The bounds become attributes with the same names."""
    names = tuple(signature(test).parameters)[1:]

    def check(self: Any, value: Tensor) -> Any:
        return test(value, *(getattr(self, bound) for bound in names))

    described = {"check": check, "event_dim": event_dim, "is_discrete": is_discrete, "_bounds": names}
    return type(name, (Constraint,), {**described, "__doc__": "See Constraint.", "__module__": __name__})


greater_than = _GreaterThan = _kind("_GreaterThan", lambda v, lower_bound: lower_bound < v)
greater_than_eq = _GreaterThanEq = _kind("_GreaterThanEq", lambda v, lower_bound: lower_bound <= v)
less_than = _LessThan = _kind("_LessThan", lambda v, upper_bound: v < upper_bound)
interval = _Interval = _kind(
    "_Interval", lambda v, lower_bound, upper_bound: (lower_bound <= v).logical_and(v <= upper_bound)
)
half_open_interval = _HalfOpenInterval = _kind(
    "_HalfOpenInterval", lambda v, lower_bound, upper_bound: (lower_bound <= v).logical_and(v < upper_bound)
)
_IntegerLessThan = _kind("_IntegerLessThan", lambda v, upper_bound: (v % 1 == 0).logical_and(v <= upper_bound), 0, True)
_IntegerGreaterThan = _kind(
    "_IntegerGreaterThan", lambda v, lower_bound: (v % 1 == 0).logical_and(v >= lower_bound), is_discrete=True
)
integer_interval = _IntegerInterval = _kind(
    "_IntegerInterval",
    lambda v, lower_bound, upper_bound: (v % 1 == 0).logical_and(lower_bound <= v).logical_and(v <= upper_bound),
    is_discrete=True,
)
multinomial = _Multinomial = _kind(
    "_Multinomial", lambda v, upper_bound: (v >= 0).all(-1).logical_and(v.sum(-1) <= upper_bound), 1, is_discrete=True
)
_Multinomial.__repr__ = lambda self: "Multinomial()"
_Real = _kind("_Real", lambda v: v == v)  # everything except NaN
_Boolean = _kind("_Boolean", lambda v: (v == 0).logical_or(v == 1), is_discrete=True)
_OneHot = _kind("_OneHot", lambda v: _Boolean().check(v).all(-1).logical_and(v.sum(-1) == 1), 1, True)
_Simplex = _kind("_Simplex", lambda v: (v >= 0).all(-1).logical_and((v.sum(-1) - 1).abs() < 1e-6), 1)


def _is_corr_cholesky(v: Tensor) -> Tensor:
    allowed = dt.finfo(v.dtype).eps * v.size(-1) * 10
    return _LowerCholesky().check(v).logical_and(((vector_norm(v.detach(), dim=-1) - 1).abs() <= allowed).all(-1))


def _is_symmetric_with(v: Tensor, test: Callable[[Tensor], Tensor]) -> Tensor:
    """Whether each matrix is symmetric and all its eigenvalues pass the test."""
    holds: Tensor = _Symmetric().check(v)
    return test(eigvalsh(v.detach())).all(-1) if bool(holds.all()) else holds


_LowerTriangular = _kind("_LowerTriangular", lambda v: (v.tril() == v).all(-1).all(-1), 2)
_LowerCholesky = _kind(
    "_LowerCholesky", lambda v: _LowerTriangular().check(v).logical_and((v.diagonal(dim1=-2, dim2=-1) > 0).all(-1)), 2
)
_CorrCholesky = _kind("_CorrCholesky", _is_corr_cholesky, 2)
_Square = _kind("_Square", lambda v: full(v.shape[:-2], v.shape[-2] == v.shape[-1], device=v.device), 2)
_Symmetric = _kind("_Symmetric", lambda v: ((v - v.mT).abs() <= 1e-6 + 1e-5 * v.mT.abs()).all(-1).all(-1), 2)
_PositiveSemidefinite = _kind("_PositiveSemidefinite", lambda v: _is_symmetric_with(v, lambda e: e >= 0), 2)
_PositiveDefinite = _kind("_PositiveDefinite", lambda v: _is_symmetric_with(v, lambda e: e > 0), 2)


class _IndependentConstraint(Constraint):
    """``base_constraint``, with its last ``reinterpreted_batch_ndims`` batch axes included in the event."""

    _bounds: ClassVar[tuple[str, ...]] = ("base_constraint", "reinterpreted_batch_ndims")
    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Tensor) -> Tensor:
        holds: Tensor = self.base_constraint.check(value)  # type: ignore[attr-defined]
        axes: int = self.reinterpreted_batch_ndims  # type: ignore[attr-defined]
        if holds.dim() < axes:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return holds.flatten(-axes).all(-1) if axes else holds

    def __repr__(self) -> str:
        values = ", ".join(str(getattr(self, name)) for name in self._bounds)
        return f"{type(self).__name__.removeprefix('_')}({values})"


class MixtureSameFamilyConstraint(_IndependentConstraint):
    """A constraint that holds if a value satisfies ``base_constraint`` for every component of a mixture."""

    _bounds = ("base_constraint",)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)  # type: ignore[attr-defined]


class _Cat(Constraint):
    """Applies one constraint to each part of a tensor along an axis. Part i has length ``lengths[i]``."""

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__()
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return _cat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Cat):
    """Applies one constraint to each slice of a tensor along an axis."""

    def check(self, value: Tensor) -> Tensor:
        return _stack([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim), strict=True)], self.dim)


class _Dependent(Constraint):
    """A constraint that depends on other parameters and is not checked."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._known = {"is_discrete": is_discrete, "event_dim": event_dim}

    def __call__(self, **options: Any) -> _Dependent:
        return _Dependent(**{**self._known, **options})

    def _look_up(self, name: str) -> Any:
        if self._known[name] is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return self._known[name]

    is_discrete = property(lambda self: self._look_up("is_discrete"))
    event_dim = property(lambda self: self._look_up("event_dim"))

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):
    """A property of distributions that is a dependent constraint when accessed on the class."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> dependent_property:  # type: ignore[override]
        return dependent_property(fn, **self._known)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


independent, cat, stack = _IndependentConstraint, _Cat, _Stack
dependent, real, boolean, one_hot, simplex = _Dependent(), _Real(), _Boolean(), _OneHot(), _Simplex()
real_vector = independent(real, 1)
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
