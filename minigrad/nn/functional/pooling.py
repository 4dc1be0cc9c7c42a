"""Pooling: the largest or the mean of each window, or of each of a number of bins."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...autograd.calls import apply
from ...functions.creation import as_tensor
from ...functions.shaping import stack
from ...ops import pooling as ops
from ...ops.convolution import Window
from ...tensor import Tensor
from ._spatial import Each, batched, each

Step = Each | None
Ints = tuple[int, ...]


def max_pool1d(
    input: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    dilation: Each = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window: (N, C, L) or (C, L) -> (N, C, P) or (C, P).

    Args:
        stride: from one window to the next; None stands for ``kernel_size``. padding: -inf on both sides, at
            most half a kernel. dilation: from one element of a window to the next.
        ceil_mode: whether a last window may hang over the end.
        return_indices: give (values, indices), where an index counts the elements of a channel.

    Raises:
        RuntimeError: an input of another number of axes, or one too small; too much padding.
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    dilation: Each = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of two axes. Arguments as in ``max_pool1d``."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    dilation: Each = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of three axes. Arguments as in ``max_pool1d``."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _max_pool(
    n: int,
    input: Tensor,
    kernel_size: Each,
    stride: Step,
    padding: Each,
    dilation: Each,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    name = f"max_pool{n}d"

    def run(x: Tensor) -> Any:
        window = _window(name, n, x.array.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
        _check_not_empty(name, window, x.array.shape[2:])
        return _picked(x, ops.largest_cells(x.detach(), window), return_indices)

    return batched(name, input, n, run)


def _check_not_empty(name: str, window: Window, lengths: Ints) -> None:
    """Refuse windows that step over the input: their maximum would be -inf, at no place."""
    for axis, (n, places) in enumerate(zip(lengths, window.places(lengths), strict=True)):
        start = np.arange(places) * window.stride[axis] - window.padding[axis][0]
        if int(np.maximum(start, start % window.dilation[axis]).max()) >= n:
            raise RuntimeError(
                f"{name}: a window of kernel_size={window.kernel} and dilation={window.dilation} meets "
                f"nothing but padding in an input of {tuple(lengths)}: use a smaller dilation, or no padding"
            )


def _picked(x: Tensor, cells: Tensor, return_indices: bool) -> Any:
    values = apply(ops.pick, (x, cells))
    return (values, cells) if return_indices else values


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros with each element where ``max_pool1d`` found it: (N, C, P) or (C, P) -> (N, C, L) or (C, L).

    Args:
        output_size: the L of the input of ``max_pool1d``, if it is not (P - 1) stride - 2 padding + kernel.
    """
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros with each element where ``max_pool2d`` found it. Arguments as in ``max_unpool1d``."""
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def _unpool(
    name: str,
    n: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Each,
    stride: Step,
    padding: Each,
    output_size: Sequence[int] | None,
) -> Tensor:
    kernel = each(name, "kernel_size", kernel_size, n)
    steps = kernel if stride is None else each(name, "stride", stride, n)
    pads = each(name, "padding", padding, n)

    def run(x: Tensor) -> Any:
        known = zip(x.array.shape[2:], steps, pads, kernel, strict=True)
        lengths = tuple((places - 1) * s - 2 * p + k for places, s, p, k in known)
        if output_size is not None:
            lengths = tuple(output_size)[-n:]
        cells = indices if indices.array.ndim == n + 2 else indices.unsqueeze(0)
        if cells.array.shape != x.array.shape:
            raise RuntimeError(
                f"{name}: expected indices of the input's shape {list(x.array.shape)}, but got "
                f"{list(cells.array.shape)}"
            )
        flat = cells.reshape(*x.array.shape[:2], -1)
        zeros = x.new_zeros((*x.array.shape[:2], prod(lengths)))
        values = x.reshape(*x.array.shape[:2], -1)
        return zeros.scatter(2, flat, values).reshape(*x.array.shape[:2], *lengths)

    out: Tensor = batched(name, input, n, run)
    return out


def avg_pool1d(
    input: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window: (N, C, L) or (C, L) -> (N, C, P) or (C, P).

    Args:
        stride: from one window to the next; None stands for ``kernel_size``. padding: zeros on both sides, at
            most half a kernel.
        ceil_mode: whether a last window may hang over the end.
        count_include_pad: whether the mean counts the padding.

    Raises:
        RuntimeError: an input of another number of axes, or one too small; too much padding.
    """
    return _avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of two axes. Arguments as in ``avg_pool1d``.

    Args:
        divisor_override: what to divide each sum by in place of how many elements there are.
    """
    return _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of three axes. Arguments as in ``avg_pool2d``."""
    return _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _avg_pool(
    name: str,
    n: int,
    input: Tensor,
    kernel_size: Each,
    stride: Step,
    padding: Each,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    if divisor == 0:
        raise RuntimeError(f"{name}: divisor must be not zero")

    def run(x: Tensor) -> Any:
        lengths = x.array.shape[2:]
        window = _window(name, n, lengths, kernel_size, stride, padding, 1, ceil_mode)
        total = apply(ops.window_sum, (x, window))
        if divisor is not None:
            return total / divisor
        pads = each(name, "padding", padding, n)
        counts = _counts(window, lengths, pads, count_include_pad)
        if counts.min() == counts.max():
            return total / int(counts.max())
        return total / as_tensor(counts, dtype=x.dtype, device=x.device)

    out: Tensor = batched(name, input, n, run)
    return out


def _counts(window: Window, lengths: Ints, pads: Ints, include: bool) -> Any:
    """How many elements each mean is of, (*places)."""
    counts: Any = np.ones((), np.int64)
    places = window.places(lengths)
    for count, step, kernel, n, p in zip(places, window.stride, window.kernel, lengths, pads, strict=True):
        start = np.arange(count) * step - p
        more = p if include else 0
        along = np.minimum(start + kernel, n + more) - np.maximum(start, -more)
        counts = counts[..., None] * along
    return counts


def _window(
    name: str, n: int, lengths: Ints, kernel_size: Each, stride: Step, padding: Each, dilation: Each, ceil_mode: bool
) -> Window:
    """The window of a pool; where its last place hangs over the end there is more padding after."""
    kernel, apart = each(name, "kernel_size", kernel_size, n), each(name, "dilation", dilation, n)
    steps = each(name, "stride", stride, n) if stride is not None and stride != [] else kernel
    pads = each(name, "padding", padding, n)
    for told, values in (("kernel_size", kernel), ("stride", steps), ("dilation", apart)):
        if min(values) < 1:
            raise RuntimeError(f"{name}: {told} must be greater than zero, but got {values}")
    window = Window(kernel, steps, tuple((p, p) for p in pads), apart)
    if any(not 0 <= 2 * p <= k for p, k in zip(pads, kernel, strict=True)):
        raise RuntimeError(
            f"{name}: padding should be at most half of kernel size, but got padding={pads} and kernel_size={kernel}"
        )
    if ceil_mode:
        window = window._replace(padding=_overhanging(window, lengths))
    places = window.places(lengths)
    if min(places) < 1:
        raise RuntimeError(
            f"{name}: Given input size per channel: {tuple(lengths)}. Calculated output size: {places}. "
            "Output size is too small"
        )
    return window


def _overhanging(window: Window, lengths: Ints) -> tuple[tuple[int, int], ...]:
    """The padding with which a last window counts that begins in the input or the padding before it."""
    found = []
    for n, (p, _), span, step in zip(lengths, window.padding, window.span(), window.stride, strict=True):
        places = -((n + 2 * p - span) // -step) + 1
        if (places - 1) * step >= n + p:
            places -= 1
        found.append((p, max(p, (places - 1) * step + span - n - p)))
    return tuple(found)


# A number of bins ------------------------------------------------------------------------------------------


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of ``output_size`` bins: (N, C, L) or (C, L) -> (N, C, P) or (C, P).

    Bin i goes from floor(i L / P) to ceil((i + 1) L / P).
    """
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each bin of two axes; None in ``output_size`` leaves an axis as it is."""
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each bin of three axes; None in ``output_size`` leaves an axis as it is."""
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


def _adaptive_avg(name: str, n: int, input: Tensor, output_size: Any) -> Tensor:
    def run(x: Tensor) -> Any:
        for axis, size in enumerate(_sizes(name, n, output_size, x.array.shape[2:]), 2):
            x = _binned_mean(x, axis, size)
        return x.contiguous()

    out: Tensor = batched(name, input, n, run)
    return out


def _binned_mean(x: Tensor, axis: int, size: int) -> Tensor:
    length = x.array.shape[axis]
    if size == length:
        return x
    if size and length % size == 0:
        return x.unflatten(axis, (size, length // size)).mean(axis + 1)
    bins = [ops.bin_of(i, length, size) for i in range(size)]
    means = [x.narrow(axis, start, end - start).mean(axis) for start, end in bins]
    return stack(means, axis) if means else x.narrow(axis, 0, 0)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of ``output_size`` bins: (N, C, L) or (C, L) -> (N, C, P) or (C, P).

    Args:
        return_indices: give (values, indices), where an index counts the elements of a channel.
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each bin of two axes; None in ``output_size`` leaves an axis as it is."""
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each bin of three axes; None in ``output_size`` leaves an axis as it is."""
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)


def _adaptive_max(name: str, n: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    def run(x: Tensor) -> Any:
        sizes = _sizes(name, n, output_size, x.array.shape[2:])
        return _picked(x, ops.largest_cells_of_bins(x.detach(), sizes), return_indices)

    return batched(name, input, n, run)


def _sizes(name: str, n: int, output_size: Any, lengths: Ints) -> Ints:
    wanted = output_size if isinstance(output_size, Sequence) else (output_size,) * n
    if len(wanted) != n:
        raise RuntimeError(f"{name}: output_size must be {n}, but got {list(wanted)}")
    sizes = tuple(length if size is None else int(size) for size, length in zip(wanted, lengths, strict=True))
    if min(sizes) < 0 or 0 in lengths:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 and the input's lengths "
            f"greater than 0, but got {sizes} for {tuple(lengths)}"
        )
    return sizes


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Each, stride: Step = None, ceil_mode: bool = False
) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window, p being ``norm_type``. Other arguments as in ``avg_pool1d``."""
    return _lp_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Each, stride: Step = None, ceil_mode: bool = False
) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window of two axes, p being ``norm_type``."""
    return _lp_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def _lp_pool(name: str, n: int, input: Tensor, p: float, kernel_size: Each, stride: Step, ceil_mode: bool) -> Tensor:
    kernel = prod(each(name, "kernel_size", kernel_size, n))
    means = _avg_pool(name, n, input.pow(p), kernel_size, stride, 0, ceil_mode, True, None)
    out: Tensor = (means * kernel).pow(1.0 / p)
    return out
