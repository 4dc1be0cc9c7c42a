"""Layers that infer the input width from their first input.

Until then, or until a state dict is loaded, their parameters do not have shapes or values. On its first call, a layer
initialises its parameters as its usual class would at construction, and becomes an instance of that class. For custom
layers, use ``LazyModuleMixin``.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from ..functions.creation import empty
from ..nn.layer import Layer
from ..nn.linear import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Linear
from ..nn.module import Module
from ..nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from ..nn.parameter import Buffer, Parameter, is_lazy
from ..tensor import Size, Tensor

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d"]
__all__ += ["LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d"]
__all__ += ["LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear", "UninitializedBuffer", "UninitializedParameter"]


class UninitializedTensorMixin(Tensor):
    """A tensor with a dtype and a device, but without a shape yet. It can already be passed to an optimiser."""

    cls_to_become: Any = Tensor

    @property
    def shape(self) -> Size:
        """Raise RuntimeError, because the shape is unknown."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized module, or in "
            "counting parameters. Call the module with an input first to initialize it"
        )

    numel: Any = lambda self: self.shape.numel()  # raises the error through ``shape``
    detach: Any = lambda self: self  # in a state dict, this shows that there is no value yet

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Set the shape. The object becomes a Parameter or a Tensor with uninitialised values."""
        self.array = empty(shape, device=device or self.device, dtype=dtype or self.dtype).array
        self.__class__ = self.cls_to_become

    def __repr__(self, **kwargs: Any) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, self.device, self.dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter that does not have a shape yet."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        parameter: Any = Parameter.__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)
        return parameter


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer that does not have a shape yet."""

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        buffer: Any = Buffer.__new__(cls, empty(0, device=device, dtype=dtype), persistent=persistent)
        return buffer


class LazyModuleMixin(Module):
    """A mixin for modules; list it before the base class. Parameters may be ``UninitializedParameter``s until the first
    call. Then, the module's class becomes ``cls_to_become``, if set.

        class Scale(LazyModuleMixin, nn.Module):
            def __init__(self):
                super().__init__()
                self.factor = UninitializedParameter()

            def initialize_parameters(self, x):  # called with the arguments of the first call
                self.factor.materialize(x.shape[-1:])
                nn.init.ones_(self.factor)

            def forward(self, x):
                return x * self.factor
    """

    cls_to_become: Any = None
    _waits: bool = True

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer is uninitialised."""
        return any(is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Set the shapes and values of the parameters, given the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def _hooked_call(self, *args: Any, **kwargs: Any) -> Any:
        if not self._waits:
            return super()._hooked_call(*args, **kwargs)
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        self._waits = False
        if self.cls_to_become is not None:
            del self._waits
            self.__class__ = self.cls_to_become
        return self._hooked_call(*args, **kwargs)  # the method of the new class

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """Convert uninitialised buffers in place."""
        waiting: dict[str, Any] = {name: buffer for name, buffer in self._buffers.items() if is_lazy(buffer)}
        super()._apply(fn, recurse)
        for name, buffer in waiting.items():
            converted: Any = self._buffers[name]
            buffer.array, self._buffers[name] = converted.array, buffer
        return self

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *others: Any, **kwargs: Any) -> None:
        """Adopt the shapes of the loaded tensors."""
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if isinstance(tensor, UninitializedTensorMixin) and loaded is not None and not is_lazy(loaded):
                tensor.materialize(loaded.shape)
        super()._load_from_state_dict(state_dict, prefix, *others, **kwargs)


class _Lazy(LazyModuleMixin, Layer):
    """The base class of lazy layers, which take the layer's arguments except the first."""

    _becomes: ClassVar[Any]  # the layer
    _width: ClassVar[str]  # the layer's first argument
    _axis: ClassVar[int] = 1  # the input axis whose size this argument is
    _defaults: ClassVar[dict[str, Any]] = {}  # argument defaults that differ from the layer's

    def __init_subclass__(cls, **constants: Any) -> None:
        super().__init_subclass__(**constants)
        cls.cls_to_become = cls._becomes
        _, *arguments = inspect.signature(cls._becomes).parameters.values()
        arguments = [x.replace(default=cls._defaults.get(x.name, x.default)) for x in arguments]
        cls.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        arguments = self._defaults | inspect.signature(type(self)).bind(*args, **kwargs).arguments
        super().__init__(0, **arguments)
        self._arguments = {name: value for name, value in arguments.items() if name not in ("device", "dtype")}
        for name, buffer in self._buffers.items():
            if buffer is not None and buffer.array.shape == (0,):
                self._buffers[name] = UninitializedBuffer(device=buffer.device, dtype=buffer.dtype)

    def _add_parameters(self, device: Any, dtype: Any, **shapes: Any) -> None:
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else UninitializedParameter(True, device, dtype))

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        width = int(input.shape[self._axis])
        if self.has_uninitialized_params():
            tensors = [t for t in (*self._parameters.values(), *self._buffers.values()) if t is not None]
            layer = self._becomes(width, **self._arguments, device=tensors[0].device, dtype=tensors[0].dtype)
            for own, new in ((self._parameters, layer._parameters), (self._buffers, layer._buffers)):
                for name, value in new.items():
                    tensor: Any = own[name]
                    if is_lazy(tensor):
                        tensor.materialize(value.shape)
                    if value is not None:
                        tensor.array = value.array
        setattr(self, self._width, width)
        del self._arguments


class LazyLinear(_Lazy, Linear, becomes=Linear, width="in_features", axis=-1):
    """``Linear(in_features, ...)`` with ``in_features`` taken from the last axis of the first input."""


class _LazyConv(_Lazy, becomes=Conv1d, width="in_channels"):
    kernel_size: tuple[int, ...]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        n = len(self.kernel_size)
        if input.ndim not in (n + 1, n + 2):
            expected = f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}"
            raise RuntimeError(f"{expected}, but got input of size: {list(input.shape)}")
        super().initialize_parameters(input if input.ndim == n + 2 else input.unsqueeze(0))


def _lazy(base: Any, layer: Any, **constants: Any) -> Any:
    first = next(iter(inspect.signature(layer).parameters))
    words = {"__doc__": f"``{layer.__name__}({first}, ...)`` with as many channels as its first input has."}
    return type(f"Lazy{layer.__name__}", (base, layer), {**words, "__module__": __name__}, becomes=layer, **constants)


LazyConv1d, LazyConv2d, LazyConv3d = (_lazy(_LazyConv, layer) for layer in (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(_LazyConv, layer) for layer in (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy(_Lazy, layer, width="num_features") for layer in (BatchNorm1d, BatchNorm2d, BatchNorm3d)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(_Lazy, layer, width="num_features", defaults={"affine": True, "track_running_stats": True})
    for layer in (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)
)
