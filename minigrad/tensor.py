"""Tensor: an array, its gradient, and Python's protocols.

This file does not import the functions: ``names.py`` turns the functions and operators in ``functions`` into methods.
``ops`` defines their forward functions and gradient rules, and ``autograd`` records the ops.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, TypeVar

import numpy as np

from . import autograd
from .autograd import graph, tape, walk
from .autograd.calls import apply as apply
from .autograd.hooks import RemovableHandle as RemovableHandle
from .autograd.methods import Methods
from .autograd.mode import state
from .autograd.tape import Variable, wrap as wrap
from .autograd.tracebacks import answers, border_methods, warn
from .backend import Device, dtype as dt, for_device, of
from .backend.dtype import Array, DType
from .backend.random import Generator
from .backend.size import Size as Size
from .backend.storage import copied
from .extension import layer
from .ops.op import Traced

Int: TypeAlias = int  # for annotations in Tensor, where methods shadow these types
Float: TypeAlias = float
Bool: TypeAlias = bool
Sub = TypeVar("Sub", bound="Tensor")
_SHARED = {"array", "_changes", "_needs", "_node", "_slot", "_parent", "_view", "_seen", "_origin"}


class Tensor(Methods["Tensor"]):
    """A multi-dimensional array on a device, which can record the ops that produced it.

    Create one with ``minigrad.tensor(data)``. ``Tensor(data)`` is float32, and ``Tensor(2, 3)`` has shape (2, 3).

    Attributes:
        array: the underlying NumPy or CuPy array (not a copy).
        grad: the gradient accumulated over all ``backward()`` calls, in the tensor's shape, or None.

    >>> x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([[2., 4.],
            [6., 8.]])
    """

    __array_priority__ = 1000  # NumPy lets the tensor handle ``ndarray * tensor``
    apply = staticmethod(apply)

    # Subclasses ---------------------------------------------------------------------------------------------

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called when a function receives an instance of a subclass. Returns the function's result as that subclass."""
        return layer().default(cls, func, types, args, kwargs)

    def as_subclass(self, cls: type[Sub]) -> Sub:
        """The tensor as an instance of a Tensor subclass, with the same memory and history."""
        if cls is not Tensor and answers(cls):
            layer().met((), None)
        source = self.view_as(self) if self._needs and self.is_leaf else self
        result = object.__new__(cls)
        everything(result).update((name, value) for name, value in everything(source).items() if name in _SHARED)
        return result

    @staticmethod
    def _make_subclass(kind: type[Sub], data: Tensor, require_grad: Bool = False) -> Sub:
        """A leaf tensor of a Tensor subclass that shares the memory of another tensor."""
        result = Tensor.as_subclass(data.detach(), kind)
        result._needs = require_grad
        return result

    # Shape, dtype, device -----------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The length of each axis.

        >>> mg.zeros(2, 3).shape
        minigrad.Size([2, 3])
        """
        return Size(self.array.shape)

    @property
    def dtype(self) -> DType:
        """The data type of the elements.

        >>> mg.zeros(2, dtype=mg.int64).dtype == mg.int64
        True
        """
        return dt.of_numpy(self.array.dtype)

    @property
    def device(self) -> Device:
        """The device that stores the tensor.

        >>> mg.zeros(2).device
        device(type='cpu')
        """
        return of(self.array).device_of(self.array)

    is_sparse = is_quantized = is_mps = is_nested = is_xla = is_mkldnn = is_xpu = False
    layout = dt.strided

    # Gradients ----------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether ops on this tensor are recorded, so that ``backward`` reaches it."""
        return self._needs or self._wanted()

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad``. Raises RuntimeError if True for integers or bools, or if False for an op's result."""
        if requires_grad and dt.kind_of(self.array) not in "fc":
            kinds = "only Tensors of floating point and complex dtype"
            raise RuntimeError(f"{kinds} can require gradients, not {self.dtype}: convert with .float()")
        if not requires_grad and self._source()[0] is not None:
            raise RuntimeError("you can only change requires_grad flags of leaf variables; use .detach() for a copy")
        self._needs = bool(requires_grad)
        return self

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by ``backward()`` calls. A non-leaf tensor has one only after ``retain_grad()``.

        >>> x = mg.tensor(3.0, requires_grad=True)
        >>> (x**2).backward()
        >>> x.grad
        tensor(6.)
        """
        if self._grad is None and not self.is_leaf and not self.retains_grad:
            problem = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"
            remedy = "Call .retain_grad() on it before backward(), or look at the leaf it was computed from"
            warn(f"{problem}: backward() fills .grad only for leaves. {remedy}")
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._grad = None
            return
        if not isinstance(value, Variable):
            kind = value.__class__.__name__
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {kind}")
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value.array.shape != self.array.shape:
            sizes = f"{list(value.array.shape)}, expected {list(self.array.shape)}"
            raise RuntimeError(f"assigned grad has data of a different size: {sizes}")
        if value.array.dtype != self.array.dtype:
            raise RuntimeError(f"assigned grad has dtype {value.dtype}, but the tensor has {self.dtype}")
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_fn(self) -> graph.Node | None:
        """The graph node of the op that produced the tensor, or None for a leaf."""
        node = self._source()[0]
        return None if node is None else graph.shown(node)

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def _base(self) -> Any:
        """The base tensor of this view, through all intermediate views, or None if it is not a view."""
        base, parent = None, self._parent
        while parent is not None:
            base, parent = base if parent._is_former else parent, parent._parent
        return base

    @property
    def _version(self) -> int:
        return self._changes[0]

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Accumulate the gradient with respect to each leaf into that leaf's ``.grad``. See ``autograd.backward``.

        >>> w = mg.tensor([1.0, 2.0], requires_grad=True)
        >>> (w * mg.tensor([3.0, 4.0])).sum().backward()
        >>> w.grad
        tensor([3., 4.])
        """
        walk.backward(self, gradient, retain_graph, create_graph, inputs)

    def detach_(self) -> Tensor:
        """Drop the tensor's history, in place. Raises RuntimeError if the tensor is a view."""
        if self._base is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead")
        self._node, self._slot, self._needs, self._parent = None, 0, False, None
        return self

    @property
    def data(self) -> Tensor:
        """A tensor with the same memory but no history. In-place changes to it are not tracked."""
        return wrap(self.array)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Variable):
            raise TypeError(f"Variable data has to be a tensor, but got {value.__class__.__name__}")
        if self._needs and dt.kind_of(value.array) not in "fc":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self.array, self._parent = value.array, None

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad`` was called on this non-leaf tensor."""
        node, slot = self._source()
        return node is not None and tape.RETAINED in (node.hooks or {}).get(slot, {})

    def retain_grad(self) -> None:
        """Keep the gradient in ``.grad`` even though the tensor is not a leaf."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        node, slot = self._source()
        if node is None:
            return
        reference = weakref.ref(self)

        def keep(gradient: Tensor) -> None:
            tensor = reference()
            if tensor is not None:
                tensor._grad = gradient if tensor._grad is None else tensor._grad + gradient

        node.hooks = node.hooks or {}
        node.hooks.setdefault(slot, {})[tape.RETAINED] = keep

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(gradient)`` when this tensor's gradient is complete. Any result except None replaces it."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, slot = self._source()
        if node is None:
            self._hooks = hooks = self._hooks or {}
        else:
            node.hooks = node.hooks or {}
            hooks = node.hooks.setdefault(slot, {})
        return RemovableHandle(hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` each time ``backward`` has updated this leaf's ``.grad``. Raises RuntimeError if the
        tensor does not require a gradient or is not a leaf."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        self._after = self._after or {}
        return RemovableHandle(self._after, hook)

    # Conversion to NumPy and Python -------------------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """A NumPy array in the same memory. ``force`` detaches the tensor and copies it from a GPU. Raises RuntimeError
        if it requires grad while gradients are recorded, and TypeError on a GPU or for bfloat16, which NumPy lacks.

        >>> mg.tensor([1.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
        """
        if not force and autograd.is_grad_enabled() and self.requires_grad:
            message = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            if state.walk is not None:
                message += (
                    " With create_graph=True, gradient rules run on tensors: use ops such as x.cos(), not np.cos(x)"
                )
            raise RuntimeError(message)
        if self.device.type != "cpu" and not force:
            remedy = "Use Tensor.cpu() to copy the tensor to host memory first."
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. {remedy}")
        if self.array.dtype.kind == "V" or dt.is_kept(self.array.dtype):
            name = "BFloat16" if self.dtype is dt.bfloat16 else self.dtype.name.capitalize()
            raise TypeError(f"Got unsupported ScalarType {name}: NumPy has no such dtype; use .float().numpy()")
        return of(self.array).to_numpy(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        return array.astype(dtype) if dtype is not None and array.dtype != dtype else array.copy() if copy else array

    def item(self) -> Int | Float:
        """The only element as a Python number. Raises RuntimeError unless the tensor has exactly one element.

        >>> mg.tensor([2.5]).item()
        2.5
        """
        if (count := self.array.size) != 1:
            remedy = "use .tolist(), or index it"
            raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar: {remedy}")
        return self.array.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers.

        >>> mg.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self.array.tolist()

    # Python's protocols -------------------------------------------------------------------------------------

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
            count = self.array.size
            raise RuntimeError(f"Boolean value of Tensor with {count} values is ambiguous: use .any() or .all()")
        return bool(self.array.item())

    def __float__(self) -> Float:
        return float(self._number())

    def __int__(self) -> Int:
        return int(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def _number(self) -> Any:
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.array.item()

    def __index__(self) -> Int:
        if self.array.dtype.kind not in "biu" or self.array.size != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.array.ndim == 0 else object.__format__(self, spec)

    @property
    def __dict__(self) -> dict[str, Any]:
        return Attributes(self)

    @__dict__.setter
    def __dict__(self, attributes: dict[str, Any]) -> None:
        Attributes(self).clear()
        Attributes(self).update(attributes)

    def __dir__(self) -> list[str]:
        return sorted(set(object.__dir__(self)))

    def __deepcopy__(self, memo: dict[Int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError("only leaf tensors can be deep-copied: use .detach().clone() for a non-leaf tensor")
        if id(self) in memo:
            return memo[id(self)]
        from copy import deepcopy  # imported here, as most programs never copy a tensor

        twin = object.__new__(self.__class__)
        memo[id(self)] = twin
        twin.array, twin._changes, twin._needs = copied(self.array, memo), [0, None], self._needs
        twin._grad = None if self._grad is None else self._grad.clone()
        vars(twin).update(deepcopy(dict(vars(self)), memo))
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        array = self.array if self.is_meta else of(self.array).to_numpy(self.array)
        attributes = dict(vars(self))
        state = (self.__class__, array, str(self.device), self.requires_grad)
        if isinstance(self.dtype, dt.ExtraDType) and not self.is_meta:  # as bits, which every NumPy version can read
            bits = array.view(f"u{array.itemsize}")
            return _rebuilt, (*state[:1], bits, *state[2:], attributes, self.dtype.name)
        return _rebuilt, (*state, attributes) if attributes else state


border_methods(Tensor, "backward", "retain_grad", "requires_grad_", "__array__", "__contains__", "__deepcopy__")
border_methods(Tensor, "__float__", "__int__", "__index__")


everything: Callable[[Any], dict[str, Any]] = vars(Traced)["__dict__"].__get__  # including the library's own attributes


class Attributes(dict[str, Any]):
    """The attributes that a program has set on a tensor (its ``__dict__``). Changes also apply to the tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self._all = everything(tensor)
        super().__init__((name, value) for name, value in self._all.items() if name not in _OURS)


def _reaching(name: str) -> Callable[..., Any]:
    """A mutating method of dict that also changes the tensor."""

    def change(self: Attributes, *args: Any, **kwargs: Any) -> Any:
        before = set(self)
        result = getattr(dict, name)(self, *args, **kwargs)
        for removed in before.difference(self):
            del self._all[removed]
        self._all.update(self)
        return result

    return change


for _name in ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(Attributes, _name, _reaching(_name))
_OURS = frozenset(name for cls in Tensor.__mro__ for name in inspect.get_annotations(cls))


def _rebuilt(
    cls: type[Tensor], array: Array, device: str, needs: bool, attributes: dict[str, Any] | None = None, dtype: str = ""
) -> Tensor:
    """Unpickle a tensor without history or gradient, as in PyTorch. ``dtype`` is the real dtype of an array of bits."""
    array = array.view(dt.named(dtype).numpy) if dtype else array
    place = Device(device)
    array = array if place.type == "cpu" else for_device(place).asarray(array, place)
    result = Tensor._make_subclass(cls, wrap(array), needs)
    vars(result).update(attributes or {})
    return result


tape.classes_are(variable=Tensor)
Generator.as_state = staticmethod(wrap)
