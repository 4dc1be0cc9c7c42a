"""Linear and bilinear maps, distances between vectors, convolutions, and sliding-window blocks."""

from __future__ import annotations

from math import prod
from typing import Any

from ...backend import dtype as dt
from ...backend.window import Window
from ...functions.arguments import common_shape, products_rounded_once, rounded_once
from ...functions.linalg import einsum
from ...functions.reduction import norm
from ...ops import convolution
from ...ops.linear import linear as linear_op
from ...tensor import Tensor, apply
from ._checks import Axes, Each, by, check_not_empty, over, same_dtype
from .padding import pad

__all__ = ["bilinear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
__all__ += ["cosine_similarity", "fold", "linear", "pairwise_distance", "unfold"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input Wᵀ + b. For input (..., in), weight (out, in) and bias (out), the result is (..., out); for weight (in) and
    bias (), it is (...). Raises RuntimeError if shapes or dtypes differ, and TypeError if the input is not a tensor.

    >>> F.linear(mg.ones(1, 2), mg.tensor([[1.0, 2.0]]), mg.tensor([0.5]))
    tensor([[3.5000]])
    """
    if input.array.dtype != weight.array.dtype:
        same_dtype("linear", input, weight=weight)
    if weight.array.ndim == 1:
        out = input.matmul(weight)
        return out if bias is None else out + bias
    return apply(linear_op, (input, weight, bias))


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x₁ᵀ Wₖ x₂ + bₖ for input1 (..., in1), input2 (..., in2) and weight (out, in1, in2). Returns (..., out)."""
    same_dtype("bilinear", input1, input2=input2, weight=weight)
    if input1.shape[:-1] != input2.shape[:-1] or (*input1.shape[-1:], *input2.shape[-1:]) != weight.shape[1:]:
        shapes = f"{tuple(input1.shape)} and {tuple(input2.shape)} do not match the weight {tuple(weight.shape)}"
        remedy = "their leading axes must be equal, and their last axes must be in1 and in2 of the weight"
        raise RuntimeError(f"bilinear: inputs of shapes {shapes}: {remedy}")
    out = einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias


@rounded_once
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x₁ · x₂ / (max(‖x₁‖, eps) max(‖x₂‖, eps)) along ``dim``. The operands broadcast."""
    common = dt.result_type(x1.array, x2.array)
    x1, x2 = x1.to(common), x2.to(common)
    if x1.array.shape != x2.array.shape:
        shape = common_shape(x1.array.shape, x2.array.shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    lengths = [norm(x, 2.0, dim, True).clamp_min(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """‖x₁ - x₂ + eps‖ₚ along the last axis: (..., D), (..., D) -> (...). The operands broadcast."""
    return norm(x1 - x2 + eps, p, -1, keepdim)


def _conv(
    axes: Axes,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Each = 1,
    padding: Each | str = 0,
    dilation: Each = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation: input (N, C, *lengths) or (C, *lengths) -> (N, O, *places) or (O, *places). ``weight``: (O,
    C/groups, *kernel). ``bias``: (O). See ``nn.Conv1d`` for the other arguments (one number, or one per axis)."""
    window = _window(axes, weight, stride, padding, dilation)
    _check(axes.name, input, weight, bias, groups, transposed=False)
    axes.check_fits(window, input.array.shape[2:])
    return apply(convolution.convolve, (input, weight, bias, window, groups))


conv1d, conv2d, conv3d = over(1, _conv), over(2, _conv), over(3, _conv)


@products_rounded_once
def _conv_transpose(
    axes: Axes,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Each = 1,
    padding: Each = 0,
    output_padding: Each = 0,
    groups: int = 1,
    dilation: Each = 1,
) -> Tensor:
    """The gradient for a convolution's input: (N, C, *lengths) or (C, *lengths) -> (N, O, *P) or (O, *P). ``weight``:
    (C, O/groups, *kernel). ``bias``: (O). See ``nn.ConvTranspose1d`` for the others (one number, or one per axis)."""
    window = _window(axes, weight, stride, padding, dilation)
    extra = axes.each("output_padding", output_padding)
    for more, step, apart in zip(extra, window.stride, window.dilation, strict=True):
        if not 0 <= more < max(step, apart):
            values = f"output_padding {extra}, stride {window.stride}, dilation {window.dilation}"
            problem = "output padding must be smaller than either stride or dilation"
            raise RuntimeError(f"{axes.name}: {problem}, but got {values}")
    _check(axes.name, input, weight, bias, groups, transposed=True)
    if any(beyond := [more // step for more, step in zip(extra, window.stride, strict=True)]):
        # output padding of whole steps is implemented by appending zeros to the input
        input = pad(input, [width for places in reversed(beyond) for width in (0, places)])
        extra = tuple(more % step for more, step in zip(extra, window.stride, strict=True))
    places = input.array.shape[2:]
    settings = zip(places, window.stride, window.padding, window.span(), extra, strict=True)
    lengths = tuple((n - 1) * s - sum(pads) + span + more for n, s, pads, span, more in settings)
    if min(lengths) <= 0:
        sizes = f"Given input size per channel: ({by(places)}). Calculated output size per channel: ({by(lengths)})"
        raise RuntimeError(f"{axes.name}: {sizes}. Output size is too small")
    out: Tensor = apply(convolution.convolve_back, (input, weight, window, groups, lengths))
    return out if bias is None else out + bias.reshape(-1, *(1,) * axes.n)


conv_transpose1d, conv_transpose2d = over(1, _conv_transpose), over(2, _conv_transpose)
conv_transpose3d = over(3, _conv_transpose)


def _window(axes: Axes, weight: Tensor, stride: Each, padding: Each | str, dilation: Each) -> Window:
    shape = tuple(weight.array.shape)
    if len(shape) != axes.n + 2:
        raise RuntimeError(f"{axes.name}: expected a weight with {axes.n + 2} axes, but got one of size {list(shape)}")
    return axes.window(shape[2:], stride, padding, dilation)


def _check(name: str, x: Tensor, weight: Tensor, bias: Tensor | None, groups: int, transposed: bool) -> None:
    same_dtype(name, x, weight=weight, bias=bias)
    size, shape = list(weight.array.shape), list(x.array.shape)
    context = f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {size}"
    if groups < 1 or size[0] % groups:
        problem = f"expected weight to be at least {groups} at dimension 0 and divisible by it"
        raise RuntimeError(f"{name}: {context}, {problem}")
    channels = size[0] if transposed else size[1] * groups
    if shape[1] != channels:
        problem = f"expected input{shape} to have {channels} channels, but got {shape[1]} channels instead"
        layout = "(N, C, L)", "(N, C, H, W)", "(N, C, D, H, W)"
        raise RuntimeError(f"{name}: {context}, {problem}: channels are axis 1: the input is {layout[len(shape) - 3]}")
    out = size[1] * groups if transposed else size[0]
    if bias is not None and tuple(bias.array.shape) != (out,):
        problem = f"expected bias to be 1-dimensional with {out} elements, but got {list(bias.array.shape)}"
        raise RuntimeError(f"{context}, {problem}")


def unfold(input: Tensor, kernel_size: Each, dilation: Each = 1, padding: Each = 0, stride: Each = 1) -> Tensor:
    """The blocks under a sliding window: (N, C, H, W) -> (N, C · kernel, places). N is optional."""
    axes = Axes("unfold", 2)
    window = axes.window(kernel_size, stride, padding, dilation)

    def run(x: Tensor) -> Any:
        check_not_empty("unfold", x, 2)
        axes.check_fits(window, x.array.shape[2:])
        blocks = apply(convolution.columns, (x, window))  # (C, KH, KW, N, PH, PW)
        n, c = x.array.shape[:2]
        places = prod(blocks.array.shape[4:])
        return blocks.permute(3, 0, 1, 2, 4, 5).reshape(n, c * prod(window.kernel), places).contiguous()

    return axes.batched(input, run)


def fold(
    input: Tensor, output_size: Each, kernel_size: Each, dilation: Each = 1, padding: Each = 0, stride: Each = 1
) -> Tensor:
    """The sum of overlapping blocks from ``unfold``: (N, C · kernel, places) -> (N, C, *output_size). N is optional.
    Raises RuntimeError if the input's shape is not one that ``unfold`` returns."""
    axes = Axes("fold", 2)
    window, lengths = axes.window(kernel_size, stride, padding, dilation), axes.each("output_size", output_size)
    places, kernel = window.places(lengths), prod(window.kernel)

    def run(x: Tensor) -> Any:
        n, rows, count = x.array.shape
        if rows % kernel or count != prod(places) or min(places) < 1:
            call = f"Given {window} and {lengths}, calculated shape of the array of sliding blocks as {places}"
            fits = "1 to be divisible by the product of kernel_size, 2 to match the calculated number of sliding blocks"
            raise RuntimeError(f"fold: {call}, expected input's dimension {fits}, but got {(n, rows, count)}")
        blocks = x.reshape(n, rows // kernel, *window.kernel, *places).permute(1, 2, 3, 0, 4, 5)
        return apply(convolution.overlay, (blocks, window, lengths))

    return Axes("fold", 1).batched(input, run)
