"""A gradient that is made where it is used: the next kernel may make it part by part, so that it is never there whole.

``cross_entropy``'s gradient is as large as the logits. Where these came from a linear map, its kernel multiplies each
part of the gradient while that is in cache (``InParts.slopes_of_linear``); anything else gets an array.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .dtype import Array

Slopes = tuple[Array, Array, Array | None]


class InParts:
    """What stands for an array, of which it has shape and dtype; ``array`` makes it.

    Attributes:
        base: not None, as of an array that others hold as well.
    """

    base = ()

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape} to be made>"

    def rows(self) -> Array:
        """The array, as a matrix of its last axis."""
        raise NotImplementedError

    def array(self) -> Array:
        """The array."""
        return self.rows().reshape(self.shape)

    def slopes_of_linear(self, weight: Array, x: Array, of_bias: bool) -> Slopes | None:
        """g W, gᵀ x and, if ``of_bias``, the sums of g's columns, g being ``rows()``; None where that is to be made."""
        raise NotImplementedError

    def reshape(self, size: tuple[int, ...]) -> InParts | Array:
        """In another shape: still to be made, if the last axis stays as it is."""
        if tuple(size[-1:]) != self.shape[-1:] or prod(size) != prod(self.shape):
            return self.array().reshape(size)
        from copy import copy  # here, as few programs need it

        other = copy(self)
        other.shape = tuple(size)
        return other

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        made = self.array()
        return made if dtype is None else made.astype(dtype, copy=False)

    def __add__(self, other: Any) -> Any:
        return self.array() + other

    __radd__ = __add__
