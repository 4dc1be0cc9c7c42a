"""Arrays as MPI or NCCL can take them, and back: contiguous, on their device, in dtypes that they know."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.origin import note_change
from ..backend import dtype as dt
from ..backend import of, xp
from ..tensor import Tensor
from .group import ProcessGroup, ReduceOp

OF_BOOLS = {"sum": "max", "prod": "min", "band": "min", "bor": "max"}  # of 0 and 1


class Loan:
    """A tensor's numbers, on their way.

    Args:
        op: they are reduced, and not only moved. apart: a tensor with which they must not share memory.

    Attributes:
        array: what MPI or NCCL gets; the tensor's own memory where that is possible.
        op: the name of the reduction for them.
    """

    def __init__(self, tensor: Tensor, group: ProcessGroup, op: Any = None, apart: Tensor | None = None) -> None:
        self.tensor, self.op = tensor, "" if op is None else _reduction(op, tensor)
        self._divisor = group.size() if op is ReduceOp.AVG else 1
        array = tensor.array
        if not group.on_gpu(array):
            array = of(array).to_numpy(array)
        if not array.flags.c_contiguous:
            array = xp(array).ascontiguousarray(array)
        if apart is not None and _overlap(array, apart.array):
            array = array.copy()
        self._kind = array.dtype
        is_native = group.on_gpu(array) and array.dtype == np.float16  # NCCL adds it as it is
        self.array = _bits(array) if op is None else array if is_native else _summable(array)

    def back(self, name: str) -> None:
        """Write the result of a call into the tensor."""
        own, result = self.tensor.array, self.array
        if self._divisor > 1:  # the average of whole numbers is rounded down
            result[...] = result // self._divisor if result.dtype.kind in "iu" else result / self._divisor
        if result.dtype != self._kind:
            is_bits = self._kind.kind == "b" or result.dtype.kind == "u"
            result = result.view(self._kind) if is_bits and self._kind.kind != "u" else result.astype(self._kind)
        if result is not own and not _overlap(result, own):
            own[...] = of(own).asarray(result, of(own).device_of(own)).reshape(own.shape)
        note_change(self.tensor._changes, name, "another rank")


def _overlap(one: Any, other: Any) -> bool:
    """Whether two arrays are in the same memory, as far as their first and last bytes tell."""
    return type(one) is type(other) and bool(xp(one).may_share_memory(one, other))


def _bits(array: Any) -> Any:
    """Half precision and bools as integers of their size: MPI has no such dtypes."""
    if array.dtype.kind in "iuc" or (array.dtype.kind == "f" and array.dtype.itemsize > 2):
        return array
    return array.view(f"u{array.dtype.itemsize}")


def _summable(array: Any) -> Any:
    """Half precision as float32, which rounds once; bools as 0 and 1."""
    if array.dtype.kind == "b":
        return array.view("u1")
    wide = dt.widened(array) if array.dtype.kind == "V" else array
    return wide.astype(np.float32) if wide.dtype.kind == "f" and wide.dtype.itemsize < 4 else wide


def _reduction(op: Any, tensor: Tensor) -> str:
    """The name of a reduction. Raises TypeError: no ReduceOp; RuntimeError: the dtype has no such reduction."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a ReduceOp, not {type(op).__name__}")
    kind, name = tensor.array.dtype.kind, op.value
    is_missing = (
        (name in ("band", "bor", "bxor") and kind not in "iub")
        or (kind == "c" and name not in ("sum", "avg", "prod"))
        or (kind == "b" and name == "avg")
        or (tensor.array.dtype.itemsize == 1 and kind not in "iub")
    )
    if is_missing:
        raise RuntimeError(f"there is no reduction {op.name} of {dt.of(tensor.array).name}")
    return OF_BOOLS.get(name, name) if kind == "b" else "sum" if name == "avg" else str(name)
