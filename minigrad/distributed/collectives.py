"""Collectives of tensors: all ranks of a group call the same function, in the same order (PyTorch's names).

Each returns None when it is over; with ``async_op=True`` at once, a ``Work``. On ranks that are not in the group they
do nothing. All raise ValueError before ``init_process_group``, TypeError for what is no tensor, RuntimeError when the
time is over and, with TORCH_DISTRIBUTED_DEBUG=DETAIL in the environment, where the ranks' calls differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from ..autograd.origin import note_change
from ..autograd.tape import wrap
from ..backend import dtype as dt
from ..backend import of, xp
from ..functions.creation import empty
from ..tensor import Tensor
from .group import ProcessGroup, ReduceOp, is_outside, the_group
from .lending import Loan
from .work import Done, Work, wait_for

SUM = ReduceOp.SUM
BARRIER_TAG = 2**20 + 1  # above those of messages
Group = ProcessGroup | int | None


def inside(group: Group) -> ProcessGroup | None:
    """The group of a call; None on ranks that are not in it."""
    return None if is_outside(group) else the_group(group)


def announce(
    g: ProcessGroup, call: str, *tensors: Any, op: Any = None, root: int | None = None, shaped: bool = True
) -> None:
    """Check what a collective takes. In the debugging mode also that all ranks call the same.

    Args:
        root: its number in the group. shaped: whether the first tensor has one shape on all ranks.
    """
    check_tensors(call, *tensors)
    if g.compares:
        array = tensors[0].array if tensors else None
        shape = f" of shape {tuple(array.shape)}" if array is not None and shaped else ""
        parts = [] if array is None else [f"{dt.of(array).name}{shape}{' on a GPU' * g.on_gpu(array)}"]
        parts += [f"op={getattr(op, 'value', op)}"] if op is not None else []
        parts += [f"root={g.ranks[root]}"] if root is not None else []
        g.compare(f"{call}({', '.join(parts)})")


def check_tensors(call: str, *tensors: Any) -> None:
    """Raise TypeError unless these are tensors."""
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{call} takes a tensor, not {type(tensor).__name__}")


def root_of(g: ProcessGroup, rank: int | None, number: int | None, what: str) -> int:
    """The root's number in the group, from its rank in the world or its number."""
    if rank is not None and number is not None:
        raise ValueError(f"give {what} or group_{what}, not both")
    if number is not None:
        if not 0 <= number < g.size():
            raise ValueError(f"group_{what} is {number}, in a group of {g.size()}")
        return number
    return 0 if rank is None else g.number_of(rank)


# Reductions -----------------------------------------------------------------------------------------------


