"""Families on all numbers that are moved by a ``loc`` and stretched by a ``scale``."""

from __future__ import annotations

from typing import Any, Self

from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all
from .utils import size as size_of


class LocationScale(Distribution):
    """What Normal, Laplace, Gumbel and Cauchy share.

    Args:
        loc: where the distribution is, a tensor or a number.
        scale: how wide it is, of a shape that broadcasts with that of ``loc``.
        validate_args: see Distribution.

    Raises:
        ValueError: a scale that is not positive; see Distribution.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The same with its parameters repeated to a larger ``batch_shape``."""
        shape = size_of(batch_shape)
        return self._renewed(shape, loc=self.loc.expand(shape), scale=self.scale.expand(shape))

    @property
    def support(self) -> constraints.Constraint:
        """All numbers."""
        return constraints.real
