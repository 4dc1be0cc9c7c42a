"""Checks of every collective: each rank compares it with NumPy on the numbers of all ranks."""

import importlib.util
import math
from collections.abc import Callable
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
import minigrad.distributed as dist
from minigrad import Tensor
from minigrad.distributed import ProcessGroup, ReduceOp
from tests.support.ranks import at_least, raised, until

Array = np.ndarray[Any, Any]
FLOATS = ["float16", "float32", "float64"]
WHOLE = ["uint8", "int16", "int64"]
MOVED = [*FLOATS, *WHOLE, "bool", "complex64"]
SHAPES: list[tuple[int, ...]] = [(2, 3), (), (0,), (2, 0, 3)]
if importlib.util.find_spec("ml_dtypes"):
    FLOATS.append("bfloat16")
    MOVED.append("bfloat16")


def numbers(rank: int, shape: tuple[int, ...] = (2, 3), dtype: str = "float64") -> Array:
    """A rank's numbers: small, and exact in every dtype. For bfloat16 they are float32."""
    array = np.random.default_rng(rank).integers(1, 5, shape)
    if dtype == "bool":
        return np.asarray(array > 2)
    if dtype == "complex64":
        return (array - 1j * array[::-1] if array.ndim else array + 1j).astype(dtype)
    return np.asarray(array.astype("float32" if dtype == "bfloat16" else dtype))


def tensor(rank: int, shape: tuple[int, ...] = (2, 3), dtype: str = "float64") -> Tensor:
    return minigrad.tensor(numbers(rank, shape, dtype), dtype=getattr(minigrad, dtype))


def zeros(shape: tuple[int, ...] = (2, 3), dtype: str = "float64") -> Tensor:
    return minigrad.zeros(shape, dtype=getattr(minigrad, dtype))


def plain(x: Tensor) -> Array:
    return np.asarray((x.float() if x.dtype == minigrad.bfloat16 else x).numpy())


def same(x: Tensor, expected: Array, label: object = "", rtol: float = 0.0) -> None:
    actual = plain(x)
    assert actual.shape == expected.shape, (label, actual.shape, expected.shape)
    assert np.allclose(actual, expected, rtol, 0), f"{label}: {actual.tolist()}, expected {expected.tolist()}"


def wait_all(*works: dist.Work | None) -> None:
    """Wait for calls in the order in which they are listed."""
    for work in works:
        assert work is not None and work.wait() is True


REDUCED: dict[ReduceOp, Callable[[list[Array]], Array]] = {
    ReduceOp.SUM: lambda parts: sum(parts[1:], parts[0]),
    ReduceOp.PRODUCT: lambda parts: math.prod(parts[1:], start=parts[0]),
    ReduceOp.MIN: lambda parts: reduce(np.minimum, parts),
    ReduceOp.MAX: lambda parts: reduce(np.maximum, parts),
    ReduceOp.BAND: lambda parts: reduce(np.bitwise_and, parts),
    ReduceOp.BOR: lambda parts: reduce(np.bitwise_or, parts),
    ReduceOp.BXOR: lambda parts: reduce(np.bitwise_xor, parts),
}
OF_NUMBERS = [ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX]
OF_BITS = [ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]


def _all(g: ProcessGroup, **how: Any) -> list[Array]:
    return [numbers(rank, **how) for rank in range(g.size())]


def _sum(g: ProcessGroup, **how: Any) -> Array:
    return REDUCED[ReduceOp.SUM](_all(g, **how))


def call(function: Callable[..., Any], *arguments: Any, later: object, **keywords: Any) -> None:
    """Call a collective, which returns None, or a handle to wait for."""
    work = function(*arguments, async_op=bool(later), **keywords)
    assert isinstance(work, dist.Work) if later else work is None
    if later:
        assert work.wait() is True


# Reductions --------------------------------------------------------------------------------------------------


