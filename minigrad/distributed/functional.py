"""Differentiable collectives (``torch.distributed.nn.functional``). Gradients flow back along the path that the data
took, so the adjoint of each is the same or another collective. The backward pass is therefore also collective, and must
run on all ranks."""

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
    """A linear function of all ranks' tensors. Its gradient is the ``adjoint``."""
    return function(wrap(tensor).contiguous()).array


def _through(tensor: Any, function: Linear, adjoint: Linear) -> Any:
    """Apply a collective to a Tensor of any dtype, or to an array."""
    args = (tensor, function, adjoint)
    return tape.apply(_collective, args) if isinstance(tensor, Tensor) else _collective(*args)


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Group = None) -> Tensor:
    """The sum or mean of the tensors on all ranks. The backward pass reduces the gradients of the results on all ranks
    in the same way. Raises RuntimeError for any other ``op``."""
    if op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise RuntimeError(f"all_reduce has no gradient with {op.name}: use SUM or AVG")
    g = the_group(group)

    def reduced(x: Tensor) -> Tensor:
        result = x.clone()
        collectives.all_reduce(result, op, g)
        return result

    return _through(tensor, reduced, reduced)


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks. The backward pass sums the gradients of this rank's tensor over all ranks."""
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
