"""Parameters and buffers whose shape is not known yet, under the names of ``torch.nn.parameter``."""

from __future__ import annotations

from typing import Any

from ..functions.creation import empty
from ..nn.parameter import Buffer, Parameter
from ..tensor import Size, Tensor

__all__ = ["UninitializedBuffer", "UninitializedParameter"]


class UninitializedTensorMixin(Tensor):
    """A tensor whose shape is not known yet; it has a dtype and a device. An optimiser may hold it already."""

    cls_to_become: Any = Tensor

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
        """Itself: a state dict shows that there is nothing yet."""
        return self

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape; it becomes a Parameter or a Tensor, whose values are not set."""
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
    """A parameter that waits for its shape."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        parameter: Any = Parameter.__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)
        return parameter


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer that waits for its shape."""

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        buffer: Any = Buffer.__new__(cls, empty(0, device=device, dtype=dtype), persistent=persistent)
        return buffer
