"""autograd.Function: custom ops, against PyTorch's with the same source text."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import minigrad
from minigrad.autograd.function import Function, FunctionCtx, once_differentiable
from tests.support.both import agree, numbers
from tests.support.cases import cases, raises


def function(forward: Callable[..., Any], backward: Callable[..., Any], t: Any = minigrad) -> Any:
    """A Function made of two plain functions."""
    return type("Own", (t.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def functions(t: Any) -> dict[str, Any]:
    """The same Functions in either library."""

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

    class Setup(t.autograd.Function):
        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x @ w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x, w), needs = ctx.saved_tensors, ctx.needs_input_grad
            return grad @ w.t() if needs[0] else None, x.t() @ grad if needs[1] else None

    def exp(ctx: Any, x: Any) -> Any:
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    def two_results(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        order = x.argmax()
        ctx.mark_non_differentiable(order)
        return x * y, order, x + y, "a string"

    def of_two_results(ctx: Any, product: Any, _: Any, total: Any, __: Any) -> Any:
        x, y = ctx.saved_tensors
        return product * y + total, product * x + total

    def dirty(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    return {
        "Cube": Cube,
        "Setup": Setup,
        "Exp": function(exp, lambda ctx, grad: grad * ctx.saved_tensors[0], t),
        "TwoResults": function(two_results, of_two_results, t),
        "Dirty": function(dirty, lambda ctx, grad: 2 * grad, t),
    }


def of_dirty(f: Any, x: Any, w: Any) -> Any:
    inside = x * 1
    return f(inside) * inside


def of_two(f: Any, x: Any, w: Any) -> Any:
    product, order, total, text = f(x, w)
    assert text == "a string" and not order.requires_grad
    return product * 3 + total.sin()


USES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "Cube": lambda f, x, w: f(x, 4) * w,
    "Exp": lambda f, x, w: f(x) * w,
    "TwoResults": of_two,
    "Setup": lambda f, x, w: f(x, w),
    "Dirty": of_dirty,
}


@cases("name", USES)
def test_functions_agree_with_pytorch(name: str) -> None:
    agree(lambda t, x, w: USES[name](functions(t)[name].apply, x, w).sin(), numbers(3, 3), numbers(3, 3), orders=2)


def test_accumulation_does_not_change_returned_gradients() -> None:
    """A backward may return a tensor that it also keeps, or the same tensor for two arguments."""

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x)
        return x + y

    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    add = function(forward, lambda ctx, grad: ctx.saved_tensors * 2).apply
    (add(x, x).sum() + (x * 10).sum()).backward()
    assert x.grad is not None and x.grad.tolist() == [12.0, 14.0] and x.tolist() == [1.0, 2.0]


def test_unused_results_get_gradients_of_zeros_or_none() -> None:
    calls: list[Any] = []

    def forward(ctx: Any, x: Any, materialize: bool) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 1, x * 2

    def backward(ctx: Any, a: Any, b: Any) -> Any:
        calls.append(b)
        return a, None

    for materialize in (True, False):
        function(forward, backward).apply(minigrad.ones(2, requires_grad=True), materialize)[0].sum().backward()
    assert calls[0].tolist() == [0, 0] and calls[1] is None


def test_once_differentiable() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        return minigrad.from_numpy(2 * ctx.saved_tensors[0].detach().numpy()) * grad

    x = minigrad.tensor([3.0], requires_grad=True)
    square = function(forward, backward).apply
    (first,) = minigrad.autograd.grad((square(x) * x).sum(), x, create_graph=True)
    assert first.tolist() == [27.0]
    raises(RuntimeError, "once_differentiable", lambda: first.sum().backward())


ANSWERS: list[tuple[str, Any]] = [
    (r"incorrect number of gradients \(expected 2, got 1\)", minigrad.ones(2)),
    (r"got \[3\], but expected shape compatible with \[2\]", (minigrad.ones(3), None)),
    ("must be a Tensor or None", (1.0, None)),
]


@cases("words, answer", ANSWERS)
def test_a_wrong_backward_is_an_error(words: str, answer: Any) -> None:
    x = minigrad.ones(2, requires_grad=True)
    wrong = function(lambda ctx, x, y: x * 1, lambda ctx, grad: answer)
    raises((RuntimeError, TypeError), words, lambda: wrong.apply(x, x.detach()).sum().backward())
    assert x.grad is None


def test_wrong_uses_are_errors() -> None:
    f = functions(minigrad)["Cube"]
    x = minigrad.ones(2, requires_grad=True)
    raises(RuntimeError, "must not be instantiated", f)
    raises(TypeError, "can only save tensors", lambda: FunctionCtx().save_for_backward(1))  # type: ignore[arg-type]
    raises(NotImplementedError, "forward", lambda: type("Empty", (Function,), {}).apply(x))  # type: ignore[attr-defined]
    y = f.apply(x).sum()
    assert f.apply(x).grad_fn.name() == "CubeBackward"
    y.backward()
    raises(RuntimeError, "second time", y.backward)
    inside = x * 1
    y = f.apply(inside).sum()
    inside.add_(1)
    raises(RuntimeError, "modified by an inplace operation", y.backward)


def test_no_cycle_keeps_a_graph_alive() -> None:
    gc.disable()
    try:
        y = functions(minigrad)["Exp"].apply(minigrad.ones(2, requires_grad=True))
        calls = weakref.ref(y.grad_fn)
        del y
        assert calls() is None
    finally:
        gc.enable()


def test_without_recording_a_function_is_a_function() -> None:
    f = functions(minigrad)["Exp"]
    with minigrad.no_grad():
        assert not f.apply(minigrad.ones(2, requires_grad=True)).requires_grad
    assert not f.apply(minigrad.ones(2)).requires_grad


def test_complex_tensors() -> None:
    z = minigrad.tensor([1 + 2j, 3j], requires_grad=True)
    for turned in (function(lambda ctx, z: z * 1j, lambda ctx, g: g * -1j).apply, lambda z: z * 1j):
        (derivative,) = minigrad.autograd.grad(minigrad.view_as_real(turned(z)).select(-1, 0).sum(), z)
        assert derivative.tolist() == [-1j, -1j]


def test_observers_see_only_tensors() -> None:
    """A result that is not a tensor precedes one that is."""
    described = function(lambda ctx, x: ("doubled", x * 2), lambda ctx, *gradients: gradients[-1] * 2)
    x = minigrad.ones(2).requires_grad_()
    with minigrad.autograd.detect_anomaly():
        text, y = described.apply(x)
        y.sum().backward()
    assert text == "doubled" and x.grad is not None and x.grad.tolist() == [2, 2]


def test_a_leaf_is_not_dirty(t: Any) -> None:
    x, dirty = t.ones(2, requires_grad=True), functions(t)["Dirty"]
    for target in (x, x[:1]):
        raises(RuntimeError, "leaf Variable", lambda target=target: dirty.apply(target))
    with t.no_grad():
        dirty.apply(x)
    assert x.is_leaf


def test_a_node_reports_that_its_saved_tensors_are_freed(t: Any) -> None:
    x = t.ones(3, 3, requires_grad=True)
    y = functions(t)["Setup"].apply(x, x)
    assert len(y.grad_fn.saved_tensors) == 2
    y.sum().backward()
    raises(RuntimeError, "second time", lambda: y.grad_fn.saved_tensors)
    assert not hasattr(y.grad_fn, "variable")  # visualisers check this
