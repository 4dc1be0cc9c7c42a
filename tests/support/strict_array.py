"""An array that raises a CuPy array's errors, on NumPy's memory: ``StrictArray``, and ``Namespace``.

A program that mixes host and device, or relies on features that only NumPy has, fails here as it would on a GPU:

- no implicit conversion to NumPy, no NumPy arrays among the operands (NumPy scalars are welcome);
- no function, keyword or method that CuPy lacks (``cupy_names.json``), no Python lists as operands;
- results are arrays, even without axes: they never turn into scalars implicitly.

As on a GPU, views share memory, and ``base`` is their owner. New memory from ``empty`` is poisoned.
"""

from __future__ import annotations

import json
import operator
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from . import cuda_emulator, cupy_names
from .cupy_numbers import FORMULAS, flushed
from .launches import launched, synchronized

Ndarray = Any  # a numpy.ndarray
NAMES: dict[str, Any] = json.loads(cupy_names.FILE.read_text())
_SCALARS = (bool, int, float, complex, np.generic)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# functions that take sequences of arrays, that make arrays of anything, and that return plain Python values
_TAKE_SEQUENCES = _words("block broadcast_arrays column_stack concatenate dstack einsum hstack meshgrid stack vstack")
_CONVERT = _words("array asanyarray asarray ascontiguousarray asfortranarray")
_PLAIN = _words(
    """broadcast_shapes can_cast common_type isscalar issubdtype may_share_memory min_scalar_type ndim promote_types
    result_type shape shares_memory size"""
)
_TAKE_SHAPES = _words(
    """arange broadcast_shapes empty eye full identity indices linspace logspace ones tri tril_indices triu_indices
    zeros"""
)
# methods and functions whose result shape depends on values: CuPy synchronises for it
_WAIT = frozenset({"argwhere", "extract", "flatnonzero", "nonzero", "unique"})
_WRITE_BY_INDEX = frozenset({"put", "put_along_axis"})  # CuPy has them; here x[index] = y handles repeats
_owners: weakref.WeakValueDictionary[int, StrictArray] = weakref.WeakValueDictionary()


class Device:
    """The device of every strict array; stands in for ``cupy.cuda.Device``."""

    id = 0

    def __init__(self) -> None:
        self.attributes = {"MaxSharedMemoryPerBlockOptin": 227 * 1024}  # a Hopper

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


DEVICE = Device()


def _attribute(name: str) -> property:
    return property(lambda self: getattr(self._array, name))


def _view(name: str) -> property:
    return property(lambda self: wrap(getattr(self._array, name)))


def _on_host(name: str) -> Callable[..., Any]:
    """A method that reads the numbers."""

    def method(self: StrictArray, *args: Any) -> Any:
        synchronized(name.strip("_"))
        return getattr(self._array, name)(*args)

    return method


