"""Collectives on tensors, with PyTorch's names. All ranks of a group must call the same functions in the same order.
Functions return None when finished; with ``async_op=True``, they return a ``Work`` immediately. On ranks outside the
group, they do nothing. All raise ValueError before ``init_process_group``, TypeError if an argument is not a tensor,
and RuntimeError on a timeout or, with TORCH_DISTRIBUTED_DEBUG=DETAIL in the environment, if the ranks' calls differ."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from ..autograd.origin import note_change
from ..autograd.tape import wrap
from ..backend import dtype as dt, of, xp
from ..tensor import Tensor
from .group import Group, ProcessGroup, ReduceOp, is_outside, the_group
from .work import Done, Work

__all__ = ["all_gather", "all_gather_into_tensor", "all_reduce", "all_to_all", "all_to_all_single", "barrier"]
__all__ += ["broadcast", "gather", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter"]
SUM = ReduceOp.SUM
OF_BOOLS = {"sum": "max", "prod": "min", "band": "min", "bor": "max"}  # the equivalent reductions of 0 and 1
Rank = int | None
Tensors = Sequence[Tensor]


def inside(group: Group, call: str = "", *tensors: Any) -> ProcessGroup | None:
    """The group for a call, or None on ranks outside it. Raises TypeError if an argument is not a tensor."""
    if is_outside(group):
        return None
    g = the_group(group)
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{call} takes a tensor, not {type(tensor).__name__}")
    return g


def root_of(g: ProcessGroup, rank: Rank, number: Rank, what: str) -> int:
    """The group rank for either a global rank or a group rank; 0 by default."""
    if rank is not None and number is not None:
        raise ValueError(f"pass {what} or group_{what}, not both")
    if number is not None and not 0 <= number < g.size():
        raise ValueError(f"group_{what} is {number}, but the group has {g.size()} ranks")
    return (number or 0) if rank is None else g.number_of(rank)


def all_reduce(tensor: Tensor, op: Any = SUM, group: Group = None, async_op: bool = False) -> Work | None:
    """Set all ranks' tensors to their sum (or the result of another ``ReduceOp``). Shapes and dtypes must match."""
    return _in_place("all_reduce", tensor, group, async_op, op)


def reduce(
    tensor: Tensor, dst: Rank = None, op: Any = SUM, group: Group = None, async_op: bool = False, group_dst: Rank = None
) -> Work | None:
    """Like ``all_reduce``, but only rank ``dst`` receives the result. Tensors on the other ranks are unchanged."""
    return _in_place("reduce", tensor, group, async_op, op, (dst, group_dst, "dst"))


def broadcast(
    tensor: Tensor, src: Rank = None, group: Group = None, async_op: bool = False, group_src: Rank = None
) -> Work | None:
    """Copy the tensor of rank ``src`` to all ranks, in place."""
    return _in_place("broadcast", tensor, group, async_op, None, (src, group_src, "src"))


