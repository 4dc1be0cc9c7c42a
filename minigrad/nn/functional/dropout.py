"""Dropout."""

from __future__ import annotations

from typing import Any

from ...autograd.tape import apply, mutate
from ...backend import of, random
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
    args = (input, keep_mask(input, input.array.shape, p, input.array.strides), 0.0 if p == 1 else 1 / (1 - p))
    return mutate(input, op, args) if inplace else apply(op, args)


def keep_mask(like: Tensor, shape: tuple[int, ...], p: float, strides: tuple[int, ...] | None = None) -> Any:
    """A draw of dropout's on the device of a tensor: a bool array, False with probability ``p``.

    Args:
        strides: those of the tensor that is masked, if its shape is ``shape``. PyTorch's stream goes through
            memory, not through indices, which differs after a transposition.
    """
    backend = of(like.array)
    where = backend.device_of(like.array)
    if random.get_dropout_stream() == "pytorch":
        return backend.asarray(random.pytorch_keep_mask(shape, p, strides), where)
    return backend.keep_mask(shape, p, where)
