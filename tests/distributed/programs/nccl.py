"""Checks of NCCL under the public names, on the stand-in for a GPU: every collective against NumPy."""

from functools import reduce
from typing import Any

import numpy as np

import minigrad
import minigrad.distributed as dist
from minigrad import Tensor
from minigrad.distributed import ProcessGroup, ReduceOp, mpi, nccl
from tests.distributed.programs.collectives import numbers as drawn, wait_all
from tests.support import strict
from tests.support.ranks import at_least, raised

Array = np.ndarray[Any, Any]
LARGE = 100_000  # elements: more than any buffer of a transport
KINDS = ["float16", "float32", "float64", "uint8", "int16", "int64", "bool", "complex64"]
REDUCED = {ReduceOp.SUM: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum, ReduceOp.MAX: np.maximum}


def numbers(rank: int, dtype: str = "float32") -> Array:
    """A rank's six numbers, exact in every dtype."""
    return drawn(rank, (2, 3), dtype)


def on_gpu(array: Array) -> Tensor:
    strict.install(emulate=False)
    return minigrad.tensor(array, device="strict")


def room(shape: tuple[int, ...], dtype: Any = minigrad.float32) -> Tensor:
    return minigrad.zeros(shape, dtype=dtype, device="strict")


def same(x: Tensor, expected: Array, label: object = "") -> None:
    actual = x.cpu().numpy()
    assert str(x.device) == "strict"
    assert actual.dtype == expected.dtype and actual.shape == expected.shape, (label, actual.dtype, expected.dtype)
    assert np.array_equal(actual, expected), f"{label}: {actual.tolist()}, expected {expected.tolist()}"


def check_the_transport_of_a_tensor(group: ProcessGroup) -> None:
    """NCCL on a GPU, and MPI on the CPU, in one group at the same time."""
    gpu, cpu = ([make(numbers(group.number + i)) for i in range(2)] for make in (on_gpu, minigrad.tensor))
    assert type(group.transport(gpu[0].array)) is nccl.Nccl
    assert type(group.transport(cpu[0].array)) is (mpi.Mpi if group.size() > 1 else mpi.Alone)
    works = [dist.all_reduce(x, group=group, async_op=True) for pair in zip(gpu, cpu, strict=True) for x in pair]
    wait_all(*works)
    for i in range(2):
        total = reduce(np.add, (numbers(rank + i) for rank in group.ranks))
        same(gpu[i], total)
        assert str(cpu[i].device) == "cpu" and np.array_equal(cpu[i].numpy(), total)


def check_all_reduce(group: ProcessGroup) -> None:
    for dtype in KINDS:
        for op, function in REDUCED.items():
            if dtype == "int16" or (dtype == "complex64" and op is not ReduceOp.SUM):
                continue
            x = on_gpu(numbers(group.number, dtype))
            work = dist.all_reduce(x, op, group, async_op=op in (ReduceOp.SUM, ReduceOp.MIN))
            if work is not None:
                work.wait()
            expected = reduce(function, (numbers(rank, dtype) for rank in group.ranks))
            same(x, expected.astype(dtype), (dtype, op))
    x = on_gpu(numbers(group.number)).T
    dist.all_reduce(x, group=group)
    same(x, reduce(np.add, map(numbers, group.ranks)).T, "not contiguous")
    _average(group)


def _average(group: ProcessGroup) -> None:
    x = on_gpu(numbers(group.number, "float64"))
    dist.all_reduce(x, ReduceOp.AVG, group)
    same(x, sum(numbers(rank, "float64") for rank in group.ranks) / np.float64(group.size()))


def check_reduce(group: ProcessGroup) -> None:
    for root in group.ranks:
        x = on_gpu(numbers(group.number))
        dist.reduce(x, root, group=group)
        total = reduce(np.add, map(numbers, group.ranks))
        same(x, total if group.number == root else numbers(group.number), root)


def check_broadcast_gather_and_scatter(group: ProcessGroup) -> None:
    for number, dtype in enumerate(KINDS):
        root = group.ranks[number % group.size()]
        x = on_gpu(numbers(group.number, dtype))
        dist.broadcast(x, root, group)
        same(x, numbers(root, dtype), (dtype, root))
        mine = on_gpu(numbers(group.number, dtype))
        rows, at_root = ([room((2, 3), mine.dtype) for _ in group.ranks] for _ in range(2))
        dist.all_gather(rows, mine, group)
        whole = room((2 * group.size(), 3), mine.dtype)
        dist.all_gather_into_tensor(whole, mine, group)
        same(whole, np.concatenate([numbers(rank, dtype) for rank in group.ranks]), dtype)
        dist.gather(mine, at_root if group.number == root else None, root, group)
        for rank in group.ranks:
            same(rows[rank], numbers(rank, dtype), dtype)
            same(at_root[rank], numbers(rank, dtype) if group.number == root else np.zeros((2, 3), dtype), dtype)
        parts = [on_gpu(numbers(10 * root + rank, dtype)) for rank in group.ranks]
        dist.scatter(x, parts if group.number == root else None, root, group)
        same(x, numbers(10 * root + group.number, dtype), (dtype, root))


