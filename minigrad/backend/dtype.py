"""Number formats: PyTorch's names for NumPy's types, and PyTorch's promotion between them."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # a numpy.ndarray or a cupy.ndarray: the two share their interface, not a base class


class DType:
    """A number format, such as ``minigrad.float32``. One object a format: compare with ``is`` or ``==``.

    Attributes:
        name: "float32", ...
        numpy: the NumPy dtype.
        itemsize: bytes an element.
        is_floating_point: whether gradients can flow through it.
    """

    __slots__ = ("is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy", "rank")

    def __init__(self, name: str, rank: int) -> None:
        self.name = name
        self.numpy = np.dtype(name)
        self.itemsize = self.numpy.itemsize
        self.is_floating_point = self.numpy.kind == "f"
        self.is_complex = self.numpy.kind == "c"
        self.is_signed = self.numpy.kind in "ifc"
        self.rank = rank

    def __repr__(self) -> str:
        return f"minigrad.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (named, (self.name,))


# rank: the category of promotion (bool < integer < float), as in PyTorch
bool_ = DType("bool", 0)
uint8, int8, int16, int32, int64 = (DType(n, 1) for n in ("uint8", "int8", "int16", "int32", "int64"))
float16, float32, float64 = (DType(n, 2) for n in ("float16", "float32", "float64"))

ALL: tuple[DType, ...] = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
_OF_NUMPY: dict[Any, DType] = {d.numpy: d for d in ALL}
_ALIASES = {"half": float16, "float": float32, "double": float64, "byte": uint8, "char": int8,
            "short": int16, "int": int32, "long": int64}  # fmt: skip
_NAMED: dict[str, DType] = {d.name: d for d in ALL} | _ALIASES

_default = float32


def get_default_dtype() -> DType:
    """The dtype of a tensor made from Python floats."""
    return _default


def set_default_dtype(dtype: DType) -> None:
    """Make ``dtype`` (a floating point one) the dtype of tensors made from Python floats."""
    global _default
    dtype = as_dtype(dtype)
    if not dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {dtype}")
    _default = dtype


def named(name: str) -> DType:
    """The dtype called ``name``; PyTorch's aliases ("float", "long", ...) are known."""
    try:
        return _NAMED[name]
    except KeyError:
        raise TypeError(f"{name!r} is not a dtype: expected one of {', '.join(_NAMED)}") from None


def of(array: Array) -> DType:
    """The dtype of a backend array."""
    return of_numpy(array.dtype)


def of_numpy(dtype: Any) -> DType:
    """The dtype of a NumPy dtype.

    Raises:
        TypeError: tensors have no such dtype (complex numbers, strings, objects).
    """
    try:
        return _OF_NUMPY[dtype]
    except KeyError:
        names = ", ".join(d.name for d in ALL)
        raise TypeError(f"arrays of dtype {dtype} are not supported; convert to one of {names}") from None


def as_dtype(dtype: Any) -> DType:
    """A DType from a DType, a name, a Python type (float, int, bool) or a NumPy dtype."""
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str):
        return named(dtype.rpartition(".")[2])
    if dtype is float:
        return _default
    if dtype is int:
        return int64
    if dtype is bool:
        return bool_
    return of_numpy(np.dtype(dtype))


def can_cast(source: DType, target: DType) -> bool:
    """Whether an in-place result of ``source`` may be stored as ``target``: never down a category."""
    return source.rank <= target.rank


def promote_types(a: Any, b: Any) -> DType:
    """The dtype that holds both, by PyTorch's table: a float beats any integer, an integer beats bool."""
    first, second = as_dtype(a), as_dtype(b)
    if first.rank != second.rank:
        return first if first.rank > second.rank else second
    return of_numpy(np.promote_types(first.numpy, second.numpy))


def result_type(*operands: Any) -> DType:
    """The dtype of an elementwise result.

    Operands are arrays or Python scalars. Within a category, arrays with axes outrank arrays without,
    and these outrank Python scalars, so that ``float32_tensor * 2.5`` stays float32 (PyTorch's rule).
    """
    groups: list[DType | None] = [None, None, None]  # with axes, without, Python scalars
    for operand in operands:
        if isinstance(operand, (bool, int, float)):
            level, dtype = 2, as_dtype(type(operand))
        else:
            level, dtype = (0 if operand.ndim else 1), of(operand)
        held = groups[level]
        groups[level] = dtype if held is None else promote_types(held, dtype)
    result: DType | None = None
    for dtype_of_group in groups:
        if dtype_of_group is not None and (result is None or dtype_of_group.rank > result.rank):
            result = dtype_of_group
    assert result is not None, "result_type needs an operand"
    return result
