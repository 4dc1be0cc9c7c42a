"""Collectives of tensors: all ranks of a group call the same function, in the same order (PyTorch's names).

Each returns None when it is over; with ``async_op=True`` at once, a ``Work``. On ranks that are not in the group they
do nothing. All raise ValueError before ``init_process_group``, TypeError for what is no tensor, and RuntimeError where
the ranks' calls differ in function, dtype, shape, operation or root, or one did not come in time: then it is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ..autograd.origin import note_change
from ..autograd.tape import wrap
from ..backend import dtype as dt
from ..backend import of
from ..functions.creation import empty
from ..tensor import Tensor
from .agreement import Counts, header
from .group import ProcessGroup, ReduceOp, is_outside, the_group
from .lending import Loan, check_list, divide, together, transport_op
from .transport import Done, Request
from .work import Work

SUM = ReduceOp.SUM
Group = ProcessGroup | int | None


def _call(
    group: ProcessGroup,
    name: str,
    array: Any,
    start: Callable[[bool], Request],
    finish: Callable[[], Any] | None,
    async_op: bool,
    counts: Counts | None = None,
    results: Sequence[Tensor] = (),
    **said: Any,
) -> Work | None:
    """One call: compare headers, let the arrays go round, and wait unless ``async_op``. ``results``: what it writes."""
    line = None
    if group.control is not None:
        blocks = not async_op and not group.queue.crowded
        line = header(name, array, together=blocks, on_gpu=array is not None and group.on_gpu(array), **said)
    work = Work(group.queue, name, start, finish)
    work.results = results
    group.queue.put(work, line, counts)
    if async_op:
        return work
    work.wait()
    return None


def _check(tensor: Any, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} takes a tensor, not {type(tensor).__name__}")


def _root(group: ProcessGroup, rank: int | None, number: int | None, what: str) -> int:
    """The root's number in the group, from its rank in the world or its number."""
    if rank is not None and number is not None:
        raise ValueError(f"give {what} or group_{what}, not both")
    if number is not None:
        if not 0 <= number < group.size():
            raise ValueError(f"group_{what} is {number}, in a group of {group.size()}")
        return number
    return 0 if rank is None else group.number_of(rank)


# Reductions -----------------------------------------------------------------------------------------------


def all_reduce(tensor: Tensor, op: Any = SUM, group: Group = None, async_op: bool = False) -> Work | None:
    """Give all ranks the sum (or another ``op``) of their tensors, in place.

    Args:
        tensor: of the same shape and dtype everywhere. op: a ``ReduceOp``.
    """
    if is_outside(group):
        return None
    g = the_group(group)
    _check(tensor, "all_reduce")
    name, loan = transport_op(op, tensor), Loan(tensor, g, op)
    start = lambda together: g.carrier(tensor.array).all_reduce(loan.array, name, together)
    return _call(
        g,
        "all_reduce",
        tensor.array,
        start,
        _reduced(loan, op, g, "all_reduce"),
        async_op,
        results=[tensor],
        op=op.value,
    )


