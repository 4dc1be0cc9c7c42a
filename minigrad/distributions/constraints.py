"""Conditions on parameters and values: ``constraint.check(value)`` says where a tensor satisfies it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..functions.pointwise import logical_and
from ..linalg import eigvalsh
from ..tensor import Tensor

__all__ = ["Constraint", "boolean", "dependent", "greater_than", "greater_than_eq", "half_open_interval"]
__all__ += ["independent", "integer_interval", "interval", "less_than", "lower_cholesky", "multinomial"]
__all__ += ["nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer"]
__all__ += ["real", "real_vector", "simplex", "unit_interval"]


class Constraint:
    """A condition on tensors.

    Args:
        name: its name in messages, where the bounds follow in brackets (if the name has none yet).
        test: from a tensor to bools, with ``event_dim`` axes less.
        event_dim: how many of the last axes it takes together.
        is_discrete: whether the values are separate.
        bounds: the attributes.
    """

    def __init__(
        self, name: str, test: Callable[[Tensor], Tensor], event_dim: int = 0, is_discrete: bool = False, **bounds: Any
    ) -> None:
        self.name, self.check, self.event_dim, self.is_discrete = name, test, event_dim, is_discrete
        self._bounds = bounds
        self.__dict__.update(bounds)

    def __repr__(self) -> str:
        if "(" in self.name:
            return self.name
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self._bounds.items())})"


def greater_than(lower_bound: Any) -> Constraint:
    """Above a bound."""
    return Constraint("GreaterThan", lambda v: lower_bound < v, lower_bound=lower_bound)


def greater_than_eq(lower_bound: Any) -> Constraint:
    """At a bound or above."""
    return Constraint("GreaterThanEq", lambda v: lower_bound <= v, lower_bound=lower_bound)


def less_than(upper_bound: Any) -> Constraint:
    """Below a bound."""
    return Constraint("LessThan", lambda v: v < upper_bound, upper_bound=upper_bound)


def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Between two bounds, or at one."""
    inside = lambda v: logical_and(lower_bound <= v, v <= upper_bound)
    return Constraint("Interval", inside, lower_bound=lower_bound, upper_bound=upper_bound)


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Between two bounds, or at the lower one."""
    inside = lambda v: logical_and(lower_bound <= v, v < upper_bound)
    return Constraint("HalfOpenInterval", inside, lower_bound=lower_bound, upper_bound=upper_bound)


def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """A whole number between two bounds, or at one."""
    inside = lambda v: logical_and(v % 1 == 0, logical_and(lower_bound <= v, v <= upper_bound))
    return Constraint("IntegerInterval", inside, is_discrete=True, lower_bound=lower_bound, upper_bound=upper_bound)


def _integer_from(lower_bound: int) -> Constraint:
    inside = lambda v: logical_and(v % 1 == 0, v >= lower_bound)
    return Constraint("IntegerGreaterThan", inside, is_discrete=True, lower_bound=lower_bound)


def independent(base: Constraint, reinterpreted_batch_ndims: int) -> Constraint:
    """``base`` in all of some more of the last axes."""
    event_dim = base.event_dim + reinterpreted_batch_ndims

    def check(v: Tensor) -> Tensor:
        holds = base.check(v)
        for _ in range(min(reinterpreted_batch_ndims, holds.dim())):
            holds = holds.all(-1)
        return holds

    name = f"IndependentConstraint({base}, {reinterpreted_batch_ndims})"
    return Constraint(name, check, event_dim, base.is_discrete)


def multinomial(upper_bound: int) -> Constraint:
    """Counts, at most ``upper_bound`` in all."""
    return Constraint("Multinomial", lambda v: logical_and((v >= 0).all(-1), v.sum(-1) <= upper_bound), 1, True)


def _is_lower_cholesky(v: Tensor) -> Tensor:
    lower = (v.tril() == v).all(-1).all(-1)
    return logical_and(lower, (v.diagonal(dim1=-2, dim2=-1) > 0).all(-1))


def _is_positive_definite(v: Tensor) -> Tensor:
    symmetric = ((v - v.mT).abs() <= 1e-6 + 1e-5 * v.mT.abs()).all(-1).all(-1)
    if not bool(symmetric.all()):
        return symmetric
    return (eigvalsh(v.detach()) > 0).all(-1)


real = Constraint("Real", lambda v: v == v)  # all but NaN
real_vector = independent(real, 1)
boolean = Constraint("Boolean", lambda v: (v == 0).logical_or(v == 1), is_discrete=True)
one_hot = Constraint("OneHot", lambda v: logical_and(boolean.check(v).all(-1), v.sum(-1) == 1), 1, True)
lower_cholesky = Constraint("LowerCholesky", _is_lower_cholesky, 2)
positive_definite = Constraint("PositiveDefinite", _is_positive_definite, 2)
simplex = Constraint("Simplex", lambda v: logical_and((v >= 0).all(-1), (v.sum(-1) - 1).abs() < 1e-6), 1)
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
nonnegative_integer, positive_integer = _integer_from(0), _integer_from(1)
dependent = Constraint("Dependent", lambda v: v == v)  # on other parameters: not checked
