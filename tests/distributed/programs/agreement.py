"""Checks of the debugging mode: if calls differ, every rank gets an error that lists them, and the group survives."""

from collections.abc import Callable
from typing import Any

import minigrad
import minigrad.distributed as dist
from minigrad.distributed import ProcessGroup, ReduceOp
from tests.distributed.programs.collectives import plain
from tests.support.ranks import raised


def _of(*shape: int, dtype: Any = minigrad.float32) -> minigrad.Tensor:
    return minigrad.ones(*shape, dtype=dtype)


def _differ(g: ProcessGroup, first: Callable[[], Any], others: Callable[[], Any], *texts: str) -> None:
    """Rank 0 makes one call, the other ranks make another."""
    g.compares = True
    message = raised(RuntimeError, first if g.rank() == 0 else others)
    rest = "rank 1: " if g.size() == 2 else f"ranks {', '.join(map(str, range(1, g.size())))}: "
    for text in ("the ranks made different calls", "rank 0: ", rest, *texts):
        assert text in message, (text, message)
    x = minigrad.ones(3)
    dist.all_reduce(x, ReduceOp.SUM, g)
    assert plain(x).tolist() == [g.size()] * 3


def check_calls(g: ProcessGroup) -> None:
    half, three = minigrad.bfloat16, lambda: dist.all_reduce(_of(3), group=g)
    ours = "all_reduce(float32 of shape (3,), op=sum)"
    for others, text in (
        (lambda: dist.barrier(g), "barrier()"),
        (lambda: dist.broadcast(_of(3), 0, g), "broadcast(float32 of shape (3,), root=0)"),
        (lambda: dist.all_reduce(_of(2, 2), group=g), "all_reduce(float32 of shape (2, 2), op=sum)"),
        (lambda: dist.all_reduce(_of(3, dtype=half), group=g), "all_reduce(bfloat16 of shape (3,), op=sum)"),
        (lambda: dist.all_reduce(_of(3), ReduceOp.AVG, g), "op=avg"),
        (lambda: dist.all_reduce(_of(4), group=g, async_op=True), "shape (4,)"),
    ):
        _differ(g, three, others, ours, text)


def check_roots_and_lists(g: ProcessGroup) -> None:
    parts = lambda root: [_of(3)] * g.size() if g.rank() == root else None
    for call in (dist.broadcast, dist.reduce):
        first, others = (lambda root=root, call=call: call(_of(3), root, group=g) for root in (0, 1))
        _differ(g, first, others, "root=0", "root=1")
    for call in (dist.gather, dist.scatter):
        first, others = (lambda root=root, call=call: call(_of(3), parts(root), root, g) for root in (0, 1))
        _differ(g, first, others, f"{call.__name__}(float32 of shape (3,), root=0)", "root=1")
    first, others = (lambda k=k: dist.reduce_scatter(_of(k), [_of(k)] * g.size(), group=g) for k in (2, 3))
    _differ(g, first, others, "reduce_scatter(float32 of shape (2,), op=sum)")
    first, others = (
        lambda kind=kind: dist.all_to_all_single(_of(g.size(), dtype=kind), _of(g.size(), dtype=kind), group=g)
        for kind in (minigrad.float32, minigrad.int32)
    )
    _differ(g, first, others, "all_to_all(float32)", "all_to_all(int32)")


def check_one_call_under_two_names(g: ProcessGroup) -> None:
    g.compares = True
    into, whole = [minigrad.zeros(2) for _ in range(g.size())], minigrad.zeros(g.size() * 2)
    dist.all_gather(into, _of(2), g) if g.rank() == 0 else dist.all_gather_into_tensor(whole, _of(2), g)
    assert all(plain(x).tolist() == [1, 1] for x in (into if g.rank() == 0 else [whole[:2]]))
