"""Checks of collectives that gradients flow through, against the same computation in one process."""

from collections.abc import Callable, Sequence

import minigrad
import minigrad.distributed as dist
from minigrad import Tensor
from minigrad.autograd import grad
from minigrad.distributed import ProcessGroup, ReduceOp, functional as F
from tests.distributed.programs.collectives import numbers
from tests.support.ranks import raised

Losses = Callable[[list[Tensor]], Sequence[Tensor]]


def _inputs(count: int, shape: tuple[int, ...]) -> list[Tensor]:
    return [minigrad.tensor(numbers(r, shape) / 4, requires_grad=True) for r in range(count)]


def _loss(x: Tensor, rank: int) -> Tensor:
    """A different function on each rank."""
    return (x**3 * (rank + 1)).sum() + x.sin().sum()


def _compare(
    g: ProcessGroup, ours: Callable[[Tensor], Tensor], theirs: Losses, shape: tuple[int, ...] = (2, 3)
) -> None:
    """Compare the value and the gradient of this rank's input; ``theirs`` computes all ranks' losses of all inputs."""
    mine, all_of_them = _inputs(g.size(), shape)[g.rank()], _inputs(g.size(), shape)
    own = ours(mine)
    losses = theirs(all_of_them)
    assert minigrad.allclose(own, losses[g.rank()]), (own, losses[g.rank()])
    own.backward()
    sum(losses[1:], losses[0]).backward()
    expected = all_of_them[g.rank()].grad
    assert mine.grad is not None and expected is not None
    assert minigrad.allclose(mine.grad, expected), (mine.grad, expected)


def check_all_reduce(g: ProcessGroup) -> None:
    """The sum and the average; the input is unchanged."""
    k, n = g.rank(), g.size()
    for op, divisor in ((ReduceOp.SUM, 1), (ReduceOp.AVG, n)):
        total = lambda xs, divisor=divisor: sum(xs[1:], xs[0]) / divisor
        ours = lambda x, op=op: _loss(F.all_reduce(x, op, g), k)
        _compare(g, ours, lambda xs, total=total: [_loss(total(xs), r) for r in range(n)])
    x = _inputs(n, (3,))[0]
    F.all_reduce(x, group=g)
    assert (x.detach().numpy() == numbers(0, (3,)) / 4).all()
    whole = F.all_reduce(minigrad.ones(3, dtype=minigrad.int64), group=g)
    assert whole.tolist() == [n] * 3 and not whole.requires_grad


def check_all_reduce_of_an_expanded_gradient(g: ProcessGroup) -> None:
    """The gradient of a sum is one number under many indices."""
    n = g.size()
    _compare(g, lambda x: F.all_reduce(x, group=g).sum(), lambda xs: [sum(xs[1:], xs[0]).sum() for _ in range(n)])


def check_the_second_order(g: ProcessGroup) -> None:
    k, n = g.rank(), g.size()
    product = lambda rows: minigrad.stack(list(rows)).prod(0)
    for ours, theirs in (
        (lambda x: F.all_reduce(x, group=g), lambda xs: sum(xs[1:], xs[0])),
        (lambda x: product(F.all_gather(x, g)), product),
    ):
        mine, all_of_them = _inputs(n, (3,))[k], _inputs(n, (3,))
        (first,) = grad(_loss(ours(mine), k), [mine], create_graph=True)
        firsts = grad(sum(_loss(theirs(all_of_them), r) for r in range(n)), all_of_them, create_graph=True)
        assert minigrad.allclose(first, firsts[k]), (first, firsts[k])
        (first * first).sum().backward()
        sum((f * f).sum() for f in firsts).backward()
        expected = all_of_them[k].grad
        assert mine.grad is not None and expected is not None
        assert minigrad.allclose(mine.grad, expected), (mine.grad, expected)


def check_all_gather(g: ProcessGroup) -> None:
    k, n = g.rank(), g.size()
    weighed = lambda parts, r: _loss(sum((i + 1) * part for i, part in enumerate(parts)), r)
    _compare(g, lambda x: weighed(F.all_gather(x, g), k), lambda xs: [weighed(xs, r) for r in range(n)])
    turned = lambda xs: [x.t() for x in xs]  # an input that is not contiguous
    _compare(g, lambda x: weighed(F.all_gather(x.t(), g), k), lambda xs: [weighed(turned(xs), r) for r in range(n)])


def check_reductions_without_a_gradient(g: ProcessGroup) -> None:
    assert "MAX" in raised(RuntimeError, lambda: F.all_reduce(minigrad.ones(2), ReduceOp.MAX, g))
    check_all_reduce(g)


def check_a_group_of_some_ranks(g: ProcessGroup) -> None:
    group = dist.new_group([0])
    if g.rank() == 0:
        assert isinstance(group, ProcessGroup)
        x = minigrad.ones(3, requires_grad=True)
        F.all_reduce(x, group=group).sum().backward()
        assert x.grad is not None and x.grad.tolist() == [1, 1, 1]
