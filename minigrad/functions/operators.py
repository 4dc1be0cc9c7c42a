"""Python's operators: each calls its op, with PyTorch's operands. NumPy's functions call them.

Beside them, methods whose arguments stand in another order than their function's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.inplace import at_once, mutate
from ..autograd.tape import Variable, wrap
from ..autograd.tracebacks import border, met, shorten
from ..extension import layer
from ..ops import elementwise as e
from ..ops import linear
from ..ops.op import Op
from ..tensor import Tensor, apply
from . import indexing, linalg, pointwise
from .arguments import Operand, operand
from .define import attached, brief, method

Operator = Callable[[Tensor, Tensor | Operand], Tensor]
# NumPy's functions that are operators of a tensor; most have PyTorch's names.
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
            raise TypeError(f"the first argument of a tensor's method must be Tensor, not {type(self).__name__}")
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
    """NotImplemented for Python to ask the other operand, unless its class answers for functions."""
    return layer().asking(getattr(operator, "public", operator))(self, other) if met(other) else NotImplemented


def _documented(operator: Operator, op: Op) -> Operator:
    operator.__doc__ = op.__doc__
    return attached(operator)


def _without_bools(usual: Operator) -> Operator:
    """``a - b``, which takes no bools."""

    def operator(self: Tensor, other: Tensor | Operand) -> Tensor:
        if self.array.dtype.kind == "b" or other.__class__ is bool:
            unfit: Any = other
            return pointwise.sub(self, unfit)  # its error names the alternative
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
    "div": e.div,  # Python 2's name, which PyTorch has still
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
    "__reversed__": (lambda self: self.flip(0) if self.array.ndim else self, "The order of the first axis reversed."),
}
globals().update(brief(attached, _METHODS))


@attached
def __invert__(self: Tensor) -> Tensor:
    if self.array.dtype.kind in "fc":
        raise TypeError(f"~ is for tensors of integers and bools, not {self.dtype}")
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
    """NumPy's functions: those that are operators call the tensor's, all others compute with NumPy arrays."""
    if method != "__call__" or kwargs:
        return NotImplemented
    if ufunc.__name__ in _UFUNCS and len(inputs) == 2:
        return _UFUNCS[ufunc.__name__](*(operand(i, self) for i in inputs))
    return wrap(ufunc(*(i.numpy() if isinstance(i, Tensor) else i for i in inputs)))


@method(free=False)
def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition holds, ``other`` elsewhere."""
    return pointwise.where(condition, self, other)
