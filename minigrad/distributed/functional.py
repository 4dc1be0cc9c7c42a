"""Collectives that gradients flow through (``torch.distributed.nn.functional``). Each is its own adjoint, or another
one's: what a rank gives reaches the ranks that get something of it, and their gradients come back the same way. So the
backward pass is a collective, too, and all ranks have to run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd import tape
from ..autograd.tape import wrap
from ..backend.dtype import Array
from ..functions.creation import empty
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


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Group = None) -> Tensor:
    """The sum, or the mean, of all ranks' tensors, on each. Its gradient is that of all ranks' results, reduced. Raises
    RuntimeError: another ``op``."""
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise RuntimeError(f"there is no gradient of all_reduce with {op.name}: use SUM or AVG")
    g = the_group(group)

    def reduced(x: Tensor) -> Tensor:
        result = x.clone()
        collectives.all_reduce(result, op, g)
        return result

    return _through(tensor, reduced, reduced)


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks. The gradient is the sum of what all ranks' results have for this rank's tensor."""
    g = the_group(group)

    def gathered(x: Tensor) -> Tensor:
        rows = empty((g.size(), *x.shape), dtype=x.dtype, device=x.device)
        collectives.all_gather_into_tensor(rows, x, g)
        return rows

    def scattered(rows: Tensor) -> Tensor:
        result = empty(rows.shape[1:], dtype=rows.dtype, device=rows.device)
        collectives.reduce_scatter_tensor(result, rows, SUM, g)
        return result

    return tuple(_through(tensor, gathered, scattered).unbind(0))
