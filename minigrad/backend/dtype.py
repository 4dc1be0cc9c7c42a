"""Number formats: PyTorch's names for NumPy's types, and PyTorch's type promotion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .order import CHANNELS_LAST

# The public names, which ``minigrad`` also exports.
__all__ = ["bfloat16", "can_cast", "channels_last", "channels_last_3d", "complex128", "complex64", "contiguous_format"]
__all__ += ["finfo", "float16", "float32", "float4_e2m1fn_x2", "float64", "float8_e4m3fn", "float8_e4m3fnuz"]
__all__ += ["float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "get_default_dtype", "iinfo", "int16", "int32", "int64"]
__all__ += ["int8", "layout", "memory_format", "preserve_format", "promote_types", "set_default_dtype", "strided"]
__all__ += ["uint16", "uint32", "uint64", "uint8"]

Array = Any  # a numpy.ndarray or a cupy.ndarray, which share an interface but not a base class
_library = "minigrad"  # the library's name in the repr of dtypes and similar objects


def shown(name: str) -> str:
    """A name with the library's prefix for ``repr``: "minigrad.float32", or "torch.float32" in a PyTorch program."""
    return f"{_library}.{name}"


def show_as(library: str) -> str:
    """Set the library's name in the repr of dtypes and sizes. Returns the old name."""
    global _library
    before, _library = _library, library
    return before


class DType:
    """A number format, such as ``minigrad.float32``. Each format is a single object, so compare with ``is`` or ``==``.

    Attributes:
        name: "float32", ...
        numpy: the NumPy dtype.
        itemsize: bytes per element.
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
        return shown(self.name)

    def to_complex(self) -> DType:
        """The complex dtype whose parts have this dtype: complex128 for float64, otherwise complex64."""
        return complex128 if self in (float64, complex128) else complex64

    def refused_on(self, device_type: str) -> TypeError:
        """The error for an array of this format on a device whose library lacks it."""
        return TypeError(f"{self.name} tensors are not supported on {device_type!r}: use float16 or float32")

    def __reduce__(self) -> tuple[Any, ...]:
        return (named, (self.name,))


class ExtraDType(DType):
    """A floating-point format that NumPy lacks, from the ml_dtypes package. Its name and limits are available without
    the package, which is imported when the first array of the format is created. Its NumPy dtype has kind "V"."""

    __slots__ = ()

    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize, self.rank = name, itemsize, 2
        self.is_floating_point, self.is_complex, self.is_signed = True, False, name != "float8_e8m0fnu"

    @property
    def numpy(self) -> Any:  # type: ignore[override]
        """The NumPy dtype. Raises TypeError if the package is not installed."""
        try:
            import ml_dtypes
        except ImportError:
            from .extras import how_to_install

            command = how_to_install("ml_dtypes")
            raise TypeError(f"{self.name} tensors need the ml_dtypes package: {command}, or use float32") from None
        return _PAIRS if self is float4_e2m1fn_x2 else np.dtype(getattr(ml_dtypes, self.name))

    @property
    def is_available(self) -> bool:
        """Whether the package is installed."""
        from importlib.util import find_spec  # imported here, as few programs need it

        return find_spec("ml_dtypes") is not None


# rank: the category for promotion (bool < integer < float), as in PyTorch
bool_ = DType("bool", 0)
uint8, int8, int16, int32, int64 = (DType(n, 1) for n in ("uint8", "int8", "int16", "int32", "int64"))
float16, float32, float64 = (DType(n, 2) for n in ("float16", "float32", "float64"))
uint16, uint32, uint64 = (DType(n, 1) for n in ("uint16", "uint32", "uint64"))  # storage only, as in PyTorch
bfloat16 = ExtraDType("bfloat16", 2)
float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2 = (
    ExtraDType(f"float{n}", 1) for n in ("8_e4m3fn", "8_e4m3fnuz", "8_e5m2", "8_e5m2fnuz", "8_e8m0fnu", "4_e2m1fn_x2")
)
_SHORT = np.dtype(np.intp).itemsize < 8
_PAIRS = np.dtype("V1")  # bytes of two 4-bit numbers, which are only stored
_UNSIGNED = (uint16, uint32, uint64)
# For the ml_dtypes formats: the distance from 1 to the next number, the largest number, and the smallest normal number.
_LIMITS = {
    "bfloat16": (2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126),
    "float8_e4m3fn": (2.0**-3, 448.0, 2.0**-6),
    "float8_e4m3fnuz": (2.0**-3, 240.0, 2.0**-7),
    "float8_e5m2": (2.0**-2, 57344.0, 2.0**-14),
    "float8_e5m2fnuz": (2.0**-3, 57344.0, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127),
}
_EIGHT_BITS = (float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)
STORED: tuple[DType, ...] = (*_UNSIGNED, bfloat16, *_EIGHT_BITS, float4_e2m1fn_x2)
complex64, complex128 = DType("complex64", 3), DType("complex128", 3)

ALL: tuple[DType, ...] = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64, complex64, complex128)
_OF_NUMPY: dict[Any, DType] = {d.numpy: d for d in (*ALL, *_UNSIGNED)} | {_PAIRS: float4_e2m1fn_x2}
_ALIASES = {
    "half": float16,
    "float": float32,
    "double": float64,
    "byte": uint8,
    "char": int8,
    "short": int16,
    "int": int32,
    "long": int64,
    "cfloat": complex64,
    "cdouble": complex128,
}
_NAMED: dict[str, DType] = {d.name: d for d in (*ALL, *STORED)} | _ALIASES

_default = float32
NUMBERS = (bool, int, float, complex)  # Python's


def get_default_dtype() -> DType:
    """The dtype of tensors created from Python floats."""
    return _default


def set_default_dtype(dtype: DType) -> None:
    """Set the dtype of tensors created from Python floats to a floating-point ``dtype``."""
    global _default
    dtype = as_dtype(dtype)
    if not dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {dtype}")
    _default = dtype


def named(name: str) -> DType:
    """The dtype called ``name``, which may be a PyTorch alias ("float", "long", ...)."""
    try:
        return _NAMED[name]
    except KeyError:
        raise TypeError(f"{name[:60]!r} is not a dtype: expected one of {', '.join(_NAMED)}") from None


def of(array: Array) -> DType:
    """The dtype of a backend array."""
    return of_numpy(array.dtype)


def of_numpy(dtype: Any) -> DType:
    """The DType for a NumPy dtype. Raises TypeError for dtypes that tensors do not support (strings, objects)."""
    try:
        return _OF_NUMPY[dtype]
    except KeyError:
        if dtype.name in _LIMITS:
            return _NAMED[dtype.name]
        names = ", ".join(d.name for d in ALL)
        raise TypeError(f"arrays of dtype {dtype} are not supported; convert to one of {names}") from None


def as_dtype(dtype: Any) -> DType:
    """Convert a DType, a name, a Python type or a NumPy dtype to a DType. As in PyTorch and NumPy, ``float`` means
    float64 and ``complex`` means complex128."""
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str):
        return named(dtype.rpartition(".")[2])
    return int64 if dtype is int else of_numpy(np.dtype(dtype))


def of_number(number: Any) -> DType:
    """The dtype of a Python number as an operand (for a float, the default dtype)."""
    if isinstance(number, float):
        return _default
    if isinstance(number, int):
        return bool_ if isinstance(number, bool) else int64
    return _default.to_complex() if isinstance(number, complex) else as_dtype(type(number))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether PyTorch's promotion may convert one dtype to another. It never converts to a lower category."""
    return as_dtype(from_).rank <= as_dtype(to).rank


