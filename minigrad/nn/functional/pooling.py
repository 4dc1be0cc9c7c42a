"""Pooling: the maximum or mean of each window, or of each of a fixed number of bins."""

from __future__ import annotations

from typing import Any, Literal, Protocol, cast, overload

import numpy as np

from ...backend.dtype import int64, kind_of
from ...backend.window import Window
from ...functions.arguments import rounded_once
from ...functions.creation import as_tensor
from ...functions.shaping import stack
from ...ops import convolution as ops
from ...tensor import Tensor, apply
from ._checks import Axes, Each, Ints, laid_as, over, tuple_of

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d"]
__all__ += ["adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d"]
__all__ += ["max_pool2d", "max_pool3d"]

Step = Each | None


class MaxPool(Protocol):
    """The type of ``max_pool2d``, which returns a tensor, or a pair of tensors if ``return_indices`` is True."""

    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Each,
        stride: Step = None,
        padding: Each = 0,
        dilation: Each = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor: ...

    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Each,
        stride: Step = None,
        padding: Each = 0,
        dilation: Each = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...


def _max_pool(
    axes: Axes,
    input: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    dilation: Each = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window: (N, C, *lengths) or (C, *lengths) -> (N, C, *places) or (C, *places).

    Args:
        kernel_size, stride, padding, dilation: a number, or one per axis.
        stride: the step between windows; None or () means ``kernel_size``. padding: how many -inf to add on each side,
            at most half the kernel. dilation: the step between the elements of a window.
        ceil_mode: whether the last window may extend beyond the end.
        return_indices: return (values, indices), where each index is a position within the flattened channel."""
    lengths = input.array.shape[2:]
    window = _window(axes, input, kernel_size, stride, padding, dilation, ceil_mode)
    for axis, (n, places) in enumerate(zip(lengths, window.places(lengths), strict=True)):
        start = np.arange(places) * window.stride[axis] - window.padding[axis][0]
        if int(np.maximum(start, start % window.dilation[axis]).max()) >= n:  # the maximum would not have an index
            problem = f"kernel_size={window.kernel} and dilation={window.dilation} covers only padding"
            remedy = "use a smaller dilation, or no padding"
            raise RuntimeError(f"{axes.name}: a window with {problem} in an input of {tuple(lengths)}: {remedy}")
    return _picked(input, ops.largest_cells(input.detach(), window), return_indices)


max_pool1d: MaxPool = cast(Any, over(1, _max_pool))
max_pool2d: MaxPool = cast(Any, over(2, _max_pool))
max_pool3d: MaxPool = cast(Any, over(3, _max_pool))


def _picked(x: Tensor, cells: Tensor, return_indices: bool) -> Any:
    values = apply(ops.pick, (x, cells))
    return (values, cells) if return_indices else values


@rounded_once
def _avg_pool(
    axes: Axes,
    input: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window: (N, C, *lengths) or (C, *lengths) -> (N, C, *places) or (C, *places).

    Args: as for ``max_pool2d``, except that padding adds zeros. ``count_include_pad``: whether the mean counts the
    padding. ``divisor_override``: the number by which to divide each sum, instead of the number of elements."""
    if divisor_override == 0:
        raise RuntimeError(f"{axes.name}: divisor must be not zero")
    is_float = kind_of(input.array) in "fc"
    if not is_float and input.dtype is not int64:
        raise NotImplementedError(f"{axes.name}: not implemented for {input.dtype}: convert the input with .float()")
    lengths = input.array.shape[2:]
    window = _window(axes, input, kernel_size, stride, padding, 1, ceil_mode)
    total: Tensor = apply(ops.window_sum, (input, window))
    rounding = None if is_float else "trunc"
    if divisor_override is not None:
        return total.div(divisor_override, rounding_mode=rounding)
    counts: Any = np.ones((), np.int64)  # the number of elements in each window, (*places)
    pads = axes.each("padding", padding)
    dimensions = zip(window.places(lengths), window.stride, window.kernel, lengths, pads, strict=True)
    for count, step, kernel, n, pad in dimensions:
        start, more = np.arange(count) * step - pad, pad if count_include_pad else 0
        counts = counts[..., None] * (np.minimum(start + kernel, n + more) - np.maximum(start, -more))
    if counts.min() == counts.max():
        return total.div(int(counts.max()), rounding_mode=rounding)
    return total.div(as_tensor(counts, dtype=input.dtype, device=input.device), rounding_mode=rounding)


avg_pool1d, avg_pool2d, avg_pool3d = over(1, _avg_pool), over(2, _avg_pool), over(3, _avg_pool)


def _window(
    axes: Axes, input: Tensor, kernel_size: Each, stride: Step, padding: Each, dilation: Each, ceil_mode: bool
) -> Window:
    """The window of a pooling function. If the last window extends beyond the end, that part becomes padding."""
    channels, lengths = input.array.shape[1], input.array.shape[2:]
    if channels == 0:
        expected = f"expected {axes.n + 1}D or {axes.n + 2}D (batch mode) input, where only the batch may be empty"
        raise RuntimeError(f"{axes.name}: {expected}, but got 0 channels of {list(lengths)}")
    pads = axes.each("padding", padding)
    window = axes.window(kernel_size, kernel_size if stride is None or stride in ([], ()) else stride, pads, dilation)
    if any(2 * p > k for p, k in zip(pads, window.kernel, strict=True)):
        problem = f"padding should be at most half of kernel size, but got padding={pads}"
        raise RuntimeError(f"{axes.name}: {problem} and kernel_size={window.kernel}")
    if ceil_mode:
        kernel, beyond = list(window.kernel), []
        for axis, (n, p, span, step) in enumerate(zip(lengths, pads, window.span(), window.stride, strict=True)):
            places = -((n + 2 * p - span) // -step) + 1
            if (places - 1) * step >= n + p:  # the last window begins beyond the input and the padding before it
                places -= 1
            if places == 1 and window.dilation[axis] == 1:  # clip a kernel that covers the axis
                span = kernel[axis] = min(span, n + 2 * p)
            beyond.append((p, max(p, (places - 1) * step + span - n - p)))
        window = window._replace(kernel=tuple(kernel), padding=tuple(beyond))
    axes.check_fits(window, lengths)
    return window


# Adaptive pooling: bin i of P on an axis of length L goes from floor(i L / P) to ceil((i + 1) L / P) ------------------


@rounded_once
def _adaptive_avg_pool(axes: Axes, input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of ``output_size`` bins: (N, C, *lengths) or (C, *lengths) -> (N, C, *bins) or (C, *bins).
    ``output_size``: the number of bins, or one per axis; None keeps an axis unchanged."""
    out = input
    for axis, size in enumerate(_sizes(axes, output_size, input.array.shape[2:]), 2):
        length = out.array.shape[axis]
        if size and length % size == 0:
            out = out if size == length else out.unflatten(axis, (size, length // size)).mean(axis + 1)
            continue
        bins = [ops.bin_of(i, length, size) for i in range(size)]
        means = [out.narrow(axis, start, end - start).mean(axis) for start, end in bins]
        out = stack(means, axis) if means else out.narrow(axis, 0, 0)
    return laid_as(input, out.contiguous())


adaptive_avg_pool1d, adaptive_avg_pool2d = over(1, _adaptive_avg_pool), over(2, _adaptive_avg_pool)
adaptive_avg_pool3d = over(3, _adaptive_avg_pool)


def _adaptive_max_pool(axes: Axes, input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of each of ``output_size`` bins. For shapes and arguments, see ``adaptive_avg_pool1d``.
    ``return_indices``: return (values, indices), where each index is a position within the flattened channel."""
    sizes = _sizes(axes, output_size, input.array.shape[2:])
    return _picked(input, ops.largest_cells_of_bins(input.detach(), sizes), return_indices)


adaptive_max_pool1d, adaptive_max_pool2d = over(1, _adaptive_max_pool), over(2, _adaptive_max_pool)
adaptive_max_pool3d = over(3, _adaptive_max_pool)


def _sizes(axes: Axes, output_size: Any, lengths: Ints) -> Ints:
    bins = tuple_of(output_size, axes.n)
    if len(bins) != axes.n:
        raise RuntimeError(f"{axes.name}: output_size must be {axes.n}, but got {list(bins)}")
    sizes = tuple(length if size is None else int(size) for size, length in zip(bins, lengths, strict=True))
    if min(sizes) < 0 or 0 in lengths:
        expected = "elements of output_size must be at least 0 and the input's lengths greater than 0"
        raise RuntimeError(f"{axes.name}: {expected}, but got {sizes} for {tuple(lengths)}")
    return sizes
