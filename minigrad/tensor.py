"""Tensor: an array, its gradient, and operators that call ops. It has no arithmetic of its own.

What a method computes stands in ``functions`` (PyTorch's names and arguments) and ``ops`` (forward and
gradient rule); how it is recorded, in ``autograd``. Here the names are brought together.
"""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import Callable, Iterator
from inspect import unwrap
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from . import autograd
from . import linalg as algebra
from .autograd import calls, graph, tape
from .autograd.calls import apply
from .autograd.inplace import mutate
from .autograd.tape import Variable, wrap
from .backend import Device, for_device, of
from .backend import dtype as dt
from .backend.dtype import DType
from .backend.random import states_are
from .functions import comparison, indexing, linalg, pointwise, random, reduction, shaping, special, statistics, typed
from .functions import complex as complex_numbers
from .functions.arguments import axis, operand, sizes
from .functions.creation import empty, full, tensor, zeros
from .functions.inplace import InPlace
from .ops import elementwise as e
from .ops.device import moved as _moved
from .ops.op import Op

Operator = Callable[["Tensor", Any], "Tensor"]
_product = unwrap(linalg.matmul)  # without a look at named arguments
Int: TypeAlias = int  # for annotations in Tensor, whose methods have the names of these types
Float: TypeAlias = float
Bool: TypeAlias = bool


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints that shows itself as PyTorch's: ``torch.Size([2, 3])``."""

    def numel(self) -> int:
        """How many elements the shape has."""
        return int(np.prod(self, dtype=np.int64))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size((*other, *self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__


_UFUNCS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "power": "pow",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "matmul": "matmul",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}
_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _address(array: Any) -> int:
    """The address of an array's first element."""
    data = getattr(array, "ctypes", None) or array.data
    return int(data.data if hasattr(data, "data") else data.ptr)


class Storage:
    """The memory behind a tensor and its views: where it lies and how large it is."""

    def __init__(self, tensor: Tensor) -> None:
        owner = tensor.array
        while getattr(owner, "base", None) is not None and hasattr(owner.base, "strides"):
            owner = owner.base
        self._owner, self.device = owner, tensor.device

    def data_ptr(self) -> int:
        """The address of its first byte."""
        return _address(self._owner)

    def nbytes(self) -> int:
        """How many bytes it has."""
        return int(self._owner.nbytes)

    size = __len__ = nbytes


def _names_device(text: Any) -> bool:
    return isinstance(text, str) and text.partition(":")[0] not in dt._NAMED


class RemovableHandle:
    """Puts a hook among ``hooks``, under a number that no other hook has had; ``remove()`` takes it away."""

    _keys = count()

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self.hooks, self.key = hooks, next(self._keys)
        hooks[self.key] = hook

    def remove(self) -> None:
        self.hooks.pop(self.key, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()


def _operator(op: Op, in_order: bool = True) -> Operator:
    """The method behind ``a + b``; of ``b + a`` where ``a`` is no tensor, if not ``in_order``."""

    def method(self: Tensor, other: Any) -> Tensor:
        if not isinstance(other, Tensor) and other.__class__ is not float:
            other = operand(other, self)
            if other is NotImplemented:
                return NotImplemented
        return apply(op, (self, other)) if in_order else apply(op, (other, self))

    method.__doc__ = op.__doc__
    return method


def _subtraction(in_order: bool = True) -> Operator:
    """The method behind ``a - b``, which takes no bools."""
    usual = _operator(e.sub, in_order)

    def method(self: Tensor, other: Any) -> Tensor:
        if self.array.dtype.kind == "b" or other.__class__ is bool:
            return pointwise.sub(self, other)  # it says what to use instead
        return usual(self, other)

    method.__doc__ = usual.__doc__
    return method


def _inplace_operator(op: Op) -> Operator:
    """The method behind ``a += b``."""

    def method(self: Tensor, other: Any) -> Tensor:
        other = operand(other, self)
        if other is NotImplemented:
            return NotImplemented
        return mutate(self, op, (self, other))

    return method


class Tensor(InPlace):
    """A multi-dimensional array on a device that can remember how it was made.

    Make one with ``minigrad.tensor(data)``; ``Tensor(data)`` gives float32, and ``Tensor(2, 3)`` a shape.

    Attributes:
        array: the NumPy or CuPy array underneath, without a copy.
        grad: the gradient that ``backward()`` has added up, of the same shape, or None.
    """

    apply = staticmethod(calls.apply)
    __array_priority__ = 1000  # NumPy leaves ``ndarray * tensor`` to the tensor

    def __new__(cls, *data: Any, **kwargs: Any) -> Tensor:
        return object.__new__(cls)

    def __init__(self, *data: Any, device: Any = None) -> None:
        if len(data) == 1 and not isinstance(data[0], (int, Size)):
            made = tensor(data[0], dtype=dt.get_default_dtype(), device=device)
        else:
            made = zeros(*(data or (0,)), device=device)
        self.array, self._version = made.array, made._version

    # What it is ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The length of each axis."""
        return Size(self.array.shape)

    @property
    def dtype(self) -> DType:
        """The number format."""
        return dt.of_numpy(self.array.dtype)

    @property
    def device(self) -> Device:
        """Where the array lives."""
        return of(self.array).device_of(self.array)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return int(self.array.ndim)

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return int(self.array.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.array.nbytes)

    @property
    def is_cpu(self) -> bool:
        """Whether the array lives in main memory."""
        return self.device.type == "cpu"

    is_sparse = is_quantized = is_meta = is_mps = is_nested = is_xla = is_mkldnn = is_xpu = False
    layout = dt.strided

    @property
    def is_cuda(self) -> bool:
        """Whether the array lives on a GPU."""
        return self.device.type == "cuda"

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one axis."""
        return self.shape if dim is None else self.array.shape[axis(dim, self.array.ndim)]

    def dim(self) -> int:
        """How many axes there are."""
        return int(self.array.ndim)

    def numel(self) -> int:
        """How many elements there are."""
        return int(self.array.size)

    nelement = numel

    ndimension = dim

    def stride(self, dim: int | None = None) -> Any:
        """Steps between neighbours along each axis, in elements."""
        steps = tuple(n // self.array.itemsize for n in self.array.strides)
        return steps if dim is None else steps[dim]

    def element_size(self) -> int:
        """Bytes an element."""
        return self.itemsize

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating-point one."""
        return bool(self.array.dtype.kind == "f")

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in the order of their indices."""
        return bool(self.array.flags.c_contiguous)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return _address(self.array)

    def storage_offset(self) -> int:
        """How many elements of its memory come before the first one."""
        owner = self.array
        while getattr(owner, "base", None) is not None and hasattr(owner.base, "strides"):
            owner = owner.base
        return (_address(self.array) - _address(owner)) // self.itemsize

    def untyped_storage(self) -> Storage:
        """The memory that the tensor shows, to be compared or measured."""
        return Storage(self)

    storage = untyped_storage

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return bool(self.array.dtype.kind == "c")

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers."""
        return self.dtype.is_signed

    def is_nonzero(self) -> bool:
        """Whether the one element is not 0."""
        return bool(self)

    def is_inference(self) -> bool:
        """Whether it was made in inference mode: never, as that makes ordinary tensors here."""
        return False

    def is_pinned(self) -> bool:
        """Whether it lies in page-locked memory: never."""
        return False

    def pin_memory(self) -> Tensor:
        """The tensor itself: memory is not page-locked here."""
        return self

    def is_shared(self) -> bool:
        """Whether other processes see its memory: never."""
        return False

    def share_memory_(self) -> Tensor:
        """The tensor itself: processes get copies here."""
        return self

    def resolve_neg(self) -> Tensor:
        """The tensor itself."""
        return self

    @property
    def real(self) -> Tensor:
        """The real part, in the same memory; of a real tensor itself."""
        return complex_numbers.real(self)

    @property
    def imag(self) -> Tensor:
        """The imaginary part, in the same memory."""
        return complex_numbers.imag(self)

    def get_device(self) -> int:
        """The GPU's number, -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    # Gradients ----------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether ops on this tensor are recorded, and ``backward`` reaches it."""
        return self._needs or self._wanted()

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if not isinstance(wanted, bool):
            raise RuntimeError("requires_grad must be a bool")
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for a gradient (or not), in place.

        Raises:
            RuntimeError: an integer or bool tensor; a tensor that ops made and that is to have none.
        """
        if requires_grad and self.array.dtype.kind not in "fc":
            raise RuntimeError(f"only Tensors of floating point dtype can require gradients, not {self.dtype}")
        if not requires_grad and self._source()[0] is not None:
            raise RuntimeError("you can only change requires_grad flags of leaf variables; use .detach() for a copy")
        self._needs = bool(requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward()`` has added up."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._grad = None
            return
        if not isinstance(value, Variable):
            kind = value.__class__.__name__
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {kind}")
        if value.array.shape != self.array.shape:
            raise RuntimeError(
                f"assigned grad has data of a different size: {list(value.array.shape)}, expected "
                f"{list(self.array.shape)}"
            )
        if value.array.dtype != self.array.dtype:
            raise RuntimeError(f"assigned grad has dtype {value.dtype}, but the tensor has {self.dtype}")
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_fn(self) -> graph.Node | None:
        """The node of the tape that made it; None for a leaf."""
        node: graph.Node | None = self._source()[0]  # type: ignore[assignment]
        return node

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made it."""
        return self._source()[0] is None

    @property
    def output_nr(self) -> int:
        """Which of its op's results it is."""
        return self._source()[1]

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add to ``.grad`` of every leaf the gradient of this tensor. See ``autograd.backward``."""
        autograd.backward(self, gradient, retain_graph, create_graph, inputs)

    def detach(self) -> Tensor:
        """The same memory without history; changes in place are still noticed."""
        made: Tensor = wrap(self.array)
        made._version = self._version
        return made

    def detach_(self) -> Tensor:
        """Forget the history, in place."""
        self._node, self._slot, self._needs, self._base = None, 0, False, None
        return self

    @property
    def data(self) -> Tensor:
        """The same memory without history; changes in place go unnoticed."""
        return wrap(self.array)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Variable):
            raise TypeError(f"Variable data has to be a tensor, but got {value.__class__.__name__}")
        self.array, self._base = value.array, None

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on a tensor that ops made."""
        node, slot = self._source()
        return node is not None and tape.RETAINED in (node.hooks or {}).get(slot, {})

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that ops made in its ``.grad``, too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node, slot = self._source()
        if node is None:
            return
        seen = weakref.ref(self)

        def keep(gradient: Tensor) -> None:
            tensor = seen()
            if tensor is not None:
                tensor._grad = gradient if tensor._grad is None else tensor._grad + gradient

        if node.hooks is None:
            node.hooks = {}
        node.hooks.setdefault(slot, {})[tape.RETAINED] = keep

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(gradient)`` whenever this tensor's gradient is complete; a result replaces it."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, slot = self._source()
        if node is None:
            if self._hooks is None:
                self._hooks = {}
            hooks = self._hooks
        else:
            if node.hooks is None:
                node.hooks = {}
            hooks = node.hooks.setdefault(slot, {})
        return RemovableHandle(hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after every change of this leaf's ``.grad`` by a ``backward``.

        Raises:
            RuntimeError: the tensor wants no gradient, or ops made it.
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if self._after is None:
            self._after = {}
        return RemovableHandle(self._after, hook)

    # Out of the library -------------------------------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The NumPy array, in the same memory.

        Raises:
            RuntimeError: the tensor requires a gradient. TypeError: it lives on a GPU. ``force`` copies.
        """
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device.type != "cpu" and not force:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                f"tensor to host memory first."
            )
        return of(self.array).to_numpy(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        return array.astype(dtype) if dtype is not None and array.dtype != dtype else array.copy() if copy else array

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's functions: operators are the tensor's own, all else is computed from the NumPy arrays."""
        if method != "__call__" or kwargs:
            return NotImplemented
        if ufunc.__name__ in _UFUNCS and len(inputs) == 2:
            name = _UFUNCS[ufunc.__name__]
            if isinstance(inputs[0], Tensor):
                return getattr(inputs[0], f"__{name}__")(inputs[1])
            name = _SWAPPED.get(name, f"r{name}")
            return getattr(self, f"__{name}__")(inputs[0])
        return wrap(ufunc(*(i.numpy() if isinstance(i, Tensor) else i for i in inputs)))

    def item(self) -> Any:
        """The one element as a Python number.

        Raises:
            RuntimeError: there is not exactly one.
        """
        if self.array.size != 1:
            raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
        return self.array.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.array.tolist()

    # Dtypes and devices -------------------------------------------------------------------------------------

    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """The tensor in another dtype, on another device, or like another tensor; maybe itself."""
        for given in args:
            if isinstance(given, Variable):
                dtype, device = dt.of(given.array), of(given.array).device_of(given.array)
            elif isinstance(given, bool) or given is None:
                continue  # non_blocking, which means nothing here
            elif isinstance(given, (Device, int)) or _names_device(given):
                device = given
            else:
                dtype = given
        out = self
        if device is not None and not self._is_on(Device(device)):
            out = apply(_moved, (out, Device(device), self.device))
        if dtype is not None and (kind := dt.as_dtype(dtype).numpy) != out.array.dtype:
            out = apply(e.cast, (out if kind.kind in "fc" else out.detach(), kind))
        return out.clone() if copy and out is self else out

    def _is_on(self, device: Device) -> Bool:
        """Whether the array lives there; "cuda" without a number means any GPU."""
        own = self.device
        return device == own or (device.index is None and device.type == own.type)

    def type(self, dtype: Any = None, non_blocking: Bool = False) -> Any:
        """As another dtype or type (``torch.FloatTensor``); without one, the name of this one's type."""
        if dtype is None:
            return typed.name_of(self.dtype, self.device.type)
        if (kind := typed.find(dtype)) is not None:
            return self.to(dtype=kind.dtype, device=kind.device_type)
        return self.to(dtype=dtype)

    def type_as(self, other: Tensor) -> Tensor:
        """In the dtype and on the device of another tensor."""
        return self.to(other)

    def cpu(self, memory_format: Any = None) -> Tensor:
        """In main memory."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Tensor:
        """On a GPU."""
        return self.to(device="cuda" if device is None else Device(device))

    def float(self, memory_format: Any = None) -> Tensor:
        """As float32."""
        return self.to(dtype=dt.float32)

    def double(self, memory_format: Any = None) -> Tensor:
        """As float64."""
        return self.to(dtype=dt.float64)

    def half(self, memory_format: Any = None) -> Tensor:
        """As float16."""
        return self.to(dtype=dt.float16)

    def long(self, memory_format: Any = None) -> Tensor:
        """As int64."""
        return self.to(dtype=dt.int64)

    def int(self, memory_format: Any = None) -> Tensor:
        """As int32."""
        return self.to(dtype=dt.int32)

    def short(self, memory_format: Any = None) -> Tensor:
        """As int16."""
        return self.to(dtype=dt.int16)

    def char(self, memory_format: Any = None) -> Tensor:
        """As int8."""
        return self.to(dtype=dt.int8)

    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """Refused: NumPy has no bfloat16 (use half() or float())."""
        return self.to(dtype=dt.bfloat16)

    def byte(self, memory_format: Any = None) -> Tensor:
        """As uint8."""
        return self.to(dtype=dt.uint8)

    def bool(self, memory_format: Any = None) -> Tensor:
        """As bool: whether each element is not 0."""
        return self.to(dtype=dt.bool_)

    # New tensors like this one ------------------------------------------------------------------------------

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Tensor:
        """A tensor from data, with this one's dtype and device unless others are given."""
        return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    def new_full(
        self,
        size: Any,
        fill_value: Any,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: Any = False,
        layout: Any = None,
        pin_memory: Any = False,
    ) -> Tensor:
        """One number in a shape, with this tensor's dtype and device unless others are given."""
        return full(
            size, fill_value, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
        )

    def new_zeros(self, *size: Any, **how: Any) -> Tensor:
        """Zeros with this tensor's dtype and device."""
        return self.new_full(sizes(size) if size else how.pop("size"), 0, **how)

    def new_ones(self, *size: Any, **how: Any) -> Tensor:
        """Ones with this tensor's dtype and device."""
        return self.new_full(sizes(size) if size else how.pop("size"), 1, **how)

    def new_empty(self, *size: Any, dtype: Any = None, device: Any = None, **how: Any) -> Tensor:
        """Unset elements with this tensor's dtype and device."""
        return empty(*size, dtype=dtype or self.dtype, device=device or self.device, **how)

    def new(self, *data: Any, device: Any = None) -> Tensor:
        """A tensor of this one's type: of sizes, or of a sequence of values (PyTorch's older spelling)."""
        make = (typed.CPU if self.device.type == "cpu" else typed.CUDA)[typed.short_name(self.dtype)]
        found: Tensor = make(*data)
        return found

    # Operators ----------------------------------------------------------------------------------------------

    __add__, __radd__ = _operator(e.add), _operator(e.add, False)
    __sub__, __rsub__ = _subtraction(), _subtraction(False)
    __mul__, __rmul__ = _operator(e.mul), _operator(e.mul, False)
    __truediv__, __rtruediv__ = _operator(e.div), _operator(e.div, False)
    __floordiv__, __rfloordiv__ = _operator(e.floor_divide), _operator(e.floor_divide, False)
    __mod__, __rmod__ = _operator(e.remainder), _operator(e.remainder, False)
    __pow__, __rpow__ = _operator(e.pow), _operator(e.pow, False)
    __lshift__, __rlshift__ = _operator(e.bitwise_left_shift), _operator(e.bitwise_left_shift, False)
    __rshift__, __rrshift__ = _operator(e.bitwise_right_shift), _operator(e.bitwise_right_shift, False)
    __and__, __rand__ = _operator(e.bitwise_and), _operator(e.bitwise_and, False)
    __or__, __ror__ = _operator(e.bitwise_or), _operator(e.bitwise_or, False)
    __xor__, __rxor__ = _operator(e.bitwise_xor), _operator(e.bitwise_xor, False)
    __eq__ = _operator(e.eq)  # type: ignore[assignment]
    __ne__ = _operator(e.ne)  # type: ignore[assignment]
    __lt__, __le__ = _operator(e.lt), _operator(e.le)
    __gt__, __ge__ = _operator(e.gt), _operator(e.ge)
    __iadd__, __isub__ = _inplace_operator(e.add), _inplace_operator(e.sub)
    __imul__, __itruediv__ = _inplace_operator(e.mul), _inplace_operator(e.div)
    __ipow__, __imod__ = _inplace_operator(e.pow), _inplace_operator(e.remainder)
    __ifloordiv__ = _inplace_operator(e.floor_divide)
    __iand__, __ior__ = _inplace_operator(e.bitwise_and), _inplace_operator(e.bitwise_or)
    __ixor__ = _inplace_operator(e.bitwise_xor)
    __ilshift__ = _inplace_operator(e.bitwise_left_shift)
    __irshift__ = _inplace_operator(e.bitwise_right_shift)

    def __neg__(self) -> Tensor:
        return pointwise.neg(self) if self.array.dtype.kind == "b" else apply(e.neg, (self,))

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return apply(e.abs, (self,))

    def __invert__(self) -> Tensor:
        return apply(e.bitwise_not, (self,))

    def __matmul__(self, other: Any) -> Tensor:
        if not isinstance(other, Tensor):
            other = operand(other, self)
        return _product(self, other) if isinstance(other, Tensor) else NotImplemented

    def __rmatmul__(self, other: Any) -> Tensor:
        other = operand(other, self)
        return linalg.matmul(other, self) if isinstance(other, Tensor) else NotImplemented

    def __reversed__(self) -> Tensor:
        return self.flip(0) if self.array.ndim else self

    def __getitem__(self, key: Any) -> Tensor:
        return indexing.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.setitem(self, key, value)

    # Python's protocols -------------------------------------------------------------------------------------

    __hash__ = Variable.__hash__

    def __len__(self) -> Int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self.array.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> Bool:
        equal = self == element
        if not isinstance(equal, Tensor):
            raise RuntimeError(f"only a Tensor or a number can be `in` a Tensor, not {type(element).__name__}")
        return bool(equal.array.any())

    def __bool__(self) -> Bool:
        if self.array.size != 1:
            raise RuntimeError(
                f"Boolean value of Tensor with {self.array.size} values is ambiguous: use .any() or .all()"
            )
        return bool(self.array.item())

    def __float__(self) -> Float:
        return float(self._number())

    def __int__(self) -> Int:
        return int(self._number())

    def _number(self) -> Any:
        """The one element, for Python's own conversions."""
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.array.item()

    def __index__(self) -> Int:
        if self.array.dtype.kind not in "iu":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """In place: a Python function of each element (slow; CPU)."""
        flat = [callable(v) for v in self.detach().reshape(-1).tolist()]
        return self.copy_(tensor(flat, dtype=self.dtype).reshape(self.shape))

    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """In place: a Python function of each pair of elements (slow; CPU)."""
        pairs = zip(self.reshape(-1).tolist(), other.expand(self.shape).reshape(-1).tolist(), strict=True)
        return self.copy_(tensor([callable(a, b) for a, b in pairs], dtype=self.dtype).reshape(self.shape))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.array.ndim == 0 else object.__format__(self, spec)

    def __repr__(self) -> str:
        from .printing import tensor_repr

        return tensor_repr(self)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))

    def __deepcopy__(self, memo: dict[Int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError("only leaf tensors can be deep-copied: use .detach().clone() for one with a history")
        if id(self) in memo:
            return memo[id(self)]
        if id(self.array) not in memo:  # by memory: what was tied, or detached, is so again
            memo[id(self.array)] = self.array.copy(order="K")
        made = object.__new__(self.__class__)
        memo[id(self)] = made
        made.array, made._version, made._needs = memo[id(self.array)], [0, None], self._needs
        made._grad = None if self._grad is None else self._grad.clone()
        vars(made).update(copy.deepcopy(_attributes(self), memo))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        array = of(self.array).to_numpy(self.array)
        told = (self.__class__, array, str(self.device), self.requires_grad)
        return _rebuilt, (*told, more) if (more := _attributes(self)) else told

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """This tensor where the condition holds, ``other`` elsewhere."""
        return pointwise.where(condition, self, other)

    # Functions of torch that are methods, too --------------------------------------------------------------

    abs, absolute, neg, negative = pointwise.abs, pointwise.absolute, pointwise.neg, pointwise.negative
    positive, sign, sgn, square = pointwise.positive, pointwise.sign, pointwise.sgn, pointwise.square
    sqrt, rsqrt, reciprocal, exp = pointwise.sqrt, pointwise.rsqrt, pointwise.reciprocal, pointwise.exp
    exp2, expm1, log, log2 = pointwise.exp2, pointwise.expm1, pointwise.log, pointwise.log2
    log10, log1p, sin, cos = pointwise.log10, pointwise.log1p, pointwise.sin, pointwise.cos
    tan, asin, acos, atan = pointwise.tan, pointwise.asin, pointwise.acos, pointwise.atan
    arcsin, arccos, arctan, sinh = pointwise.arcsin, pointwise.arccos, pointwise.arctan, pointwise.sinh
    cosh, tanh, asinh, acosh = pointwise.cosh, pointwise.tanh, pointwise.asinh, pointwise.acosh
    atanh, arcsinh, arccosh = pointwise.atanh, pointwise.arcsinh, pointwise.arccosh
    arctanh, erf, erfc, erfinv = pointwise.arctanh, pointwise.erf, pointwise.erfc, pointwise.erfinv
    relu, sigmoid, logit, sinc = pointwise.relu, pointwise.sigmoid, pointwise.logit, pointwise.sinc
    floor, ceil, trunc, fix = pointwise.floor, pointwise.ceil, pointwise.trunc, pointwise.fix
    round, frac, deg2rad, rad2deg = pointwise.round, pointwise.frac, pointwise.deg2rad, pointwise.rad2deg
    add, sub, mul, div = pointwise.add, pointwise.sub, pointwise.mul, pointwise.div
    multiply, divide, subtract = pointwise.multiply, pointwise.divide, pointwise.subtract
    true_divide, floor_divide, remainder = pointwise.true_divide, pointwise.floor_divide, pointwise.remainder
    fmod, pow, float_power, maximum = pointwise.fmod, pointwise.pow, pointwise.float_power, pointwise.maximum
    minimum, fmax, fmin, atan2 = pointwise.minimum, pointwise.fmax, pointwise.fmin, pointwise.atan2
    arctan2, hypot, lerp, ldexp = pointwise.arctan2, pointwise.hypot, pointwise.lerp, pointwise.ldexp
    copysign, heaviside, xlogy = pointwise.copysign, pointwise.heaviside, pointwise.xlogy
    logaddexp, logaddexp2, gcd, lcm = pointwise.logaddexp, pointwise.logaddexp2, pointwise.gcd, pointwise.lcm
    eq, ne, lt, le, gt = pointwise.eq, pointwise.ne, pointwise.lt, pointwise.le, pointwise.gt
    ge, not_equal, less, less_equal = pointwise.ge, pointwise.not_equal, pointwise.less, pointwise.less_equal
    greater, greater_equal, logical_and = pointwise.greater, pointwise.greater_equal, pointwise.logical_and
    logical_or, logical_xor, logical_not = pointwise.logical_or, pointwise.logical_xor, pointwise.logical_not
    bitwise_and, bitwise_or, bitwise_xor = pointwise.bitwise_and, pointwise.bitwise_or, pointwise.bitwise_xor
    bitwise_not, bitwise_left_shift = pointwise.bitwise_not, pointwise.bitwise_left_shift
    bitwise_right_shift, isnan, isinf = pointwise.bitwise_right_shift, pointwise.isnan, pointwise.isinf
    isfinite, isposinf, isneginf = pointwise.isfinite, pointwise.isposinf, pointwise.isneginf
    signbit, nan_to_num, isreal = pointwise.signbit, pointwise.nan_to_num, complex_numbers.isreal
    clamp, clip, clamp_min = pointwise.clamp, pointwise.clip, pointwise.clamp_min
    clamp_max, addcmul, addcdiv = pointwise.clamp_max, pointwise.addcmul, pointwise.addcdiv
    softmax, log_softmax, clone = pointwise.softmax, pointwise.log_softmax, pointwise.clone
    conj, conj_physical, resolve_conj = complex_numbers.conj, complex_numbers.conj, complex_numbers.conj
    angle = complex_numbers.angle

    sum, mean, var, std, prod = reduction.sum, reduction.mean, reduction.var, reduction.std, reduction.prod
    max, min, amax, amin = reduction.max, reduction.min, reduction.amax, reduction.amin
    argmax, argmin, any, all = reduction.argmax, reduction.argmin, reduction.any, reduction.all
    cumsum, cumprod, logsumexp = reduction.cumsum, reduction.cumprod, reduction.logsumexp
    norm, count_nonzero = reduction.norm, reduction.count_nonzero

    median, nanmedian, mode = statistics.median, statistics.nanmedian, statistics.mode
    kthvalue, quantile, nanquantile = statistics.kthvalue, statistics.quantile, statistics.nanquantile
    cummax, cummin, logcumsumexp = statistics.cummax, statistics.cummin, statistics.logcumsumexp
    aminmax, nansum, nanmean = statistics.aminmax, statistics.nansum, statistics.nanmean
    dist, cov, corrcoef, bincount = statistics.dist, statistics.cov, statistics.corrcoef, statistics.bincount
    histc, unique_consecutive, msort = statistics.histc, statistics.unique_consecutive, statistics.msort

    reshape, view, view_as, reshape_as = shaping.reshape, shaping.view, shaping.view_as, shaping.reshape_as
    permute, transpose, swapaxes = shaping.permute, shaping.transpose, shaping.swapaxes
    swapdims, t, movedim, moveaxis = shaping.swapdims, shaping.t, shaping.movedim, shaping.moveaxis
    unsqueeze, squeeze, flatten, ravel = shaping.unsqueeze, shaping.squeeze, shaping.flatten, shaping.ravel
    unflatten, expand, expand_as = shaping.unflatten, shaping.expand, shaping.expand_as
    repeat, tile, repeat_interleave = shaping.repeat, shaping.tile, shaping.repeat_interleave
    flip, fliplr, flipud, rot90 = shaping.flip, shaping.fliplr, shaping.flipud, shaping.rot90
    roll, split, split_with_sizes = shaping.roll, shaping.split, shaping.split_with_sizes
    tensor_split, hsplit, vsplit = shaping.tensor_split, shaping.hsplit, shaping.vsplit
    dsplit, chunk, unbind, narrow = shaping.dsplit, shaping.chunk, shaping.unbind, shaping.narrow
    narrow_copy, select, diagonal, diag = shaping.narrow_copy, shaping.select, shaping.diagonal, shaping.diag
    diagflat, diag_embed, trace, diff = shaping.diagflat, shaping.diag_embed, shaping.trace, shaping.diff
    tril, triu, unfold, as_strided = shaping.tril, shaping.triu, shaping.unfold, shaping.as_strided
    contiguous, broadcast_to, sum_to_size = shaping.contiguous, shaping.broadcast_to, shaping.sum_to_size
    select_scatter, slice_scatter = shaping.select_scatter, shaping.slice_scatter
    diagonal_scatter = shaping.diagonal_scatter

    gather, scatter, scatter_add = indexing.gather, indexing.scatter, indexing.scatter_add
    scatter_reduce, take, take_along_dim = indexing.scatter_reduce, indexing.take, indexing.take_along_dim
    put, index_select, index_add = indexing.put, indexing.index_select, indexing.index_add
    index_fill, index_copy, index_put = indexing.index_fill, indexing.index_copy, indexing.index_put
    masked_fill, masked_scatter = indexing.masked_fill, indexing.masked_scatter
    masked_select, nonzero, argwhere = indexing.masked_select, indexing.nonzero, indexing.argwhere
    nonzero_static = indexing.nonzero_static
    topk, sort, argsort, unique = indexing.topk, indexing.sort, indexing.argsort, indexing.unique

    allclose, equal, isclose = comparison.allclose, comparison.equal, comparison.isclose
    is_same_size = comparison.is_same_size

    bernoulli, multinomial = random.bernoulli, random.multinomial

    lgamma, digamma, i0 = special.lgamma, special.digamma, special.i0
    mvlgamma, frexp, nextafter = special.mvlgamma, pointwise.frexp, pointwise.nextafter
    index_reduce, renorm = indexing.index_reduce, reduction.renorm
    histogram = statistics.histogram

    def polygamma(self, n: Int) -> Tensor:
        """The n-th derivative of ``digamma``."""
        return special.polygamma(n, self)

    matmul, mm, bmm, mv, dot, vdot = linalg.matmul, linalg.mm, linalg.bmm, linalg.mv, linalg.dot, linalg.vdot
    inner, outer, ger, addmm, addmv = linalg.inner, linalg.outer, linalg.ger, linalg.addmm, linalg.addmv
    addr, addbmm, baddbmm, kron, cross = linalg.addr, linalg.addbmm, linalg.baddbmm, linalg.kron, linalg.cross
    matrix_power = linalg.matrix_power

    det, slogdet, logdet = algebra.det, algebra.slogdet, algebra.logdet
    cholesky = algebra.cholesky

    inverse, pinverse = algebra.inv, algebra.pinv
    qr, svd = algebra.qr, algebra.svd

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        return self.permute(tuple(range(self.array.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
        if self.array.ndim < 2:
            raise RuntimeError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
            )
        return self.transpose(-2, -1)

    @property
    def mH(self) -> Tensor:
        """The last two axes exchanged, and conjugated."""
        return self.mT.conj()

    @property
    def H(self) -> Tensor:
        """A matrix transposed and conjugated.

        Raises:
            RuntimeError: it has neither 0 nor 2 axes.
        """
        if self.array.ndim not in (0, 2):
            raise RuntimeError(f"tensor.H is only supported on matrices. Got {self.ndim}-D tensor.")
        return self.mT.conj() if self.array.ndim else self.conj()

    def adjoint(self) -> Tensor:
        """``mH`` as a method."""
        return self.mH


def _attributes(tensor: Tensor) -> dict[str, Any]:
    """What a program has noted on a tensor: all its attributes but the engine's own."""
    own = {name for cls in Tensor.__mro__ for name in inspect.get_annotations(cls)}
    return {name: value for name, value in vars(tensor).items() if name not in own}


def _rebuilt(
    cls: type[Tensor], array: np.ndarray[Any, Any], device: str, needs: bool, attributes: dict[str, Any] | None = None
) -> Tensor:
    """A pickled tensor again. Its history is gone, as in PyTorch, and its gradient."""
    made = object.__new__(cls)
    where = Device(device)
    made.array = array if where.type == "cpu" else for_device(where).asarray(array, where)
    made._version, made._needs = [0, None], needs
    vars(made).update(attributes or {})
    return made


def _bare(cls: type[Tensor]) -> None:
    """Let methods without options be the bare functions: ``spelled`` has nothing to do for them."""
    for name, method in list(vars(cls).items()):
        code = getattr(getattr(method, "__wrapped__", None), "__code__", None)
        if code is not None and code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] == ("input",):
            setattr(cls, name, method.__wrapped__)


_bare(Tensor)
tape.classes_are(variable=Tensor)
states_are(wrap)
