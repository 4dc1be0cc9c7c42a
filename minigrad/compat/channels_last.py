"""Propagates the channels-last memory format through a network, as PyTorch's kernels do.

Many ops here return arrays in C order. This only matters for random numbers drawn in memory order, mainly by dropout.
So in a PyTorch program, arithmetic keeps the layout of its first operand, and once the program converts a tensor to
``channels_last``, an observer gives results the same layout as PyTorch does. Other programs are not slowed down.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..autograd.observer import Observer, attach
from ..autograd.tape import Variable
from ..backend import Device, dtype, random
from ..backend.order import CHANNELS_LAST, in_order, is_channels_last, memory_order, prefers_channels_last
from ..ops import elementwise
from ..ops.op import Op

# As in arithmetic, the first operand of these ops determines the result's layout. In convolutions, the weight may too.
_NAMES = "concatenate convolve convolve_back flip group_norm index_select largest_cells largest_cells_at"
_KEEPING = frozenset(f"{_NAMES} largest_cells_of_bins pad pick resample roll where window_sum".split())
_IN_ORDER = ("log_softmax", "softmax")  # whatever the operand's layout
_WEIGHTED = ("convolve", "convolve_back")
_CPU = Device("cpu")


class _Formats(Observer):
    """Changes the memory layout of the results of ops, but not their elements."""

    lasts = True

    def applied(self, op: Op, args: tuple[Any, ...], result: Any, node: Any) -> None:
        keeps = op.name in _KEEPING or (op.promote and op.name not in _IN_ORDER)
        if op.view or not keeps:
            return
        for each in result if result.__class__ is tuple else (result,):
            array = each.array if isinstance(each, Variable) else None
            if array is None or array.ndim not in CHANNELS_LAST or not array.flags.c_contiguous:
                continue
            if not is_channels_last(array) and _decides(op, args, array.shape):
                each.array = in_order(array, CHANNELS_LAST[array.ndim])


def _decides(op: Op, args: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Whether an op's operands make a result of this shape channels-last."""
    arrays = [a.array for a in args if isinstance(a, Variable) and a.array.ndim == len(shape)]
    if op.promote:
        arrays = [a for a in arrays if a.shape == shape]
    if op.name == "group_norm" and args[3] == shape[1]:
        return False  # PyTorch's instance norm copies its input
    last = list(map(prefers_channels_last, arrays))
    if op.name == "concatenate":
        return all(last)
    return any(last[: 2 if op.name in _WEIGHTED else 1])


def _begin() -> None:
    """Start observing if random numbers match PyTorch's."""
    if random.follows_pytorch(_CPU):
        dtype.memory_format.on_use = None
        attach(_Formats(), everywhere=True)


def _as_the_first(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an op's forward function to give the result the first operand's layout if their shapes are equal."""

    @wraps(forward)
    def call(a: Any, b: Any) -> Any:
        out = forward(a, b)
        if a.__class__ is np.ndarray and not a.flags.c_contiguous and a.shape == out.shape and out.flags.c_contiguous:
            return in_order(out, memory_order(a))
        return out

    return call


def install() -> None:
    """Enable propagation: for arithmetic now, and for other ops once a tensor is converted to channels-last."""
    dtype.memory_format.on_use = _begin
    for op in (elementwise.add, elementwise.sub, elementwise.mul, elementwise.div):
        if not hasattr(op.forward, "__wrapped__"):
            op.forward = _as_the_first(op.forward)
