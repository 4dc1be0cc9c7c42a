"""bfloat16: the range of float32 in half its memory, with 8 bits of precision (Wang and Kanwar 2019).

No op knows of it. A call that meets it (``autograd/calls.py``) brings the operands to float32, and rounds the results:
so do PyTorch's kernels for the CPU. Conversions are recorded like any op, and a gradient of bfloat16 is rounded where
it leaves the op. This file says which ops do without, and which operands are rounded first. On a GPU matrix products
do without, as its tensor cores read bfloat16 and add up in float32, and some kernels, which compute in float32.
"""

from __future__ import annotations

from typing import Any

from ..backend import of
from . import device, elementwise, indexing, joining, linear
from .op import Op, Traced

_MOVING = frozenset((elementwise.cast, elementwise.clone, device.moved, joining.as_strided))
_COMPARING = frozenset((elementwise.eq, elementwise.ne, elementwise.lt, elementwise.le, elementwise.gt, elementwise.ge))
_KEEPING = frozenset((elementwise.eq, elementwise.ne, elementwise.isnan, elementwise.where, indexing.getitem))
_KEEPING |= {indexing.index_select, indexing.put, joining.concatenate, joining.pad, joining.repeat, joining.stack}
_SCALING = frozenset((elementwise.mul, elementwise.div))
_MULTIPLYING = frozenset((linear.matmul, linear.linear, linear.einsum_pair))
_FUSED = frozenset(("cross_entropy", "dropout", "gelu", "layer_norm", "log_softmax", "relu"))
_FUSED |= {"relu_dropout", "rms_norm", "rotate", "scaled_dot_product_attention", "softmax"}


def moves(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether an op takes elements as they are, and its rules, too: views, copies, conversions."""
    return op in _MOVING or (op.view and (op is not indexing.getitem or indexing.is_basic(args[1])))


def computes(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether an op on a GPU reads bfloat16, if all its operands of floats are of it, and computes in float32."""
    if op not in _MULTIPLYING and op.kernel not in _FUSED:
        return False
    arrays = [a.array for a in args if isinstance(a, Traced)]
    kinds = "V" if op.promote else "Vbiu"
    if of(arrays[0]).device_type in ("cpu", "meta") or any(x.dtype.kind not in kinds for x in arrays):
        return False
    return op in _MULTIPLYING or any(not hasattr(k, "takes") or k.takes(*arrays) for k in op.find_kernels(arrays))


def keeps(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether an op is there for numbers that are only kept, in 8 bits or 4: it moves or compares them."""
    return op in _KEEPING or moves(op, args)


def unites(op: Op) -> bool:
    """Whether an op has operands of one dtype, by promotion or because it compares them."""
    return bool(op.promote) or op in _COMPARING


def rounds(op: Op, position: int, is_number: bool) -> bool:
    """Whether an op that ``unites`` rounds a number, or a tensor without axes, to bfloat16 first.

    As in PyTorch, factors and divisors keep their digits. Numbers that are no operands do as well.
    """
    if op in _SCALING:
        return not is_number and position == 0
    return not is_number or op.params == ("a", "b")
