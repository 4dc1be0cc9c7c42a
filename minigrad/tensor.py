"""Tensor: an array, its gradient, and operators that call ops. It has no arithmetic of its own.

What a method computes stands in ``functions`` (PyTorch's names and arguments) and ``ops`` (forward and
gradient rule); how it is recorded, in ``autograd``. Here the names are brought together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from . import autograd
from .autograd import tape
from .autograd.tape import Node, Variable, apply, bump, mutate, wrap
from .backend import Device, for_device, of
from .backend import dtype as dt
from .backend.dtype import DType
from .backend.random import Generator, default_generator
from .functions import comparison, creation, indexing, linalg, pointwise, reduction, shaping
from .functions.arguments import axis, operand, sizes
from .functions.creation import full, tensor, zeros
from .ops import elementwise as e
from .ops import indexing as index_ops
from .ops.device import moved as _moved
from .ops.op import Op

Operator = Callable[["Tensor", Any], "Tensor"]
Int: TypeAlias = int  # for annotations in Tensor, whose methods have the names of these types
Float: TypeAlias = float
Bool: TypeAlias = bool


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints that shows itself as ``minigrad.Size([2, 3])``."""

    def numel(self) -> int:
        """How many elements the shape has."""
        return int(np.prod(self, dtype=np.int64))

    def __repr__(self) -> str:
        return f"minigrad.Size({list(self)})"


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
        kind = other.__class__
        if kind is not Tensor and kind is not float and kind is not int:
            other = operand(other, self)
            if other is NotImplemented:
                return NotImplemented
        return apply(op, (self, other) if in_order else (other, self))

    method.__doc__ = op.__doc__
    return method


def _inplace_operator(op: Op) -> Operator:
    """The method behind ``a += b``."""

    def method(self: Tensor, other: Any) -> Tensor:
        other = operand(other, self)
        if other is NotImplemented:
            return NotImplemented
        return mutate(self, op, (self, other))

    return method