def has_gradient(kind: np.dtype[Any]) -> bool:
    """Whether numbers of a NumPy dtype can have gradients."""
    return kind.kind in "fcV"


def kind_of(array: Array) -> str:
    """NumPy's letter for the kind of an array's numbers, but "f" for bfloat16."""
    letter: str = array.dtype.kind
    return "f" if letter == "V" else letter


@cache
def name_of(dtype: np.dtype[Any]) -> str:
    """The name of a NumPy dtype, cached because NumPy builds the name on each call."""
    return dtype.name


def counted(array: Array) -> Array:
    """Convert NumPy's indices and counts to int64, as in PyTorch. On 32-bit systems (WebAssembly), they are int32."""
    return array.astype(np.int64) if _SHORT else array


def widened(array: Array) -> Array:
    """Convert bfloat16 to float32 for NumPy's sorting and counting. Any other array stays unchanged."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def is_kept(kind: np.dtype[Any]) -> bool:
    """Whether a NumPy dtype is only for storage and conversion (8-bit and 4-bit floats)."""
    return kind.itemsize == 1 and kind.kind in "fV"


def converted(array: Array, kind: Any) -> Array:
    """``astype`` with PyTorch's rounding where ml_dtypes differs: float8_e4m3fn saturates at its largest number, and
    float8_e8m0fnu (powers of 2) ignores the sign and saturates at its smallest number."""
    if kind == _PAIRS != array.dtype:
        raise NotImplementedError("\"copy_\" not implemented for 'Float4_e2m1fn_x2'")
    name = getattr(kind, "name", "")
    if name == "float8_e4m3fn" and not is_kept(array.dtype):
        array = array.astype(np.float32).clip(-448, 448)
    if name == "float8_e8m0fnu" and not is_kept(array.dtype):
        array = np.maximum(abs(array.astype(np.float32)), np.float32(2.0**-127))
    return array.astype(kind)


def promote_types(a: Any, b: Any) -> DType:
    """The dtype to which both dtypes promote in PyTorch: complex outranks float, which outranks integers, then bool."""
    first, second = as_dtype(a), as_dtype(b)
    if float64 in (first, second) and complex64 in (first, second):
        return complex128
    kinds = {float4_e2m1fn_x2, *_EIGHT_BITS}
    for one, other in ((first, second), (second, first)) if first is not second else ():
        if one in kinds or (one in _UNSIGNED and not other.is_floating_point):
            words = "uint16, uint32, uint64 types" if kinds.isdisjoint((first, second)) else "Float8 Types"
            names = f"{first.name} and {second.name}"
            raise RuntimeError(f"Promotion for {words} is not supported, attempted to promote {names}")
    if first.rank != second.rank:
        return first if first.rank > second.rank else second
    if bfloat16 in (first, second) and first is not second:
        return float64 if float64 in (first, second) else float32
    return first if first is second else of_numpy(np.promote_types(first.numpy, second.numpy))


def result_type(*operands: Any) -> DType:
    """The dtype of an elementwise result.

    Operands are arrays or Python scalars. Within a category, arrays with axes outrank 0-d arrays, which outrank Python
    scalars, so ``float32_tensor * 2.5`` stays float32, as in PyTorch.
    """
    groups: list[DType | None] = [None, None, None]  # with axes, 0-d, Python scalars
    for operand in operands:
        if isinstance(operand, NUMBERS):
            level, dtype = 2, of_number(operand)
        else:
            level, dtype = (0 if operand.ndim else 1), of(operand)
        old = groups[level]
        groups[level] = dtype if old is None else promote_types(old, dtype)
    result: DType | None = None
    for dtype_of_group in groups:
        if dtype_of_group is not None and (result is None or dtype_of_group.rank > result.rank):
            widened = dtype_of_group.is_complex and result is not None and result.is_floating_point
            result = result.to_complex() if widened and result else dtype_of_group
    assert result is not None, "result_type needs an operand"
    return result


# Memory layouts, as names only: arrays have strides ---------------------------------------------------------


class layout:
    """PyTorch's name for how a tensor's elements are stored. ``strided`` is the only layout here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return shown(self.name)


