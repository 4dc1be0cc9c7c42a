"""Half precision: numbers of 16 bits are kept in half the memory, and computed with in float32.

float16 has 11 bits of precision and ends at 65504 (IEEE 754); bfloat16 has 8 bits and the range of float32 (Wang and
Kanwar 2019). No op knows of them. A call that meets one (``autograd/calls.py``) brings the operands to float32, and
rounds the results: so do PyTorch's kernels for the CPU. Conversions are recorded like any op, and a gradient of 16 bits
is rounded where it leaves the op. This file says which ops do without, and which operands are rounded first. On a GPU
matrix products do without, as its tensor cores read 16 bits and add up in float32, and some kernels, which compute in
float32.
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
# In float16, these give the same to the bit, and so do their rules; those that select have sums as rules.
_EXACT = _COMPARING | {elementwise.add, elementwise.sub, elementwise.neg, elementwise.abs, elementwise.sign}
_EXACT |= {elementwise.floor, elementwise.ceil, elementwise.trunc, elementwise.maximum, elementwise.minimum}
_EXACT |= {elementwise.clamp, elementwise.relu, elementwise.where, elementwise.nextafter, elementwise.nan_to_num}
_EXACT |= {elementwise.isnan, elementwise.isinf, elementwise.isfinite, indexing.put, indexing.masked_fill}
_EXACT |= {indexing.nonzero, joining.concatenate, joining.pad, joining.stack}
_SELECTING = frozenset((indexing.getitem, indexing.index_select, indexing.gather, indexing.embedding, joining.repeat))
_MULTIPLYING = frozenset((linear.matmul, linear.linear, linear.einsum_pair))
_CONVOLVING = frozenset(("convolve", "convolve_back"))  # of a file that few programs load
_FUSED = frozenset(("cross_entropy", "dropout", "gelu", "layer_norm", "log_softmax", "relu"))
_FUSED |= {"relu_dropout", "rms_norm", "rotate", "scaled_dot_product_attention", "softmax"}


def is_half(dtype: Any) -> bool:
    """Whether a NumPy dtype is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind in "fV"


def does_without(op: Op, args: tuple[Any, ...], is_recorded: bool) -> bool:
    """Whether an op takes 16 bits as they are: it moves them, or computes in float32 itself."""
    if moves(op, args):
        return True
    arrays = [a.array for a in args if isinstance(a, Traced)]
    half = next(x.dtype for x in arrays if is_half(x.dtype))
    if half.kind == "f" and op.name == "rotate":  # whose angles may be of another dtype
        return True
    if any(x.dtype != half and (unites(op) or x.dtype.kind not in "biu") for x in arrays):
        return False
    if half.kind == "f" and (op in _EXACT or (op in _SELECTING and not is_recorded)):
        return True
    if half.kind == "f" and op is elementwise.mul and len(arrays) == 2 and arrays[0].shape == arrays[1].shape:
        return True
    if of(arrays[0]).device_type in ("cpu", "meta"):  # a GPU reads 16 bits, and computes in float32
        return False
    if op in _MULTIPLYING or (half.kind == "f" and op.name in _CONVOLVING):
        return True
    is_fused = op.kernel in _FUSED or (half.kind == "f" and op.kernel == "linear_cross_entropy")
    return is_fused and any(not hasattr(k, "takes") or k.takes(*arrays) for k in op.find_kernels(arrays))


def moves(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether an op takes elements as they are, and its rules, too: views, copies, conversions."""
    return op in _MOVING or (op.view and (op is not indexing.getitem or indexing.is_basic(args[1])))


def keeps(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether an op is there for numbers that are only kept, in 8 bits or 4: it moves or compares them."""
    return op in _KEEPING or moves(op, args)


def unites(op: Op) -> bool:
    """Whether an op has operands of one dtype, by promotion or because it compares them."""
    return bool(op.promote) or op in _COMPARING


def rounds(op: Op, position: int, is_number: bool) -> bool:
    """Whether an op that ``unites`` first rounds a number, or a tensor without axes; not factors and divisors."""
    if op in _SCALING:
        return not is_number and position == 0
    return not is_number or op.params == ("a", "b")
