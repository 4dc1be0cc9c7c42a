"""A gradient that is made where it is used: part by part, so that it may never be there whole."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .dtype import Array

Products = tuple[Array, Array, Array | None]


class InParts:
    """Stands for a matrix in some shape, of which ``rows`` makes all, and ``products`` one part after the other.

    An op or a kernel with ``takes_parts = True`` gets it as it is; for all others, and where anybody would see the
    gradient, the walk takes ``array()``.

    Attributes:
        base: not None, as of an array that others hold as well.
    """

    base = ()

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype

    def rows(self) -> Array:
        """The matrix."""
        raise NotImplementedError

    def products(self, right: Array, left: Array, of_columns: bool) -> Products | None:
        """g R, gᵀ L and, if ``of_columns``, the sums of the columns of g, the matrix; None where it does not take R and
        L."""

    def array(self) -> Array:
        """The matrix in the gradient's shape."""
        return self.rows().reshape(self.shape)

    def reshape(self, size: tuple[int, ...]) -> InParts | Array:
        """In another shape: still in parts, if the last axis stays as it is."""
        if tuple(size[-1:]) != self.shape[-1:] or prod(size) != prod(self.shape):
            return self.array().reshape(size)
        from copy import copy  # here, as few programs need it

        other = copy(self)
        other.shape = tuple(size)
        return other

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.array() if dtype is None else self.array().astype(dtype, copy=False)

    def __add__(self, other: Any) -> Any:
        return self.array() + other

    __radd__ = __add__
