"""Checks of messages between two ranks."""

from datetime import timedelta
from typing import Any

import minigrad
import minigrad.distributed as dist
from minigrad.distributed import P2POp, ProcessGroup
from tests.distributed.programs.collectives import MOVED, SHAPES, numbers, plain, same, tensor, wait_all, zeros
from tests.support.ranks import raised

LARGE = 1 << 20  # elements: far more than MPI sends before the other side receives


def check_send_and_recv(g: ProcessGroup) -> None:
    for number, dtype in enumerate([*MOVED, *MOVED]):
        shape = SHAPES[number % len(SHAPES)]
        if g.rank() == 0:
            dist.send(tensor(7, shape, dtype), 1, g)
        elif g.rank() == 1:
            x = zeros(shape, dtype)
            assert dist.recv(x, 0, g) == 0
            same(x, numbers(7, shape, dtype), (dtype, shape))
    if g.rank() == 0:
        dist.send(tensor(7, (3, 2)).t(), 1, g)
    elif g.rank() == 1:
        dist.recv(x := zeros((3, 2)).t(), 0, g)
        same(x, numbers(7, (3, 2)).T, "not contiguous")


def check_a_ring(g: ProcessGroup) -> None:
    """During a collective; a sent tensor may change after ``wait``."""
    n, k = g.size(), g.rank()
    x, y, message = zeros(), tensor(k), tensor(k)
    receives = dist.irecv(x, (k - 1) % n, g, tag=9)
    reduces = dist.all_reduce(y, group=g, async_op=True)
    dist.barrier(g)
    sends = dist.isend(message, (k + 1) % n, g, tag=9)
    wait_all(reduces, sends)
    message.zero_()
    wait_all(receives)
    same(x, numbers((k - 1) % n))
    same(y, sum(map(numbers, range(n))))  # type: ignore[arg-type]


