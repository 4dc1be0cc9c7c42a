"""Collectives that gradients flow through (``torch.distributed.nn.functional``).

Each is its own adjoint, or another one's: what a rank gives reaches the ranks that get something of it, and their
gradients come back the same way. So the backward pass is a collective, too, and all ranks have to run it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd import tape
from ..autograd.tape import wrap
from ..backend.dtype import Array
from ..functions.creation import empty, zeros_like
from ..functions.shaping import stack
from ..ops.op import op
from ..tensor import Tensor
from . import collectives
from .group import ProcessGroup, ReduceOp, the_group

SUM = ReduceOp.SUM
Group = ProcessGroup | None
Linear = Callable[[Tensor], Tensor]


@op(tensor=lambda g, function, adjoint: _through(g, adjoint, function))
def _collective(tensor: Array, function: Linear, adjoint: Linear) -> Array:
    """A linear function of all ranks' tensors, of which ``adjoint`` is the adjoint"""
    return function(wrap(tensor).contiguous()).array


def _through(tensor: Any, function: Linear, adjoint: Linear) -> Any:
    """A collective of a Tensor as it is, whatever its dtype, or of an array."""
    args = (tensor, function, adjoint)
    return tape.apply(_collective, args) if isinstance(tensor, Tensor) else _collective(*args)


def _in_place(collective: Callable[..., Any], *arguments: Any) -> Linear:
    """A collective that changes its tensor, of a copy."""

    def function(tensor: Tensor) -> Tensor:
        result = tensor.clone()
        collective(result, *arguments)
        return result

    return function


def _into(collective: Callable[..., Any], shape: Callable[[Tensor], Any], *arguments: Any) -> Linear:
    """A collective that writes into a new tensor."""

    def function(tensor: Tensor) -> Tensor:
        result = empty(shape(tensor), dtype=tensor.dtype, device=tensor.device)
        collective(result, tensor, *arguments)
        return result

    return function


def _rows(group: ProcessGroup) -> tuple[Linear, Linear]:
    """All ranks' tensors as rows, and its adjoint: the sum of each rank's row."""
    gather = _into(collectives.all_gather_into_tensor, lambda x: (group.size(), *x.shape), group)
    return gather, _into(collectives.reduce_scatter_tensor, lambda x: x.shape[1:], SUM, group)


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Group = None) -> Tensor:
    """The sum, or the mean, of all ranks' tensors, on each. Its gradient is that of all ranks' results, reduced.

    Raises:
        RuntimeError: another ``op``.
    """
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise RuntimeError(f"there is no gradient of all_reduce with {op.name}: use SUM or AVG")
    function = _in_place(collectives.all_reduce, op, the_group(group))
    return _through(tensor, function, function)


def broadcast(tensor: Tensor, src: int, group: Group = None) -> Tensor:
    """The tensor of rank ``src``, whose gradient is the sum of all ranks'; the others' is zero."""
    g = the_group(group)
    total = _in_place(collectives.all_reduce, SUM, g)
    adjoint: Linear = lambda x: total(x) if g.ranks[g.number] == src else zeros_like(total(x))
    return _through(tensor, _in_place(collectives.broadcast, src, g), adjoint)


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks."""
    return tuple(_through(tensor, *_rows(the_group(group))).unbind(0))


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: ReduceOp = SUM, group: Group = None) -> Tensor:
    """The sum over the ranks of their tensors for this one. ``output`` gives nothing; it is PyTorch's argument.

    Raises:
        RuntimeError: another ``op`` than SUM.
    """
    if op is not SUM:
        raise RuntimeError(f"there is no gradient of reduce_scatter with {op.name}: use SUM")
    return _through(stack(input_list), *reversed(_rows(the_group(group))))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Group = None,
) -> Tensor:
    """Rows from all ranks, as of ``distributed.all_to_all_single``. ``output``, PyTorch's argument, gives nothing."""

    def exchange(received: list[int] | None, sent: list[int] | None) -> Linear:
        shape: Callable[[Tensor], Any] = lambda x: x.shape if received is None else (sum(received), *x.shape[1:])
        return _into(collectives.all_to_all_single, shape, received, sent, the_group(group))

    sizes = output_split_sizes, input_split_sizes
    return _through(input, exchange(*sizes), exchange(*reversed(sizes)))