def all_reduce(tensor: Tensor, op: Any = SUM, group: Group = None, async_op: bool = False) -> Work | None:
    """Give all ranks the sum (or another ``op``) of their tensors, in place.

    Args:
        tensor: of the same shape and dtype everywhere. op: a ``ReduceOp``.
    """
    if (g := inside(group)) is None:
        return None
    announce(g, "all_reduce", tensor, op=op)
    loan = Loan(tensor, g, op)
    request = g.carrier(tensor.array).all_reduce(loan.array, loan.op)
    return g.begin("all_reduce", request, loan.back, async_op, [tensor])


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The same on rank ``dst`` alone; the other tensors stay as they are."""
    if (g := inside(group)) is None:
        return None
    root = root_of(g, dst, group_dst, "dst")
    announce(g, "reduce", tensor, op=op, root=root)
    loan = Loan(tensor, g, op)
    request = g.carrier(tensor.array).reduce(loan.array, loan.op, root)
    return g.begin("reduce", request, loan.back if g.number == root else None, async_op, [tensor])


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Reduce the r-th tensors of all ranks, and put the result into ``output`` of rank r.

    Args:
        output: of the shape and dtype of each tensor in the list.
    """
    if (g := inside(group)) is None:
        return None
    check_tensors("reduce_scatter", output)
    return reduce_scatter_tensor(output, _rows(input_list, g, "input_list", output, filled=True), op, g, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """The same of one tensor, which holds the ranks' parts one after another."""
    if (g := inside(group)) is None:
        return None
    announce(g, "reduce_scatter", output, input, op=op)
    _check_parts(input, output, g, "input", "output")
    into, parts = Loan(output, g, op), Loan(input, g, op, apart=output)
    request = g.carrier(output.array).reduce_scatter(into.array, parts.array, into.op)
    return g.begin("reduce_scatter", request, into.back, async_op, [output])


# Moving -----------------------------------------------------------------------------------------------------


def broadcast(
    tensor: Tensor, src: int | None = None, group: Group = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give all ranks the tensor of rank ``src``, in place."""
    if (g := inside(group)) is None:
        return None
    root = root_of(g, src, group_src, "src")
    announce(g, "broadcast", tensor, root=root)
    loan = Loan(tensor, g)
    request = g.carrier(tensor.array).broadcast(loan.array, root)
    return g.begin("broadcast", request, None if g.number == root else loan.back, async_op, [tensor])


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False) -> Work | None:
    """Put the tensor of rank r into the r-th of the list, on all ranks.

    Args:
        tensor_list: tensors of the shape and dtype of ``tensor``, one for each rank.
    """
    if (g := inside(group)) is None:
        return None
    check_tensors("all_gather", tensor)
    return _gathered(_rows(tensor_list, g, "tensor_list", tensor), tensor, g, async_op, tensor_list)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """The same into one tensor, which holds the ranks' tensors one after another."""
    if (g := inside(group)) is None:
        return None
    return _gathered(output_tensor, input_tensor, g, async_op, None)


def _gathered(
    output: Tensor, tensor: Tensor, g: ProcessGroup, async_op: bool, listed: list[Tensor] | None
) -> Work | None:
    announce(g, "all_gather", tensor, output)
    _check_parts(output, tensor, g, "output_tensor", "input_tensor")
    into, own = Loan(output, g), Loan(tensor, g, apart=output)
    request = g.carrier(tensor.array).all_gather(into.array, own.array)
    return g.begin("all_gather", request, _then_hand_out(into, listed), async_op, listed or [output])


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """``all_gather`` on rank ``dst`` alone; the others give no list."""
    if (g := inside(group)) is None:
        return None
    root = root_of(g, dst, group_dst, "dst")
    announce(g, "gather", tensor, root=root)
    into = _at_root(gather_list, g, root, "gather_list", tensor)
    request = g.carrier(tensor.array).gather(None if into is None else into.array, Loan(tensor, g).array, root)
    finish = None if into is None else _then_hand_out(into, gather_list)
    return g.begin("gather", request, finish, async_op, gather_list or ())


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give rank r the r-th tensor of the list of rank ``src``; the others give no list."""
    if (g := inside(group)) is None:
        return None
    root = root_of(g, src, group_src, "src")
    announce(g, "scatter", tensor, root=root)
    parts = _at_root(scatter_list, g, root, "scatter_list", tensor, filled=True)
    into = Loan(tensor, g)
    request = g.carrier(tensor.array).scatter(into.array, None if parts is None else parts.array, root)
    return g.begin("scatter", request, into.back, async_op, [tensor])


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Group = None, async_op: bool = False
) -> Work | None:
    """Send the r-th input to rank r, and receive from it the r-th output. Shapes may differ from rank to rank.

    Args:
        output_tensor_list: tensors of the shapes that the other ranks send.
    """
    if (g := inside(group)) is None:
        return None
    for tensors, what in ((input_tensor_list, "input_tensor_list"), (output_tensor_list, "output_tensor_list")):
        _check_list(tensors, g, what)
    first = input_tensor_list[0].array
    for tensor in (*input_tensor_list, *output_tensor_list):
        _check_dtype(tensor, input_tensor_list[0], "all_to_all")
    sent, received = ([t.array.size for t in each] for each in (input_tensor_list, output_tensor_list))
    where = of(first).device_of(first)
    flat, out = (empty(sum(sizes), dtype=dt.of(first), device=where) for sizes in (sent, received))
    flat.array[...] = xp(first).concatenate([t.array.reshape(-1) for t in input_tensor_list])
    return _exchanged(out, flat, received, sent, g, async_op, output_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """The same of one tensor, cut along its first axis.

    Args:
        output_split_sizes, input_split_sizes: rows from and for each rank; None for equal parts.

    Raises:
        ValueError: the sizes do not add up to the rows.
    """
    if (g := inside(group)) is None:
        return None
    announce(g, "all_to_all_single", output, input, shaped=False)
    _check_dtype(output, input, "all_to_all_single")
    received, sent = (_elements(t, s, g) for t, s in ((output, output_split_sizes), (input, input_split_sizes)))
    return _exchanged(output, input, received, sent, g, async_op, None)


def _exchanged(
    output: Tensor,
    parts: Tensor,
    received: list[int],
    sent: list[int],
    g: ProcessGroup,
    async_op: bool,
    listed: list[Tensor] | None,
) -> Work | None:
    if listed is not None:
        announce(g, "all_to_all", output, shaped=False)
    into, own = Loan(output, g), Loan(parts, g, apart=output)
    request = g.carrier(output.array).all_to_all(into.array.reshape(-1), own.array.reshape(-1), received, sent)
    return g.begin("all_to_all", request, _then_hand_out(into, listed), async_op, listed or [output])


# Lists of tensors and parts of one ----------------------------------------------------------------------------


def _rows(tensors: list[Tensor], g: ProcessGroup, what: str, like: Tensor, filled: bool = False) -> Tensor:
    """A new tensor with a row for each tensor of a list; with ``filled``, their numbers.

    Raises:
        TypeError: no list of tensors. ValueError: it is not of one for each rank, or another shape or dtype than like.
    """
    _check_list(tensors, g, what)
    first = tensors[0].array
    if any(t.array.shape != first.shape or t.array.dtype != first.dtype for t in tensors):
        raise ValueError(f"the tensors of {what} must have one shape and dtype")
    rows: Tensor = wrap(xp(first).empty((len(tensors), *first.shape), first.dtype))
    _check_parts(rows, like, g, what, "the tensor")
    for i, tensor in enumerate(tensors if filled else ()):
        rows.array[i, ...] = tensor.array
    return rows


def _at_root(
    tensors: list[Tensor] | None, g: ProcessGroup, root: int, what: str, like: Tensor, filled: bool = False
) -> Loan | None:
    """The root's list as one array; None on the others, which must not give one."""
    if g.number == root:
        return Loan(_rows(tensors or [], g, f"{what}, on rank {g.ranks[root]},", like, filled), g)
    if tensors:
        raise ValueError(f"{what} is for rank {g.ranks[root]}; the others give none")
    return None


def _then_hand_out(into: Loan, listed: Sequence[Tensor] | None) -> Any:
    """What follows a call: its result, and its parts into the tensors of a list."""

    def finish(name: str) -> None:
        into.back(name)
        start, flat = 0, into.tensor.array.reshape(-1)
        for tensor in listed or ():
            tensor.array[...] = flat[start : start + tensor.array.size].reshape(tensor.array.shape)
            note_change(tensor._changes, name, "another rank")
            start += tensor.array.size

    return finish


def _check_list(tensors: Any, g: ProcessGroup, what: str) -> None:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"{what} must be a list of tensors")
    if len(tensors) != g.size():
        raise ValueError(f"{what} must hold a tensor for each of {g.size()} ranks, and holds {len(tensors)}")


def _check_parts(whole: Tensor, part: Tensor, g: ProcessGroup, one: str, other: str) -> None:
    if whole.array.size != part.array.size * g.size() or whole.array.dtype != part.array.dtype:
        raise ValueError(
            f"{one} must hold {g.size()} times the elements of {other}, of its dtype: {one} is "
            f"{dt.of(whole.array).name} of shape {tuple(whole.array.shape)}, {other} {dt.of(part.array).name} of shape "
            f"{tuple(part.array.shape)}"
        )


def _check_dtype(tensor: Tensor, other: Tensor, name: str) -> None:
    if tensor.array.dtype != other.array.dtype:
        kinds = f"{dt.of(tensor.array).name} and {dt.of(other.array).name}"
        raise ValueError(f"{name} takes tensors of one dtype, not {kinds}")


def _elements(tensor: Tensor, sizes: Sequence[int] | None, g: ProcessGroup) -> list[int]:
    """The elements of each rank's rows."""
    rows = tensor.array.shape[0] if tensor.array.ndim else 0
    counts = [rows // g.size()] * g.size() if sizes is None else list(sizes)
    if len(counts) != g.size() or sum(counts) != rows or min(counts) < 0:
        raise ValueError(f"{rows} rows cannot be cut into parts of {counts} for {g.size()} ranks")
    inner = tensor.array.size // max(rows, 1)
    return [count * inner for count in counts]


# Waiting ----------------------------------------------------------------------------------------------------


def barrier(
    group: Group = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all ranks are here. ``device_ids`` has no effect."""
    if (g := inside(group)) is None:
        return None
    announce(g, "barrier")
    work = Work("barrier", Done() if g.comm is None else g.comm.Ibarrier(), None, g.seconds, ())
    if async_op:
        return g.keep(work)
    work.wait(timeout)
    return None


def monitored_barrier(group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """``barrier``, in which rank 0 of the group names who is missing. ``wait_all_ranks`` has no effect: it names all.

    Raises:
        RuntimeError: ranks have not come in time.
    """
    if (g := inside(group)) is None or g.comm is None:
        return
    seconds, one = g.seconds if timeout is None else timeout.total_seconds(), np.zeros(1, np.uint8)
    if g.number > 0:
        g.comm.Isend(one, 0, BARRIER_TAG)
        wait_for(g.comm.Irecv(one.copy(), 0, BARRIER_TAG).Test, seconds, "monitored_barrier")
        return
    coming = {rank: g.comm.Irecv(one.copy(), number, BARRIER_TAG) for number, rank in enumerate(g.ranks) if number}

    def all_are_here() -> bool:
        for rank in [rank for rank, request in coming.items() if request.Test()]:
            del coming[rank]
        return not coming

    try:
        wait_for(all_are_here, seconds, "monitored_barrier")
    except RuntimeError:
        for request in coming.values():
            request.Cancel()
        who = f"rank{'s' * (len(coming) > 1)} {', '.join(map(str, coming))} {'have' if len(coming) > 1 else 'has'}"
        raise RuntimeError(f"monitored_barrier timed out after {seconds:g} s: {who} not called it") from None
    for number in range(1, g.size()):
        g.comm.Send(one, number, BARRIER_TAG)