def check_many_large_messages_at_once(g: ProcessGroup) -> None:
    n, k = g.size(), g.rank()
    into = [minigrad.zeros(LARGE // 4) for _ in range(n)]
    mine = minigrad.full((LARGE // 4,), float(k + 1))
    others = [r for r in range(n) if r != k]
    ops = [P2POp(dist.isend, mine, r, g) for r in others] + [P2POp(dist.irecv, into[r], r, g) for r in others]
    works = dist.batch_isend_irecv(ops)
    assert len(works) == 2 * (n - 1)
    wait_all(*works)
    for r in others:
        assert (plain(into[r]) == r + 1).all()


def check_batches_by_number_in_the_group(g: ProcessGroup) -> None:
    n, k = g.size(), g.rank()
    group = dist.new_group([n - 2, n - 1])
    if k >= n - 2:
        other = n - 1 - k
        x = zeros()
        ops = [
            P2POp(dist.irecv, x, group=group, group_peer=other),
            P2POp(dist.isend, tensor(k), group=group, group_peer=other),
        ]
        wait_all(*dist.batch_isend_irecv(ops))
        same(x, numbers(n - 2 + other))
        if k == n - 1:  # the sender's rank is its global rank
            assert dist.recv(x, group=group) == n - 2
        else:
            dist.send(tensor(k), n - 1, group)


def check_any_source(g: ProcessGroup) -> None:
    n, k = g.size(), g.rank()
    if k == 0:
        senders = []
        for _ in range(n - 1):
            senders.append(dist.recv(x := zeros(), None, g))
            same(x, numbers(senders[-1]), senders)
        assert sorted(senders) == list(range(1, n))
    else:
        dist.send(tensor(k), 0, g)


def check_tags(g: ProcessGroup) -> None:
    if g.rank() == 0:
        for tag in (3, 0, 2**20 - 1):
            dist.isend(tensor(tag % 100), 1, g, tag)
        dist.barrier(g)
    else:
        if g.rank() == 1:
            for tag in (2**20 - 1, 3, 0):
                x = zeros()
                dist.recv(x, 0, g, tag)
                same(x, numbers(tag % 100), tag)
        dist.barrier(g)


def check_timeouts(g: ProcessGroup) -> None:
    if g.rank() == 0:
        work = dist.irecv(minigrad.zeros(3), 1, g, tag=4)
        assert work is not None and not work.is_completed()
        message = raised(RuntimeError, lambda: work.wait(timedelta(seconds=0.2)))
        assert message == "recv timed out after 0.2 s: has every rank called it?", message
    dist.barrier(g)


def check_receiving_makes_progress_on_collectives(g: ProcessGroup) -> None:
    """Rank 0 waits for a message that rank 1 sends after a collective that rank 0 has started."""
    y = tensor(g.rank())
    if g.rank() == 0:
        work = dist.all_reduce(y, group=g, async_op=True)
        dist.recv(zeros(), 1, g)
        assert work is not None
        work.wait()
    else:
        dist.all_reduce(y, group=g)
        if g.rank() == 1:
            dist.send(tensor(1), 0, g)
    same(y, sum(map(numbers, range(g.size()))))  # type: ignore[arg-type]


def check_a_collective_makes_progress_on_messages(g: ProcessGroup) -> None:
    """Two ranks start a large message and then a barrier, which must also make progress on the message."""
    if g.rank() < 2:
        x = minigrad.full((LARGE,), 3.0) if g.rank() == 0 else minigrad.zeros(LARGE)
        work: Any = dist.isend(x, 1, g) if g.rank() == 0 else dist.irecv(x, 0, g)
    dist.barrier(g)
    if g.rank() < 2:
        work.wait()
        assert (plain(x) == 3).all()


def check_a_received_tensor_is_changed(g: ProcessGroup) -> None:
    if g.rank() == 0:
        dist.send(minigrad.ones(2, 3), 1, g)
    elif g.rank() == 1:
        x = minigrad.ones(2, 3, requires_grad=True)
        y = x * 2
        result = (y * y).sum()
        dist.recv(y.detach(), 0, g)
        assert "modified by an inplace operation" in raised(RuntimeError, result.backward)


def check_wrong_arguments(g: ProcessGroup) -> None:
    x, k, n = tensor(0), g.rank(), g.size()
    for call in (
        lambda: dist.send(x, k, g),
        lambda: dist.recv(x, k, g),
        lambda: dist.isend(x, n, g),
        lambda: dist.irecv(x, -1, g),
        lambda: dist.send(x, None, g),
        lambda: dist.send(x, 0, g, group_dst=0),
        lambda: dist.send(x, group=g, group_dst=n),
        lambda: dist.send(x, (k + 1) % n, g, tag=-1),
        lambda: dist.send(x, (k + 1) % n, g, tag=2**20),
        lambda: dist.batch_isend_irecv([]),
        lambda: P2POp(dist.broadcast, x, 0, g),
    ):
        raised(ValueError, call)
    raised(TypeError, lambda: dist.send([1.0], (k + 1) % n, g))  # type: ignore[arg-type]
    raised(TypeError, lambda: dist.recv(None, (k + 1) % n, g))  # type: ignore[arg-type]
    check_a_ring(g)


def check_many_messages_under_way_keep_their_order(g: ProcessGroup) -> None:
    """They may arrive in any order, since headers and arrays travel separately."""
    right, left = g.ranks[(g.rank() + 1) % g.size()], g.ranks[(g.rank() - 1) % g.size()]
    for size in (3, 40_000):
        rooms = [minigrad.zeros(size) for _ in range(40)]
        works: list[Any] = [dist.irecv(room, left, g) for room in rooms]
        works += [dist.isend(minigrad.full((size,), float(i)), right, g) for i in range(40)]
        for work in reversed(works):
            work.wait()
        assert [room[0].item() for room in rooms] == list(range(40)) == [room[-1].item() for room in rooms]