def _inplace(op: Op, defaults: tuple[Any, ...] = ()) -> Callable[..., Tensor]:
    """The method ``name_`` that changes a tensor to what ``op`` makes of it."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        given = tuple(a if (a := operand(v, self)) is not NotImplemented else v for v in args)
        bound = op.bind((self, *given, *defaults[len(given) :]), kwargs)
        return mutate(self, op, bound)

    method.__name__ = f"{op.name}_"
    method.__doc__ = f"In place: {op.__doc__}"
    return method


class Tensor(Variable):
    """A multi-dimensional array on a device that can remember how it was made.

    Make one with ``minigrad.tensor(data)``; ``Tensor(data)`` gives float32, and ``Tensor(2, 3)`` a shape.

    Attributes:
        array: the NumPy or CuPy array underneath, without a copy.
        grad: the gradient that ``backward()`` has added up, of the same shape, or None.
    """

    __array_ufunc__ = None  # NumPy leaves ``ndarray * tensor`` to the tensor
    __array_priority__ = 1000

    def __new__(cls, *data: Any, **kwargs: Any) -> Tensor:
        return object.__new__(cls)

    def __init__(self, *data: Any, device: Any = None) -> None:
        if len(data) == 1 and not isinstance(data[0], int):
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
        data = getattr(self.array, "ctypes", None) or self.array.data
        return int(data.data if hasattr(data, "data") else data.ptr)

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
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for a gradient (or not), in place.

        Raises:
            RuntimeError: an integer or bool tensor; a tensor that ops made and that is to have none.
        """
        if requires_grad and not self.is_floating_point():
            raise RuntimeError(
                f"only Tensors of floating point dtype can require gradients, not {self.dtype}"
            )
        if not requires_grad and self._source()[0] is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables; use .detach() for a copy"
            )
        self._needs = bool(requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that ``backward()`` has added up."""
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and value.array.shape != self.array.shape:
            raise RuntimeError(
                f"assigned grad has data of a different size: {list(value.array.shape)}, expected "
                f"{list(self.array.shape)}"
            )
        self._grad = value

    @property
    def grad_fn(self) -> Node | None:
        """The node of the tape that made it; None for a leaf."""
        return self._source()[0]

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made it."""
        return self._source()[0] is None

    @property
    def output_nr(self) -> int:
        """Which of its op's results it is."""
        return self._source()[1]

    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None) -> None:  # fmt: skip
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
        self.array, self._base = value.array, None

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that ops made in its ``.grad``, too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node, slot = self._source()
        if node is None:
            return
        seen = tape.weak(self)

        def keep(gradient: Tensor) -> None:
            tensor = seen()
            if tensor is not None:
                tensor._grad = gradient if tensor._grad is None else tensor._grad + gradient

        if node.hooks is None:
            node.hooks = {}
        node.hooks.setdefault(slot, {})[-1] = keep

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

    # Out of the library -------------------------------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The NumPy array, in the same memory.

        Raises:
            RuntimeError: the tensor requires a gradient. TypeError: it lives on a GPU. ``force`` copies.
        """
        if self.requires_grad and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        if self.device.type != "cpu" and not force:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                f"tensor to host memory first."
            )
        return of(self.array).to_numpy(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        return (
            array.astype(dtype)
            if dtype is not None and array.dtype != dtype
            else array.copy()
            if copy
            else array
        )

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

    def to(self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False,
           copy: bool = False) -> Tensor:  # fmt: skip
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
            out = apply(e.cast, (out if kind.kind == "f" else out.detach(), kind))
        return out.clone() if copy and out is self else out

    def _is_on(self, device: Device) -> Bool:
        """Whether the array lives there; "cuda" without a number means any GPU."""
        own = self.device
        return device == own or (device.index is None and device.type == own.type)

    def type(self, dtype: Any = None) -> Any:
        """In another dtype; without one, the name that PyTorch gives this kind of tensor."""
        if dtype is not None:
            return self.to(dtype=dtype)
        names = {"float32": "Float", "float64": "Double", "float16": "Half", "int64": "Long", "int32": "Int",
                 "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}  # fmt: skip
        return f"minigrad.{'cuda.' if self.is_cuda else ''}{names[self.dtype.name]}Tensor"

    def type_as(self, other: Tensor) -> Tensor:
        """In the dtype and on the device of another tensor."""
        return self.to(other)

    def cpu(self) -> Tensor:
        """In main memory."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Tensor:
        """On a GPU."""
        return self.to(device="cuda" if device is None else Device(device))

    def float(self) -> Tensor:
        """As float32."""
        return self.to(dtype=dt.float32)

    def double(self) -> Tensor:
        """As float64."""
        return self.to(dtype=dt.float64)

    def half(self) -> Tensor:
        """As float16."""
        return self.to(dtype=dt.float16)

    def long(self) -> Tensor:
        """As int64."""
        return self.to(dtype=dt.int64)

    def int(self) -> Tensor:
        """As int32."""
        return self.to(dtype=dt.int32)

    def byte(self) -> Tensor:
        """As uint8."""
        return self.to(dtype=dt.uint8)

    def bool(self) -> Tensor:
        """As bool: whether each element is not 0."""
        return self.to(dtype=dt.bool_)

    # New tensors like this one ------------------------------------------------------------------------------

    def new_tensor(
        self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False
    ) -> Tensor:
        """A tensor from data, with this one's dtype and device unless others are given."""
        return tensor(
            data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
        )

    def new_full(self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
        """One number in a shape, with this tensor's dtype and device unless others are given."""
        return full(size, fill_value, dtype=dtype or self.dtype, device=device or self.device)

    def new_zeros(self, *size: Any, dtype: Any = None, device: Any = None) -> Tensor:
        """Zeros with this tensor's dtype and device."""
        return self.new_full(sizes(size), 0, dtype=dtype, device=device)

    def new_ones(self, *size: Any, dtype: Any = None, device: Any = None) -> Tensor:
        """Ones with this tensor's dtype and device."""
        return self.new_full(sizes(size), 1, dtype=dtype, device=device)

    new_empty = new_zeros

    # Operators ----------------------------------------------------------------------------------------------

    __add__, __radd__ = _operator(e.add), _operator(e.add, False)
    __sub__, __rsub__ = _operator(e.sub), _operator(e.sub, False)
    __mul__, __rmul__ = _operator(e.mul), _operator(e.mul, False)
    __truediv__, __rtruediv__ = _operator(e.div), _operator(e.div, False)
    __floordiv__, __rfloordiv__ = _operator(e.floor_divide), _operator(e.floor_divide, False)
    __mod__, __rmod__ = _operator(e.remainder), _operator(e.remainder, False)
    __pow__, __rpow__ = _operator(e.pow), _operator(e.pow, False)
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

    def __neg__(self) -> Tensor:
        return apply(e.neg, (self,))

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return apply(e.abs, (self,))

    def __invert__(self) -> Tensor:
        return apply(e.bitwise_not, (self,))

    def __matmul__(self, other: Any) -> Tensor:
        other = operand(other, self)
        return linalg.matmul(self, other) if isinstance(other, Tensor) else NotImplemented

    def __rmatmul__(self, other: Any) -> Tensor:
        other = operand(other, self)
        return linalg.matmul(other, self) if isinstance(other, Tensor) else NotImplemented

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
            raise RuntimeError(
                f"only a Tensor or a number can be `in` a Tensor, not {type(element).__name__}"
            )
        return bool(equal.array.any())

    def __bool__(self) -> Bool:
        if self.array.size != 1:
            raise RuntimeError(
                f"Boolean value of Tensor with {self.array.size} values is ambiguous: use .any() or .all()"
            )
        return bool(self.array.item())

    def __float__(self) -> Float:
        return float(self.item())

    def __int__(self) -> Int:
        return int(self.item())

    def __index__(self) -> Int:
        if self.array.dtype.kind not in "iu":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.array.ndim == 0 else object.__format__(self, spec)

    def __repr__(self) -> str:
        from .printing import tensor_repr

        return tensor_repr(self)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))

    def __deepcopy__(self, memo: dict[Int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "only leaf tensors can be deep-copied: use .detach().clone() for one with a history"
            )
        if id(self) in memo:
            return memo[id(self)]
        made = self.__class__.__new__(self.__class__)
        memo[id(self)] = made
        made.array, made._version, made._needs = self.array.copy(), [0, None], self._needs
        made._grad = None if self._grad is None else self._grad.clone()
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.is_leaf:
            raise RuntimeError("only leaf tensors can be pickled: use .detach() for one with a history")
        return _rebuilt, (self.__class__, of(self.array).to_numpy(self.array), str(self.device), self._needs)

    # Changes in place ---------------------------------------------------------------------------------------

    mul_, div_, pow_ = _inplace(e.mul), _inplace(e.div), _inplace(e.pow)
    remainder_, fmod_, lerp_ = _inplace(e.remainder), _inplace(e.fmod), _inplace(e.lerp)
    neg_, abs_, sign_, square_ = _inplace(e.neg), _inplace(e.abs), _inplace(e.sign), _inplace(e.square)
    exp_, expm1_, log_, log1p_ = _inplace(e.exp), _inplace(e.expm1), _inplace(e.log), _inplace(e.log1p)
    sqrt_, rsqrt_, reciprocal_ = _inplace(e.sqrt), _inplace(e.rsqrt), _inplace(e.reciprocal)
    sin_, cos_, tanh_, erf_ = _inplace(e.sin), _inplace(e.cos), _inplace(e.tanh), _inplace(e.erf)
    sigmoid_, relu_, clamp_ = _inplace(e.sigmoid), _inplace(e.relu), _inplace(e.clamp)
    floor_, ceil_, round_, trunc_ = _inplace(e.floor), _inplace(e.ceil), _inplace(e.round), _inplace(e.trunc)

    def add_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """In place: self + alpha · other."""
        scaled = other if alpha == 1 else other * alpha
        return mutate(self, e.add, (self, operand(scaled, self)))

    def sub_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """In place: self - alpha · other."""
        scaled = other if alpha == 1 else other * alpha
        return mutate(self, e.sub, (self, operand(scaled, self)))

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
        """In place: self + value · tensor1 · tensor2."""
        return self.add_(tensor1 * tensor2, alpha=value)

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
        """In place: self + value · tensor1 / tensor2."""
        return self.add_(tensor1 / tensor2, alpha=value)

    def masked_fill_(self, mask: Tensor, value: Any) -> Tensor:
        """In place: ``value`` where the bool mask is True."""
        return self._become(indexing.masked_fill(self, mask, value), "masked_fill")

    def fill_(self, value: Any) -> Tensor:
        """In place: every element ``value``."""
        self[...] = value
        return self

    def zero_(self) -> Tensor:
        """In place: every element 0."""
        return self.fill_(0)

    def copy_(self, src: Tensor, non_blocking: Any = False) -> Tensor:
        """In place: the elements of another tensor (broadcast, in this one's dtype, from any device)."""
        self[...] = src.to(dtype=self.dtype, device=self.device)
        return self

    def scatter_(self, dim: Any, index: Tensor, src: Any = None, *, value: Any = None) -> Tensor:
        """In place: self[index[i, j], j] = src[i, j] for dim 0, and so on."""
        args = indexing.scatter_arguments(self, dim, index, value if src is None else src)
        return mutate(self, index_ops.scatter, args)

    def scatter_add_(self, dim: Any, index: Tensor, src: Tensor) -> Tensor:
        """In place: self[index[i, j], j] += src[i, j] for dim 0, and so on."""
        args = indexing.scatter_arguments(self, dim, index, src)
        return mutate(self, index_ops.scatter_add, args)

    def index_fill_(self, dim: Any, index: Tensor, value: Any) -> Tensor:
        """In place: the slices index[i] along ``dim`` are ``value``."""
        return self._become(indexing.index_fill(self, dim, index, value), "index_fill")

    def index_copy_(self, dim: Any, index: Tensor, source: Tensor) -> Tensor:
        """In place: the slices index[i] along ``dim`` are those of ``source``."""
        return self._become(indexing.index_copy(self, dim, index, source), "index_copy")

    def index_add_(self, dim: Any, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
        """In place: to the slices index[i] along ``dim`` those of ``source`` are added."""
        return self._become(indexing.index_add(self, dim, index, source, alpha=alpha), "index_add")

    def tril_(self, diagonal: Any = 0) -> Tensor:
        """In place: zeros above the diagonal."""
        return self._become(shaping.tril(self, diagonal), "tril")

    def triu_(self, diagonal: Any = 0) -> Tensor:
        """In place: zeros below the diagonal."""
        return self._become(shaping.triu(self, diagonal), "triu")

    def where(self, condition: Tensor, other: Any) -> Tensor:
        """This tensor where the condition holds, ``other`` elsewhere."""
        return pointwise.where(condition, self, other)

    def _become(self, result: Tensor, name: str) -> Tensor:
        """Take over the values and the history of a tensor of the same shape."""
        tape.check_mutable(self, name)
        return mutate(self, e.clone, (result,))

    def normal_(self, mean: Any = 0.0, std: Any = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In place: normal random numbers."""
        draw = (generator or default_generator).normal(self.array.shape, self.array.dtype)
        return self._filled(draw * draw.dtype.type(std) + draw.dtype.type(mean), "normal")

    def uniform_(self, a: Any = 0.0, b: Any = 1.0, *, generator: Generator | None = None) -> Tensor:
        """In place: uniform random numbers in [a, b)."""
        draw = (generator or default_generator).uniform(self.array.shape, self.array.dtype)
        low, high = draw.dtype.type(a), draw.dtype.type(b)
        # in float64, rounded once: PyTorch's kernel is a fused multiply-add
        wide = draw.astype(np.float64, copy=False) * np.float64(high - low) + np.float64(low)
        return self._filled(wide.astype(draw.dtype, copy=False), "uniform")

    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
        """In place: 1 with probability p, else 0."""
        draw = (generator or default_generator).uniform(self.array.shape, np.float64)
        return self._filled((draw < p).astype(self.array.dtype), "bernoulli")

    def _filled(self, draw: np.ndarray[Any, Any], name: str) -> Tensor:
        """Random numbers put in place, without history."""
        tape.check_mutable(self, name)
        backend = of(self.array)
        self.array[...] = backend.asarray(draw, backend.device_of(self.array))
        bump(self, name)
        return self

    # Functions of torch that are methods, too --------------------------------------------------------------

    abs, absolute, neg, sign, square = (
        pointwise.abs,
        pointwise.abs,
        pointwise.neg,
        pointwise.sign,
        pointwise.square,
    )
    sqrt, rsqrt, reciprocal, exp = pointwise.sqrt, pointwise.rsqrt, pointwise.reciprocal, pointwise.exp
    exp2, expm1, log, log2, log10 = (
        pointwise.exp2,
        pointwise.expm1,
        pointwise.log,
        pointwise.log2,
        pointwise.log10,
    )
    log1p, sin, cos, tan, atan = pointwise.log1p, pointwise.sin, pointwise.cos, pointwise.tan, pointwise.atan
    tanh, erf, relu, sigmoid = pointwise.tanh, pointwise.erf, pointwise.relu, pointwise.sigmoid
    floor, ceil, trunc, round = pointwise.floor, pointwise.ceil, pointwise.trunc, pointwise.round
    add, sub, mul, div = pointwise.add, pointwise.sub, pointwise.mul, pointwise.div
    multiply, divide, subtract, true_divide = (
        pointwise.mul,
        pointwise.div,
        pointwise.sub,
        pointwise.true_divide,
    )
    floor_divide, remainder, fmod, pow = (pointwise.floor_divide, pointwise.remainder, pointwise.fmod,
                                          pointwise.pow)  # fmt: skip
    maximum, minimum, atan2, lerp = pointwise.maximum, pointwise.minimum, pointwise.atan2, pointwise.lerp
    eq, ne, lt, le, gt, ge = (pointwise.eq, pointwise.ne, pointwise.lt, pointwise.le, pointwise.gt,
                              pointwise.ge)  # fmt: skip
    logical_and, logical_or, logical_xor = pointwise.logical_and, pointwise.logical_or, pointwise.logical_xor
    logical_not, bitwise_and, bitwise_or = pointwise.logical_not, pointwise.bitwise_and, pointwise.bitwise_or
    bitwise_xor, bitwise_not = pointwise.bitwise_xor, pointwise.bitwise_not
    isnan, isinf, isfinite, nan_to_num = (
        pointwise.isnan,
        pointwise.isinf,
        pointwise.isfinite,
        pointwise.nan_to_num,
    )
    clamp, clip, clamp_min, clamp_max = (
        pointwise.clamp,
        pointwise.clamp,
        pointwise.clamp_min,
        pointwise.clamp_max,
    )
    softmax, log_softmax, clone = pointwise.softmax, pointwise.log_softmax, pointwise.clone
    negative = pointwise.neg

    sum, mean, var, std, prod = reduction.sum, reduction.mean, reduction.var, reduction.std, reduction.prod
    max, min, amax, amin = reduction.max, reduction.min, reduction.amax, reduction.amin
    argmax, argmin, any, all = reduction.argmax, reduction.argmin, reduction.any, reduction.all
    cumsum, cumprod, logsumexp, norm = (
        reduction.cumsum,
        reduction.cumprod,
        reduction.logsumexp,
        reduction.norm,
    )
    count_nonzero = reduction.count_nonzero

    reshape, view, view_as, reshape_as = shaping.reshape, shaping.view, shaping.view_as, shaping.reshape_as
    permute, transpose, swapaxes, t = shaping.permute, shaping.transpose, shaping.transpose, shaping.t
    movedim, unsqueeze, squeeze, flatten = (
        shaping.movedim,
        shaping.unsqueeze,
        shaping.squeeze,
        shaping.flatten,
    )
    unflatten, expand, expand_as, repeat = (
        shaping.unflatten,
        shaping.expand,
        shaping.expand_as,
        shaping.repeat,
    )
    tile, repeat_interleave, flip, roll = shaping.tile, shaping.repeat_interleave, shaping.flip, shaping.roll
    split, chunk, unbind, narrow = shaping.split, shaping.chunk, shaping.unbind, shaping.narrow
    select, diagonal, tril, triu = shaping.select, shaping.diagonal, shaping.tril, shaping.triu
    contiguous, broadcast_to = shaping.contiguous, shaping.broadcast_to

    gather, scatter, scatter_add = indexing.gather, indexing.scatter, indexing.scatter_add
    take_along_dim, index_select, index_add = (
        indexing.take_along_dim,
        indexing.index_select,
        indexing.index_add,
    )
    index_fill, index_copy, masked_fill = indexing.index_fill, indexing.index_copy, indexing.masked_fill
    masked_select, nonzero, topk, sort = (
        indexing.masked_select,
        indexing.nonzero,
        indexing.topk,
        indexing.sort,
    )
    argsort, unique = indexing.argsort, indexing.unique

    allclose, equal, isclose = comparison.allclose, comparison.equal, comparison.isclose
    bernoulli, multinomial = creation.bernoulli, creation.multinomial

    matmul, mm, bmm, mv, dot = linalg.matmul, linalg.mm, linalg.bmm, linalg.mv, linalg.dot
    outer, ger, addmm, baddbmm = linalg.outer, linalg.outer, linalg.addmm, linalg.baddbmm

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


def _rebuilt(cls: type[Tensor], array: np.ndarray[Any, Any], device: str, needs: bool) -> Tensor:
    """A pickled tensor again."""
    made = cls.__new__(cls)
    where = Device(device)
    made.array = array if where.type == "cpu" else for_device(where).asarray(array, where)
    made._version, made._needs = [0, None], needs
    return made


tape.results_are(Tensor)
