"""PyTorch's legacy typed constructors, called with sizes (``LongTensor(2, 3)``) or values (``LongTensor([2, 3])``)."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

from ..autograd.tape import Variable
from ..backend import Device, device as devices, dtype as dt, of
from ..backend.size import Size
from .creation import empty, tensor
from .define import Places, function


class TensorType(type):
    """A type for tensors of one dtype on "cpu" or "cuda". Calling it creates one; ``isinstance`` recognizes them."""

    dtype: dt.DType
    device_type: str

    def __call__(cls, *data: Any, device: Any = None) -> Any:
        where = cls.device_type if device is None else Device(device)
        if isinstance(where, Device) and where.type != cls.device_type:
            passed = f"{cls.device_type} but device type: {where.type} was passed"
            raise RuntimeError(f"legacy constructor expects device type: {passed}")
        if len(data) == 1 and not isinstance(data[0], (int, Size)):
            return tensor(data[0], dtype=cls.dtype, device=where)
        return empty(*(data or (0,)), dtype=cls.dtype, device=where)

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, Variable):
            return False
        array = instance.array
        return dt.of(array) is cls.dtype and of(array).device_of(array).type == cls.device_type

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"

    def __str__(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


_PUBLIC = {name.capitalize(): dtype for name, dtype in dt._ALIASES.items() if not dtype.is_complex}
_PUBLIC |= {"Bool": dt.bool_, "BFloat16": dt.bfloat16}
_NAMES = {**_PUBLIC, "ComplexFloat": dt.complex64, "ComplexDouble": dt.complex128}
_NAMES |= {d.name.capitalize().replace("Uint", "UInt"): d for d in dt.STORED if d is not dt.bfloat16}


@cache
def _types(device_type: str) -> dict[str, Any]:
    module = "torch" if device_type == "cpu" else f"torch.{device_type}"
    types = {}
    for name, dtype in _NAMES.items():
        doc = f"Create {dtype.name} tensors on the {device_type.upper()} from sizes or values."
        attributes = {"dtype": dtype, "device_type": device_type, "places": Places(), "__doc__": doc}
        types[f"{name}Tensor"] = TensorType(f"{name}Tensor", (), {**attributes, "__module__": module})
    return types


globals().update({f"{name}Tensor": _types("cpu")[f"{name}Tensor"] for name in _PUBLIC})
cuda = SimpleNamespace(**_types("cuda"))  # for the table of aliases


def find(name: Any) -> Any:
    """The type for a PyTorch name ("torch.cuda.FloatTensor"), or None for other names. Returns types unchanged."""
    if isinstance(name, TensorType):
        return name
    parts = str(name).split(".") if isinstance(name, str) else []
    return _types("cuda" if parts[1:2] == ["cuda"] else "cpu").get(parts[-1]) if parts[:1] == ["torch"] else None


def type_of(tensor: Any) -> Any:
    """The type of a tensor."""
    device_type = of(tensor.array).device_of(tensor.array).type
    return next(t for t in _types(device_type).values() if t.dtype is dt.of(tensor.array))


@function
def typename(obj: Any) -> str:
    """PyTorch's name for a tensor's type ("torch.FloatTensor"), or the module and name of any other object's type."""
    if isinstance(obj, Variable):
        return str(type_of(obj))
    item: Any = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(item, "__module__", None) or ""
    return f"{module}.{item.__qualname__}" if module not in ("", "builtins") else str(item.__qualname__)


@function
def set_default_tensor_type(t: Any) -> None:
    """Set the default type of new tensors, passed as a type or name. Raises TypeError unless it is floating-point."""
    kind = find(t)
    if kind is None:
        raise TypeError(f"invalid type object: {t!r} is not a tensor type")
    dt.set_default_dtype(kind.dtype)
    devices.set_default_device(None if kind.device_type == "cpu" else kind.device_type)