def _in_place(call: str, tensor: Tensor, group: Group, async_op: bool, op: Any, at: Any = None) -> Work | None:
    """Run a collective in place. ``op`` and ``at`` (the arguments for the root) are None if the call has none."""
    if (g := inside(group, call, tensor)) is None:
        return None
    return _run(call, g, tensor, tensor, async_op, op=op, root=None if at is None else root_of(g, *at))


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Like ``all_gather``, but concatenate the tensors of all ranks in one tensor."""
    if (g := inside(group, "all_gather", output_tensor, input_tensor)) is None:
        return None
    _check_parts(output_tensor, input_tensor, g, "output_tensor", "input_tensor")
    return _run("all_gather", g, output_tensor, input_tensor, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Like ``reduce_scatter``, but ``input`` is one tensor, the concatenation of the parts for all ranks."""
    if (g := inside(group, "reduce_scatter", output, input)) is None:
        return None
    _check_parts(input, output, g, "input", "output")
    return _run("reduce_scatter", g, output, input, async_op, op=op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Work | None:
    """Like ``all_to_all``, but split one tensor along its first axis. The sizes are the numbers of rows received from
    and sent to each rank, by default equal. Raises ValueError if the sizes do not add up to the number of rows."""
    if (g := inside(group, "all_to_all", output, input)) is None:
        return None
    _check_dtype("all_to_all_single", output, input)
    sizes = [_elements(t, s, g) for t, s in ((output, output_split_sizes), (input, input_split_sizes))]
    return _run("all_to_all", g, output, input, async_op, sizes=sizes)


def _run(
    call: str,
    g: ProcessGroup,
    into: Tensor | None,
    own: Tensor | None,
    async_op: bool,
    listed: Tensors | None = None,
    op: Any = None,
    root: Rank = None,
    sizes: Any = None,
) -> Work | None:
    """Begin a call that reads ``own`` and writes ``into``, which may be the same tensor. Either may be None except on
    the ``root`` (a group rank). Afterwards, ``into`` is copied to the tensors in ``listed``. ``sizes`` are the numbers
    of elements that an all-to-all receives from and sends to each rank."""
    tensor = own if call.endswith("gather") else into
    assert tensor is not None
    if g.compares:
        text = dt.of(tensor.array).name + f" of shape {tuple(tensor.array.shape)}" * (sizes is None)
        text += " on a GPU" * g.on_gpu(tensor.array) + (f", op={getattr(op, 'value', op)}" if op is not None else "")
        g.compare(f"{call}({text}, root={g.ranks[root]})" if root is not None else f"{call}({text})")
    out = None if into is None else Loan(into, g, op)
    source = out if own is into else None if own is None else Loan(own, g, op, apart=into)
    arrays = [None if loan is None else loan.array for loan in (out, source)]
    request = g.transport(tensor.array).begin(call, *arrays, out.op if out else "", root or 0, sizes)

    def finish(name: str) -> None:
        if out is not None and into is not None:
            out.back(name)
            start, flat = 0, into.array.reshape(-1)
            for each in listed or ():
                each.array[...] = flat[start : start + each.array.size].reshape(each.array.shape)
                note_change(each._changes, name, "another rank")
                start += each.array.size

    changes = call not in ("reduce", "broadcast") or (g.number == root) == (call == "reduce")
    results = listed or ([] if into is None else [into])
    return g.begin(Work(call, request, finish if changes else None, g.seconds, results), async_op)


def all_gather(tensor_list: Tensors, tensor: Tensor, group: Group = None, async_op: bool = False) -> Work | None:
    """Copy the tensor of rank r to the r-th tensor in the list on all ranks. Shapes and dtypes must match."""
    if (g := inside(group, "all_gather", tensor)) is None:
        return None
    rows = _rows(tensor_list, g, "tensor_list", tensor)
    return _run("all_gather", g, rows, tensor, async_op, tensor_list)


def reduce_scatter(
    output: Tensor, input_list: Tensors, op: Any = SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Reduce the r-th tensors in all ranks' lists to ``output`` on rank r. Shapes and dtypes must match."""
    if (g := inside(group, "reduce_scatter", output)) is None:
        return None
    rows = _rows(input_list, g, "input_list", output, filled=True)
    return _run("reduce_scatter", g, output, rows, async_op, op=op)


def gather(
    tensor: Tensor,
    gather_list: Tensors | None = None,
    dst: Rank = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: Rank = None,
) -> Work | None:
    """Like ``all_gather``, but only rank ``dst`` receives the tensors. Other ranks do not pass a list."""
    if (g := inside(group, "gather", tensor)) is None:
        return None
    root = root_of(g, dst, group_dst, "dst")
    rows = _rows(gather_list, g, "gather_list", tensor, root=root)
    return _run("gather", g, rows, tensor, async_op, gather_list, root=root)


def scatter(
    tensor: Tensor,
    scatter_list: Tensors | None = None,
    src: Rank = None,
    group: Group = None,
    async_op: bool = False,
    group_src: Rank = None,
) -> Work | None:
    """Copy the r-th tensor in the list of rank ``src`` to ``tensor`` on rank r. Other ranks do not pass a list."""
    if (g := inside(group, "scatter", tensor)) is None:
        return None
    root = root_of(g, src, group_src, "src")
    rows = _rows(scatter_list, g, "scatter_list", tensor, filled=True, root=root)
    return _run("scatter", g, tensor, rows, async_op, root=root)


def all_to_all(
    output_tensor_list: Tensors, input_tensor_list: Tensors, group: Group = None, async_op: bool = False
) -> Work | None:
    """Send the r-th input to rank r, and receive the r-th output from it. Shapes may vary between ranks, but an output
    must have the same shape as the input sent to it."""
    if (g := inside(group)) is None:
        return None
    lists = output_tensor_list, input_tensor_list
    for tensors, what in zip(lists, ("output_tensor_list", "input_tensor_list"), strict=True):
        _check_list(tensors, g, what)
    _check_dtype("all_to_all", *output_tensor_list, *input_tensor_list)
    whole, own = (xp(each[0].array).concatenate([t.array.reshape(-1) for t in each]) for each in lists)
    sizes = [[t.array.size for t in each] for each in lists]
    return _run("all_to_all", g, wrap(whole), wrap(own), async_op, output_tensor_list, sizes=sizes)


def _rows(
    tensors: Tensors | None, g: ProcessGroup, what: str, like: Tensor, filled: bool = False, root: Rank = None
) -> Any:
    """A new tensor with a row for each listed tensor, copied if ``filled``; None except on the ``root``. Raises
    TypeError unless all are tensors, and ValueError if their number, shape or dtype is wrong, or elsewhere."""
    if root is not None and g.number != root:
        if tensors:
            raise ValueError(f"only rank {g.ranks[root]} takes {what}: omit it on the other ranks")
        return None
    _check_list([] if tensors is None else tensors, g, what)
    arrays = [tensor.array for tensor in tensors or ()]
    if any(array.shape != arrays[0].shape or array.dtype != arrays[0].dtype for array in arrays):
        raise ValueError(f"the tensors in {what} must have the same shape and dtype")
    rows: Tensor = wrap(xp(arrays[0]).empty((len(arrays), *arrays[0].shape), arrays[0].dtype))
    _check_parts(rows, like, g, what, "the tensor")
    for i, array in enumerate(arrays if filled else ()):
        rows.array[i, ...] = array
    return rows


def _check_list(tensors: Any, g: ProcessGroup, what: str) -> None:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"{what} must be a list of tensors")
    if len(tensors) != g.size():
        raise ValueError(f"{what} must have a tensor for each of {g.size()} ranks, but has {len(tensors)}")


def _check_parts(whole: Tensor, part: Tensor, g: ProcessGroup, one: str, other: str) -> None:
    if whole.array.size != part.array.size * g.size() or whole.array.dtype != part.array.dtype:
        kinds = [f"{dt.of(t.array).name} of shape {tuple(t.array.shape)}" for t in (whole, part)]
        kinds_text = f"{one} is {kinds[0]}, and {other} is {kinds[1]}"
        raise ValueError(f"{one} must have {g.size()} times the elements of {other} and the same dtype: {kinds_text}")


def _check_dtype(call: str, *tensors: Tensor) -> None:
    kinds = sorted({dt.of(tensor.array).name for tensor in tensors})
    if len(kinds) > 1:
        raise ValueError(f"{call} needs tensors of the same dtype, not {' and '.join(kinds)}")


def _elements(tensor: Tensor, sizes: Sequence[int] | None, g: ProcessGroup) -> list[int]:
    rows = tensor.array.shape[0] if tensor.array.ndim else 0
    counts = [rows // g.size()] * g.size() if sizes is None else list(sizes)
    if len(counts) != g.size() or sum(counts) != rows or min(counts) < 0:
        raise ValueError(f"{rows} rows cannot be split into parts of {counts} for {g.size()} ranks")
    return [count * (tensor.array.size // max(rows, 1)) for count in counts]


class Loan:
    """A tensor's data during a transfer. MPI or NCCL uses ``op``, the name of the reduction, and ``array``. The array
    shares the tensor's memory if possible, but never shares memory with the tensor ``apart``."""

    def __init__(self, tensor: Tensor, group: ProcessGroup, op: Any = None, apart: Tensor | None = None) -> None:
        self.tensor, self.op = tensor, "" if op is None else _reduction(op, tensor)
        self._divisor = group.size() if op is ReduceOp.AVG else 1
        array = tensor.array
        if not group.on_gpu(array):
            array = of(array).to_numpy(array)
        if not array.flags.c_contiguous:
            array = xp(array).ascontiguousarray(array)
        if apart is not None and _overlap(array, apart.array):
            array = array.copy()
        self._kind = kind = array.dtype
        is_half = kind.kind == "V" or (kind.kind == "f" and kind.itemsize < 4)
        if kind.kind == "b" or (op is None and is_half):  # MPI does not have these dtypes
            self.array = array.view(f"u{kind.itemsize}")
        elif is_half and not (group.on_gpu(array) and kind == np.float16):  # NCCL supports float16 sums itself
            self.array = array.astype(np.float32)
        else:
            self.array = array

    def back(self, name: str) -> None:
        """Write the result of a call to the tensor."""
        own, result = self.tensor.array, self.array
        if self._divisor > 1:  # averages of integers are rounded down
            result[...] = result // self._divisor if result.dtype.kind in "iu" else result / self._divisor
        if result.dtype != self._kind:
            result = result.view(self._kind) if result.dtype.kind == "u" else result.astype(self._kind)
        if result is not own and not _overlap(result, own):
            own[...] = of(own).asarray(result, of(own).device_of(own)).reshape(own.shape)
        note_change(self.tensor._changes, name, "another rank")


def _overlap(one: Any, other: Any) -> bool:
    """Whether two arrays may share memory, judging by their first and last bytes."""
    return type(one) is type(other) and bool(xp(one).may_share_memory(one, other))


def _reduction(op: Any, tensor: Tensor) -> str:
    """The name of a reduction. Raises TypeError if it is not a ReduceOp, and RuntimeError for unsupported dtypes."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a ReduceOp, not {type(op).__name__}")
    kind, name = tensor.array.dtype.kind, op.value
    is_missing = (
        (name in ("band", "bor", "bxor") and kind not in "iub")
        or (kind == "c" and name not in ("sum", "avg", "prod"))
        or (kind == "b" and name == "avg")
        or (tensor.array.dtype.itemsize == 1 and kind not in "iub")
    )
    if is_missing:
        raise RuntimeError(f"{op.name} does not support {dt.of(tensor.array).name}")
    return OF_BOOLS.get(name, name) if kind == "b" else "sum" if name == "avg" else str(name)


def barrier(
    group: Group = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all ranks have reached this call. ``device_ids`` is ignored."""
    if (g := inside(group)) is None:
        return None
    if g.compares:
        g.compare("barrier()")
    request = Done() if g.comm is None else g.comm.Ibarrier()
    return g.begin(Work("barrier", request, None, g.seconds, ()), async_op, timeout)
