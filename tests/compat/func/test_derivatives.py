"""Function transforms return PyTorch's numbers, also when nested or within autograd."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import func
from tests.support.both import agree
from tests.support.cases import cases, raises

X = np.random.default_rng(0).normal(size=(4, 3))


def _energy(lib: Any, x: Any) -> Any:
    return (lib.tanh(x) * x).sum() + x.prod()


def _several(lib: Any, p: Any, x: Any) -> Any:
    return {"a": lib.sin(p["w"]) @ x, "b": (p["b"] ** 2).sum()}


CASES: list[Callable[[Any, Any, Any], Any]] = [
    lambda t, f, x: f.grad(lambda v: _energy(t, v))(x),
    lambda t, f, x: f.grad(lambda a, b: (a * b).sum(), argnums=1)(x, x * 2),
    lambda t, f, x: f.grad(lambda a, b: (a * b * b).sum(), argnums=(0, 1))(x, x * 2),
    lambda t, f, x: f.grad(lambda p: _several(t, p, x)["a"].sum())({"w": x.T, "b": x}),
    lambda t, f, x: f.grad(lambda v: (_energy(t, v), v * 2), has_aux=True)(x),
    lambda t, f, x: f.grad_and_value(lambda v: _energy(t, v))(x),
    lambda t, f, x: f.grad_and_value(lambda v: (_energy(t, v), v * 2), has_aux=True)(x),
    lambda t, f, x: f.grad(lambda a, b: _energy(t, a), argnums=1)(x, x),
    lambda t, f, x: f.grad(lambda v: f.grad(lambda u: _energy(t, u))(v).pow(2).sum())(x),
    lambda t, f, x: f.vjp(lambda a, b: (t.sin(a) * b, a.sum()), x, x * 2)[1]((x, x[0, 0])),
    lambda t, f, x: f.vjp(lambda a: t.sin(a), x)[0],
    lambda t, f, x: f.jvp(lambda a, b: t.sin(a) * b * b, (x, x + 1), (x * 2, x.flip(0))),
    lambda t, f, x: f.linearize(lambda a: t.sin(a) * a, x)[1](x * 3),
    lambda t, f, x: f.jacrev(lambda p: _several(t, p, x))({"w": x.T, "b": x}),
    lambda t, f, x: f.jacfwd(lambda a: a.cumsum(0) * a)(x),
    lambda t, f, x: f.jacrev(lambda a, b: a @ b, argnums=(0, 1))(x, x.T),
    lambda t, f, x: f.hessian(lambda v: _energy(t, v))(x),
    lambda t, f, x: f.jacrev(lambda a: t.ones_like(a))(x),
    lambda t, f, x: f.vmap(f.grad(lambda w, v: (w * v).sum().tanh()), (None, 0))(x[0], x),
]


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in _leaves(tree[key])]
    return [leaf for part in tree for leaf in _leaves(part)] if isinstance(tree, (tuple, list)) else [tree]


@pytest.mark.filterwarnings("ignore")
@cases("case", CASES)
def test_agrees_with_torch(case: Callable[[Any, Any, Any], Any]) -> None:
    agree(lambda t, x: _leaves(case(t, t.func, x.detach())), X)


def test_results_are_connected_to_the_outer_graph() -> None:
    agree(lambda t, x, w: t.func.grad(lambda v: ((v * w) ** 3).sum())(x), X, X[:1])


def test_inner_derivatives_work_without_recording() -> None:
    with minigrad.no_grad():
        derivative = func.grad(lambda v: (v * v).sum())(minigrad.tensor(X, requires_grad=True))
    np.testing.assert_allclose(derivative.numpy(force=True), 2 * X)


def test_bad_use_raises_an_error() -> None:
    raises(RuntimeError, "single number", lambda: func.grad(lambda v: v)(minigrad.tensor(X)))
    raises(RuntimeError, "only tensors can be differentiated, not float", lambda: func.grad(lambda v: v)(1.5))
    raises(RuntimeError, "must return tensors", lambda: func.jacrev(lambda v: (v, 3))(minigrad.tensor(X)))
