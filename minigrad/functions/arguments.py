"""Converts the argument forms that PyTorch accepts to the single form that ops take."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import index
from typing import Any, TypeVar

import numpy as np

from ..autograd.graph import as_one
from ..autograd.tape import Variable, wrap
from ..autograd.tracebacks import wrapping
from ..backend import Device, dtype as dt, is_array, of, xp
from ..ops.half_precision import is_half
from ..ops.op import bare

Function = TypeVar("Function", bound=Callable[..., Any])
Axis = int | None
Dims = int | tuple[int, ...] | list[int] | None
Scalar = bool | int | float
Operand = Scalar | complex | np.generic | np.ndarray[Any, Any]  # or a tensor
Maybe = Any  # a dtype or a device, in any form, or None
raw = bare  # the array of a tensor; anything else unchanged


def axis(dim: int, ndim: int) -> int:
    """The non-negative index of an axis. Raises IndexError if the axis does not exist."""
    if dim.__class__ is int and -ndim <= dim < ndim:
        return dim if dim >= 0 else dim + ndim
    if not isinstance(dim, (int, np.integer)):
        raise TypeError(f"a dimension must be an int, not {type(dim).__name__} ({dim!r})")
    reach = max(ndim, 1)
    if not -reach <= dim < reach:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-reach}, {reach - 1}], but got {dim})")
    return int(dim) % reach


def axes(dim: Dims, ndim: int) -> int | tuple[int, ...] | None:
    """Normalize one or more axes. Returns None (all axes) if ``dim`` is None or empty, or the tensor is 0-d."""
    if dim is None:
        return None
    if isinstance(dim, (tuple, list)):
        places = tuple(axis(d, ndim) for d in dim)
        if len(set(places)) < len(places):
            raise RuntimeError(f"dim {dim} contains an axis twice")
        return places if places and ndim else None
    place = axis(dim, ndim)
    return place if ndim else None


def sizes(lengths: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape from separate numbers or from a single tuple, list or Size."""
    if len(lengths) == 1 and isinstance(lengths[0], (tuple, list)):
        lengths = tuple(lengths[0])
    try:
        return tuple(map(index, lengths))
    except TypeError:
        bad = [n for n in lengths if not hasattr(n, "__index__")]
        if not bad:
            raise
        raise TypeError(f"a shape must consist of ints, not {type(bad[0]).__name__} ({bad[0]!r})") from None


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape to which these shapes broadcast. Raises RuntimeError if they are incompatible."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " and ".join(str(list(shape)) for shape in shapes)
        raise RuntimeError(f"tensors of shapes {text} cannot be broadcast to a common shape") from None


def operand(other: Any, like: Variable) -> Any:
    """Convert a second operand to a tensor or a Python scalar. Returns NotImplemented for any other type."""
    if isinstance(other, Variable):
        return other
    if isinstance(other, np.generic):
        return other.item()
    if isinstance(other, (bool, int, float, complex)):
        return other
    if is_array(other):
        return wrap(other)
    return NotImplemented


def scaled(x: Any, factor: Any) -> Any:
    """factor · x in the dtype of x. The factor is truncated if x has integers, and converted to bool if x has bools."""
    kind = x.array.dtype.kind
    if kind == "b":
        return x & bool(factor)
    factor = int(factor) if kind in "iu" else factor
    return x if factor == 1 else x * factor


def as_tensor_like(value: Any, like: Variable) -> Variable:
    """Convert a tensor, an array, a scalar or nested lists to a tensor on the device of ``like``."""
    if isinstance(value, Variable):
        return value
    backend = of(like.array)
    array = value if isinstance(value, backend.array_type) else to_array(value, None, backend.device_of(like.array))
    return wrap(array)


def to_array(data: Any, dtype: Any, device: Device | None) -> Any:
    """An array from nested lists, scalars, tensors and arrays. Floats get the default dtype and ints int64; arrays keep
    their dtype. Raises ValueError if nested lists differ in length, and TypeError if an element is not a number."""
    from ..backend import for_device

    data = raw(data)
    if not is_array(data):
        narrow = dtype is not None and isinstance(dt.as_dtype(dtype), dt.ExtraDType)
        data = _from_python(data, dt.float32 if narrow else dtype)  # NumPy cannot convert every number to bfloat16
    if dtype is not None:
        data = dt.converted(data, dt.as_dtype(dtype).numpy)
    dt.of(data)
    backend = of(data)
    if device is not None and device != backend.device_of(data):
        target = for_device(device)
        data = target.asarray(backend.to_numpy(data), device)
    return data


