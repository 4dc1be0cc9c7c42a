"""Python's operators. Each converts operands as PyTorch does and calls its op. NumPy's functions call the operators.
This file also defines methods whose argument order differs from that of the functions, and in-place methods that have
no out-of-place function. ``define.py`` creates the other methods."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..autograd.inplace import at_once, mutate
from ..autograd.tape import Variable, wrap
from ..autograd.tracebacks import border, met, shorten
from ..backend import xp
from ..backend.storage import UntypedStorage, owner
from ..extension import layer
from ..ops import elementwise as e, linear
from ..ops.joining import place_in_memory
from ..ops.op import Op
from ..tensor import Tensor, apply
from . import indexing, linalg, pointwise
from .arguments import Operand, operand, sizes
from .creation import tensor
from .define import attached, brief, factors_first, function, method, named

Operator = Callable[[Tensor, Tensor | Operand], Tensor]
# NumPy functions that are operators on tensors. Most have the same name in PyTorch.
_UFUNCS = {"matmul": linalg.matmul, "power": pointwise.pow, "equal": pointwise.eq} | {
    name: getattr(pointwise, name)
    for name in (
        *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "bitwise_and", "bitwise_or"),
        *("bitwise_xor", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    )
}


def _operator(op: Op) -> Operator:
    """``a + b``"""

    def operator(self: Tensor, other: Tensor | Operand) -> Tensor:
        try:
            if not isinstance(other, Variable) and other.__class__ is not float:
                unfit, other = other, operand(other, self)
                if other is NotImplemented:
                    return _declined(operator, self, unfit)
            return apply(op, (self, other))
        except Exception as error:
            shorten(error)
            raise

    return _documented(operator, op)


def _swapped(op: Op) -> Operator:
    """``b + a`` for a ``b`` that is not a tensor."""

    def operator(self: Tensor, other: Tensor | Operand) -> Tensor:
        if not isinstance(self, Variable):
            raise TypeError(f"the first argument of a tensor's method must be a Tensor, not {type(self).__name__}")
        try:
            left = operand(other, self)
            return _declined(operator, self, other) if left is NotImplemented else apply(op, (left, self))
        except Exception as error:
            shorten(error)
            raise

    return _documented(operator, op)


def _in_place(op: Op) -> Operator:
    """``a += b``"""

    def operator(self: Tensor, other: Tensor | Operand) -> Tensor:
        try:
            if at_once(self, op, (other,)):
                return self
            right = operand(other, self)
            return _declined(operator, self, other) if right is NotImplemented else mutate(self, op, (self, right))
        except Exception as error:
            shorten(error)
            raise

    return _documented(operator, op)


def _declined(operator: Operator, self: Tensor, other: Any) -> Any:
    """Return NotImplemented, so that Python tries the other operand, or the result of its ``__torch_function__``."""
    return layer().asking(getattr(operator, "public", operator))(self, other) if met(other) else NotImplemented


def _documented(operator: Operator, op: Op) -> Operator:
    operator.__doc__ = op.__doc__
    return attached(operator)


def _without_bools(usual: Operator) -> Operator:
    """``a - b``, which does not support bools."""

    def operator(self: Tensor, other: Tensor | Operand) -> Tensor:
        if self.array.dtype.kind == "b" or other.__class__ is bool:
            unfit: Any = other
            return pointwise.sub(self, unfit)  # its error message suggests an alternative
        return usual(self, other)

    operator.__doc__ = usual.__doc__
    usual.public = operator  # type: ignore[attr-defined]
    return attached(operator)


__sub__, __rsub__ = _without_bools(_operator(e.sub)), _without_bools(_swapped(e.sub))
__isub__ = _in_place(e.sub)
for _name, _op in {
    "add": e.add,
    "mul": e.mul,
    "truediv": e.div,
    "div": e.div,  # Python 2's name, which PyTorch still defines
    "floordiv": e.floor_divide,
    "mod": e.remainder,
    "pow": e.pow,
    "and": e.bitwise_and,
    "or": e.bitwise_or,
    "xor": e.bitwise_xor,
    "lshift": e.bitwise_left_shift,
    "rshift": e.bitwise_right_shift,
}.items():
    for _prefix, _make in (("", _operator), ("r", _swapped), ("i", _in_place)):
        globals()[f"__{_prefix}{_name}__"] = _make(_op)
for _op in (e.eq, e.ne, e.lt, e.le, e.gt, e.ge):
    globals()[f"__{_op.name}__"] = _operator(_op)


@attached
def __neg__(self: Tensor) -> Tensor:
    try:
        return pointwise.neg(self) if self.array.dtype.kind == "b" else apply(e.neg, (self,))
    except Exception as error:
        shorten(error)
        raise


_METHODS = {
    "__pos__": (lambda self: self, "The tensor itself."),
    "__abs__": (lambda self: apply(e.abs, (self,)), "|x|"),
    "__reversed__": (lambda self: self.flip(0) if self.array.ndim else self, "The tensor reversed along axis 0."),
}
globals().update(brief(attached, _METHODS))


@attached
def __invert__(self: Tensor) -> Tensor:
    if self.array.dtype.kind in "fc":
        raise TypeError(f"~ only supports integer and bool tensors, not {self.dtype}")
    return apply(e.bitwise_not, (self,))


@attached
def __matmul__(self: Tensor, other: Tensor | Operand) -> Tensor:
    try:
        factor = operand(other, self)
        if not hasattr(factor, "array"):
            return _declined(__matmul__, self, other)
        linalg.check_floats_agree(self, factor, "matmul")
        return apply(linear.matmul, (self, factor))
    except Exception as error:
        shorten(error)
        raise


@attached
@border
def __rmatmul__(self: Tensor, other: Tensor | Operand) -> Tensor:
    factor = operand(other, self)
    return linalg.matmul(factor, self) if hasattr(factor, "array") else _declined(__rmatmul__, self, other)


__getitem__, __setitem__ = attached(indexing.getitem), attached(indexing.setitem)


@attached
@border
def __array_ufunc__(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Support NumPy's functions. An operator calls the tensor's operator; other functions run on NumPy arrays."""
    if method != "__call__" or kwargs:
        return NotImplemented
    if ufunc.__name__ in _UFUNCS and len(inputs) == 2:
        return _UFUNCS[ufunc.__name__](*(operand(i, self) for i in inputs))
    return wrap(ufunc(*(i.numpy() if isinstance(i, Tensor) else i for i in inputs)))


