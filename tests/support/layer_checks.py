"""One layer in both libraries: state dict, results, gradients of both orders, repr, initial numbers."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn

from .parity import assert_close, gradients, host, listed, ours, torch
from .twins import compare_gradients, pair, twinned

Make = Callable[[Any], Any]


@pytest.fixture
def dropout_of_pytorch() -> Iterator[None]:
    """Dropout draws PyTorch's numbers."""
    before = minigrad.get_dropout_stream()
    minigrad.set_dropout_stream("pytorch")
    yield
    minigrad.set_dropout_stream(before)


def check_layer(make: Make, shape: tuple[int, ...], device: str, second: bool = True) -> None:
    """Assert that ``make(nn)`` and ``make(torch.nn)`` have equal initial numbers, equal results from and changes to
    the same state, and that float32 is kept."""
    check_first_numbers(make)
    check_float32(make, shape, device)
    mine, other = twinned(make(nn), make(torch.nn), device)
    assert repr(mine) == repr(other)
    rng = np.random.default_rng(0)
    x, tx = pair(rng.standard_normal(shape) * 2, device, requires_grad=True)
    out, expected = listed(mine(x)), listed(other(tx))
    for f, e in zip(out, expected, strict=True):
        assert_close(f, e, name="output")
        assert e.dtype.is_floating_point or f.dtype.name == str(e.dtype).removeprefix("torch.")
        assert f.is_contiguous()
    g, tg = pair(rng.standard_normal(host(out[0]).shape), device, requires_grad=True)
    out[0].backward(g, retain_graph=True)
    expected[0].backward(tg, retain_graph=True)
    assert_close(x.grad, tx.grad, name="gradient of the input")
    compare_gradients(mine, other)
    for (name, f), (texts, e) in zip(mine.state_dict().items(), other.state_dict().items(), strict=True):
        assert name == texts
        assert_close(f, e, name=name)
    if second:
        _check_second(mine, other, (out[0], x, g), (expected[0], tx, tg), device)


def check_row(row: str, device: str) -> None:
    """``check_layer`` for a row "layer of nn ``n`` of (the shape of its input)"."""
    make, _, shape = row.rpartition(" of ")
    check_layer(lambda n: eval(make, {"n": n}), eval(shape), device)


def _check_second(mine: Any, other: Any, ours_: Any, theirs_: Any, device: str) -> None:
    """The gradients of a random sum of the first-order gradients."""
    actual = []
    for module, (out, x, g) in ((mine, ours_), (other, theirs_)):
        inputs = [x, *module.parameters()]
        first = gradients([out], inputs, [g], create_graph=True)
        rng = np.random.default_rng(1)
        random = [np.asarray(rng.standard_normal(tuple(f.shape))) for f in first]
        v = [ours(d, device=device) if module is mine else torch.from_numpy(d) for d in random]
        pairs = [(f, d) for f, d in zip(first, v, strict=True) if f.requires_grad]
        actual.append(gradients([f for f, _ in pairs], [*inputs, g], [d for _, d in pairs]))
    for f, e in zip(*actual, strict=True):
        assert_close(f, e, 1e-9, "second order")


def check_float32(make: Make, shape: tuple[int, ...], device: str) -> None:
    """A float32 layer returns float32, in the result and in every gradient."""
    layer = make(nn).to(device)
    x = ours(np.random.default_rng(0).standard_normal(shape).astype(np.float32), True, device)
    out = listed(layer(x))[0]
    out.sum().backward()
    assert out.dtype is minigrad.float32
    assert x.grad is not None and x.grad.dtype is minigrad.float32
    assert all(p.grad is not None and p.grad.dtype is minigrad.float32 for p in layer.parameters())


def check_first_numbers(make: Make, exact: bool = False) -> None:
    """After the same seed a new layer has PyTorch's numbers; bitwise if they are drawn from uniform ones."""
    minigrad.manual_seed(7)
    torch.manual_seed(7)
    mine, other = make(nn).state_dict(), make(torch.nn).state_dict()
    assert list(mine) == list(other)
    for name, expected in other.items():
        rtol, atol = (0, 0) if exact else (1e-6, 3e-7)
        np.testing.assert_allclose(host(mine[name]), host(expected), rtol, atol, err_msg=name)
        assert mine[name].dtype.name == str(expected.dtype).removeprefix("torch.")
