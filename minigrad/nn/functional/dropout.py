"""Dropout."""

from __future__ import annotations

from typing import Any

from ...autograd.tape import apply, mutate
from ...backend import of
from ...ops.dropout import dropout as op
from ...tensor import Tensor
from ._checks import probability


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element 0 with probability ``p``, the rest times 1 / (1 - p), in training (Srivastava et al.
    2014).

    Raises:
        ValueError: ``p`` is no probability.
    """
    probability("dropout", p)
    if not training or p == 0.0:
        return input
    args = (input, keep_mask(input, input.array.shape, p), 0.0 if p == 1 else 1 / (1 - p))
    return mutate(input, op, args) if inplace else apply(op, args)


def keep_mask(like: Tensor, shape: tuple[int, ...], p: float) -> Any:
    """A draw of dropout's on the device of a tensor: a bool array, False with probability ``p``."""
    backend = of(like.array)
    return backend.keep_mask(shape, p, backend.device_of(like.array))