def check_all_reduce(g: ProcessGroup) -> None:
    ops = {dtype: OF_NUMBERS + OF_BITS * (dtype not in FLOATS) for dtype in [*FLOATS, *WHOLE, "bool"]}
    ops["complex64"] = [ReduceOp.SUM, ReduceOp.PRODUCT]
    for number, (dtype, op) in enumerate((kind, op) for kind in ops for op in ops[kind]):
        shape = SHAPES[number % len(SHAPES)]
        x = tensor(g.rank(), shape, dtype)
        call(dist.all_reduce, x, op, g, later=number % 2)
        assert x.dtype == getattr(minigrad, dtype)
        same(x, REDUCED[op](_all(g, shape=shape, dtype=dtype)), (dtype, op, shape))


def check_average(g: ProcessGroup) -> None:
    for dtype in [*FLOATS, *WHOLE, "complex64"]:
        x, total = tensor(g.rank(), dtype=dtype), _sum(g, dtype=dtype)
        dist.all_reduce(x, ReduceOp.AVG, g)
        same(x, total // g.size() if dtype in WHOLE else total / g.size(), dtype, rtol=0.02)
        assert x.dtype == getattr(minigrad, dtype)
    message = raised(RuntimeError, lambda: dist.all_reduce(tensor(0, (2,), "bool"), ReduceOp.AVG, g))
    assert "AVG" in message and "bool" in message, message


def check_reductions_that_a_dtype_does_not_have(g: ProcessGroup) -> None:
    wrong = [(op, dtype) for op in OF_BITS for dtype in [*FLOATS, "complex64"]]
    wrong += [(op, "complex64") for op in (ReduceOp.MIN, ReduceOp.MAX)]
    for op, dtype in wrong:
        message = raised(RuntimeError, lambda op=op, dtype=dtype: dist.all_reduce(tensor(0, (2,), dtype), op, g))
        assert op.name in message and dtype in message, message
    raised(TypeError, lambda: dist.all_reduce(tensor(0), "sum", g))


def check_sums_that_round_or_wrap_around(g: ProcessGroup) -> None:
    """In float16, 2048 + 1 + 1 + ... stays 2048 if each sum is rounded."""
    x = minigrad.tensor([2048.0 if g.rank() == 0 else 1.0], dtype=minigrad.float16)
    dist.all_reduce(x, group=g)
    same(x, np.array([2048 + g.size() - 1], "float16"))
    x = minigrad.tensor([200], dtype=minigrad.uint8)
    dist.all_reduce(x, group=g)
    same(x, np.array([200 * g.size() % 256], "uint8"))


def check_reduce(g: ProcessGroup) -> None:
    for number, dtype in enumerate(MOVED):
        x, root = tensor(g.rank(), dtype=dtype), number % g.size()
        call(dist.reduce, x, root, group=g, later=number % 2)
        same(x, _sum(g, dtype=dtype) if g.rank() == root else numbers(g.rank(), dtype=dtype), (root, dtype))
    x = tensor(g.rank())
    dist.reduce(x, group_dst=0, op=ReduceOp.AVG, group=g)
    same(x, _sum(g) / g.size() if g.rank() == 0 else numbers(g.rank()), rtol=1e-12)


def check_reduce_scatter(g: ProcessGroup) -> None:
    cases = [(dtype, ReduceOp.SUM) for dtype in MOVED] + [("int64", op) for op in OF_NUMBERS + OF_BITS]
    for number, (dtype, op) in enumerate(cases):
        shape = SHAPES[number % len(SHAPES)]
        out, parts = zeros(shape, dtype), [tensor(10 * g.rank() + to, shape, dtype) for to in range(g.size())]
        call(dist.reduce_scatter, out, parts, op, g, later=number % 2)
        expected = [numbers(10 * rank + g.rank(), shape, dtype) for rank in range(g.size())]
        same(out, REDUCED[op](expected), (dtype, op, shape))


def check_reduce_scatter_tensor(g: ProcessGroup) -> None:
    n, k = g.size(), g.rank()
    for number, dtype in enumerate(MOVED):
        out, whole = zeros(dtype=dtype), tensor(k, (n, 2, 3), dtype)
        flat = whole.reshape(2 * n, 3) if number % 2 else whole
        call(dist.reduce_scatter_tensor, out, flat, group=g, later=number % 3)
        same(out, _sum(g, shape=(n, 2, 3), dtype=dtype)[k], dtype)
    out = minigrad.zeros(3)
    dist.reduce_scatter_tensor(out, minigrad.ones(3 * n) * (k + 1), ReduceOp.AVG, g)
    same(out, np.full(3, (n + 1) / 2), rtol=1e-6)


# Moving ------------------------------------------------------------------------------------------------------


def check_broadcast(g: ProcessGroup) -> None:
    for number, dtype in enumerate([*MOVED, *MOVED]):
        root, shape = number % g.size(), SHAPES[number % len(SHAPES)]
        x = tensor(g.rank(), shape, dtype)
        call(dist.broadcast, x, root, g, later=number % 2)
        same(x, numbers(root, shape, dtype), (root, dtype, shape))
    x = tensor(g.rank())
    dist.broadcast(x, group_src=g.size() - 1, group=g)
    same(x, numbers(g.size() - 1))
    x = minigrad.tensor([1.0, 2.0, g.rank()]).to(minigrad.float8_e5m2)  # moves as bits
    dist.broadcast(x, 0, g)
    same(x.float(), np.array([1, 2, 0], "float32"))


def check_all_gather(g: ProcessGroup) -> None:
    for number, dtype in enumerate([*MOVED, "float64", "int64"]):
        shape = SHAPES[number % len(SHAPES)]
        into = [zeros(shape, dtype) for _ in range(g.size())]
        call(dist.all_gather, into, tensor(g.rank(), shape, dtype), g, later=number % 3)
        for rank, x in enumerate(into):
            same(x, numbers(rank, shape, dtype), (dtype, shape))
        parts = np.stack(_all(g, dtype=dtype))
        whole = zeros(parts.shape if number % 2 else (2 * g.size(), 3), dtype)
        call(dist.all_gather_into_tensor, whole, tensor(g.rank(), dtype=dtype), g, later=number % 3)
        same(whole, parts.reshape(whole.shape), dtype)


def check_gather_and_scatter(g: ProcessGroup) -> None:
    for number, dtype in enumerate(MOVED):
        root = number % g.size()
        into = [zeros(dtype=dtype) for _ in range(g.size())]
        mine = tensor(g.rank(), dtype=dtype)
        call(dist.gather, mine, into if g.rank() == root else None, root, g, later=number % 2)
        for rank, x in enumerate(into if g.rank() == root else []):
            same(x, numbers(rank, dtype=dtype), (root, dtype))
        x, parts = zeros(dtype=dtype), [tensor(10 * root + to, dtype=dtype) for to in range(g.size())]
        call(dist.scatter, x, parts if g.rank() == root else None, root, g, later=number % 2)
        same(x, numbers(10 * root + g.rank(), dtype=dtype), (root, dtype))


def check_all_to_all(g: ProcessGroup) -> None:
    """Rank s sends to rank r a matrix of s + 1 rows and r columns."""
    k, n = g.rank(), g.size()
    for number, dtype in enumerate(MOVED):
        inputs = [tensor(10 * k + r, (k + 1, r), dtype) for r in range(n)]
        into = [zeros((s + 1, k), dtype) for s in range(n)]
        call(dist.all_to_all, into, inputs, g, later=number % 2)
        for s, x in enumerate(into):
            same(x, numbers(10 * s + k, (s + 1, k), dtype), (dtype, s))


def check_all_to_all_single(g: ProcessGroup) -> None:
    """In equal parts, and in parts where rank s sends (s + r) % 3 rows to rank r."""
    n, k = g.size(), g.rank()
    x, out = tensor(k, (2 * n, 3)), zeros((2 * n, 3))
    dist.all_to_all_single(out, x, group=g)
    same(out, np.concatenate([numbers(s, (2 * n, 3))[2 * k : 2 * k + 2] for s in range(n)]))
    sizes = [[(s + r) % 3 for r in range(n)] for s in range(n)]
    received = [sizes[s][k] for s in range(n)]
    for number, dtype in enumerate(MOVED):
        out, source = zeros((sum(received), 2), dtype), tensor(k, (sum(sizes[k]), 2), dtype)
        call(dist.all_to_all_single, out, source, received, sizes[k], g, later=number % 2)
        parts = []
        for s in range(n):
            start = sum(sizes[s][:k])
            parts.append(numbers(s, (sum(sizes[s]), 2), dtype)[start : start + sizes[s][k]])
        same(out, np.concatenate(parts), dtype)


# Layouts and graphs of tensors ---------------------------------------------------------------------------------


def _spread(array: Array, dtype: str = "float64") -> Tensor:
    """A view of every second column of the transpose."""
    view = zeros((2 * array.shape[1], array.shape[0]), dtype).t()[:, ::2]
    view.copy_(minigrad.tensor(array, dtype=getattr(minigrad, dtype)))
    assert not view.is_contiguous()
    return view


def check_tensors_that_are_not_contiguous(g: ProcessGroup) -> None:
    n, k = g.size(), g.rank()
    for dtype in ("float16", "float64", "bfloat16" if "bfloat16" in MOVED else "float32"):
        parts = _all(g, dtype=dtype)
        mine, rows = _spread(parts[k], dtype), _spread(numbers(k, (n, 3), dtype), dtype)
        empty = lambda *shape, dtype=dtype: _spread(np.zeros(shape or (2, 3)), dtype)
        into, whole, out, x, scattered = [empty() for _ in range(n)], empty(2 * n, 3), empty(n, 3), empty(), empty()
        dist.all_gather(into, mine, g)
        dist.all_gather_into_tensor(whole, mine, g)
        dist.all_to_all_single(out, rows, group=g)
        dist.scatter(x, [_spread(p, dtype) for p in parts] if k == 0 else None, 0, g)
        dist.reduce_scatter(scattered, [mine] * n, group=g)
        for rank, y in enumerate(into):
            same(y, parts[rank], (dtype, "all_gather"))
        same(whole, np.concatenate(parts), (dtype, "all_gather_into_tensor"))
        same(out, np.stack([numbers(s, (n, 3), dtype)[k] for s in range(n)]), (dtype, "all_to_all_single"))
        same(x, parts[k], (dtype, "scatter"))
        same(scattered, sum(parts), (dtype, "reduce_scatter"))  # type: ignore[arg-type]
        dist.reduce(mine, 0, group=g)
        same(mine, _sum(g, dtype=dtype) if k == 0 else parts[k], (dtype, "reduce"))
        dist.broadcast(mine, 0, g)
        same(mine, _sum(g, dtype=dtype), (dtype, "broadcast"))
        dist.all_reduce(mine, ReduceOp.AVG, g)
        same(mine, _sum(g, dtype=dtype), (dtype, "all_reduce"))


def check_output_and_input_may_share_memory(g: ProcessGroup) -> None:
    """As in PyTorch, a shard may be a view of the whole."""
    n, k = g.size(), g.rank()
    whole = minigrad.zeros(n, 3)
    whole[k].fill_(k + 1)  # a view changes only its part
    dist.all_gather_into_tensor(whole, whole[k], g)
    same(whole, np.repeat(np.arange(1, n + 1, dtype="float32"), 3).reshape(n, 3))
    whole = minigrad.ones(n, 3) * (k + 1)
    dist.reduce_scatter_tensor(whole[k], whole, group=g)
    same(whole[k], np.full(3, n * (n + 1) / 2, "float32"))
    parts = [minigrad.full((2,), float(k)) for _ in range(n)]
    dist.all_gather(parts, parts[k], g)
    same(minigrad.stack(parts)[:, 0], np.arange(n, dtype="float32"))


def check_parameters_and_tensors_with_a_graph(g: ProcessGroup) -> None:
    p = minigrad.nn.Parameter(minigrad.ones(3) * (g.rank() + 1))
    dist.broadcast(p, 0, g)
    same(p.detach(), np.ones(3, "float32"))
    dist.all_reduce(p.detach(), group=g)
    same(p.detach(), np.full(3, g.size(), "float32"))
    with minigrad.no_grad():
        dist.all_reduce(p, ReduceOp.AVG, g)
    same(p.detach(), np.full(3, g.size(), "float32"))
    assert p.requires_grad and p.is_leaf
    (p * 2).sum().backward()
    assert p.grad is not None
    dist.all_reduce(p.grad, group=g)
    same(p.grad, np.full(3, 2 * g.size(), "float32"))


def _version_after(g: ProcessGroup, call: Callable[[Tensor], Any]) -> str:
    """The error that the backward pass raises after a tensor that it needs was changed; "" if there is no error."""
    x = minigrad.ones(2, 3, requires_grad=True)
    y = x * 2
    result = (y * y).sum()
    call(y.detach())
    try:
        result.backward()
    except RuntimeError as error:
        return str(error)
    return ""


def check_a_change_of_what_backward_needs(g: ProcessGroup) -> None:
    n, last = g.size(), g.size() - 1
    zeros = lambda: [minigrad.zeros(2, 3) for _ in range(n)]

    def among(t: Tensor) -> list[Tensor]:
        return [t, *zeros()[1:]]

    changing: list[Callable[[Tensor], Any]] = [
        lambda t: dist.all_reduce(t, group=g),
        lambda t: dist.reduce_scatter(t, zeros(), group=g),
        lambda t: dist.all_gather(among(t), minigrad.ones(2, 3), g),
        lambda t: dist.scatter(t, zeros() if g.rank() == 0 else None, 0, g),
        lambda t: dist.all_to_all(among(t), zeros(), g),
        lambda t: dist.all_gather_into_tensor(t, minigrad.ones(6 // n), g) if 6 % n == 0 else t.zero_(),
        lambda t: dist.all_to_all_single(t, minigrad.zeros(2, 3), *uneven),
    ]
    uneven = ([2] + [0] * (n - 1), [2] + [0] * (n - 1)) if n == 1 else (None, None)
    for number, call in enumerate(changing[: 7 if n <= 2 else 6]):
        message = _version_after(g, call)
        assert "modified by an inplace operation" in message, (number, message)
        assert number or "all_reduce" in message, message
    assert bool(_version_after(g, lambda t: dist.broadcast(t, last, g))) == (g.rank() != last)
    assert bool(_version_after(g, lambda t: dist.reduce(t, 0, group=g))) == (g.rank() == 0)
    gathering = lambda t: dist.gather(t, among(minigrad.ones(2, 3)) if g.rank() == 0 else None, 0, g)
    assert not _version_after(g, gathering)
    assert not _version_after(g, lambda t: dist.all_gather(zeros(), t, g))


# Handles -------------------------------------------------------------------------------------------------------


def check_some_wait_at_once_and_some_later(g: ProcessGroup) -> None:
    pair = tensor(g.rank()), tensor(g.rank()) + 1
    works = [dist.all_reduce(x, group=g, async_op=g.rank() == 0) for x in pair]
    if g.rank() == 0:
        wait_all(*works)
    for i, x in enumerate(pair):
        same(x, _sum(g) + i * g.size())


def check_the_state_of_a_handle(g: ProcessGroup) -> None:
    """It completes without ``wait``."""
    x = tensor(g.rank())
    work = dist.all_reduce(x, group=g, async_op=True)
    assert work is not None
    until(work.is_completed, "the call ends")
    same(x, _sum(g))
    assert work.wait() is True and work.is_success() and work.exception() is None


def check_nobody_keeps_the_handle(g: ProcessGroup) -> None:
    """Memory that the calls use is not freed, and they complete before their group is destroyed."""
    group = dist.new_group()
    tensors = [minigrad.ones(1 << 16, dtype=minigrad.float16) for _ in range(8)]
    for x in tensors:
        dist.all_reduce(x, group=group, async_op=True)
    noise = [np.full(1 << 16, -1.0, np.float32) for _ in range(8)]
    del noise
    assert isinstance(group, ProcessGroup)
    dist.destroy_process_group(group)
    assert [x.float().mean().item() for x in tensors] == [g.size()] * 8


# Groups --------------------------------------------------------------------------------------------------------


@at_least(2)
def check_groups_of_some_ranks(g: ProcessGroup) -> None:
    n, k = g.size(), g.rank()
    groups = [dist.new_group([0, n - 1]), dist.new_group([1]), dist.new_group(list(range(1, n)))]
    members = [{0, n - 1}, {1}, set(range(1, n))]
    for group, ranks in zip(groups, members, strict=True):
        inside = k in ranks
        assert dist.get_rank(group) == (sorted(ranks).index(k) if inside else -1)
        assert dist.get_world_size(group) == (len(ranks) if inside else -1)
        x = tensor(k)
        dist.all_reduce(x, group=group)
        same(x, sum(map(numbers, ranks)) if inside else numbers(k))  # type: ignore[arg-type]
        if inside:
            assert isinstance(group, ProcessGroup)
            assert dist.get_process_group_ranks(group) == sorted(ranks)
            assert [dist.get_group_rank(group, r) for r in sorted(ranks)] == list(range(len(ranks)))
            assert [dist.get_global_rank(group, i) for i in range(len(ranks))] == sorted(ranks)
            y = tensor(k)
            dist.broadcast(y, max(ranks), group)
            same(y, numbers(max(ranks)))
            dist.broadcast(y.copy_(tensor(k)), group_src=0, group=group)
            same(y, numbers(min(ranks)))
        else:
            assert group == dist.GroupMember.NON_GROUP_MEMBER


@at_least(2)
def check_functions_do_nothing_outside(g: ProcessGroup) -> None:
    group = dist.new_group([0])
    if g.rank() == 0:
        return
    x, one = tensor(g.rank()), [minigrad.zeros(2, 3)]
    before = numbers(g.rank())
    calls: list[Any] = [
        dist.all_reduce(x, group=group),
        dist.all_reduce(x, group=group, async_op=True),
        dist.reduce(x, 0, group=group),
        dist.broadcast(x, 0, group),
        dist.all_gather(one, x, group),
        dist.all_gather_into_tensor(x, x, group),
        dist.gather(x, None, 0, group),
        dist.scatter(x, None, 0, group),
        dist.reduce_scatter(x, one, group=group),
        dist.reduce_scatter_tensor(x, x, group=group),
        dist.all_to_all(one, one, group),
        dist.all_to_all_single(x, x, group=group),
        dist.barrier(group),
        dist.isend(x, 0, group),
        dist.irecv(x, 0, group),
        dist.send(x, 0, group),
    ]
    assert calls == [None] * len(calls)
    assert dist.recv(x, 0, group) == -1
    same(x, before)


@at_least(2)
def check_a_root_outside_the_group(g: ProcessGroup) -> None:
    group = dist.new_group([0])
    if g.rank() == 0:
        message = raised(ValueError, lambda: dist.broadcast(tensor(0), 1, group))
        assert "rank 1 is not in the group" in message, message
        raised(ValueError, lambda: dist.reduce(tensor(0), group_dst=1, group=group))
        raised(ValueError, lambda: dist.reduce(tensor(0), 0, group_dst=0, group=group))


@at_least(2)
def check_a_group_that_only_its_members_create(g: ProcessGroup) -> None:
    n, k = g.size(), g.rank()
    if k in (0, n - 1):
        group = dist.new_group([0, n - 1], use_local_synchronization=True)
        x = tensor(k)
        dist.all_reduce(x, group=group)
        same(x, numbers(0) + numbers(n - 1))
    elif k == 1:
        other = dist.new_group([1], use_local_synchronization=True)
        assert isinstance(other, ProcessGroup) and other.size() == 1
    x = tensor(k)
    dist.all_reduce(x, group=g)
    same(x, _sum(g))


def check_wrong_ranks_of_a_group(g: ProcessGroup) -> None:
    """The ranks of a group are sorted, and must be different ranks of the world."""
    assert dist.get_rank(dist.new_group(list(reversed(range(g.size()))))) == g.rank()
    for ranks in ([0, 0], [g.size()], [-1], []):
        message = raised(ValueError, lambda ranks=ranks: dist.new_group(ranks))
        assert str(ranks) in message, message
    check_all_gather(g)


def check_groups_that_overlap_in_time(g: ProcessGroup) -> None:
    """Calls in two groups of the same ranks, started in a different order on every second rank."""
    other = dist.new_group()
    x, y = tensor(g.rank()), tensor(g.rank()) + 1
    pairs = [(x, g), (y, other)]
    wait_all(*[dist.all_reduce(t, group=p, async_op=True) for t, p in (pairs if g.rank() % 2 else pairs[::-1])])
    same(x, _sum(g))
    same(y, _sum(g) + g.size())


@at_least(2)
def check_a_group_is_made_while_a_call_is_under_way(g: ProcessGroup) -> None:
    x, y = tensor(g.rank()), tensor(g.rank())
    work = dist.all_reduce(x, group=g, async_op=True) if g.rank() == 0 else None
    if g.rank():
        dist.all_reduce(x, group=g)
    group = dist.new_group()
    if work is not None:
        wait_all(work)
    dist.all_reduce(y, group=group)
    same(x, _sum(g))
    same(y, _sum(g))


def check_a_destroyed_group_leaves_the_others(g: ProcessGroup) -> None:
    group = dist.new_group()
    assert isinstance(group, ProcessGroup)
    dist.destroy_process_group(group)
    assert dist.is_initialized()
    check_all_to_all_single(g)


# Wrong arguments -------------------------------------------------------------------------------------------------


def check_arguments_that_are_no_tensors(g: ProcessGroup) -> None:
    x, calls = tensor(0), []
    calls += [lambda: dist.all_reduce([1.0], group=g), lambda: dist.broadcast(np.ones(3), 0, g)]  # type: ignore[arg-type]
    calls += [lambda: dist.all_gather(x, x, g), lambda: dist.all_gather([1] * g.size(), x, g)]  # type: ignore[arg-type,list-item]
    calls += [lambda: dist.reduce_scatter(x, x, group=g), lambda: dist.scatter(None, None, 0, g)]  # type: ignore[arg-type]
    calls += [lambda: dist.all_to_all_single(x, None, group=g)]  # type: ignore[arg-type]
    calls += [lambda: dist.all_to_all(x, [x] * g.size(), g), lambda: dist.gather(None, None, 0, g)]  # type: ignore[arg-type]
    for call in calls:
        raised(TypeError, call)
    check_all_gather(g)


def check_lists_of_another_length_or_dtype(g: ProcessGroup) -> None:
    n, x = g.size(), tensor(g.rank())
    zeros = lambda count, *shape, **how: [minigrad.zeros(*shape, **{"dtype": minigrad.float64, **how})] * count
    below = [-1, *[0] * (n - 2), 3] if n > 1 else [-1]
    few = minigrad.ones(max(sum(below), 0))
    calls: list[Callable[[], Any]] = [
        lambda: dist.all_gather(zeros(n + 1, 2, 3), x, g),
        lambda: dist.all_gather(zeros(n, 2, 4), x, g),
        lambda: dist.all_gather(zeros(n, 2, 3, dtype=minigrad.float32), x, g),
        lambda: dist.all_gather_into_tensor(minigrad.zeros(n, 2, 4, dtype=minigrad.float64), x, g),
        lambda: dist.reduce_scatter(x, zeros(n - 1, 2, 3), group=g),
        lambda: dist.reduce_scatter(x, zeros(n, 3, 3), group=g),
        lambda: dist.reduce_scatter_tensor(x, minigrad.zeros(7 * n, dtype=minigrad.float64), group=g),
        lambda: dist.reduce_scatter_tensor(x, minigrad.zeros(6 * n), group=g),
        lambda: dist.all_to_all(zeros(n + 1, 2), zeros(n, 2), g),
        lambda: dist.all_to_all_single(minigrad.zeros(n + 1), minigrad.zeros(n + 1), [1] * n, [1] * n, g),
        lambda: dist.all_to_all_single(minigrad.zeros(n), minigrad.zeros(n), [1] * (n + 1), None, g),
        lambda: dist.all_to_all_single(few.clone(), few, below, below, g),
        lambda: dist.all_to_all_single(minigrad.zeros(n), minigrad.ones(n).double(), group=g),
        lambda: dist.all_to_all(zeros(n, 2, dtype=minigrad.int32), zeros(n, 2), g),
    ]
    if g.rank() == 0:
        calls += [
            lambda: dist.scatter(x, zeros(n + 1, 2, 3), 0, g),
            lambda: dist.gather(x, zeros(n + 1, 2, 3), 0, g),
            lambda: dist.gather(x, zeros(n, 9), 0, g),
        ]
    else:
        calls += [lambda: dist.scatter(x, zeros(n, 2, 3), 0, g), lambda: dist.gather(x, zeros(n, 2, 3), 0, g)]
    for call in calls:
        raised(ValueError, call)
    check_all_gather(g)


# Waiting -------------------------------------------------------------------------------------------------------


def check_barrier(g: ProcessGroup) -> None:
    """It ends when the last rank arrives: here one that first receives a message from each waiting rank."""
    last, waits = g.size() - 1, minigrad.ones(1)
    if g.rank() == last:
        for rank in range(last):
            dist.recv(waits, rank, g)
    work = dist.barrier(g, async_op=True, device_ids=[0])
    assert work is not None
    if g.rank() != last:
        assert not work.is_completed()
        dist.send(waits, last, g)
    wait_all(work)
    dist.barrier(g)


@at_least(2)
def check_timeouts(g: ProcessGroup) -> None:
    group = dist.new_group()
    if g.rank() == 0:
        work = dist.barrier(group, async_op=True)
        assert work is not None and not work.is_completed()
        message = raised(RuntimeError, lambda: work.wait(timedelta(seconds=0.1)))
        assert message == "barrier timed out after 0.1 s: has every rank called it?", message
    dist.barrier(g)
    if g.rank():
        dist.barrier(group)


@at_least(2)
def check_properties_of_the_world(g: ProcessGroup) -> None:
    n = dist.get_world_size()
    assert (g.rank(), g.size()) == (dist.get_rank(), n) == (dist.get_rank(g), dist.get_world_size(g))
    assert dist.get_backend() == "gloo" and dist.is_initialized() and dist.is_mpi_available()
    assert dist.get_node_local_rank() == dist.get_rank()
    assert dist.group.WORLD is not None and dist.get_process_group_ranks() == list(range(n))
    assert dist.is_torchelastic_launched()
    raised(ValueError, lambda: dist.init_process_group())
    raised(ValueError, lambda: dist.get_global_rank(g, n))
    raised(ValueError, lambda: dist.get_group_rank(g, n))


@at_least(2)
def check_shared_memory_has_no_name(g: ProcessGroup) -> None:
    """MPICH removes the name as soon as all ranks have the memory: a killed rank leaves no file behind."""
    maps = Path("/proc/self/maps")
    parts = [line for line in maps.read_text().splitlines() if "mpich_shm" in line] if maps.exists() else []
    assert all(line.endswith("(deleted)") for line in parts), parts


def check_large_calls_under_way_at_once_keep_their_numbers(g: ProcessGroup) -> None:
    size = 700_000  # 2.7 MiB
    tensors = [minigrad.full((size,), float(10 * i + g.rank())) for i in range(6)]
    works = [dist.all_reduce(t, group=g, async_op=True) for t in tensors]
    small = minigrad.ones(3)
    works.append(dist.broadcast(small, group=g, group_src=0, async_op=True))
    wait_all(works[-1], *works[:-1])
    total = sum(range(g.size()))
    for i, t in enumerate(tensors):
        assert t.min().item() == t.max().item() == 10 * i * g.size() + total
    assert small.tolist() == [1.0] * 3