def _reduced(loan: Loan, op: ReduceOp, group: ProcessGroup, name: str) -> Callable[[], None]:
    def finish() -> None:
        if op is ReduceOp.AVG:
            divide(loan.array, group.size())
        loan.back(name)

    return finish


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The same on rank ``dst`` alone; the other tensors stay as they are."""
    if is_outside(group):
        return None
    g = the_group(group)
    _check(tensor, "reduce")
    root, name, loan = _root(g, dst, group_dst, "dst"), transport_op(op, tensor), Loan(tensor, g, op)
    start = lambda together: g.carrier(tensor.array).reduce(loan.array, name, root)
    finish = _reduced(loan, op, g, "reduce") if g.number == root else None
    return _call(g, "reduce", tensor.array, start, finish, async_op, results=[tensor], op=op.value, root=g.ranks[root])


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Reduce the r-th tensors of all ranks, and put the result into ``output`` of rank r.

    Args:
        output: of the shape and dtype of each tensor in the list.
    """
    if is_outside(group):
        return None
    g = the_group(group)
    _check(output, "reduce_scatter")
    return _reduce_scatter(output, _joined(input_list, g, "input_list"), op, g, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """The same of one tensor, which holds the ranks' parts one after another."""
    if is_outside(group):
        return None
    g = the_group(group)
    _check(output, "reduce_scatter_tensor")
    _check(input, "reduce_scatter_tensor")
    _check_parts(input, output, g, "input", "output")
    return _reduce_scatter(output, input.detach(), op, g, async_op)


def _reduce_scatter(output: Tensor, parts: Tensor, op: Any, g: ProcessGroup, async_op: bool) -> Work | None:
    name, into, loan = transport_op(op, output), Loan(output, g, op), Loan(parts, g, op, apart=output)
    start = lambda together: g.carrier(output.array).reduce_scatter(into.array, loan.array, name)
    finish = _reduced(into, op, g, "reduce_scatter")
    return _call(g, "reduce_scatter", output.array, start, finish, async_op, results=[output], op=op.value)


def _joined(tensors: list[Tensor], g: ProcessGroup, what: str) -> Tensor:
    """A new tensor of the ranks' parts."""
    array = together(tensors, g.size(), what)
    for i, tensor in enumerate(tensors):
        array[i, ...] = tensor.array
    return _wrapped(array)


def _wrapped(array: Any) -> Tensor:
    return wrap(array)


def _check_parts(whole: Tensor, part: Tensor, g: ProcessGroup, one: str, other: str) -> None:
    if whole.array.size != part.array.size * g.size() or whole.array.dtype != part.array.dtype:
        raise ValueError(
            f"{one} must hold {g.size()} times the elements of {other}, of its dtype: {one} is "
            f"{dt.of(whole.array).name} of shape {tuple(whole.array.shape)}, {other} {dt.of(part.array).name} of shape "
            f"{tuple(part.array.shape)}"
        )


# Moving -----------------------------------------------------------------------------------------------------


def broadcast(
    tensor: Tensor, src: int | None = None, group: Group = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give all ranks the tensor of rank ``src``, in place."""
    if is_outside(group):
        return None
    g = the_group(group)
    _check(tensor, "broadcast")
    root, loan = _root(g, src, group_src, "src"), Loan(tensor, g)
    start = lambda together: g.carrier(tensor.array).broadcast(loan.array, root)
    finish = None if g.number == root else lambda: loan.back("broadcast")
    return _call(g, "broadcast", tensor.array, start, finish, async_op, results=[tensor], root=g.ranks[root])


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False) -> Work | None:
    """Put the tensor of rank r into the r-th of the list, on all ranks.

    Args:
        tensor_list: tensors of the shape and dtype of ``tensor``, one for each rank.
    """
    if is_outside(group):
        return None
    g = the_group(group)
    _check(tensor, "all_gather")
    rows = _wrapped(together(tensor_list, g.size(), "tensor_list"))
    _check_parts(rows, tensor, g, "tensor_list", "tensor")
    return _all_gather(rows, tensor, g, async_op, tensor_list, lambda: _hand_out(rows, tensor_list, "all_gather"))


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """The same into one tensor, which holds the ranks' tensors one after another."""
    if is_outside(group):
        return None
    g = the_group(group)
    _check(output_tensor, "all_gather_into_tensor")
    _check(input_tensor, "all_gather_into_tensor")
    _check_parts(output_tensor, input_tensor, g, "output_tensor", "input_tensor")
    return _all_gather(output_tensor, input_tensor, g, async_op, [output_tensor], None)


def _all_gather(
    output: Tensor,
    tensor: Tensor,
    g: ProcessGroup,
    async_op: bool,
    results: Sequence[Tensor],
    after: Callable[[], None] | None,
) -> Work | None:
    into, loan = Loan(output, g), Loan(tensor, g, apart=output)

    def finish() -> None:
        into.back("all_gather")
        if after is not None:
            after()

    start = lambda together: g.carrier(tensor.array).all_gather(into.array, loan.array)
    return _call(g, "all_gather", tensor.array, start, finish, async_op, results=results)


def _hand_out(rows: Tensor, tensors: Sequence[Tensor], name: str) -> None:
    for i, tensor in enumerate(tensors):
        tensor.array[...] = rows.array[i, ...].reshape(tensor.array.shape)
        note_change(tensor._changes, name, "another rank")


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """``all_gather`` on rank ``dst`` alone; the others give no list."""
    if is_outside(group):
        return None
    g = the_group(group)
    _check(tensor, "gather")
    root, loan = _root(g, dst, group_dst, "dst"), Loan(tensor, g)
    into, finish = None, None
    if g.number == root:
        check_list(gather_list, g.size(), "gather_list, on the rank dst,")
        tensors = list(gather_list or ())
        rows = _wrapped(together(tensors, g.size(), "gather_list"))
        _check_parts(rows, tensor, g, "gather_list", "tensor")
        into = Loan(rows, g)

        def finish() -> None:
            into.back("gather")
            _hand_out(rows, tensors, "gather")

    elif gather_list:
        raise ValueError(f"gather_list is for rank {g.ranks[root]}, dst; the others give none")
    start = lambda together: g.carrier(tensor.array).gather(None if into is None else into.array, loan.array, root)
    return _call(g, "gather", tensor.array, start, finish, async_op, results=gather_list or (), root=g.ranks[root])


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give rank r the r-th tensor of the list of rank ``src``; the others give no list."""
    if is_outside(group):
        return None
    g = the_group(group)
    _check(tensor, "scatter")
    root, into = _root(g, src, group_src, "src"), Loan(tensor, g)
    parts = None
    if g.number == root:
        check_list(scatter_list, g.size(), "scatter_list, on the rank src,")
        rows = _joined(list(scatter_list or ()), g, "scatter_list")
        _check_parts(rows, tensor, g, "scatter_list", "tensor")
        parts = Loan(rows, g).array
    elif scatter_list:
        raise ValueError(f"scatter_list is for rank {g.ranks[root]}, src; the others give none")
    start = lambda together: g.carrier(tensor.array).scatter(into.array, parts, root)
    return _call(
        g, "scatter", tensor.array, start, lambda: into.back("scatter"), async_op, results=[tensor], root=g.ranks[root]
    )


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Group = None, async_op: bool = False
) -> Work | None:
    """Send the r-th input to rank r, and receive from it the r-th output. Shapes may differ from rank to rank.

    Args:
        output_tensor_list: tensors of the shapes that the other ranks send.
    """
    if is_outside(group):
        return None
    g = the_group(group)
    check_list(input_tensor_list, g.size(), "input_tensor_list")
    check_list(output_tensor_list, g.size(), "output_tensor_list")
    sent, received = ([t.array.size for t in each] for each in (input_tensor_list, output_tensor_list))
    first = input_tensor_list[0]
    for tensor in (*input_tensor_list, *output_tensor_list):
        _check_dtype(tensor, first, "all_to_all")
    where = of(first.array).device_of(first.array)
    flat, out = (empty(sum(sizes), dtype=dt.of(first.array), device=where) for sizes in (sent, received))
    for part, tensor in zip(_cut(flat, sent), input_tensor_list, strict=True):
        part[...] = tensor.array.reshape(-1)

    def hand_out() -> None:
        for part, tensor in zip(_cut(out, received), output_tensor_list, strict=True):
            tensor.array[...] = part.reshape(tensor.array.shape)
            note_change(tensor._changes, "all_to_all", "another rank")

    return _all_to_all(out, flat, received, sent, g, async_op, output_tensor_list, hand_out)


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
    if is_outside(group):
        return None
    g = the_group(group)
    _check(output, "all_to_all_single")
    _check(input, "all_to_all_single")
    received, sent = (_rows(t, s, g) for t, s in ((output, output_split_sizes), (input, input_split_sizes)))
    _check_dtype(output, input, "all_to_all_single")
    return _all_to_all(output, input.detach(), received, sent, g, async_op, [output], None)


def _check_dtype(tensor: Tensor, other: Tensor, name: str) -> None:
    if tensor.array.dtype != other.array.dtype:
        raise ValueError(
            f"{name} takes tensors of one dtype, not {dt.of(tensor.array).name} and {dt.of(other.array).name}"
        )


def _rows(tensor: Tensor, sizes: Sequence[int] | None, g: ProcessGroup) -> list[int]:
    """The elements of each rank's part."""
    rows = tensor.array.shape[0] if tensor.array.ndim else 0
    counts = [rows // g.size()] * g.size() if sizes is None else list(sizes)
    if len(counts) != g.size() or sum(counts) != rows or min(counts) < 0:
        raise ValueError(f"{rows} rows cannot be cut into parts of {counts} for {g.size()} ranks")
    inner = tensor.array.size // max(rows, 1)
    return [count * inner for count in counts]


def _cut(tensor: Tensor, sizes: Sequence[int]) -> list[Any]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [tensor.array.reshape(-1)[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def _all_to_all(
    output: Tensor,
    parts: Tensor,
    received: list[int],
    sent: list[int],
    g: ProcessGroup,
    async_op: bool,
    results: Sequence[Tensor],
    after: Callable[[], None] | None,
) -> Work | None:
    into, loan = Loan(output, g), Loan(parts, g, apart=output)

    def finish() -> None:
        into.back("all_to_all")
        if after is not None:
            after()

    start = lambda together: g.carrier(output.array).all_to_all(
        into.array.reshape(-1), loan.array.reshape(-1), received, sent
    )
    return _call(g, "all_to_all", parts.array, start, finish, async_op, (sent, received), results, shaped=False)


# Waiting ----------------------------------------------------------------------------------------------------


def barrier(
    group: Group = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all ranks are here. ``device_ids`` has no effect."""
    if is_outside(group):
        return None
    g = the_group(group)
    work = _call(g, "barrier", None, lambda together: Done(), None, True)
    if async_op:
        return work
    assert work is not None
    work.wait(timeout)
    return None


def monitored_barrier(group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """``barrier``, which names who is missing, as all calls here do.

    Raises:
        RuntimeError: ranks have not come in time.
    """
    barrier(group, timeout=timeout)
