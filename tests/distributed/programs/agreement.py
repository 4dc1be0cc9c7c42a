"""Checks of calls that differ between ranks: all of them are told who calls what, and the group goes on."""

from collections.abc import Callable
from typing import Any

import minigrad
import minigrad.distributed as dist
from minigrad.distributed import ProcessGroup, ReduceOp
from tests.distributed.programs.collectives import done, plain
from tests.support.ranks import at_least, raised


def _goes_on(g: ProcessGroup) -> None:
    for op, expected in ((ReduceOp.SUM, g.size()), (ReduceOp.MAX, 1)):
        x = minigrad.ones(3)
        dist.all_reduce(x, op, g)
        assert plain(x).tolist() == [expected] * 3


def _differ(g: ProcessGroup, first: Callable[[], Any], others: Callable[[], Any], *texts: str) -> None:
    """Rank 0 makes one call, the others another."""
    message = raised(RuntimeError, first if g.rank() == 0 else others)
    rest = "rank 1: " if g.size() == 2 else f"ranks {', '.join(map(str, range(1, g.size())))}: "
    for text in ("the ranks do not make the same call", "rank 0: ", rest, *texts):
        assert text in message, (text, message)
    _goes_on(g)


def _of(*shape: int, dtype: Any = minigrad.float32) -> minigrad.Tensor:
    return minigrad.ones(*shape, dtype=dtype)


def check_arguments(g: ProcessGroup) -> None:
    many, half = [1] * 9, minigrad.bfloat16
    cases = [
        (lambda: dist.barrier(g), lambda: dist.all_reduce(_of(3), group=g), "rank 0: barrier()", ""),
        (
            lambda: dist.all_reduce(_of(3), group=g),
            lambda: dist.broadcast(_of(3), 0, g),
            "rank 0: all_reduce(float32 of shape (3,), op=sum)",
            ": broadcast(float32 of shape (3,), src=0)",
        ),
        *(
            (lambda a=a: dist.broadcast(_of(*a), 0, g), lambda b=b: dist.broadcast(_of(*b), 0, g), left, right)
            for a, b, left, right in [
                ((3,), (2, 2), "shape (3,)", "shape (2, 2)"),
                ((4,), (2, 2), "shape (4,)", "shape (2, 2)"),
                ((), (1,), "shape ()", "shape (1,)"),
                ((*many, 2), (*many, 3), "…", ""),
            ]
        ),
        (
            lambda: dist.all_reduce(_of(3), group=g),
            lambda: dist.all_reduce(_of(3, dtype=half), group=g),
            "float32",
            "bfloat16",
        ),
        (
            lambda: dist.all_reduce(_of(3), ReduceOp.SUM, g),
            lambda: dist.all_reduce(_of(3), ReduceOp.AVG, g),
            "op=sum",
            "op=avg",
        ),
    ]
    for first, others, *texts in cases:
        _differ(g, first, others, *texts)


def check_roots(g: ProcessGroup) -> None:
    for call in (dist.broadcast, dist.reduce):
        first, others = (lambda root=root, call=call: call(_of(3), root, group=g) for root in (0, 1))
        _differ(g, first, others, "src=0" if call is dist.broadcast else "dst=0", "=1")
    first, others = (lambda k=k: dist.reduce_scatter(_of(k), [_of(k)] * g.size(), group=g) for k in (2, 3))
    _differ(g, first, others, "reduce_scatter(float32 of shape (2,), op=sum)")
    parts = lambda root: [_of(3)] * g.size() if g.rank() == root else None
    for call, end in ((dist.gather, "dst"), (dist.scatter, "src")):
        first, others = (lambda root=root, call=call: call(_of(3), parts(root), root, g) for root in (0, 1))
        _differ(g, first, others, f"{call.__name__}(float32 of shape (3,), {end}=0)", f"{end}=1")


def check_all_gather_and_all_gather_into_tensor(g: ProcessGroup) -> None:
    """One call under two names."""
    into = [minigrad.zeros(2) for _ in range(g.size())]
    if g.rank() == 0:
        dist.all_gather(into, _of(2), g)
        assert all(plain(x).tolist() == [1, 1] for x in into)
    else:
        whole = minigrad.zeros(g.size() * 2)
        dist.all_gather_into_tensor(whole, _of(2), g)
        assert (plain(whole) == 1).all()


def check_all_to_all_of_dtypes(g: ProcessGroup) -> None:
    first, others = (
        lambda kind=kind: dist.all_to_all_single(_of(g.size(), dtype=kind), _of(g.size(), dtype=kind), group=g)
        for kind in (minigrad.float32, minigrad.int32)
    )
    _differ(g, first, others, "all_to_all(float32)", "all_to_all(int32)")


def check_all_to_all_of_sizes_that_do_not_fit(g: ProcessGroup) -> None:
    """Rank 0 sends more to the last rank than that expects: an error on some rank, and no wrong numbers."""
    n, k = g.size(), g.rank()
    sent = [1] * (n - 1) + [3 if k == 0 else 1]
    raised_here = False
    out = minigrad.zeros(n)
    try:
        dist.all_to_all_single(out, minigrad.ones(sum(sent)), [1] * n, sent, g)
    except RuntimeError:
        raised_here = True
    found: list[Any] = [None] * n
    dist.all_gather_object(found, raised_here)
    assert any(found)


def check_handles(g: ProcessGroup) -> None:
    """The error is the handle's, also where nobody asks for it at once."""
    work = dist.all_reduce(_of(3 if g.rank() == 0 else 4), group=g, async_op=True)
    assert work is not None
    assert "shape (4,)" in raised(RuntimeError, work.wait)
    assert work.is_completed() and not work.is_success() and isinstance(work.exception(), RuntimeError)
    _goes_on(g)


def check_a_wrong_call_before_right_ones(g: ProcessGroup) -> None:
    """Rank 0 has begun the next calls when the first turns out to be wrong; the others begin them later."""
    pair = minigrad.ones(3), minigrad.ones(3)
    if g.rank() == 0:
        works = [dist.all_reduce(x, group=g, async_op=True) for x in (_of(3), *pair)]
        assert works[0] is not None
        raised(RuntimeError, works[0].wait)
        done(*works[1:])
    else:
        message = raised(RuntimeError, lambda: dist.all_reduce(_of(4), group=g))
        assert "shape (3,)" in message and "shape (4,)" in message, message
        for x in pair:
            dist.all_reduce(x, group=g)
    assert all(plain(x).tolist() == [g.size()] * 3 for x in pair)


def check_a_wrong_call_of_a_group(g: ProcessGroup) -> None:
    """Its ranks are named by their numbers in the world."""
    group = dist.new_group([g.size() - 2, g.size() - 1])
    if g.rank() >= g.size() - 2:
        length = 2 + g.rank()
        message = raised(RuntimeError, lambda: dist.all_reduce(_of(length), group=group))
        assert f"rank {g.size() - 1}: " in message and f"rank {g.size() - 2}: " in message, message
    _goes_on(g)


@at_least(3)
def check_all_differ(g: ProcessGroup) -> None:
    message = raised(RuntimeError, lambda: dist.all_reduce(_of(g.rank() + 1), group=g))
    assert all(f"rank {r}: all_reduce(float32 of shape ({r + 1},), op=sum)" in message for r in range(g.size())), (
        message
    )
    _goes_on(g)
