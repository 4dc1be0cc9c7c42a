"""``biject_to`` and ``transform_to``, which return transforms from real numbers to values that satisfy a constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints as c, transforms as t

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Maps constraint classes to transforms. Call it with a constraint to get its transform."""

    def __init__(self) -> None:
        self._registry: dict[Any, Callable[[Any], t.Transform]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register ``factory``, a function that creates the transform for a constraint class. If ``factory`` is None,
        return a decorator. Raises TypeError unless ``constraint`` is a constraint class or an instance of one."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, c.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, c.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform for a constraint. Raises NotImplementedError if none is registered."""
        if type(constraint) not in self._registry:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return self._registry[type(constraint)](constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _above(constraint: Any) -> t.Transform:
    if constraint is c.positive or constraint is c.nonnegative:
        return t.ExpTransform()
    return t.ComposeTransform([t.ExpTransform(), t.AffineTransform(constraint.lower_bound, 1)])


def _between(constraint: Any) -> t.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return t.SigmoidTransform()
    return t.ComposeTransform([t.SigmoidTransform(), t.AffineTransform(low, high - low)])


for _to in (biject_to, transform_to):
    _to.register(c.real, lambda k: t.identity_transform)
    for _kind in (c.greater_than, c.greater_than_eq):
        _to.register(_kind, _above)
    _to.register(c.less_than, lambda k: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(k.upper_bound, -1)]))
    for _kind in (c.interval, c.half_open_interval):
        _to.register(_kind, _between)
    _to.register(
        c.independent, lambda k, to=_to: t.IndependentTransform(to(k.base_constraint), k.reinterpreted_batch_ndims)
    )
    _to.register(c.cat, lambda k, to=_to: t.CatTransform([to(part) for part in k.cseq], k.dim, k.lengths))
    _to.register(c.stack, lambda k, to=_to: t.StackTransform([to(part) for part in k.cseq], k.dim))
    _to.register(c.corr_cholesky, lambda k: t.CorrCholeskyTransform())
biject_to.register(c.simplex, lambda k: t.StickBreakingTransform())
transform_to.register(c.simplex, lambda k: t.SoftmaxTransform())
transform_to.register(c.lower_cholesky, lambda k: t.LowerCholeskyTransform())
for _matrix in (c.positive_definite, c.positive_semidefinite):
    transform_to.register(_matrix, lambda k: t.PositiveDefiniteTransform())