def _unequal(data: Any, depth: int = 0) -> str:
    lengths = [len(part) if isinstance(part, (list, tuple)) else None for part in data]
    other = next((n for n in lengths if n != lengths[0]), lengths[0])
    if other != lengths[0]:
        kinds = ["a number" if n is None else f"a list of length {n}" for n in (lengths[0], other)]
        return f"dim {depth + 1} contains {kinds[0]} and {kinds[1]}"
    parts = (_unequal(part, depth + 1) for part in data if isinstance(part, (list, tuple)))
    return next((text for text in parts if text), "") or (f"those at dim {depth} differ" if depth == 0 else "")


def _from_python(data: Any, dtype: Any) -> Any:
    if isinstance(data, (list, tuple)):
        data = _plain(data)
    if isinstance(data, range):
        data = list(data)
    try:
        array = np.array(data, dtype=None if dtype is None else dt.as_dtype(dtype).numpy)
    except OverflowError:  # negative numbers wrap modulo 2ⁿ for unsigned dtypes
        kind, array = dt.as_dtype(dtype).numpy, np.array(data, dtype=object)
        limits = np.iinfo(kind)
        for number in array.flat:
            if not (-limits.max if limits.min == 0 else limits.min) <= number <= limits.max:
                raise RuntimeError(f"value {number} cannot be converted to type {kind} without overflow") from None
        array = (array % (int(limits.max) + 1)).astype(kind)
    except ValueError as error:
        if "cannot convert float" in str(error):
            raise RuntimeError(f"cannot make a tensor of {dtype}: {error}") from None
        raise ValueError(f"cannot make a tensor: nested lists must have equal lengths, but {_unequal(data)}") from None
    wide = array.dtype.kind == "O" and array.size and isinstance(array.flat[0], int)
    if wide or (array.dtype == np.uint64 and dtype is None):
        raise ValueError(f"cannot make a tensor: an integer does not fit in 64 bits ({data!r:.80})")
    if data is None:
        raise RuntimeError("cannot make a tensor of None: could not infer dtype of NoneType")
    if dt.kind_of(array) not in "bifuc":
        raise TypeError(f"cannot make a tensor of {type(data).__name__}: its elements are not numbers ({data!r:.80})")
    if dtype is None and array.dtype.kind == "i" and not _holds_numpy(data):
        array = dt.counted(array)
    if dtype is None and array.dtype.kind == "f" and (array.size == 0 or not _holds_numpy(data)):
        array = array.astype(dt.get_default_dtype().numpy)
    if dtype is None and array.dtype.kind == "c" and not _holds_numpy(data):
        array = array.astype(dt.get_default_dtype().to_complex().numpy)
    return array


_NUMBERS = frozenset((bool, int, float, complex))


def _plain(data: Any) -> Any:
    """Nested lists in which tensors are replaced by NumPy arrays, or by numbers if they have one element."""
    if isinstance(data, Variable):
        return data.array.item() if data.array.size == 1 else of(data.array).to_numpy(data.array)
    if not isinstance(data, (list, tuple)) or _NUMBERS.issuperset(map(type, data)):
        return data
    return [_plain(item) for item in data]


