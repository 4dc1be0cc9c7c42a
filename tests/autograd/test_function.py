"""autograd.Function: users' own ops, against PyTorch's with the same source text."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd.function import Function, once_differentiable
from tests.support.cases import cases, raises


def functions(t: Any) -> dict[str, Any]:
    """The same Functions on either library."""

    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, power: int = 3) -> Any:
            ctx.save_for_backward(x)
            ctx.power = power
            return x**power

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * ctx.power * x ** (ctx.power - 1), None

    class Exp(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0]

    class TwoResults(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            order = x.argmax()
            ctx.mark_non_differentiable(order)
            return x * y, order, x + y, "a string"

        @staticmethod
        def backward(ctx: Any, product: Any, _: Any, total: Any, __: Any) -> Any:
            x, y = ctx.saved_tensors
            return product * y + total, product * x + total

    class Setup(t.autograd.Function):
        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x @ w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, w = ctx.saved_tensors
            return (
                grad @ w.t() if ctx.needs_input_grad[0] else None,
                x.t() @ grad if ctx.needs_input_grad[1] else None,
            )

    class Dirty(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 2 * grad

    return {f.__name__: f for f in (Cube, Exp, TwoResults, Setup, Dirty)}


def run(t: Any, name: str) -> list[Any]:
    """Values, first and second derivatives of one of the functions, as NumPy arrays."""
    f = functions(t)[name]
    generator = np.random.default_rng(0)
    x, w = (t.tensor(generator.standard_normal((3, 3)), requires_grad=True) for _ in range(2))
    if name == "TwoResults":
        product, order, total, text = f.apply(x, w)
        assert text == "a string" and not order.requires_grad
        out = product * 3 + total.sin()
    elif name == "Setup":
        out = f.apply(x, w)
    elif name == "Dirty":
        inside = x * 1
        out = f.apply(inside)
        out = out * inside
    elif name == "Cube":
        out = f.apply(x, 4) * w
    else:
        out = f.apply(x) * w
    first = t.autograd.grad(out.sin().sum(), [x, w], create_graph=True, allow_unused=True)
    second = t.autograd.grad(sum((g * g).sum() for g in first if g is not None), x)
    return [a.detach().numpy() for a in (out, *(g for g in first if g is not None), *second)]


@cases("name", ["Cube", "Exp", "TwoResults", "Setup", "Dirty"])
def test_functions_agree_with_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(run(minigrad, name), run(torch, name), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@cases("name", ["Cube", "Exp"])
def test_gradcheck_of_functions(name: str) -> None:
    f = functions(minigrad)[name]
    x = minigrad.randn(2, 3, dtype=minigrad.float64, requires_grad=True)
    assert minigrad.autograd.gradcheck(f.apply, [x]) and minigrad.autograd.gradgradcheck(f.apply, [x])


def test_the_nodes_name_is_the_functions() -> None:
    x = minigrad.ones(2, requires_grad=True)
    assert functions(minigrad)["Cube"].apply(x).grad_fn.name() == "CubeBackward"


def test_results_of_a_walk_are_not_added_to_in_place() -> None:
    """A backward may return the same tensor as it keeps, or for two arguments."""

    class Sum(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x)
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (kept,) = ctx.saved_tensors
            return kept, kept

    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    (Sum.apply(x, x).sum() + (x * 10).sum()).backward()
    assert x.grad is not None and x.grad.tolist() == [12.0, 14.0]
    assert x.tolist() == [1.0, 2.0]


def test_gradients_that_nobody_used_are_zeros_or_none() -> None:
    seen: list[Any] = []

    class Pair(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, materialize: bool) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            seen.append(b)
            return a, None

    for materialize in (True, False):
        x = minigrad.ones(2, requires_grad=True)
        Pair.apply(x, materialize)[0].sum().backward()
    assert seen[0].tolist() == [0, 0] and seen[1] is None


def test_once_differentiable() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            return minigrad.from_numpy(2 * ctx.saved_tensors[0].detach().numpy()) * grad

    x = minigrad.tensor([3.0], requires_grad=True)
    (first,) = minigrad.autograd.grad((Square.apply(x) * x).sum(), x, create_graph=True)
    assert first.tolist() == [27.0]
    raises(RuntimeError, "once_differentiable", lambda: first.sum().backward())


def test_bad_functions_are_told() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return Wrong.answer

        answer: Any = None

    x = minigrad.ones(2, requires_grad=True)
    answers = {
        r"incorrect number of gradients \(expected 2, got 1\)": x,
        r"got \[3\], but expected shape compatible with \[2\]": (minigrad.ones(3), None),
        "must be a Tensor or None": (1.0, None),
    }
    for told, answer in answers.items():
        Wrong.answer = answer
        with pytest.raises((RuntimeError, TypeError), match=told):
            Wrong.apply(x, x.detach()).sum().backward()
        assert x.grad is None
    raises(RuntimeError, "not instantiated", Wrong)
    with pytest.raises(TypeError, match="can only save tensors"):
        minigrad.autograd.function.FunctionCtx().save_for_backward(1)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="forward"):
        type("Empty", (Function,), {}).apply(x)  # type: ignore[attr-defined]


def test_a_second_walk_and_a_change_in_place_are_told() -> None:
    f = functions(minigrad)["Cube"]
    x = minigrad.ones(2, requires_grad=True)
    y = f.apply(x).sum()
    y.backward()
    raises(RuntimeError, "second time", y.backward)
    inside = x * 1
    y = f.apply(inside).sum()
    inside.add_(1)
    raises(RuntimeError, "modified by an inplace operation", y.backward)


def test_no_cycle_keeps_a_graph_alive() -> None:
    gc.disable()
    try:
        x = minigrad.ones(2, requires_grad=True)
        y = functions(minigrad)["Exp"].apply(x)
        seen = weakref.ref(y.grad_fn)
        del y
        assert seen() is None
    finally:
        gc.enable()


def test_without_recording_a_function_is_a_function() -> None:
    f = functions(minigrad)["Exp"]
    with minigrad.no_grad():
        assert not f.apply(minigrad.ones(2, requires_grad=True)).requires_grad
    assert not f.apply(minigrad.ones(2)).requires_grad


def test_complex_tensors() -> None:
    class Turned(Function):
        @staticmethod
        def forward(ctx: Any, z: Any) -> Any:
            return z * 1j

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * -1j

    z = minigrad.tensor([1 + 2j, 3j], requires_grad=True)
    slopes = []
    for turned in (Turned.apply, lambda z: z * 1j):
        (slope,) = minigrad.autograd.grad(minigrad.view_as_real(turned(z)).select(-1, 0).sum(), z)
        slopes.append(slope.tolist())
    assert slopes[0] == slopes[1] == [-1j, -1j]


class _Described(Function):
    """A result that is no tensor, before one that is."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return "doubled", x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[-1] * 2


def test_observers_see_the_tensors_alone() -> None:
    x = minigrad.ones(2).requires_grad_()
    with minigrad.autograd.detect_anomaly():
        text, y = _Described.apply(x)
        y.sum().backward()
    assert text == "doubled" and x.grad is not None
    assert x.grad.tolist() == [2, 2]


def test_a_leaf_is_not_dirty(t: Any) -> None:
    x = t.ones(2, requires_grad=True)
    dirty = functions(t)["Dirty"]
    for target in (x, x[:1]):
        with pytest.raises(RuntimeError, match="leaf Variable"):
            dirty.apply(target)
    with t.no_grad():
        dirty.apply(x)
    assert x.is_leaf


def test_a_node_says_that_its_saved_tensors_are_gone(t: Any) -> None:
    x = t.ones(3, 3, requires_grad=True)
    y = functions(t)["Setup"].apply(x, x)
    assert len(y.grad_fn.saved_tensors) == 2
    y.sum().backward()
    raises(RuntimeError, "second time", lambda: y.grad_fn.saved_tensors)
    assert not hasattr(y.grad_fn, "variable")  # which visualisers ask
