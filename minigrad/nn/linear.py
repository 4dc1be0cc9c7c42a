"""Linear, bilinear and convolutional layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ..tensor import Tensor
from . import functional as F, init
from .functional._checks import Each, same_padding, tuple_of
from .layer import Layer, UniformLayer
from .parameter import Parameter

__all__ = ["Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Linear"]


class Linear(UniformLayer):
    """x Wᵀ + b: (..., in_features) -> (..., out_features). ``bias``: whether to add b.

    Attributes:
        weight: (out_features, in_features), initialised uniformly in ±1/√in_features.
        bias: (out_features), initialised likewise, or None.

    >>> nn.Linear(3, 2)(mg.zeros(5, 3)).shape
    minigrad.Size([5, 2])
    """

    _repr_fields = ("in_features", "out_features", "bias")

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bias_shape = (out_features,) if bias else None
        self._add_parameters(device, dtype, weight=(out_features, in_features), bias=bias_shape)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """Linear under the name that PyTorch's MultiheadAttention uses."""


class Bilinear(Layer):
    """x₁ᵀ Wₖ x₂ + bₖ: (..., in1_features), (..., in2_features) -> (..., out_features). ``weight``: (out_features,
    in1_features, in2_features). ``bias``: (out_features), or None. Both are initially uniform in ±1/√in1_features."""

    _repr_fields = ("in1_features", "in2_features", "out_features", "bias")
    weight: Parameter

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        shapes = {"weight": (out_features, in1_features, in2_features), "bias": (out_features,) if bias else None}
        self._add_parameters(device, dtype, **shapes)

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)


_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(UniformLayer):
    """Base class of all convolutions. ``function`` computes the convolution over ``axes`` axes."""

    _unnamed = 2
    _usual = {"padding": 0, "dilation": 1, "output_padding": 0, "groups": 1, "bias": True, "padding_mode": "zeros"}
    _repr_fields = ("in_channels", "out_channels", "kernel_size", "stride", *_usual)
    _axes: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]
    transposed: ClassVar[bool] = False
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Each,
        stride: Each = 1,
        padding: Each | str = 0,
        dilation: Each = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        n = self._axes
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = (tuple_of(x, n) for x in (kernel_size, stride, dilation))
        self.padding: Any = padding if isinstance(padding, str) else tuple_of(padding, n)
        self.output_padding, self.padding_mode = (0,) * n, padding_mode
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _MODES:
            modes = ", ".join(map(repr, _MODES))
            raise ValueError(f"padding_mode must be one of {{{modes}}}, but got {padding_mode=}")
        pairs = same_padding(self.kernel_size, self.dilation)
        if padding != "same":
            pairs = tuple((p, p) for p in tuple_of(0 if padding == "valid" else padding, n))
        self._reversed_padding_repeated_twice = [width for pair in reversed(pairs) for width in pair]  # for F.pad
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shapes = {"weight": (first, second // groups, *self.kernel_size), "bias": (out_channels,) if bias else None}
        self._add_parameters(device, dtype, **shapes)


class _Conv(_ConvNd):
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv, axes=1, function=F.conv1d):
    """Cross-correlation over one axis: (N, C, L) or (C, L) -> (N, O, P) or (O, P) (LeCun et al. 1989).

    P = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1.

    Args:
        in_channels, out_channels: C and O. kernel_size, stride, dilation: an int or a 1-tuple.
        padding: the number of elements on each side, "valid" (none) or "same" (keeps the length; stride 1 only).
        groups: the number of channel groups, which are convolved separately. bias: whether to add a bias.
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    Attributes:
        weight: (O, C/groups, K), initialised uniformly in ±1/√(C K/groups). bias: (O), initialised likewise, or None.

    Raises ValueError if ``groups`` does not divide both C and O, or if the padding or its mode is invalid."""


class Conv2d(_Conv, axes=2, function=F.conv2d):
    """Cross-correlation over two axes: (N, C, H, W) or (C, H, W) -> (N, O, *P) or (O, *P).

    See ``Conv1d`` for the arguments and attributes; tuples have two elements.

    >>> nn.Conv2d(3, 8, kernel_size=3, padding=1)(mg.zeros(1, 3, 32, 32)).shape
    minigrad.Size([1, 8, 32, 32])
    """


class Conv3d(_Conv, axes=3, function=F.conv3d):
    """Cross-correlation over three axes: (N, C, D, H, W) -> (N, O, *P), or both without N. See ``Conv1d``."""


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Each,
        stride: Each = 1,
        padding: Each = 0,
        output_padding: Each = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Each = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        window = (kernel_size, stride, padding, dilation)
        super().__init__(in_channels, out_channels, *window, groups, bias, padding_mode, device, dtype)
        self.output_padding = tuple_of(output_padding, self._axes)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Transform (N, C, *lengths) to (N, O, *P). ``output_size`` selects P if the stride allows several sizes."""
        extra = self.output_padding
        if output_size is not None:
            n, ndim, size = self._axes, input.array.ndim, tuple(output_size)
            lengths = input.array.shape[-n:]
            size = size[-n:] if len(size) == ndim else size
            if len(size) != n:
                expected = f"for {ndim}D input, output_size must have {n} or {ndim} elements"
                raise ValueError(f"{self._get_name()}: {expected} (got {len(size)})")
            axes = zip(lengths, self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
            least = [(length - 1) * s - 2 * p + d * (k - 1) + 1 for length, s, p, d, k in axes]
            most = [length + s - 1 for length, s in zip(least, self.stride, strict=True)]
            if any(not low <= n <= high for low, n, high in zip(least, size, most, strict=True)):
                valid = f"valid sizes range from {least} to {most} (for an input of {list(lengths)})"
                raise ValueError(f"requested an output size of {size}, but {valid}")
            extra = tuple(length - low for length, low in zip(size, least, strict=True))
        options = (self.stride, self.padding, extra, self.groups, self.dilation)
        return self._function(input, self.weight, self.bias, *options)


class ConvTranspose1d(_ConvTransposeNd, axes=1, function=F.conv_transpose1d):
    """The gradient of ``Conv1d`` with respect to its input: (N, C, L) or (C, L) -> (N, O, P) or (O, P).

    P = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1.

    Args and attributes: see ``Conv1d``, but the weight has shape (C, O/groups, K).
        output_padding: extra length added to one side of the result. padding_mode: only "zeros" is supported."""


class ConvTranspose2d(_ConvTransposeNd, axes=2, function=F.conv_transpose2d):
    """The gradient of ``Conv2d`` with respect to its input. See ``ConvTranspose1d`` for the arguments."""


class ConvTranspose3d(_ConvTransposeNd, axes=3, function=F.conv_transpose3d):
    """The gradient of ``Conv3d`` with respect to its input. See ``ConvTranspose1d`` for the arguments."""
