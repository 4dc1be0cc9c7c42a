"""What is wrong raises an exception of PyTorch's type, and what only looks wrong gives PyTorch's result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from tests.support.cases import cases, raises
from tests.support.parity import in_torch_words, torch

NAN = float("nan")


def _with(change: Callable[[Any], object]) -> Callable[[Any], object]:
    """A change to a leaf that wants a gradient."""
    return lambda t: change(t.ones(3, requires_grad=True))


REFUSED: dict[str, Callable[[Any], object]] = {
    "cat of nothing": lambda t: t.cat([]),
    "stack of nothing": lambda t: t.stack([]),
    "expand new axis by -1": lambda t: t.zeros(2, 3).expand(-1, 2, 3),
    "no device": lambda t: t.zeros(2, device="tpu"),
    "None": lambda t: t.tensor(None),
    "text": lambda t: t.tensor("abc"),
    "beyond 64 bits": lambda t: t.tensor([2**70]),
    "beyond int64": lambda t: t.tensor(2**63),
    "beyond uint8": lambda t: t.tensor([300], dtype=t.uint8),
    "below uint8": lambda t: t.tensor([-256], dtype=t.uint8),
    "beyond int8": lambda t: t.tensor([128], dtype=t.int8),
    "NaN as int": lambda t: t.tensor(NAN, dtype=t.long),
    "float of several": lambda t: float(t.zeros(2)),
    "item of several": lambda t: t.zeros(2).item(),
    "gather range": lambda t: t.zeros(2, 3).gather(1, t.tensor([[5], [0]])),
    "gather dtype": lambda t: t.zeros(2, 3).gather(1, t.tensor([[0.0]])),
    "scatter range": lambda t: t.zeros(2, 3).scatter_(1, t.tensor([[5], [0]]), 1.0),
    "index_select range": lambda t: t.zeros(2, 3).index_select(0, t.tensor([2])),
    "randint range": lambda t: t.randint(0, 2**70, (2,)),
    "randn of ints": lambda t: t.randn(2, dtype=t.long),
    "rand of ints": lambda t: t.rand(2, dtype=t.long),
    "seed": lambda t: t.manual_seed(2**64),
    "linspace": lambda t: t.linspace(0, 1, -1),
    "eye": lambda t: t.eye(-1),
    "arange to inf": lambda t: t.arange(0, float("inf")),
    "linspace by a float": lambda t: t.linspace(0, 1, 2.5),
    "logspace": lambda t: t.logspace(0, 1, -1),
    "cauchy": lambda t: t.zeros(2).cauchy_(sigma=0),
    "log_normal": lambda t: t.zeros(2).log_normal_(std=0),
    "numbers compared": lambda t: t.eq(1, 2),
    "number for a tensor": lambda t: t.clamp_max(1, t.ones(2)),
    "number in heaviside": lambda t: t.heaviside(1, t.ones(2)),
    "number before a difference": lambda t: t.rsub(1, 2),
    "number as self": lambda t: t.Tensor.__radd__(1, t.ones(2)),
    "negative tolerance": lambda t: t.isclose(t.ones(2), t.ones(2), rtol=-1.0),
    "sum to a larger size": lambda t: t.ones(5, 10).sum_to_size(10, 10),
    "sum to another size": lambda t: t.ones(5).sum_to_size(3),
    "diagonal of one axis": lambda t: t.ones(2, 3).diagonal(0, 1, 1),
    "diag_embed to one axis": lambda t: t.ones(2, 3).diag_embed(0, 1, 1),
    "flipud of a number": lambda t: t.tensor(1.0).flipud(),
    "narrow of a number": lambda t: t.tensor(1.0).narrow(0, 0, 1),
    "narrow from a float": lambda t: t.ones(3).narrow(0, t.tensor(1.0), 1),
    "roll of a number": lambda t: t.tensor(1.0).roll(1, 0),
    "hsplit into none": lambda t: t.ones(2, 5).hsplit(0),
    "hsplit into unequal": lambda t: t.ones(2, 5).hsplit(2),
    "hsplit by text": lambda t: t.ones(2, 5).hsplit("abc"),
    "vsplit of a vector": lambda t: t.ones(4).vsplit(2),
    "dsplit of a matrix": lambda t: t.ones(4, 4).dsplit(2),
    "hstack of nothing": lambda t: t.hstack([]),
    "cat of numbers": lambda t: t.cat([t.tensor(1.0), t.tensor(2.0)]),
    "cat of a tensor": lambda t: t.cat(t.ones(2, 2)),
    "gradient along an axis twice": lambda t: t.gradient(t.ones(3, 3), dim=(1, 1)),
    "complex in masked_fill": lambda t: t.ones(2).masked_fill(t.ones(2).bool(), 1j),
    "scatter by fewer axes": lambda t: t.zeros(3, 5).scatter(0, t.zeros(2).long(), t.ones(2)),
    "scatter_add by fewer axes": lambda t: t.zeros(3, 5).scatter_add(0, t.zeros(2).long(), t.ones(2)),
    "buckets of a matrix": lambda t: t.bucketize(t.ones(2), t.ones(2, 2)),
    "renorm of a vector": lambda t: t.ones(3).renorm(2, 0, 1.0),
    "out of shared elements": lambda t: t.cat([t.ones(1), t.ones(2)], out=t.ones(1).expand(3)),
    "int // 0": lambda t: t.tensor([1, 2]) // 0,
    "int % 0": lambda t: t.tensor([1, 2]) % t.tensor([1, 0]),
    "int fmod 0": lambda t: t.tensor([1]).fmod(0),
    "and of floats": lambda t: t.tensor([1.0]) & t.tensor([1.0]),
    "shift of floats": lambda t: t.tensor([1.0]) << 2,
    "not of floats": lambda t: ~t.tensor([1.0]),
    "broadcast": lambda t: t.broadcast_tensors(t.ones(2), t.ones(3)),
    "multinomial too many": lambda t: t.multinomial(t.ones(3), 4),
    "list for a tensor": lambda t: t.nn.Linear(1, 2)([1.0]),
    "list of indices": lambda t: t.nn.Embedding(3, 2)([1]),
    "target's shape": lambda t: t.nn.functional.cross_entropy(t.zeros(2, 3, 4), t.zeros(2, 5).long()),
    "targets' number": lambda t: t.nn.functional.cross_entropy(t.zeros(2, 3), t.tensor([0, 1, 2])),
    "smoothing": lambda t: t.nn.functional.cross_entropy(t.zeros(2, 3), t.tensor([0, 1]), label_smoothing=2.0),
    "requires_grad": _with(lambda x: setattr(x, "requires_grad", 5)),
    "grad's type": _with(lambda x: setattr(x, "grad", 3)),
    "grad's dtype": _with(lambda x: setattr(x, "grad", x.detach().double())),
    "grad's shape": _with(lambda x: setattr(x, "grad", x.detach()[:2])),
    "data's type": _with(lambda x: setattr(x, "data", 3)),
    "no folder": lambda t: t.save(t.ones(2), "/nowhere/at/all/x.pt"),
    "a method's name": lambda t: t.ones(2).sofmax(0),
}
TAKEN: dict[str, Callable[[Any], Any]] = {
    "uint8 modulo": lambda t: t.tensor([[-1, 2], [3, -255]], dtype=t.uint8),
    "int8 + 300": lambda t: t.tensor([1, 100], dtype=t.int8) + 300,
    "uint8 * 300": lambda t: t.tensor([1, 100], dtype=t.uint8) * 300,
    "float // 0": lambda t: t.tensor([1.0, -1.0]) // 0,
    "zero weights": lambda t: t.multinomial(t.tensor([0.0, 1.0, 0.0, 2.0]), 3)[:2],
    "wide randint": lambda t: t.randint(-(2**63), 2**63 - 1, (3,)),
    "seed below 0": lambda t: t.tensor(t.manual_seed(-5).initial_seed() == t.initial_seed() == 2**64 - 5),
}


@cases("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(Exception) as expected:
        REFUSED[name](torch)
    with pytest.raises(Exception) as error:
        REFUSED[name](minigrad)
    assert issubclass(error.type, expected.type) and str(error.value)


@cases("a, b", [((5, 4), (5,)), ((3, 5), (3, 4)), ((2, 1, 3), (4, 2))])
def test_shapes_that_do_not_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """In PyTorch's words."""
    for combine in (lambda t: t.ones(a) - t.ones(b), lambda t: t.ones(a).mul(t.ones(b))):
        with pytest.raises(RuntimeError) as expected:
            combine(torch)
        with pytest.raises(RuntimeError) as error:
            combine(minigrad)
        assert str(expected.value) in str(error.value)


@cases("name", TAKEN)
def test_taken(name: str) -> None:
    torch.manual_seed(0)
    minigrad.manual_seed(0)
    expected, actual = TAKEN[name](torch), TAKEN[name](minigrad)
    assert in_torch_words(actual.dtype) == str(expected.dtype) and actual.tolist() == expected.tolist()


def test_missing_methods_say_the_nearest() -> None:
    x = minigrad.ones(2)
    with pytest.raises(
        AttributeError, match=r"^there is no minigrad\.Tensor\.sofmax; nearest: minigrad\.Tensor\.softmax$"
    ):
        x.sofmax(0)
    raises(AttributeError, r"torch\.Tensor\.to_sparse: there are no sparse tensors", lambda: x.to_sparse())
    assert not hasattr(x, "sofmax")


def test_grad_can_be_deleted() -> None:
    x = minigrad.ones(3, requires_grad=True)
    x.sum().backward()
    del x.grad
    assert x.grad is None
