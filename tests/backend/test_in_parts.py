"""A gradient that is made where it is used: ``cross_entropy`` behind ``linear``, against the same with arrays."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd.observer import Observer, observed
from minigrad.backend.in_parts import InParts
from minigrad.backend.kernels import cross_entropy_numba as kernel
from minigrad.nn import functional as F
from tests.support.compiled_checks import needs_numba
from tests.support.plain_checks import on_threads

pytestmark = needs_numba


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Gradients of logits come in parts, however few there are; how each was used."""
    used: list[str] = []
    rows, slopes = kernel.LogitSlope.rows, kernel.LogitSlope.products

    def whole(self: Any) -> Any:
        used.append("whole")
        return rows(self)

    def parts(self: Any, *args: Any) -> Any:
        used.append("parts")
        return slopes(self, *args)

    monkeypatch.setattr(kernel, "LARGE", 1)
    monkeypatch.setattr(kernel.LogitSlope, "rows", whole)
    monkeypatch.setattr(kernel.LogitSlope, "products", parts)
    yield used


def drawn(rows: int, inner: int, classes: int, bias: bool = True) -> tuple[Any, Any, Any, Any]:
    mg.manual_seed(0)
    x, weight = mg.randn(rows, inner, requires_grad=True), mg.randn(classes, inner, requires_grad=True)
    target = mg.randint(0, classes, (rows,))
    target[::5] = -100
    return x, weight, mg.randn(classes, requires_grad=True) if bias else None, target


SIZES = [(2, 3, 2), (7, 5, 9), (300, 33, 700), (260, 16, 257), (700, 8, 16)]


