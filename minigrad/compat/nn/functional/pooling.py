"""The rarer pools: those at random places, of powers, and the inverse of the maximum's."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ....autograd.calls import apply
from ....autograd.tape import wrap
from ....functions.arguments import rounded_once
from ....functions.random import rand
from ....nn.functional._spatial import Axes, Each, over, tuple_of
from ....nn.functional.pooling import Step, _avg_pool, _picked
from ....ops import convolution as ops
from ....ops.elementwise import only
from ....tensor import Tensor

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_unpool1d"]
__all__ += ["max_unpool2d", "max_unpool3d"]


def _max_unpool(
    axes: Axes,
    input: Tensor,
    indices: Tensor,
    kernel_size: Each,
    stride: Step = None,
    padding: Each = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros, and each element where ``max_pool`` took it from: (N, C, *places) or (C, *places) -> (N, C, *lengths) or
    (C, *lengths).

    Args:
        output_size: the lengths of the input of ``max_pool``, if they are not (places - 1) stride - 2 padding +
            kernel.
    """
    kernel, pads = axes.each("kernel_size", kernel_size), axes.each("padding", padding)
    steps = kernel if stride is None else axes.each("stride", stride)
    known = zip(input.array.shape[2:], steps, pads, kernel, strict=True)
    lengths = tuple((places - 1) * s - 2 * p + k for places, s, p, k in known)
    if output_size is not None:
        lengths = tuple(output_size)[-axes.n :]
    cells = indices if indices.array.ndim == axes.n + 2 else indices.unsqueeze(0)
    lead, shape = input.array.shape[:2], input.array.shape
    if cells.array.shape != shape:
        expected = f"expected indices of the input's shape {list(shape)}"
        raise RuntimeError(f"{axes.name}: {expected}, but got {list(cells.array.shape)}")
    zeros = input.new_zeros((*lead, prod(lengths)))
    return zeros.scatter(2, cells.reshape(*lead, -1), input.reshape(*lead, -1)).reshape(*lead, *lengths)


max_unpool1d, max_unpool2d, max_unpool3d = over(1, _max_unpool), over(2, _max_unpool), over(3, _max_unpool)


def _fractional_max_pool(
    axes: Axes,
    input: Tensor,
    kernel_size: Each,
    output_size: Each | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of windows at random places, which overlap (Graham 2014): (N, C, *lengths) or (C, *lengths)
    -> (N, C, *places) or (C, *places).

    Args:
        output_size: the number of places, or one an axis; or ``output_ratio``, that over the lengths.
        return_indices: return (values, indices), where an index counts the elements of a channel.
        _random_samples: (N, C, axes) in [0, 1), which determine the places; drawn if None.
    """
    lengths, n = input.array.shape[2:], axes.n
    if output_size is None and output_ratio is None:
        raise ValueError(f"{axes.name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if len(tuple_of(output_ratio, n)) != n:
            raise ValueError(f"{axes.name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(a * ratio) for a, ratio in zip(lengths, tuple_of(output_ratio, n), strict=True)]
    kernel, places = axes.each("kernel_size", kernel_size), axes.each("output_size", output_size)
    if any(k < 1 or p < 1 or p + k - 1 > a for k, p, a in zip(kernel, places, lengths, strict=True)):
        problem = f"{places} windows of {kernel} do not fit into an input of {tuple(lengths)}"
        raise RuntimeError(f"{axes.name}: {problem}: pool size and output size are too large, or not positive")
    if _random_samples is None:
        _random_samples = rand(*input.array.shape[:2], n, dtype=input.dtype, device=input.device)
    drawn: Any = _random_samples.array[: input.array.shape[0]]
    if drawn.shape != (*input.array.shape[:2], n):
        raise RuntimeError(f"{axes.name}: expected _random_samples of shape (N, C, {n}), but got {drawn.shape}")
    samples = drawn[..., ::-1] if n == 2 else drawn  # in a plane the last is first
    cells = ops.largest_cells_at(input.detach(), wrap(samples), kernel, places)
    return _picked(input, cells, return_indices)


fractional_max_pool2d, fractional_max_pool3d = over(2, _fractional_max_pool), over(3, _fractional_max_pool)


@rounded_once
def _lp_pool(
    axes: Axes, input: Tensor, norm_type: float, kernel_size: Each, stride: Step = None, ceil_mode: bool = False
) -> Tensor:
    """(Σ xᵖ)^(1/p) of each window, p being ``norm_type``. Other arguments as in ``avg_pool2d``."""
    kernel = prod(axes.each("kernel_size", kernel_size))
    means = _avg_pool(axes, input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    means = apply(only, (means, means.detach() != 0))  # the root of 0 has an infinite slope, and PyTorch's is 0
    return (means * kernel).pow(1.0 / norm_type)


lp_pool1d, lp_pool2d, lp_pool3d = over(1, _lp_pool), over(2, _lp_pool), over(3, _lp_pool)
