"""Collectives that gradients flow through (``torch.distributed.nn.functional``).

Each is its own adjoint, or another one's: what a rank gives reaches the ranks that get something of it, and their
gradients come back the same way. So the backward pass is a collective, too, and all ranks have to run it.
"""

from __future__ import annotations

from typing import Any

from ..autograd.function import Function
from ..functions.creation import empty, zeros_like
from ..functions.shaping import stack
from ..tensor import Tensor
from . import collectives
from .group import ProcessGroup, ReduceOp, the_group

SUM = ReduceOp.SUM
Group = ProcessGroup | None


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: ReduceOp, group: ProcessGroup) -> Tensor:
        if op not in (ReduceOp.SUM, ReduceOp.AVG):
            raise RuntimeError(f"there is no gradient of all_reduce with {op.name}: use SUM or AVG")
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _AllReduce.apply(grads[0].contiguous(), ctx.op, ctx.group), None, None


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: ProcessGroup) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        total = _AllReduce.apply(grads[0].contiguous(), SUM, ctx.group)
        return total if ctx.group.ranks[ctx.group.number] == ctx.src else zeros_like(total), None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        result = empty((group.size(), *tensor.shape), dtype=tensor.dtype, device=tensor.device)
        collectives.all_gather_into_tensor(result, tensor.contiguous(), group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _ReduceScatter.apply(grads[0].contiguous(), ctx.group), None


class _ReduceScatter(Function):
    """Of a tensor with a row for each rank."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        result = empty(rows.shape[1:], dtype=rows.dtype, device=rows.device)
        collectives.reduce_scatter_tensor(result, rows.contiguous(), SUM, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _AllGather.apply(grads[0].contiguous(), ctx.group), None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, received: Any, sent: Any, group: ProcessGroup) -> Tensor:
        ctx.received, ctx.sent, ctx.group = received, sent, group
        rows = tensor.shape[0] if received is None else sum(received)
        result = empty((rows, *tensor.shape[1:]), dtype=tensor.dtype, device=tensor.device)
        collectives.all_to_all_single(result, tensor.contiguous(), received, sent, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _AllToAll.apply(grads[0].contiguous(), ctx.sent, ctx.received, ctx.group), None, None, None


def all_reduce(tensor: Tensor, op: ReduceOp = SUM, group: Group = None) -> Tensor:
    """The sum, or the mean, of all ranks' tensors, on each. Its gradient is that of all ranks' results, reduced.

    Raises:
        RuntimeError: another ``op``.
    """
    return _AllReduce.apply(tensor, op, the_group(group))


def broadcast(tensor: Tensor, src: int, group: Group = None) -> Tensor:
    """The tensor of rank ``src``, whose gradient is the sum of all ranks'; the others' is zero."""
    return _Broadcast.apply(tensor, src, the_group(group))


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks."""
    return tuple(_AllGather.apply(tensor, the_group(group)).unbind(0))


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: ReduceOp = SUM, group: Group = None) -> Tensor:
    """The sum over the ranks of their tensors for this one. ``output`` gives nothing; it is PyTorch's argument.

    Raises:
        RuntimeError: another ``op`` than SUM.
    """
    if op is not SUM:
        raise RuntimeError(f"there is no gradient of reduce_scatter with {op.name}: use SUM")
    return _ReduceScatter.apply(stack(input_list), the_group(group))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: Group = None,
) -> Tensor:
    """Rows from all ranks, as of ``distributed.all_to_all_single``. ``output``, PyTorch's argument, gives nothing."""
    return _AllToAll.apply(input, output_split_sizes, input_split_sizes, the_group(group))