HOW: list[dict[str, Any]] = [{}, {"label_smoothing": 0.1}, {"reduction": "sum"}]
USES = [  # each two of these options meet
    (sides, size, (i + j) % 2 == 0, (i // 2 + j) % 2 == 0, HOW[(i + j) % 3])
    for i, size in enumerate(SIZES)
    for j, sides in enumerate([kernel.SIDES, 1])
]


@pytest.mark.parametrize(("sides", "size", "bias", "weighted", "how"), USES)
def test_linear_takes_it_in_parts(
    sides: int,
    size: tuple[int, int, int],
    bias: bool,
    weighted: bool,
    how: dict[str, Any],
    made: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against float64, where there is no kernel."""
    monkeypatch.setattr(kernel, "SIDES", sides)
    monkeypatch.setattr(kernel, "ROWS", min(sides, kernel.ROWS))
    *leaves, target = drawn(*size, bias)
    shares = mg.rand(size[2]) + 0.5 if weighted else None
    F.cross_entropy(F.linear(*leaves), target, shares, **how).backward()
    assert made == ["parts"]
    wide = [None if leaf is None else leaf.detach().double().requires_grad_() for leaf in leaves]
    F.cross_entropy(F.linear(*wide), target, None if shares is None else shares.double(), **how).backward()
    for one, other in zip(leaves, wide, strict=True):
        if one is not None:
            expected = other.grad.numpy()
            np.testing.assert_allclose(one.grad.numpy(), expected, rtol=1e-4, atol=2e-6 * abs(expected).max())


def run(made: list[str], use: Any) -> list[Any]:
    """The gradients of a program that does something with the logits, and the same where they come whole."""
    found = []
    for large in (1, 1 << 60):
        kernel.LARGE = large  # ``made`` puts it back
        x, weight, bias, target = drawn(40, 6, 30)
        seen = use(F.linear(x.view(8, 5, 6), weight, bias), target, (x, weight, bias)) or []
        found.append([host(a) for a in seen] + [host(leaf.grad) for leaf in (x, weight, bias) if leaf.grad is not None])
        if large == 1:
            made.append("|")
    return found


def host(a: Any) -> Any:
    return a.detach().numpy().copy() if isinstance(a, mg.Tensor) else a


def loss_of(logits: Any, target: Any) -> Any:
    return F.cross_entropy(logits.view(-1, 30), target)


Use = Callable[[Any, Any, Any], Any]  # of the logits, the labels, and the layer's input, weight and bias


def twice(logits: Any, target: Any, leaves: Any) -> None:
    loss = loss_of(logits, target)
    loss.backward(retain_graph=True)
    loss.backward()


def retained(logits: Any, target: Any, leaves: Any) -> list[Any]:
    logits.retain_grad()
    loss_of(logits, target).backward()
    return [logits.grad]


def hooked(logits: Any, target: Any, leaves: Any) -> None:
    logits.register_hook(lambda g: 2 * g)
    loss_of(logits, target).backward()


def watched(logits: Any, target: Any, leaves: Any) -> list[Any]:
    arrived: list[Any] = []

    class Watcher(Observer):
        def arrived(self, target: Any, slot: int, gradient: Any) -> None:
            arrived.append(np.array(gradient))

    with observed(Watcher()):
        loss_of(logits, target).backward()
    return arrived


def second_order(logits: Any, target: Any, leaves: Any) -> None:
    (g,) = mg.autograd.grad(loss_of(logits, target), leaves[:1], create_graph=True)
    g.square().sum().backward()


class Double(mg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


USES_OF_LOGITS: dict[str, tuple[Use, list[str]]] = {  # and how their gradients come
    "once": (lambda logits, target, _: loss_of(logits, target).backward(), ["parts"]),
    "twice": (twice, ["parts", "parts"]),
    "retained": (retained, ["whole"]),
    "hooked": (hooked, ["whole"]),
    "asked": (lambda y, target, leaves: list(mg.autograd.grad(loss_of(y, target), (y, *leaves))), ["whole"]),
    "used again": (
        lambda y, target, _: (loss_of(y, target) + y.square().mean() + loss_of(y * 2, target)).backward(),
        ["whole", "whole"],
    ),
    "turned": (lambda y, target, _: loss_of(y.transpose(0, 1).contiguous(), target).backward(), ["whole"]),
    "cut": (lambda y, t, _: F.cross_entropy(y.reshape(-1, 15), t.repeat(2) % 15).backward(), ["whole"]),
    "watched": (watched, ["whole"]),
    "second order": (second_order, []),
    "frozen": (lambda _, t, leaves: loss_of(F.linear(leaves[0].detach(), *leaves[1:]), t).backward(), ["whole"]),
    "a function": (lambda y, target, _: loss_of(Double.apply(y), target).backward(), ["whole"]),
}


@pytest.mark.parametrize("name", USES_OF_LOGITS)
def test_who_wants_it_whole_gets_an_array(name: str, made: list[str]) -> None:
    use, expected = USES_OF_LOGITS[name]
    found, arrays = run(made, use)
    assert made[: made.index("|")] == expected
    assert len(found) == len(arrays) >= 2
    for a, b in zip(found, arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    logits, x, weight = (rng.standard_normal(s).astype(np.float32) for s in ((600, 900), (600, 20), (900, 20)))
    args = logits, rng.integers(0, 900, 600), None, -100, 0.1
    g = rng.random(600).astype(np.float32)

    def compute() -> list[Any]:
        saved = kernel.forward((True,), *args)[1]
        slopes = kernel.LogitSlope(kernel._given(*args), g, *saved).products(weight, x, True)
        assert slopes is not None
        return [a for a in slopes if a is not None]

    on_threads(compute)


def test_the_array_that_it_stands_for() -> None:
    class Ones(InParts):
        def rows(self) -> Any:
            return np.ones((6, 4), np.float32)

    ones = Ones((2, 3, 4), np.dtype(np.float32))
    assert ones.array().shape == ones.shape == (2, 3, 4) and ones.products(ones.array(), ones.array(), True) is None
    assert ones.reshape((6, 4)).shape == (6, 4) and isinstance(ones.reshape((6, 4)), InParts)
    assert isinstance(ones.reshape((2, 12)), np.ndarray)
    assert ((ones + np.float32(1)) == 2).all() and ((np.ones((2, 3, 4)) + ones) == 2).all()
