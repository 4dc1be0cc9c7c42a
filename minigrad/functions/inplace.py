"""Changes in place that no function out of place stands behind. ``define.py`` makes the others."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..autograd.inplace import at_once, mutate
from ..autograd.tape import Variable
from ..backend import xp
from ..backend.storage import UntypedStorage, owner
from ..ops import elementwise as e
from ..ops.joining import place_in_memory
from ..ops.op import Op
from ..tensor import Tensor
from .arguments import operand, sizes
from .creation import tensor
from .define import function, method, named
from .spelling import factors_first


def _with_factor(op: Op, doc: str) -> Callable[..., Tensor]:
    """The method that adds or subtracts a multiple."""

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
    """In place: every element ``value``, a number or a tensor without axes.

    >>> mg.zeros(3).fill_(2)
    tensor([2., 2., 2.])
    """
    if isinstance(value, Tensor) and value.array.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    input[...] = value
    return input


@function
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the input's shape and dtype, every element ``value``, whose gradient is the sum of all. Raises
    RuntimeError: a tensor with axes."""
    return fill_(input.clone(), value)


@method(free=False)
def zero_(input: Tensor) -> Tensor:
    """In place: every element 0.

    >>> mg.ones(3).zero_()
    tensor([0., 0., 0.])
    """
    return fill_(input, 0)


@method(free=False)
def copy_(input: Tensor, other: Tensor, non_blocking: bool = False) -> Tensor:
    """In place: the elements of another tensor (broadcast, in this one's dtype, from any device).

    >>> mg.zeros(2, 2).copy_(mg.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    input[...] = other.to(dtype=input.dtype, device=input.device)
    return input


@method(free=False)
def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """In place: the main diagonal ``fill_value``; with ``wrap`` it begins again below a tall matrix."""
    n, columns = input.array.ndim, input.array.shape[-1] if input.array.ndim else 0
    if n < 2 or (n > 2 and len(set(input.array.shape)) > 1):
        raise RuntimeError("fill_diagonal_: a matrix, or a tensor whose axes have one length, is needed")
    if wrap and n == 2:
        places = range(0, input.array.size, columns + 1)
        input[[i // columns for i in places], [i % columns for i in places]] = fill_value
    else:
        input[(list(range(min(input.array.shape))),) * n] = fill_value
    return input


@method(free=False)
def apply_(input: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """In place: a Python function of each element (slow; CPU)."""
    values = [callable(v) for v in input.detach().reshape(-1).tolist()]
    return copy_(input, tensor(values, dtype=input.dtype).reshape(input.shape))


@method(free=False)
def map_(input: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """In place: a Python function of each pair of elements (slow; CPU)."""
    pairs = zip(input.reshape(-1).tolist(), other.expand(input.shape).reshape(-1).tolist(), strict=True)
    return copy_(input, tensor([callable(a, b) for a, b in pairs], dtype=input.dtype).reshape(input.shape))


@method(free=False)
def resize_(input: Tensor, *lengths: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """In place: another shape of the same memory; elements that fit stay, in its order, new ones are unset. Raises
    RuntimeError: the tensor requires a gradient."""
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
def resize_as_(input: Tensor, other: Tensor, memory_format: Any = None) -> Tensor:
    """In place: the shape of another tensor."""
    return resize_(input, other.array.shape)


@method(free=False)
def set_(input: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """In place: show the memory of another tensor, or of a storage, from now on; nothing without one.

    Args:
        source: a tensor or a storage.
        storage_offset: the place of the first element in that memory.
        size: the shape; for a storage by default all of it.
        stride: steps in elements, by default those of a dense tensor.

    Raises RuntimeError: that reaches beyond the memory's end, or the storage has elements of another dtype.
    """
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
