"""Arrays as a transport can take them, and back: contiguous, on its device, in dtypes that it knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.origin import note_change
from ..backend import dtype as dt
from ..backend import of, xp
from ..tensor import Tensor
from .group import ProcessGroup, ReduceOp

BIT_OPS = ("band", "bor", "bxor")
OF_BOOLS = {"sum": "max", "prod": "min", "band": "min", "bor": "max"}  # of 0 and 1


class Loan:
    """A tensor's numbers, on their way.

    Attributes:
        array: what the transport gets; the tensor's own memory where that is possible.
    """

    def __init__(
        self, tensor: Tensor, group: ProcessGroup, op: ReduceOp | None = None, apart: Tensor | None = None
    ) -> None:
        """``op``: they are reduced, and not only moved. ``apart``: a tensor with which they must not share memory."""
        self.tensor = tensor
        array = tensor.array
        if not group.on_gpu(array):
            array = of(array).to_numpy(array)
        if not array.flags.c_contiguous:
            array = xp(array).ascontiguousarray(array)
        if apart is not None and _overlap(array, apart.array):
            array = array.copy()
        self.kind = array.dtype
        is_native = group.on_gpu(array) and array.dtype == np.float16  # NCCL adds it as it is
        self.array = _bits(array) if op is None else array if is_native else _summable(array)

    def back(self, name: str) -> None:
        """Write the result into the tensor."""
        own, result = self.tensor.array, self.array
        if result.dtype != self.kind:
            is_bits = self.kind.kind == "b" or result.dtype.kind == "u"
            result = result.view(self.kind) if is_bits and self.kind.kind != "u" else result.astype(self.kind)
        if result is not own and not _overlap(result, own):
            own[...] = of(own).asarray(result, of(own).device_of(own)).reshape(own.shape)
        note_change(self.tensor._changes, name, "another rank")


def _overlap(one: Any, other: Any) -> bool:
    """Whether two arrays are in the same memory, as far as their first and last bytes tell."""
    return type(one) is type(other) and bool(xp(one).may_share_memory(one, other))


def _bits(array: Any) -> Any:
    """Half precision and bools as integers of their size: transports have no such dtypes."""
    if array.dtype.kind in "iuc" or (array.dtype.kind == "f" and array.dtype.itemsize > 2):
        return array
    return array.view(f"u{array.dtype.itemsize}")


def _summable(array: Any) -> Any:
    """Half precision as float32, which rounds once; bools as 0 and 1."""
    if array.dtype.kind == "b":
        return array.view("u1")
    wide = dt.widened(array) if array.dtype.kind == "V" else array
    return wide.astype(np.float32) if wide.dtype.kind == "f" and wide.dtype.itemsize < 4 else wide


def transport_op(op: Any, tensor: Tensor) -> str:
    """The name of a reduction for the transport. Raises TypeError: no ReduceOp; RuntimeError: the dtype has no such
    reduction."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a ReduceOp, not {type(op).__name__}")
    kind, name = tensor.array.dtype.kind, op.value
    if (name in BIT_OPS and kind not in "iub") or (kind == "c" and name not in ("sum", "avg", "prod")):
        raise RuntimeError(f"there is no reduction {op.name} of {dt.of(tensor.array).name}")
    if tensor.array.dtype.itemsize == 1 and kind not in "iub":
        raise RuntimeError(f"there are no reductions of {dt.of(tensor.array).name}: convert it to float32 first")
    if kind == "b" and name == "avg":
        raise RuntimeError("there is no reduction AVG of bool")
    if kind == "b":
        return OF_BOOLS.get(name, name)
    return "sum" if name == "avg" else name


def divide(array: Any, count: int) -> None:
    """Divide in place, for an average; whole numbers are rounded down."""
    if array.dtype.kind in "iu":
        array //= count
    else:
        array /= count


def together(tensors: list[Tensor], rows: int, what: str) -> Any:
    """A new array with a row for each of ``rows`` tensors of one shape and dtype.

    Raises:
        ValueError: another number of them, or another shape or dtype.
    """
    check_list(tensors, rows, what)
    first = tensors[0].array
    for tensor in tensors:
        if tensor.array.shape != first.shape or tensor.array.dtype != first.dtype:
            raise ValueError(
                f"the tensors of {what} must have one shape and dtype: the first is {dt.of(first).name} of shape "
                f"{tuple(first.shape)}, another {dt.of(tensor.array).name} of shape {tuple(tensor.array.shape)}"
            )
    return xp(first).empty((rows, *first.shape), first.dtype)


def check_list(tensors: Any, rows: int, what: str) -> None:
    """Raise TypeError or ValueError unless it is a list of so many tensors."""
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"{what} must be a list of tensors")
    if len(tensors) != rows:
        raise ValueError(f"{what} must hold a tensor for each of {rows} ranks, and holds {len(tensors)}")
