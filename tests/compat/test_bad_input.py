"""Wrong input raises an exception of PyTorch's type; input that only looks wrong produces PyTorch's result."""

from typing import Any

import pytest

import minigrad
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import in_torch_words, torch

REFUSED = """
t.cat([]) ; t.stack([]) ; t.hstack([]) ; t.zeros(2, 3).expand(-1, 2, 3) ; t.zeros(2, device="tpu") ; t.tensor(None)
t.tensor("abc") ; t.tensor([2**70]) ; t.tensor(2**63) ; t.tensor([300], dtype=t.uint8) ; t.tensor([-256], dtype=t.uint8)
t.tensor([128], dtype=t.int8) ; t.tensor(math.nan, dtype=t.long) ; float(t.zeros(2)) ; t.zeros(2).item()
t.zeros(2, 3).gather(1, t.tensor([[5], [0]])) ; t.zeros(2, 3).gather(1, t.tensor([[0.0]]))
t.zeros(2, 3).scatter_(1, t.tensor([[5], [0]]), 1.0) ; t.zeros(2, 3).index_select(0, t.tensor([2]))
t.randint(0, 2**70, (2,)) ; t.randn(2, dtype=t.long) ; t.rand(2, dtype=t.long) ; t.manual_seed(2**64)
t.linspace(0, 1, -1) ; t.eye(-1) ; t.arange(0, math.inf) ; t.linspace(0, 1, 2.5) ; t.logspace(0, 1, -1)
t.zeros(2).cauchy_(sigma=0) ; t.zeros(2).log_normal_(std=0) ; t.eq(1, 2) ; t.clamp_max(1, t.ones(2))
t.heaviside(1, t.ones(2)) ; t.rsub(1, 2) ; t.Tensor.__radd__(1, t.ones(2))
t.isclose(t.ones(2), t.ones(2), rtol=-1.0) ; t.ones(5, 10).sum_to_size(10, 10) ; t.ones(5).sum_to_size(3)
t.ones(2, 3).diagonal(0, 1, 1) ; t.ones(2, 3).diag_embed(0, 1, 1) ; t.tensor(1.0).flipud()
t.tensor(1.0).narrow(0, 0, 1) ; t.ones(3).narrow(0, t.tensor(1.0), 1) ; t.tensor(1.0).roll(1, 0)
t.ones(2, 5).hsplit(0) ; t.ones(2, 5).hsplit(2) ; t.ones(2, 5).hsplit("abc") ; t.ones(4).vsplit(2)
t.ones(4, 4).dsplit(2) ; t.cat([t.tensor(1.0), t.tensor(2.0)]) ; t.cat(t.ones(2, 2))
t.gradient(t.ones(3, 3), dim=(1, 1)) ; t.ones(2).masked_fill(t.ones(2).bool(), 1j)
t.zeros(3, 5).scatter(0, t.zeros(2).long(), t.ones(2)) ; t.zeros(3, 5).scatter_add(0, t.zeros(2).long(), t.ones(2))
t.bucketize(t.ones(2), t.ones(2, 2)) ; t.ones(3).renorm(2, 0, 1.0)
t.cat([t.ones(1), t.ones(2)], out=t.ones(1).expand(3)) ; t.tensor([1, 2]) // 0 ; t.tensor([1, 2]) % t.tensor([1, 0])
t.tensor([1]).fmod(0) ; t.tensor([1.0]) & t.tensor([1.0]) ; t.tensor([1.0]) << 2 ; ~t.tensor([1.0])
t.broadcast_tensors(t.ones(2), t.ones(3)) ; t.multinomial(t.ones(3), 4) ; t.nn.Linear(1, 2)([1.0])
t.nn.Embedding(3, 2)([1]) ; F.cross_entropy(t.zeros(2, 3, 4), t.zeros(2, 5).long())
F.cross_entropy(t.zeros(2, 3), t.tensor([0, 1, 2]))
F.cross_entropy(t.zeros(2, 3), t.tensor([0, 1]), label_smoothing=2.0) ; setattr(leaf, "requires_grad", 5)
setattr(leaf, "grad", 3) ; setattr(leaf, "grad", leaf.detach().double()) ; setattr(leaf, "grad", leaf.detach()[:2])
setattr(leaf, "data", 3) ; t.save(t.ones(2), "/nowhere/at/all/x.pt") ; t.ones(2).sofmax(0)
"""
TAKEN = """
t.tensor([[-1, 2], [3, -255]], dtype=t.uint8) ; t.tensor([1, 100], dtype=t.int8) + 300
t.tensor([1, 100], dtype=t.uint8) * 300 ; t.tensor([1.0, -1.0]) // 0
t.multinomial(t.tensor([0.0, 1.0, 0.0, 2.0]), 3)[:2] ; t.randint(-(2**63), 2**63 - 1, (3,))
t.tensor(t.manual_seed(-5).initial_seed() == t.initial_seed() == 2**64 - 5)
"""


def valued(t: Any, expression: str) -> Any:
    return evaluate(expression, t=t, F=t.nn.functional, leaf=t.ones(3, requires_grad=True))


@cases("expression", split(REFUSED))
def test_refused(expression: str) -> None:
    with pytest.raises(Exception) as expected:
        valued(torch, expression)
    with pytest.raises(expected.type) as error:
        valued(minigrad, expression)
    assert str(error.value)


@cases("a, b", [((5, 4), (5,)), ((3, 5), (3, 4)), ((2, 1, 3), (4, 2))])
def test_shapes_that_do_not_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """The error uses PyTorch's wording."""
    for combine in (lambda t: t.ones(a) - t.ones(b), lambda t: t.ones(a).mul(t.ones(b))):
        with pytest.raises(RuntimeError) as expected:
            combine(torch)
        with pytest.raises(RuntimeError) as error:
            combine(minigrad)
        assert str(expected.value) in str(error.value)


@cases("expression", split(TAKEN))
def test_accepted(expression: str) -> None:
    torch.manual_seed(0)
    expected, actual = valued(torch, expression), valued(minigrad, expression)
    assert in_torch_words(actual.dtype) == str(expected.dtype) and actual.tolist() == expected.tolist()


def test_grad_can_be_deleted() -> None:
    x = minigrad.ones(3, requires_grad=True)
    x.sum().backward()
    del x.grad
    assert x.grad is None
