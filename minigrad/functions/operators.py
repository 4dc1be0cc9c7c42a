"""Python's operators: each calls its op, with PyTorch's operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.calls import apply
from ..autograd.inplace import mutate
from ..autograd.tape import Variable
from ..autograd.views import Viewing
from ..ops import elementwise as e
from ..ops import linear
from ..ops.op import Op
from . import indexing, linalg, pointwise
from .arguments import operand

if TYPE_CHECKING:
    from ..tensor import Tensor

Operator = Callable[["Tensor", Any], "Tensor"]


def _operator(op: Op) -> Operator:
    """``a + b``"""

    def method(self: Tensor, other: Any) -> Tensor:
        if not isinstance(other, Variable) and other.__class__ is not float:
            other = operand(other, self)
            if other is NotImplemented:
                return NotImplemented
        return apply(op, (self, other))

    return _documented(method, op)


def _swapped(op: Op) -> Operator:
    """``b + a`` for a ``b`` that is not a tensor."""

    def method(self: Tensor, other: Any) -> Tensor:
        other = operand(other, self)
        return NotImplemented if other is NotImplemented else apply(op, (other, self))

    return _documented(method, op)


def _in_place(op: Op) -> Operator:
    """``a += b``"""

    def method(self: Tensor, other: Any) -> Tensor:
        other = operand(other, self)
        return NotImplemented if other is NotImplemented else mutate(self, op, (self, other))

    return _documented(method, op)


def _documented(method: Operator, op: Op) -> Operator:
    method.__doc__ = op.__doc__
    return method


def _without_bools(usual: Operator) -> Operator:
    """``a - b``, which takes no bools."""

    def method(self: Tensor, other: Any) -> Tensor:
        if self.array.dtype.kind == "b" or other.__class__ is bool:
            return pointwise.sub(self, other)  # its error names the alternative
        return usual(self, other)

    method.__doc__ = usual.__doc__
    return method


class Operators(Viewing):
    """The operators of a Tensor."""

    apply = staticmethod(apply)

    __add__, __radd__, __iadd__ = _operator(e.add), _swapped(e.add), _in_place(e.add)
    __sub__, __rsub__ = _without_bools(_operator(e.sub)), _without_bools(_swapped(e.sub))
    __isub__ = _in_place(e.sub)
    __mul__, __rmul__, __imul__ = _operator(e.mul), _swapped(e.mul), _in_place(e.mul)
    __truediv__, __rtruediv__, __itruediv__ = _operator(e.div), _swapped(e.div), _in_place(e.div)
    __floordiv__, __rfloordiv__ = _operator(e.floor_divide), _swapped(e.floor_divide)
    __ifloordiv__ = _in_place(e.floor_divide)
    __mod__, __rmod__, __imod__ = _operator(e.remainder), _swapped(e.remainder), _in_place(e.remainder)
    __pow__, __rpow__, __ipow__ = _operator(e.pow), _swapped(e.pow), _in_place(e.pow)
    __and__, __rand__, __iand__ = _operator(e.bitwise_and), _swapped(e.bitwise_and), _in_place(e.bitwise_and)
    __or__, __ror__, __ior__ = _operator(e.bitwise_or), _swapped(e.bitwise_or), _in_place(e.bitwise_or)
    __xor__, __rxor__, __ixor__ = _operator(e.bitwise_xor), _swapped(e.bitwise_xor), _in_place(e.bitwise_xor)
    __lshift__, __rlshift__ = _operator(e.bitwise_left_shift), _swapped(e.bitwise_left_shift)
    __ilshift__ = _in_place(e.bitwise_left_shift)
    __rshift__, __rrshift__ = _operator(e.bitwise_right_shift), _swapped(e.bitwise_right_shift)
    __irshift__ = _in_place(e.bitwise_right_shift)
    __eq__ = _operator(e.eq)  # type: ignore[assignment]
    __ne__ = _operator(e.ne)  # type: ignore[assignment]
    __lt__, __le__, __gt__, __ge__ = _operator(e.lt), _operator(e.le), _operator(e.gt), _operator(e.ge)
    __hash__ = Variable.__hash__

    def __neg__(self: Any) -> Tensor:
        return pointwise.neg(self) if self.array.dtype.kind == "b" else apply(e.neg, (self,))

    def __pos__(self: Any) -> Tensor:
        return self

    def __abs__(self: Any) -> Tensor:
        return apply(e.abs, (self,))

    def __invert__(self: Any) -> Tensor:
        return apply(e.bitwise_not, (self,))

    def __matmul__(self: Any, other: Any) -> Tensor:
        other = operand(other, self)
        if not hasattr(other, "array"):
            return NotImplemented
        linalg.check_floats_agree(self, other, "matmul")
        return apply(linear.matmul, (self, other))

    def __rmatmul__(self: Any, other: Any) -> Tensor:
        other = operand(other, self)
        return linalg.matmul(other, self) if hasattr(other, "array") else NotImplemented

    def __reversed__(self: Any) -> Tensor:
        return self.flip(0) if self.array.ndim else self

    def __getitem__(self: Any, key: Any) -> Tensor:
        return indexing.getitem(self, key)

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        indexing.setitem(self, key, value)
