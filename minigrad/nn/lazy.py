"""Layers whose input width is that of the first input they get.

Until then, or until a state dict is loaded, their parameters have no shape and no values. With the first call a layer
draws its parameters, as it would have from the beginning, and becomes one of the class without "Lazy".
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from ..autograd import no_grad
from ..functions.creation import empty
from ..tensor import Size, Tensor
from .convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .layer import Layer
from .linear import Linear
from .normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .parameter import Parameter

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d"]
__all__ += ["LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d"]
__all__ += ["LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear", "UninitializedParameter"]


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet; it has a dtype and a device. An optimiser may hold it already."""

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        parameter: Any = Parameter.__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)
        return parameter

    @property
    def shape(self) -> Size:
        """There is none."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized module, or in "
            "counting parameters. Call the module with an input first to initialize it"
        )

    def numel(self) -> int:
        """There is no shape to count by."""
        return self.shape.numel()

    def detach(self) -> Any:
        """Itself: a state dict tells that there is nothing yet."""
        return self

    def materialize(self, shape: Any) -> None:
        """Give it a shape; it becomes a Parameter, whose values are not set."""
        self.array = empty(shape, device=self.device, dtype=self.dtype).array
        self.__class__ = Parameter  # type: ignore[assignment]

    def __repr__(self, **kwargs: Any) -> str:
        return "<UninitializedParameter>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        copied: Parameter = memo[id(self)]
        return copied


UninitializedTensorMixin = UninitializedParameter  # buffers are not lazy


def is_lazy(param: Any) -> bool:
    """Whether a parameter's shape is not known yet."""
    return isinstance(param, UninitializedParameter)


class _Lazy(Layer):
    """Before a layer's class: what waits for the first input. Its arguments are the layer's without the first."""

    _becomes: ClassVar[Any]  # the layer
    _width: ClassVar[str]  # its first argument

    def __init_subclass__(cls, **constants: Any) -> None:
        super().__init_subclass__(**constants)
        if cls.__init__ is _Lazy.__init__:
            arguments = list(inspect.signature(cls._becomes).parameters.values())
            cls.__signature__ = inspect.Signature(arguments[1:])  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)
        named = inspect.signature(type(self)).bind(*args, **kwargs).arguments
        self._arguments = {name: value for name, value in named.items() if name not in ("device", "dtype")}

    def _add_parameters(self, device: Any, dtype: Any, **shapes: Any) -> None:
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else UninitializedParameter(True, device, dtype))

    def has_uninitialized_params(self) -> bool:
        """Whether there are parameters or buffers without values."""
        waiting = [isinstance(p, UninitializedParameter) for p in self._parameters.values()]
        return any(waiting) or any(b is not None and b.array.shape == (0,) for b in self._buffers.values())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(*args, **kwargs)
        return self(*args, **kwargs)  # of the class that it has become

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Draw the parameters that an input needs, and become the layer."""
        width = self._width_of(input)
        if self.has_uninitialized_params():
            tensors = [t for t in (*self._parameters.values(), *self._buffers.values()) if t is not None]
            layer = self._becomes(width, **self._arguments, device=tensors[0].device, dtype=tensors[0].dtype)
            with no_grad():
                for own, drawn in ((self._parameters, layer._parameters), (self._buffers, layer._buffers)):
                    for name, value in drawn.items():
                        mine: Any = own[name]
                        if value is not None:
                            mine.array = value.array
            for parameter in self._parameters.values():
                if isinstance(parameter, UninitializedParameter):
                    parameter.__class__ = Parameter  # type: ignore[assignment]
        setattr(self, self._width, width)
        del self._arguments
        self.__class__ = self._becomes

    def _width_of(self, input: Tensor) -> int:
        return int(input.shape[1])

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *others: Any, **named: Any) -> None:
        """Take the shapes of what is loaded."""
        for name, parameter in self._parameters.items():
            loaded = state_dict.get(prefix + name)
            if loaded is None or isinstance(loaded, UninitializedParameter):
                continue
            if isinstance(parameter, UninitializedParameter):
                parameter.materialize(loaded.shape)
        for name, buffer in self._buffers.items():
            if buffer is not None and buffer.array.shape == (0,) and prefix + name in state_dict:
                shape = state_dict[prefix + name].shape
                buffer.array = empty(shape, device=buffer.device, dtype=buffer.dtype).array
        super()._load_from_state_dict(state_dict, prefix, *others, **named)


class LazyLinear(_Lazy, Linear, becomes=Linear, width="in_features"):
    """``Linear(in_features, ...)`` with the width of its first input's last axis."""

    def _width_of(self, input: Tensor) -> int:
        return int(input.shape[-1])


class _LazyConv(_Lazy, becomes=Conv1d, width="in_channels"):
    kernel_size: tuple[int, ...]

    def _width_of(self, input: Tensor) -> int:
        n = len(self.kernel_size)
        if input.ndim not in (n + 1, n + 2):
            expected = f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}"
            raise RuntimeError(f"{expected}, but got input of size: {list(input.shape)}")
        return int(input.shape[-n - 1])


class LazyConv1d(_LazyConv, Conv1d, becomes=Conv1d):
    """``Conv1d(in_channels, ...)`` with as many channels as its first input."""


class LazyConv2d(_LazyConv, Conv2d, becomes=Conv2d):
    """``Conv2d(in_channels, ...)`` with as many channels as its first input."""


class LazyConv3d(_LazyConv, Conv3d, becomes=Conv3d):
    """``Conv3d(in_channels, ...)`` with as many channels as its first input."""


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d, becomes=ConvTranspose1d):
    """``ConvTranspose1d(in_channels, ...)`` with as many channels as its first input."""


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d, becomes=ConvTranspose2d):
    """``ConvTranspose2d(in_channels, ...)`` with as many channels as its first input."""


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d, becomes=ConvTranspose3d):
    """``ConvTranspose3d(in_channels, ...)`` with as many channels as its first input."""


class LazyBatchNorm1d(_Lazy, BatchNorm1d, becomes=BatchNorm1d, width="num_features"):
    """``BatchNorm1d(num_features, ...)`` with as many channels as its first input."""


class LazyBatchNorm2d(_Lazy, BatchNorm2d, becomes=BatchNorm2d, width="num_features"):
    """``BatchNorm2d(num_features, ...)`` with as many channels as its first input."""


class LazyBatchNorm3d(_Lazy, BatchNorm3d, becomes=BatchNorm3d, width="num_features"):
    """``BatchNorm3d(num_features, ...)`` with as many channels as its first input."""


class _LazyInstanceNorm(_Lazy, becomes=InstanceNorm1d, width="num_features"):
    """Weight, bias and running statistics are usual here, as in PyTorch."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias=bias)


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d, becomes=InstanceNorm1d):
    """``InstanceNorm1d(num_features, ...)`` with as many channels as its first input."""


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d, becomes=InstanceNorm2d):
    """``InstanceNorm2d(num_features, ...)`` with as many channels as its first input."""


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d, becomes=InstanceNorm3d):
    """``InstanceNorm3d(num_features, ...)`` with as many channels as its first input."""