def _holds_numpy(data: Any) -> bool:
    """Whether nested lists begin with a NumPy value, which then determines the tensor's dtype."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic))


def ordered(function: Function) -> Function:
    """Decorate a comparison so that it raises an error for complex tensors, which have no order."""

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for a in args:
            if isinstance(a, Variable) and a.array.dtype.kind == "c":
                problem = "is not implemented for complex tensors, which have no order"
                raise NotImplementedError(f"{function.__name__} {problem}: use .abs(), .real or .imag")
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


def scalars_as_vectors(function: Function) -> Function:
    """Let a function with a ``dim`` accept 0-d tensors. The result is 0-d (in ``gather``, it has the index's shape)."""
    shaped_by_index = function.__name__ in ("gather", "take_along_dim")

    @wraps(function)
    def with_an_axis(input: Any, *args: Any, **kwargs: Any) -> Any:
        if input.array.ndim:
            return function(input, *args, **kwargs)
        operands = [v for v in (*args, *kwargs.values()) if isinstance(v, Variable)]
        result = function(_vector(input), *map(_vector, args), **{name: _vector(v) for name, v in kwargs.items()})
        keep = shaped_by_index and any(v.array.ndim for v in operands)
        return result if keep else _scalar(result)

    return with_an_axis  # type: ignore[return-value]


def _vector(value: Any) -> Any:
    return value.reshape(1) if isinstance(value, Variable) and not value.array.ndim else value  # type: ignore[attr-defined]


def _scalar(result: Any) -> Any:
    if isinstance(result, tuple):
        return type(result)(*map(_scalar, result))
    return result.reshape(()) if result.array.size == 1 else result


def index_tensor(index: Any, like: Any, name: str) -> Any:
    """An index as a Tensor. Raises RuntimeError unless it has an integer dtype and is on the device of ``like``."""
    if not isinstance(index, Variable):
        index = wrap(index if is_array(index) else xp(like).asarray(np.asarray(index)))
    if index.array.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: expected an index tensor of an integer dtype, not {dt.of(index.array)}")
    same_device(index.array, like, name)
    return index


def same_device(array: Any, like: Any, name: str) -> Any:
    """Return the array after checking that it is on the same device as ``like``."""
    if not isinstance(array, of(like).array_type):
        devices = f"{of(like).device_of(like)} and {of(array).device_of(array)}; move one with .to(device)"
        raise RuntimeError(f"{name}: expected all tensors to be on the same device, but found {devices}")
    return array


def rounded_once(function: Function) -> Function:
    """Compute a function of several ops in float32 for 16-bit inputs, and round only its results, as a kernel does."""
    return _rounding(function, of_products=False)


def products_rounded_once(function: Function) -> Function:
    """Like ``rounded_once`` on a CPU. On a GPU, each op rounds its result, since 16-bit matrix products are faster."""
    return _rounding(function, of_products=True)


# These functions are single ops in PyTorch, so their graph nodes get PyTorch's names.
_ONE_NODE = {"addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "affine_grid", "baddbmm", "binary_cross_entropy"}
_ONE_NODE |= {"cdist", "glu", "huber_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "pdist"}
_ONE_NODE |= {"renorm", "smooth_l1_loss", "soft_margin_loss"}


def _named(function: Any) -> Any:
    """Name the last graph node of a function of several ops as if the function were a single op."""
    name = "".join(map(str.capitalize, function.__name__.split("_"))).replace("Grid", "GridGenerator")
    return wrapping(lambda *args, **kwargs: as_one(function(*args, **kwargs), f"{name}Backward0"), function)


def _rounding(function: Any, of_products: bool) -> Any:
    function = _named(function) if function.__name__ in _ONE_NODE else function

    def once(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Variable) and args[0].array.dtype.itemsize != 2:
            return function(*args, **kwargs)
        arrays = [v.array for v in (*args, *kwargs.values()) if isinstance(v, Variable)]
        if not any(is_half(x.dtype) for x in arrays) or (of_products and of(arrays[0]).device_type != "cpu"):
            return function(*args, **kwargs)
        kind = dt.result_type(*arrays)
        result = function(*map(in_float32, args), **{name: in_float32(v) for name, v in kwargs.items()})
        if kind not in (dt.float16, dt.bfloat16):
            return result
        return tuple(_as(kind, part) for part in result) if result.__class__ is tuple else _as(kind, result)

    return wrapping(once, function)


def _as(kind: Any, result: Any) -> Any:
    return result.to(kind) if hasattr(result, "array") and result.dtype is dt.float32 else result


def in_float32(x: Any) -> Any:
    """Convert a 16-bit tensor to float32, and return anything else unchanged."""
    return x.to(dt.float32) if hasattr(x, "array") and is_half(x.array.dtype) else x