@method(free=False)
def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition is True, and ``other`` elsewhere."""
    return pointwise.where(condition, self, other)


def _with_factor(op: Op, doc: str) -> Callable[..., Tensor]:
    def change(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
        if at_once(input, op, (other,), alpha):
            return input
        return mutate(input, op, (input, operand(other if alpha == 1 else other * alpha, input)))

    return method(free=False)(factors_first(named(change, f"{op.name}_", doc)))


add_ = _with_factor(e.add, "In place: input + alpha · other.")
sub_ = _with_factor(e.sub, "In place: input - alpha · other.")
subtract_ = sub_


@method(free=False)
def fill_(input: Tensor, value: Any) -> Tensor:
    """In place: set every element to ``value``, a number or a 0-d tensor.

    >>> mg.zeros(3).fill_(2)
    tensor([2., 2., 2.])
    """
    if isinstance(value, Tensor) and value.array.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    input[...] = value
    return input


@method(free=False)
def zero_(input: Tensor) -> Tensor:
    """In place: set every element to 0.

    >>> mg.ones(3).zero_()
    tensor([0., 0., 0.])
    """
    return fill_(input, 0)


@method(free=False)
def copy_(input: Tensor, other: Tensor, non_blocking: bool = False) -> Tensor:
    """In place: copy another tensor's elements from any device, broadcast and converted to this tensor's dtype.

    >>> mg.zeros(2, 2).copy_(mg.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    input[...] = other.to(dtype=input.dtype, device=input.device)
    return input


@method(free=False)
def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """In place: fill the main diagonal with ``fill_value``. In tall matrices, ``wrap`` repeats the diagonal."""
    n, columns = input.array.ndim, input.array.shape[-1] if input.array.ndim else 0
    if n < 2 or (n > 2 and len(set(input.array.shape)) > 1):
        raise RuntimeError("fill_diagonal_: expected a matrix, or a tensor whose axes all have the same length")
    if wrap and n == 2:
        places = range(0, input.array.size, columns + 1)
        input[[i // columns for i in places], [i % columns for i in places]] = fill_value
    else:
        input[(list(range(min(input.array.shape))),) * n] = fill_value
    return input


@method(free=False)
def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """In place: apply a Python function to each element. This is slow, and runs on the CPU."""
    values = [callable(v) for v in input.detach().reshape(-1).tolist()]
    return copy_(input, tensor(values, dtype=input.dtype).reshape(input.shape))


@method(free=False)
def map_(input: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """In place: apply a Python function to each pair of elements. This is slow, and runs on the CPU."""
    pairs = zip(input.reshape(-1).tolist(), other.expand(input.shape).reshape(-1).tolist(), strict=True)
    return copy_(input, tensor([callable(a, b) for a, b in pairs], dtype=input.dtype).reshape(input.shape))


@method(free=False)
def resize_(input: Tensor, *lengths: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """In place: change the shape. Elements that fit are kept, in memory order; new elements are uninitialized. Raises
    RuntimeError if the tensor requires grad."""
    if input._wanted():
        raise RuntimeError("cannot resize variables that require grad")
    shape, old = sizes(lengths if size is None else size), input.array
    if shape != old.shape:
        memory, count = owner(old).ravel(order="K").view(old.dtype)[place_in_memory(old)[0] :], prod(shape)
        if count > memory.size:
            new = xp(old).empty(count, old.dtype)
            new[: memory.size] = memory
            memory, input._changes = new, [input._changes[0] + 1, None]
        input.array, input._parent = memory[:count].reshape(shape), None
    return input


@method(free=False)
def set_(input: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """In place: use the memory of another tensor or a storage. Without a source, the tensor becomes empty. The first
    element is at ``storage_offset``. ``size`` is the shape (by default, a vector of all remaining elements), and
    ``stride`` contains the strides in elements (by default contiguous). Raises RuntimeError if the elements extend past
    the end of the memory, or the storage has elements of another dtype."""
    if getattr(source, "dtype", input.dtype) is not input.dtype:
        raise RuntimeError(f"set_: expected a storage of dtype {input.dtype}, not {source.dtype}")
    if isinstance(source, Variable) and size is None:
        input.array, input._changes = source.array, source._changes
    else:
        memory = UntypedStorage() if source is None else getattr(source, "untyped_storage", lambda: source)()
        input.array = memory.untyped().shown(input.dtype, storage_offset, size, stride)
        input._changes = source._changes if isinstance(source, Variable) else [0, None]
    input._parent = None
    return input


_FILL = "A copy of the input filled with ``value``. The gradient of ``value`` is the sum of the elements' gradients."
_RESIZE_AS = (lambda input, other, memory_format=None: resize_(input, other.shape), "In place: resize like ``other``.")
globals().update(brief(function, {"fill": (lambda input, value: fill_(input.clone(), value), _FILL)}))
globals().update(brief(method(free=False), {"resize_as_": _RESIZE_AS}))