class StrictArray:
    """A NumPy array with CuPy's interface. ``get()`` converts it back to NumPy."""

    __slots__ = ("__weakref__", "_array", "_base")
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100

    def __init__(self, array: Ndarray, base: StrictArray | None = None) -> None:
        if type(array) is not np.ndarray or (array.dtype.kind not in "?biufc" and array.dtype.name != "bfloat16"):
            raise TypeError(f"Unsupported type {type(array)} or dtype {getattr(array, 'dtype', None)}")
        self._array = array
        self._base = base

    def emulator_array(self) -> Ndarray:
        """The memory itself, only for the emulator of kernels."""
        return self._array

    # to NumPy and Python, on demand only

    def get(self) -> Ndarray:
        synchronized("get")
        return self._array.copy()

    def __array__(self, *args: Any, **kwargs: Any) -> Ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        return getattr(NAMESPACE, ufunc.__name__)(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return getattr(NAMESPACE, function.__name__)(*args, **kwargs)

    # what it is

    shape: Any = _attribute("shape")
    dtype: Any = _attribute("dtype")
    ndim: Any = _attribute("ndim")
    size: Any = _attribute("size")
    strides: Any = _attribute("strides")
    itemsize: Any = _attribute("itemsize")
    nbytes: Any = _attribute("nbytes")

    @property
    def base(self) -> StrictArray | None:
        return self._base

    @property
    def data(self) -> Any:
        address = self._array.ctypes.data
        if self.size:  # the address of an empty array must not be read
            cuda_emulator.at_address[address] = self
        return SimpleNamespace(ptr=address)

    @property
    def device(self) -> Device:
        return DEVICE

    @property
    def flags(self) -> Any:
        c, f = self._array.flags.c_contiguous, self._array.flags.f_contiguous
        return SimpleNamespace(c_contiguous=c, f_contiguous=f, owndata=self._base is None)

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[StrictArray]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    # its elements

    def __getitem__(self, index: Any) -> Any:
        whole = index if isinstance(index, tuple) else (index,)
        arrays = any(isinstance(i, (StrictArray, np.ndarray, list)) for i in whole)
        if arrays:
            launched("getitem")
        if any(isinstance(i, StrictArray) and i.dtype == bool for i in whole):
            synchronized("a mask as index")
        if not arrays and not any(i is Ellipsis for i in whole):
            whole = (*whole, Ellipsis)  # a view where NumPy would return a scalar
        return wrap(np.asarray(self._array[_index(whole, self.shape)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        launched("setitem")
        whole = _index(index, self.shape)
        if not any(isinstance(i, np.ndarray) and not _is_mask(i) for i in whole):
            self._array[whole] = _operand(value)
            return
        # On a GPU any of several values for one element may win. Here the first wins, in NumPy the last.
        places = np.arange(self.size).reshape(self.shape)[whole]
        values = np.broadcast_to(_operand(value), places.shape)
        self._array.flat[places.flatten()[::-1]] = values.flatten()[::-1]

    def fill(self, value: Any) -> None:
        if isinstance(value, (np.ndarray, StrictArray)) and value.ndim:
            raise TypeError("fill takes a scalar")
        launched("fill")
        self._array.fill(value.item() if isinstance(value, StrictArray) else value)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return wrap, (self._array.copy(),)

    def copy(self, order: Any = "C") -> Any:
        return _new("copy", wrap(self._array.copy(order)), self)

    def astype(self, dtype: Any, order: Any = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        change = (lambda x: x) if self.dtype == dtype else flushed
        result = wrap(change(change(self._array).astype(dtype, order=order, copy=copy)), self)
        return _new("astype", result, self)

    def view(self, dtype: Any = None) -> Any:
        return wrap(self._array.view() if dtype is None else self._array.view(dtype))

    def take(self, indices: Any, axis: Any = None, out: Any = None) -> Any:
        launched("take")
        into = None if out is None else out._array
        elements = wrap(np.asarray(self._array.take(_index(indices, ())[0], axis, into, mode="wrap")))
        return elements if out is None else out

    def scatter_add(self, index: Any, value: Any) -> None:
        if self._array.dtype.char not in "iIefdQ":
            raise TypeError("scatter_add only supports int32, float16, float32, float64, uint32, uint64")
        launched("scatter_add")
        np.add.at(self._array, _index(index, self.shape), _operand(value))


def wrap(result: Any, *sources: Any) -> Any:
    """NumPy's result as CuPy would return it: the unchanged source itself, a view, or a new array."""
    if isinstance(result, (tuple, list)):
        return type(result)(wrap(r, *sources) for r in result)
    if isinstance(result, (np.generic, bool)):
        result = np.asarray(result)
    if type(result) is not np.ndarray:
        return result
    for source in sources:
        if isinstance(source, StrictArray) and result is source._array:
            return source
    owner = result
    while type(owner.base) is np.ndarray:
        owner = owner.base
    base = _owners.get(id(owner))
    array = StrictArray(result, base)
    if base is None:
        _owners[id(owner)] = array
    return array


def _new(name: str, result: Any, *sources: StrictArray) -> Any:
    """The result of an operation, which is counted as a launch unless all of it is a view of a source."""
    arrays = result if isinstance(result, (tuple, list)) else [result]
    memory = [s._array for s in sources]
    if not all(any(np.may_share_memory(a._array, m) for m in memory) for a in arrays if isinstance(a, StrictArray)):
        launched(name)
    return result


def _operand(value: Any) -> Any:
    """A valid operand of an operator or function: a strict array or a scalar."""
    if isinstance(value, StrictArray):
        return value._array
    if isinstance(value, _SCALARS):
        return value
    raise TypeError(f"Unsupported type {type(value)}")


def _index(index: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index as NumPy takes it. CuPy converts NumPy arrays and lists here, and their integers are never out of range:
    they wrap around the axis."""
    whole = index if isinstance(index, tuple) else (index,)
    arrays = (i._array if isinstance(i, StrictArray) else i for i in whole)
    parts = [np.asarray(i) if i.__class__ is list and i else i for i in arrays]
    axes_used = [i.ndim if _is_mask(i) else i is not None and i is not Ellipsis for i in parts]
    axis = 0
    for n, part in enumerate(parts):
        if part is Ellipsis:
            axis = len(shape) - sum(axes_used[n:])
        elif isinstance(part, np.ndarray) and part.dtype.kind in "iu" and axis < len(shape):
            parts[n] = part.astype(np.int64) % max(shape[axis], 1)
        axis += axes_used[n]
    return tuple(parts)


def _is_mask(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == bool


def _binary(function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[StrictArray, Any], Any]:
    def method(self: StrictArray, other: Any) -> Any:
        if not isinstance(other, (StrictArray, np.ndarray, *_SCALARS)):
            return NotImplemented
        launched(function.__name__)
        mine, others = flushed(self._array), flushed(_operand(other))
        if function is operator.matmul and mine.itemsize == 2:
            return _half_product(others, mine) if swapped else _half_product(mine, others)
        with _refusing(function.__name__):
            return wrap(flushed(np.asarray(function(others, mine) if swapped else function(mine, others))))

    return method


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """No warnings, as on a GPU, and errors about dtypes in CuPy's words."""
    try:
        with np.errstate(all="ignore"):
            yield
    except TypeError as error:
        if "not supported for the input types" in str(error):
            raise TypeError(f"Wrong type of arguments for cupy_{name}") from None
        raise


def _unary(function: Callable[[Any], Any]) -> Callable[[StrictArray], Any]:
    def method(self: StrictArray) -> Any:
        launched(function.__name__)
        return wrap(flushed(np.asarray(function(self._array))))

    return method


def _half_product(a: Ndarray, b: Ndarray) -> Any:
    """16-bit products are summed in float32. CuPy 14.2 has no batched products of bfloat16."""
    if a.dtype.name == "bfloat16" and max(a.ndim, b.ndim) > 2:
        raise TypeError("dtype is not supported: bfloat16")
    with np.errstate(all="ignore"):
        return wrap(np.matmul(a, b, dtype=np.float32).astype(a.dtype) if a.dtype == b.dtype else a @ b)


def _inplace(ufunc: Any) -> Callable[[StrictArray, Any], StrictArray]:
    def method(self: StrictArray, other: Any) -> Any:
        launched(ufunc.__name__)
        with np.errstate(all="ignore"):
            ufunc(flushed(self._array), flushed(_operand(other)), out=self._array)
            flushed(self._array, in_place=True)
        return self

    return method


def _by_function(name: str, parameters: tuple[str, ...]) -> Callable[..., Any]:
    """A method that behaves like NumPy's, with CuPy's parameters."""

    def method(self: StrictArray, *args: Any, **kwargs: Any) -> Any:
        unknown = [k for k in kwargs if k not in parameters]
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}")
        keywords = {k: _plain_arrays((v,))[0] for k, v in kwargs.items()}
        if name in _WAIT:
            synchronized(name)
        with np.errstate(all="ignore"):
            takes_any = name in ("argmax", "argmin") and self.dtype.kind == "f"
            array = _last_nan_wins(name, self._array, *args, **kwargs) if takes_any else self._array
            result = getattr(array, name)(*_plain_arrays(args), **keywords)
        return _new(name, wrap(result, self, *kwargs.values()), self)

    return method


def _last_nan_wins(name: str, x: Ndarray, axis: int | None = None, **options: Any) -> Ndarray:
    """Numbers that make ``argmax`` or ``argmin`` return the last NaN: a GPU may return any."""
    missing, number = np.isnan(x), np.arange(1, x.size + 1).reshape(x.shape)
    return np.where(missing.any(axis, keepdims=True), missing * (number if name == "argmax" else -number), x)


def _plain_arrays(args: tuple[Any, ...]) -> tuple[Any, ...]:
    for a in args:
        if isinstance(a, np.ndarray):
            raise TypeError(f"Unsupported type {type(a)}")
    return tuple(a._array if isinstance(a, StrictArray) else a for a in args)


_OPERATORS = _words("add and floordiv lshift matmul mod mul or pow rshift sub truediv xor")
_INPLACE = {"iadd": np.add, "isub": np.subtract, "imul": np.multiply, "itruediv": np.true_divide, "ipow": np.power}
_INPLACE |= {"ifloordiv": FORMULAS["floor_divide"], "imod": FORMULAS["remainder"]}
_INPLACE |= {"iand": np.bitwise_and, "ior": np.bitwise_or, "ixor": np.bitwise_xor}
_METHODS = {  # by CuPy's parameters
    "": "conj nonzero transpose",
    "axis": "argsort sort squeeze",
    "axis dtype out": "cumprod cumsum",
    "axis dtype out ddof keepdims": "std var",
    "axis dtype out keepdims": "argmax argmin mean prod sum",
    "axis out keepdims": "all any max min",
    "axis1 axis2": "swapaxes",
    "b out": "dot",
    "decimals out": "round",
    "min max out": "clip",
    "offset axis1 axis2": "diagonal",
    "offset axis1 axis2 dtype out": "trace",
    "order": "flatten ravel reshape",
    "repeats axis": "repeat",
    "v side sorter": "searchsorted",
}
_ON_HOST = _words("item tolist tobytes __bool__ __int__ __float__ __repr__ __str__ __format__")


def _fill_in() -> None:
    for name in _OPERATORS:
        function = _INPLACE[f"i{name}"] if name in ("floordiv", "mod") else getattr(operator, f"__{name}__")
        setattr(StrictArray, f"__{name}__", _binary(function, swapped=False))
        setattr(StrictArray, f"__r{name}__", _binary(function, swapped=True))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(StrictArray, f"__{name}__", _binary(getattr(operator, f"__{name}__"), swapped=False))
    for name, ufunc in _INPLACE.items():
        setattr(StrictArray, f"__{name}__", _inplace(ufunc))
    for name in ("neg", "pos", "abs", "invert"):
        function = getattr(operator, f"__{name}__")
        setattr(StrictArray, f"__{name}__", _unary(function))
    for parameters, names in _METHODS.items():
        for name in names.split():
            setattr(StrictArray, name, _by_function(name, tuple(parameters.split())))
    for name in _ON_HOST:
        setattr(StrictArray, name, _on_host(name))
    for name in ("T", "mT", "real", "imag"):
        setattr(StrictArray, name, _view(name))


def _as_strided(x: StrictArray, shape: Any, strides: Any) -> Any:
    array = np.lib.stride_tricks.as_strided(x._array, shape, strides)
    return StrictArray(array, x if x.base is None else x.base)


class Namespace:
    """Stands in for the module ``cupy``: NumPy's functions that CuPy has, with CuPy's parameters."""

    ndarray = StrictArray
    RawModule = cuda_emulator.RawModule

    def __init__(self) -> None:
        for name in NAMES["constants"]:
            value = getattr(np, name, None)
            kinds = (np.generic, np.finfo, np.iinfo, np.dtype)
            is_dtype = isinstance(value, type) and issubclass(value, kinds)
            if is_dtype or isinstance(value, float) or name == "newaxis":
                setattr(self, name, value)
        transform = ["a", "n", "axis", "norm"]  # the parameters of CuPy's
        self.lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided))
        self.fft = SimpleNamespace(fft=Function("fft", transform, np.fft), ifft=Function("ifft", transform, np.fft))

    def __getattr__(self, name: str) -> Any:
        exists = name in NAMES["functions"] and hasattr(np, name)
        if name.startswith("_") or not exists or name in _WRITE_BY_INDEX:
            raise AttributeError(f"the strict stand-in for CuPy has no {name!r}")
        function = Function(name, NAMES["functions"][name])
        setattr(self, name, function)
        return function

    def asnumpy(self, a: StrictArray) -> Ndarray:
        return a.get()

    def empty(self, shape: Any, dtype: Any = float, order: Any = "C") -> Any:
        return wrap(_poisoned(np.empty(shape, dtype, order)))

    def empty_like(
        self, a: StrictArray, dtype: Any = None, order: Any = "K", subok: Any = None, shape: Any = None
    ) -> Any:
        return wrap(_poisoned(np.empty_like(_operand(a), dtype, order, shape=shape)))


class Function:
    """A function of the namespace: NumPy's, after CuPy's objections."""

    def __init__(self, name: str, parameters: list[str], source: Any = np) -> None:
        self.name, self.__name__, self.parameters = name, name, parameters
        self.numpy = getattr(source, name)
        self.formula = FORMULAS.get(name, self.numpy)

    def __repr__(self) -> str:
        return f"<strict {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check(args, kwargs)
        sources: list[StrictArray] = []
        plain = [self._unwrap(a, sources) for a in args]
        keywords = {k: self._unwrap(v, sources) for k, v in kwargs.items()}
        if self.name == "argsort":
            keywords["kind"] = "stable"  # CuPy's only one
        if self.name == "take":
            keywords["mode"] = "wrap"  # CuPy's only one
        count = self.numpy.nin if isinstance(self.numpy, np.ufunc) else 0
        with _refusing(self.name):
            result = self.formula(*map(flushed, plain[:count]), *plain[count:], **keywords)
        if self.name in _PLAIN:
            return result
        for part in (result if isinstance(result, tuple) else (result,)) if count else ():
            flushed(part, in_place=True)
        if self.name in _WAIT:
            synchronized(self.name)
        origins = () if kwargs.get("out") is not None else sources  # it writes to an output, and returns no view
        return _new(self.name, wrap(np.asarray(result) if isinstance(result, int) else result, *sources), *origins)

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if "*" not in self.parameters and len(args) > len(self.parameters):
            raise TypeError(f"cupy.{self.name} takes {len(self.parameters)} arguments, not {len(args)}")
        for k in kwargs:
            if k not in self.parameters and "**" not in self.parameters:
                raise TypeError(f"cupy.{self.name} got an unexpected keyword argument {k!r}")
        if self.name == "unique" and kwargs.get("axis") is not None:
            raise TypeError("cupy.unique along an axis is wrong where a difference of two numbers overflows")
        if self.name == "argpartition" and np.isnan(args[0]._array).any():
            raise ValueError("cupy.argpartition does not put NaN last")
        if self.name.startswith("logical_") and any(isinstance(a, StrictArray) and a.dtype.kind == "c" for a in args):
            raise TypeError(f"Wrong type for cupy_{self.name}: complex numbers")
        is_ufunc = isinstance(self.numpy, np.ufunc)
        if self.name in _CONVERT | _PLAIN | _TAKE_SHAPES:
            return
        for a in args if is_ufunc else args[:1]:
            if isinstance(a, (list, tuple)) and self.name not in _TAKE_SEQUENCES:
                raise TypeError(f"cupy.{self.name}: Unsupported type {type(a)}")
            if isinstance(a, _SCALARS) and not is_ufunc and self.parameters[:1] in (["a"], ["condition"]):
                raise TypeError(f"cupy.{self.name}: Unsupported type {type(a)}")

    def _unwrap(self, value: Any, sources: list[StrictArray]) -> Any:
        if isinstance(value, StrictArray):
            sources.append(value)
            return value._array
        if isinstance(value, np.ndarray):
            if self.name not in _CONVERT:
                raise TypeError(f"cupy.{self.name}: Unsupported type {type(value)}")
            return value.copy()
        if isinstance(value, (list, tuple)):
            return type(value)(self._unwrap(v, sources) for v in value)
        return value

    def at(self, a: StrictArray, indices: Any, b: Any) -> None:
        """``cupy.add.at`` and similar methods, in place."""
        if self.name not in ("add", "subtract", "maximum", "minimum"):
            raise NotImplementedError(f"cupy.{self.name}.at")
        if a.dtype.char not in "iIefdQ":
            raise TypeError(f"cupy.{self.name}.at does not take {a.dtype}")
        launched(f"{self.name}.at")
        self.numpy.at(a._array, _index(indices, a.shape), _operand(b))


def _poisoned(array: Ndarray) -> Ndarray:
    array.fill(np.nan if array.dtype.kind in "fc" else True if array.dtype.kind == "b" else 77)
    return array


_fill_in()
NAMESPACE = Namespace()
