"""Families on all numbers that are moved by a ``loc`` and stretched by a ``scale``."""

from __future__ import annotations

from . import constraints
from .distribution import Distribution
from .utils import Value, broadcast_all


class LocationScale(Distribution):
    """What Normal, Laplace, Gumbel and Cauchy share.

    Args:
        loc: where the distribution is, a tensor or a number.
        scale: how wide it is, positive.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)