class memory_format(layout):
    """An order of axes in memory."""

    on_use: Callable[[], None] | None = None  # on the class: called when a tensor becomes channels_last

    def order(self, ndim: int) -> tuple[int, ...] | None:
        """The axes from the outermost in memory to the innermost, or None if a tensor keeps its order. Raises
        RuntimeError if the format is for a different number of axes."""
        if self is preserve_format:
            return None
        if self is contiguous_format:
            return tuple(range(ndim))
        rank = 4 if self is channels_last else 5
        if ndim != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {self.name} format")
        if memory_format.on_use is not None:
            memory_format.on_use()
        return CHANNELS_LAST[rank]


strided = layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")


# Limits -----------------------------------------------------------------------------------------------------


class finfo:
    """The limits of a floating-point dtype (by default, the default dtype).

    Attributes:
        bits: bits per element. eps: the distance from 1 to the next larger number.
        max, min: the largest number and its negative.
        tiny, smallest_normal: the smallest positive normal number.
        resolution: 10⁻ⁿ, where n is the number of exact decimal digits.
        dtype: the dtype's name.
    """

    def __init__(self, type: Any = None) -> None:
        kind = _default if type is None else as_dtype(type)
        if kind.is_complex:  # the limits of its parts
            kind = float64 if kind is complex128 else float32
        if not kind.is_floating_point or kind is float4_e2m1fn_x2:
            raise TypeError(f"finfo() requires a floating point dtype: use iinfo for {kind}")
        self.dtype, self.bits = kind.name, kind.itemsize * 8
        if kind.name in _LIMITS:
            self.eps, self.max, self.smallest_normal = _LIMITS[kind.name]
            self.resolution = 0.01 if kind is bfloat16 else 1.0
        else:
            limits = np.finfo(kind.numpy)
            self.eps, self.max, self.resolution = (float(n) for n in (limits.eps, limits.max, str(limits.resolution)))
            self.smallest_normal = float(limits.smallest_normal)
        self.min = -self.max if kind.is_signed else self.smallest_normal
        self.tiny = self.smallest_normal

    def __repr__(self) -> str:
        fields = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in fields)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype.

    Attributes:
        bits: bits per element.
        max, min: the largest and smallest number.
        dtype: the dtype's name.
    """

    def __init__(self, type: Any) -> None:
        kind = as_dtype(type)
        if kind.rank != 1:
            raise TypeError(f"iinfo() requires an integer dtype: use finfo for {kind}")
        limits = np.iinfo(kind.numpy)
        self.dtype, self.bits = kind.name, kind.itemsize * 8
        self.max, self.min = int(limits.max), int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
