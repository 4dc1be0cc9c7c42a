"""Half precision: 16-bit numbers take half the memory, but ops compute in float32.

float16 has 11 bits of precision and a maximum of 65504 (IEEE 754); bfloat16 has 8 bits and the range of float32 (Wang
and Kanwar 2019). Ops do not handle 16-bit numbers themselves. A call with a 16-bit operand (``autograd/calls.py``)
converts the operands to float32 and rounds the results, like PyTorch's CPU kernels. Conversions are recorded like any
op, and a 16-bit gradient is rounded when it leaves the op. This file defines which ops need no conversion, and which
operands are rounded first. On a GPU, matrix products need no conversion, as tensor cores read 16-bit operands and
accumulate in float32. Some kernels need no conversion either, as they already compute in float32.
"""

from __future__ import annotations

from typing import Any

from ..backend import of
from . import elementwise, indexing, joining, linear
from .op import Op, Traced

_MOVING = frozenset((elementwise.cast, elementwise.clone, elementwise.moved, joining.as_strided))
_COMPARING = frozenset((elementwise.eq, elementwise.ne, elementwise.lt, elementwise.le, elementwise.gt, elementwise.ge))
_KEEPING = frozenset((elementwise.eq, elementwise.ne, elementwise.isnan, elementwise.where, indexing.getitem))
_KEEPING |= {indexing.index_select, indexing.put, joining.concatenate, joining.pad, joining.repeat, joining.stack}
_SCALING = frozenset((elementwise.mul, elementwise.div))
# In float16, these ops and their rules are as exact as in float32. Selection ops are excluded, as their rules add.
_EXACT = _COMPARING | {elementwise.add, elementwise.sub, elementwise.neg, elementwise.abs, elementwise.sign}
_EXACT |= {elementwise.floor, elementwise.ceil, elementwise.trunc, elementwise.maximum, elementwise.minimum}
_EXACT |= {elementwise.clamp, elementwise.relu, elementwise.where, elementwise.nextafter, elementwise.nan_to_num}
_EXACT |= {elementwise.isnan, elementwise.isinf, elementwise.isfinite, indexing.put, indexing.masked_fill}
_EXACT |= {indexing.nonzero, joining.concatenate, joining.pad, joining.stack}
_SELECTING = frozenset((indexing.getitem, indexing.index_select, indexing.gather, indexing.embedding, joining.repeat))
_MULTIPLYING = frozenset((linear.matmul, linear.linear, linear.einsum_pair))
_CONVOLVING = frozenset(("convolve", "convolve_back"))  # defined in a file that few programs load
_FUSED = frozenset(("cross_entropy", "dropout", "gelu", "layer_norm", "log_softmax", "relu"))
_FUSED |= {"relu_dropout", "rms_norm", "rotate", "scaled_dot_product_attention", "softmax"}


def is_half(dtype: Any) -> bool:
    """Whether a NumPy dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def does_without(op: Op, args: tuple[Any, ...], is_recorded: bool) -> bool:
    """Whether an op needs no conversion of 16-bit numbers because it only moves them, or computes in float32 itself."""
    if moves(op, args) or (op is linear.narrow_linear and not is_half(args[0].array.dtype)):  # it widens the weight
        return True
    arrays = [a.array for a in args if isinstance(a, Traced)]
    half = next(x.dtype for x in arrays if is_half(x.dtype))
    if half.kind == "f" and op.name == "rotate":  # its angles may have another dtype
        return True
    if any(x.dtype != half and (unites(op) or x.dtype.kind not in "biu") for x in arrays):
        return False
    if half.kind == "f" and (op in _EXACT or (op in _SELECTING and not is_recorded)):
        return True
    if half.kind == "f" and op is elementwise.mul and len(arrays) == 2 and arrays[0].shape == arrays[1].shape:
        return True
    if of(arrays[0]).device_type in ("cpu", "meta"):  # a GPU reads 16 bits and computes in float32
        return False
    if op in _MULTIPLYING or (half.kind == "f" and op.name in _CONVOLVING):
        return True
    is_fused = op.kernel in _FUSED or (half.kind == "f" and op.kernel == "linear_cross_entropy")
    return is_fused and any(not hasattr(k, "takes") or k.takes(*arrays) for k in op.find_kernels(arrays))


def moves(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether an op and its rules only move or convert elements (views, copies, conversions)."""
    return op in _MOVING or (op.view and (op is not indexing.getitem or indexing.is_basic(args[1])))


def keeps(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether an op supports storage-only (8-bit or 4-bit) numbers, because it only moves or compares them."""
    return op in _KEEPING or moves(op, args)


def unites(op: Op) -> bool:
    """Whether an op needs operands of a common dtype because it promotes or compares them."""
    return bool(op.promote) or op in _COMPARING


def rounds(op: Op, position: int, is_number: bool) -> bool:
    """Whether a number or 0-d tensor is rounded before an op that ``unites``. Factors and divisors are not rounded."""
    if op in _SCALING:
        return not is_number and position == 0
    return not is_number or op.params == ("a", "b")
