"""The transforms of functions give PyTorch's numbers, nested and within autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import func
from tests.support.cases import cases, raises
from tests.support.parity import torch

X = np.random.default_rng(0).normal(size=(4, 3))


def _energy(lib: Any, x: Any) -> Any:
    return (lib.tanh(x) * x).sum() + x.prod()


def _several(lib: Any, p: Any, x: Any) -> Any:
    return {"a": lib.sin(p["w"]) @ x, "b": (p["b"] ** 2).sum()}


CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda t, f, x: f.grad(lambda v: _energy(t, v))(x),
    "grad_of_second": lambda t, f, x: f.grad(lambda a, b: (a * b).sum(), argnums=1)(x, x * 2),
    "grad_of_both": lambda t, f, x: f.grad(lambda a, b: (a * b * b).sum(), argnums=(0, 1))(x, x * 2),
    "grad_of_dict": lambda t, f, x: f.grad(lambda p: _several(t, p, x)["a"].sum())({"w": x.T, "b": x}),
    "grad_with_aux": lambda t, f, x: f.grad(lambda v: (_energy(t, v), v * 2), has_aux=True)(x),
    "grad_and_value": lambda t, f, x: f.grad_and_value(lambda v: _energy(t, v))(x),
    "value_and_aux": lambda t, f, x: f.grad_and_value(lambda v: (_energy(t, v), v * 2), has_aux=True)(x),
    "grad_of_unused": lambda t, f, x: f.grad(lambda a, b: _energy(t, a), argnums=1)(x, x),
    "grad_twice": lambda t, f, x: f.grad(lambda v: f.grad(lambda u: _energy(t, u))(v).pow(2).sum())(x),
    "vjp": lambda t, f, x: f.vjp(lambda a, b: (t.sin(a) * b, a.sum()), x, x * 2)[1]((x, x[0, 0])),
    "vjp_value": lambda t, f, x: f.vjp(lambda a: t.sin(a), x)[0],
    "jvp": lambda t, f, x: f.jvp(lambda a, b: t.sin(a) * b * b, (x, x + 1), (x * 2, x.flip(0))),
    "linearize": lambda t, f, x: f.linearize(lambda a: t.sin(a) * a, x)[1](x * 3),
    "jacrev": lambda t, f, x: f.jacrev(lambda p: _several(t, p, x))({"w": x.T, "b": x}),
    "jacfwd": lambda t, f, x: f.jacfwd(lambda a: a.cumsum(0) * a)(x),
    "jacobian_of_both": lambda t, f, x: f.jacrev(lambda a, b: a @ b, argnums=(0, 1))(x, x.T),
    "hessian": lambda t, f, x: f.hessian(lambda v: _energy(t, v))(x),
    "jacobian_of_constant": lambda t, f, x: f.jacrev(lambda a: t.ones_like(a))(x),
    "per_sample": lambda t, f, x: f.vmap(f.grad(lambda w, v: (w * v).sum().tanh()), (None, 0))(x[0], x),
}


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in _leaves(tree[key])]
    return [leaf for part in tree for leaf in _leaves(part)] if isinstance(tree, (tuple, list)) else [tree]


@pytest.mark.filterwarnings("ignore")
@cases("name", CASES)
def test_agrees_with_torch(name: str) -> None:
    ours = _leaves(CASES[name](minigrad, func, minigrad.tensor(X)))
    theirs = _leaves(CASES[name](torch, torch.func, torch.tensor(X)))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), rtol=1e-10, atol=1e-12)
        assert not a.requires_grad


def test_results_lead_on_to_what_is_outside() -> None:
    gradients = []
    for lib, its_func in ((minigrad, func), (torch, torch.func)):
        x, w = lib.tensor(X, requires_grad=True), lib.tensor(X[:1], requires_grad=True)
        its_func.grad(lambda v, w=w: ((v * w) ** 3).sum())(x).sum().backward()
        gradients.append((x.grad, w.grad))
    for ours, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(ours.numpy(force=True), theirs.numpy(force=True), rtol=1e-10)


def test_without_recording_inner_derivatives_are_still_there() -> None:
    with minigrad.no_grad():
        slope = func.grad(lambda v: (v * v).sum())(minigrad.tensor(X, requires_grad=True))
    np.testing.assert_allclose(slope.numpy(force=True), 2 * X)


def test_bad_use_is_told() -> None:
    raises(RuntimeError, "single number", lambda: func.grad(lambda v: v)(minigrad.tensor(X)))
    raises(RuntimeError, "derivatives are for tensors, not float", lambda: func.grad(lambda v: v)(1.5))
    raises(RuntimeError, "must return tensors", lambda: func.jacrev(lambda v: (v, 3))(minigrad.tensor(X)))
