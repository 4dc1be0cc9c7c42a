"""Convolutions, and the blocks of a sliding window."""

from __future__ import annotations

from math import prod
from typing import Any

from ...autograd.calls import apply
from ...ops import convolution as ops
from ...ops.convolution import Window
from ...tensor import Tensor
from ._checks import same_dtype
from ._spatial import Each, batched, each
from .padding import pad

Ints = tuple[int, ...]


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Each = 1,
    padding: Each | str = 0,
    dilation: Each = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over one axis: input (N, C, L) or (C, L) -> (N, O, P) or (O, P).

    Args:
        weight: (O, C/groups, K). bias: (O).
        stride, padding, dilation: a number, or a sequence of one an axis. padding: also "valid" (none) or
            "same" (as many as keep the length; stride 1 only).
        groups: into how many parts the channels are cut that do not see each other.

    Raises:
        RuntimeError: shapes or dtypes that do not go together, a kernel longer than the input.
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Each = 1,
    padding: Each | str = 0,
    dilation: Each = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over two axes, (N, C, H, W) -> (N, O, *P). Arguments as in ``conv1d``."""
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Each = 1,
    padding: Each | str = 0,
    dilation: Each = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over three axes, (N, C, D, H, W) -> (N, O, *P). Arguments as in ``conv1d``."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _conv(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Each,
    padding: Each | str,
    dilation: Each,
    groups: int,
) -> Tensor:
    def run(x: Tensor) -> Any:
        window = _window(name, n, weight.array.shape, stride, padding, dilation)
        _check(name, x, weight, bias, groups, transposed=False)
        _check_fits(name, window, x.array.shape[2:])
        return apply(ops.convolve, (x, weight, bias, window, groups))

    out: Tensor = batched(name, input, n, run)
    return out


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Each = 1,
    padding: Each = 0,
    output_padding: Each = 0,
    groups: int = 1,
    dilation: Each = 1,
) -> Tensor:
    """The gradient of ``conv1d`` by its input: input (N, C, L) or (C, L) -> (N, O, P) or (O, P).

    P = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1.

    Args:
        weight: (C, O/groups, K). bias: (O).
        stride, padding, dilation: those of the convolution. output_padding: how much longer the result is on
            one side.

    Raises:
        RuntimeError: shapes or dtypes that do not go together, too much ``output_padding``.
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Each = 1,
    padding: Each = 0,
    output_padding: Each = 0,
    groups: int = 1,
    dilation: Each = 1,
) -> Tensor:
    """The gradient of ``conv2d`` by its input. Arguments as in ``conv_transpose1d``."""
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Each = 1,
    padding: Each = 0,
    output_padding: Each = 0,
    groups: int = 1,
    dilation: Each = 1,
) -> Tensor:
    """The gradient of ``conv3d`` by its input. Arguments as in ``conv_transpose1d``."""
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _transposed(
    name: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Each,
    padding: Each,
    output_padding: Each,
    groups: int,
    dilation: Each,
) -> Tensor:
    def run(x: Tensor) -> Any:
        window = _window(name, n, weight.array.shape, stride, padding, dilation)
        extra = each(name, "output_padding", output_padding, n)
        for more, step, apart in zip(extra, window.stride, window.dilation, strict=True):
            if not 0 <= more < max(step, apart):
                raise RuntimeError(
                    f"{name}: output padding must be smaller than either stride or dilation, but got "
                    f"output_padding {extra}, stride {window.stride}, dilation {window.dilation}"
                )
        _check(name, x, weight, bias, groups, transposed=True)
        if any(beyond := [more // step for more, step in zip(extra, window.stride, strict=True)]):
            # so much longer that there is room for further places: they are zeros of the input
            x = pad(x, [width for places in reversed(beyond) for width in (0, places)])
            extra = tuple(more % step for more, step in zip(extra, window.stride, strict=True))
        lengths = _back_lengths(window, x.array.shape[2:], extra)
        if min(lengths) <= 0:
            raise RuntimeError(
                f"{name}: Given input size per channel: ({_told(x.array.shape[2:])}). Calculated output size "
                f"per channel: ({_told(lengths)}). Output size is too small"
            )
        out: Tensor = apply(ops.convolve_back, (x, weight, window, groups, lengths))
        return out if bias is None else out + bias.reshape(-1, *(1,) * n)

    out: Tensor = batched(name, input, n, run)
    return out


def _back_lengths(window: Window, places: Ints, extra: Ints) -> Ints:
    """The lengths that a window went over to come to so many places."""
    known = zip(places, window.stride, window.padding, window.span(), extra, strict=True)
    return tuple((n - 1) * s - sum(pads) + span + more for n, s, pads, span, more in known)


def _window(name: str, n: int, weight: Ints, stride: Each, padding: Each | str, dilation: Each) -> Window:
    """The window of a weight (., ., *kernel)."""
    if len(weight) != n + 2:
        raise RuntimeError(f"{name}: expected a weight of {n + 2} axes, but got one of size {list(weight)}")
    steps, apart = each(name, "stride", stride, n), each(name, "dilation", dilation, n)
    for told, values in (("stride", steps), ("dilation", apart)):
        if min(values) < 1:
            raise RuntimeError(f"{name}: non-positive {told} is not supported: it is {values}")
    pads = _pads(name, n, weight[2:], steps, padding, apart)
    return Window(tuple(weight[2:]), steps, pads, apart)


def _pads(name: str, n: int, kernel: Ints, stride: Ints, padding: Any, dilation: Ints) -> Any:
    """(before, after) for each axis."""
    if padding == "valid":
        return ((0, 0),) * n
    if padding == "same":
        if any(s != 1 for s in stride):
            raise RuntimeError(f"{name}: padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple((t // 2, t - t // 2) for t in totals)
    if isinstance(padding, str):
        raise RuntimeError(f"{name}: Invalid padding string: {padding!r}: expected 'same' or 'valid'")
    pads = each(name, "padding", padding, n)
    if min(pads) < 0:
        raise RuntimeError(f"{name}: negative padding is not supported: it is {pads}")
    return tuple((p, p) for p in pads)


def _check(name: str, x: Tensor, weight: Tensor, bias: Tensor | None, groups: int, transposed: bool) -> None:
    """Refuse channels, groups and dtypes that do not go together."""
    same_dtype(name, x, weight=weight, bias=bias)
    size, given = list(weight.array.shape), list(x.array.shape)
    told = f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {size}"
    if groups < 1 or size[0] % groups:
        raise RuntimeError(
            f"{name}: {told}, expected weight to be at least {groups} at dimension 0 and divisible by it"
        )
    wanted = size[0] if transposed else size[1] * groups
    if given[1] != wanted:
        raise RuntimeError(
            f"{told}, expected input{given} to have {wanted} channels, but got {given[1]} channels instead"
        )
    out = size[1] * groups if transposed else size[0]
    if bias is not None and tuple(bias.array.shape) != (out,):
        raise RuntimeError(
            f"{told}, expected bias to be 1-dimensional with {out} elements, but got bias of size "
            f"{list(bias.array.shape)} instead"
        )


def _check_fits(name: str, window: Window, lengths: Ints) -> None:
    if min(window.places(lengths)) < 1:
        raise RuntimeError(
            f"{name}: Calculated padded input size per channel: ({_told(window.padded(lengths))}). "
            f"Kernel size: ({_told(window.span())}). Kernel size can't be greater than actual input size"
        )


def _told(numbers: Ints) -> str:
    return " x ".join(map(str, numbers))


# Blocks ----------------------------------------------------------------------------------------------------


def unfold(input: Tensor, kernel_size: Each, dilation: Each = 1, padding: Each = 0, stride: Each = 1) -> Tensor:
    """The blocks of a sliding window: (N, C, H, W) -> (N, C · kernel, places); also without N."""
    window = _block("unfold", kernel_size, dilation, padding, stride)

    def run(x: Tensor) -> Any:
        _check_fits("unfold", window, x.array.shape[2:])
        taken = apply(ops.columns, (x, window))  # (C, KH, KW, N, PH, PW)
        n, c = x.array.shape[:2]
        places = prod(taken.array.shape[4:])
        return taken.permute(3, 0, 1, 2, 4, 5).reshape(n, c * prod(window.kernel), places).contiguous()

    out: Tensor = batched("unfold", input, 2, run)
    return out


def fold(
    input: Tensor, output_size: Each, kernel_size: Each, dilation: Each = 1, padding: Each = 0, stride: Each = 1
) -> Tensor:
    """Blocks laid over each other and added: (N, C · kernel, places) -> (N, C, *output_size); also without N.

    Raises:
        RuntimeError: the input is not of a size that ``unfold`` would give.
    """
    window = _block("fold", kernel_size, dilation, padding, stride)
    lengths = each("fold", "output_size", output_size, 2)
    places, kernel = window.places(lengths), prod(window.kernel)

    def run(x: Tensor) -> Any:
        n, rows, count = x.array.shape
        if rows % kernel or count != prod(places):
            raise RuntimeError(
                f"fold: Given output_size={lengths} and kernel_size={window.kernel}, expected input of size "
                f"(N, C * {kernel}, {prod(places)}), but got {(n, rows, count)}"
            )
        taken = x.reshape(n, rows // kernel, *window.kernel, *places).permute(1, 2, 3, 0, 4, 5)
        return apply(ops.overlay, (taken, window, lengths))

    out: Tensor = batched("fold", input, 1, run)
    return out


def _block(name: str, kernel_size: Each, dilation: Each, padding: Each, stride: Each) -> Window:
    weight = (1, 1, *each(name, "kernel_size", kernel_size, 2))
    return _window(name, 2, weight, stride, padding, dilation)
