"""Parameter, a tensor that a module trains, and Buffer, a tensor that it only stores."""

from __future__ import annotations

from typing import Any

from ..autograd.tracebacks import answers, disabled_torch_function
from ..backend.storage import copied, owner
from ..functions.creation import empty
from ..tensor import Tensor, everything, wrap

__all__ = ["Buffer", "Parameter"]


class _Kind(type):
    """The metaclass of Parameter, which makes ``isinstance`` accept tensor subclasses wrapped by ``Parameter()``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or (
            cls is Parameter and isinstance(instance, Tensor) and "_is_param" in everything(instance)
        )


class Parameter(Tensor, metaclass=_Kind):
    """A leaf tensor that requires a gradient and that a Module registers when it is assigned as an attribute.
    ``data``: a tensor whose memory the parameter shares; None means an empty tensor. Raises TypeError if ``data`` is
    not a tensor, and RuntimeError if its dtype does not support gradients (integers or bools).

    >>> nn.Parameter(mg.zeros(2)).requires_grad
    True
    """

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if type(data) is not Tensor and isinstance(data, Tensor) and answers(type(data)):
            of_its_class: Any = data.detach().requires_grad_(requires_grad)
            of_its_class._is_param = True
            return of_its_class
        parameter: Parameter = _sharing(cls, data)
        parameter.requires_grad_(requires_grad)
        return parameter

    def __repr__(self, **kwargs: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:  # not including its gradient, as in PyTorch
            memory = owner(self.array)  # copy all of it if that costs no more, so that its views share the copy
            shares = id(memory) in memo or memory.nbytes == self.array.nbytes
            data = wrap(copied(self.array, memo)) if shares else self.data.clone()
            memo[id(self)] = type(self)(data, self.requires_grad)
        twin: Parameter = memo[id(self)]
        return twin


class Buffer(Tensor):
    """A tensor that a Module registers as a buffer when it is assigned as an attribute. ``data``: see Parameter.
    ``persistent``: whether it is part of ``state_dict``. Raises TypeError if ``data`` is not a tensor."""

    persistent: bool = True
    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        buffer: Buffer = _sharing(cls, data)
        buffer.persistent = persistent
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether a tensor's shape is still unknown (``compat/lazy.py``)."""
    return hasattr(type(param), "materialize")


def _sharing(cls: type[Any], data: Tensor | None) -> Any:
    """A tensor of class ``cls`` that shares memory with ``data`` but not its autograd history."""
    source = empty(0) if data is None else data
    if not isinstance(source, Tensor):
        raise TypeError(f"{cls.__name__} takes a Tensor, not {type(source).__name__}: make one with minigrad.tensor()")
    tensor = object.__new__(cls)
    tensor.array = source.array
    tensor._changes = source._changes  # the memory is shared, so a change to either counts for both
    return tensor