def check_reduce_scatter(group: ProcessGroup) -> None:
    for dtype in ("float16", "float32", "int64", "complex64"):
        parts = [on_gpu(numbers(10 * group.number + rank, dtype)) for rank in group.ranks]
        expected = reduce(np.add, (numbers(10 * rank + group.number, dtype) for rank in group.ranks))
        out = room((2, 3), parts[0].dtype)
        dist.reduce_scatter(out, parts, group=group)
        same(out, expected, dtype)
        out = room((2, 3), parts[0].dtype)
        dist.reduce_scatter_tensor(out, minigrad.cat(parts), group=group)
        same(out, expected, dtype)


def check_all_to_all(group: ProcessGroup) -> None:
    """Rank s sends r + s rows to rank r; rank 0 sends itself no rows."""
    me, ranks = group.number, group.ranks
    inputs = [on_gpu(np.full((me + rank, 2), 10 * me + rank, np.float32)) for rank in ranks]
    outputs = [room((me + rank, 2)) for rank in ranks]
    dist.all_to_all(outputs, inputs, group)
    for rank, part in enumerate(outputs):
        same(part, np.full((me + rank, 2), 10 * rank + me, np.float32))
    whole, sizes = room((sum(me + rank for rank in ranks), 2)), [me + rank for rank in ranks]
    dist.all_to_all_single(whole, minigrad.cat(inputs), sizes, sizes, group)
    same(whole, np.concatenate([part.cpu().numpy() for part in outputs]))


def check_empty_tensors(group: ProcessGroup) -> None:
    x = room((0, 3))
    dist.all_reduce(x, group=group)
    dist.broadcast(x, 0, group)
    rows = [room((0, 3)) for _ in group.ranks]
    dist.all_gather(rows, x, group)
    dist.all_to_all(rows, [x] * group.size(), group)
    same(rows[0], np.zeros((0, 3), np.float32))


def check_operations_that_nccl_lacks(group: ProcessGroup) -> None:
    for dtype, op in (("int64", ReduceOp.BXOR), ("int16", ReduceOp.SUM), ("complex64", ReduceOp.PRODUCT)):
        x = on_gpu(numbers(group.number, dtype))
        for call in (
            lambda x=x, op=op: dist.all_reduce(x, op, group),
            lambda x=x, op=op: dist.reduce(x, 0, op, group),
            lambda x=x, op=op: dist.reduce_scatter(x, [x] * group.size(), op, group),
        ):
            message = raised(RuntimeError, call)
            assert f"NCCL does not support '{op.value}' of {dtype}: move the tensor to the CPU" in message, message
        same(x, numbers(group.number, dtype))


def check_gradients(group: ProcessGroup) -> None:
    x = on_gpu(numbers(group.number)).requires_grad_()
    rows = dist.functional.all_gather(x, group)
    sum((rank + 1) * row for rank, row in enumerate(rows)).sum().backward()
    assert x.grad is not None
    same(x.grad, np.full((2, 3), group.size() * (group.number + 1), np.float32))


@at_least(3)
def check_two_ranks_start(group: ProcessGroup) -> None:
    """A message before any collective, while the other ranks continue."""
    if group.number == 0:
        dist.send(on_gpu(numbers(7)), 2, group)
    elif group.number == 2:
        x = room((2, 3))
        assert dist.recv(x, 0, group) == 0
        same(x, numbers(7))
    _average(group)


@at_least(2)
def check_a_ring_during_a_collective(group: ProcessGroup) -> None:
    me, n, x = group.number, group.size(), room((LARGE,))
    mine = on_gpu(np.full(LARGE, me, np.float32))
    ops = [dist.P2POp(dist.isend, mine, (me + 1) % n, group), dist.P2POp(dist.irecv, x, (me - 1) % n, group)]
    works = dist.batch_isend_irecv(ops)
    _average(group)
    wait_all(*works)
    same(x, np.full(LARGE, (me - 1) % n, np.float32))


@at_least(3)
def check_groups_of_some(group: ProcessGroup) -> None:
    pair, rest = (dist.new_group(ranks, backend="nccl") for ranks in ([0, 2], [1]))
    for some in (pair, rest):
        if isinstance(some, ProcessGroup):
            x = on_gpu(numbers(group.number))
            dist.all_reduce(x, group=some)
            same(x, reduce(np.add, map(numbers, some.ranks)))
            dist.destroy_process_group(some)
