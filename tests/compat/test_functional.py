"""Jacobians, Hessians and their products against PyTorch's: numbers, structures, errors, gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import functional
from tests.support.both import outcome
from tests.support.cases import cases, programs, raises
from tests.support.parity import assert_close, host, listed, ours, theirs, torch

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
X, Y = (np.random.default_rng(i).standard_normal(s) + 2 for i, s in enumerate([(2, 3), (3,)]))
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "one": lambda x: x**3 * x.sum(),
    "a vector": lambda x: (x.exp() @ x.T).sum(0),
    "tuple": lambda x: (x**2, x.sin().sum()),
    "tuple of one": lambda x: (x**2,),
}
PAIRS: dict[str, Callable[..., Any]] = {
    "two": lambda x, y: (x**2 @ y).exp(),
    "two and two": lambda x, y: (x * y, (y**3).sum()),
    "one is not used": lambda x, y: x**2,
    "an output of none": lambda x, y: (x * y, (x * y).detach()),
}
SCALARS: dict[str, Callable[..., Any]] = {
    "cubes": lambda x, y: (x**3 @ y).sum() * y.sum(),
    "linear": lambda x, y: x.sum() + y.sum(),
    "one is not used": lambda x, y: (x**3).sum(),
    "an axis": lambda x, y: (x**2 * y**3).sum().reshape(1),
}


def both(call: Callable[..., Any], *arrays: Any, device: str = "cpu") -> tuple[Any, Any]:
    """A call with each library's functional and inputs."""
    mine = call(functional, *(ours(a, device=device) for a in arrays))
    return mine, call(torch.autograd.functional, *(theirs(a) for a in arrays))


def assert_alike(actual: Any, expected: Any) -> None:
    """The same structure and numbers."""
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple) and len(actual) == len(expected)
        for f, e in zip(actual, expected, strict=True):
            assert_alike(f, e)
        return
    assert isinstance(actual, minigrad.Tensor) and actual.requires_grad == expected.requires_grad
    assert_close(actual, expected, 1e-10)


@cases("name", FUNCTIONS)
def test_a_function_of_one(name: str, device: str) -> None:
    f = FUNCTIONS[name]
    assert_alike(*both(lambda F, x: F.jacobian(f, x), X, device=device))
    assert_alike(*both(lambda F, x: F.jacobian(f, (x,), vectorize=True), X, device=device))
    assert_alike(*both(lambda F, x: F.jacobian(f, x, vectorize=True, strategy="forward-mode"), X))
    assert_alike(*both(lambda F, x, v: F.jvp(f, x, v), X, X[::-1], device=device))
    vectors = [np.cos(host(out)) for out in listed(f(ours(X)))]

    def pull(F: Any, x: Any, *v: Any) -> Any:
        return F.vjp(f, x, v if name.startswith("tuple") else v[0])

    assert_alike(*both(pull, X, *vectors, device=device))


@cases("name", PAIRS)
def test_a_function_of_two(name: str, device: str) -> None:
    f = PAIRS[name]
    assert_alike(*both(lambda F, x, y: F.jacobian(f, (x, y)), X, Y, device=device))
    assert_alike(*both(lambda F, x, y, v, w: F.jvp(f, (x, y), (v, w)), X, Y, X[::-1], Y + 1, device=device))
    vectors = [np.cos(host(out)) for out in listed(f(ours(X), ours(Y)))]

    def pull(F: Any, x: Any, y: Any, *v: Any) -> Any:
        return F.vjp(f, (x, y), v if len(v) > 1 else v[0])

    assert_alike(*both(pull, X, Y, *vectors, device=device))


@cases("name", SCALARS)
def test_second_derivatives(name: str, device: str) -> None:
    f = SCALARS[name]
    assert_alike(*both(lambda F, x, y: F.hessian(f, (x, y)), X, Y, device=device))
    assert_alike(*both(lambda F, x: F.hessian(lambda x: f(x, x[0]), x), X, device=device))
    for product in ("vhp", "hvp"):
        call = lambda F, x, y, v, w, name=product: getattr(F, name)(f, (x, y), (v, w))
        assert_alike(*both(call, X, Y, X[::-1], Y + 1, device=device))


@cases("what", ["jacobian", "hessian", "jvp", "vjp", "vhp", "hvp"])
def test_the_results_can_be_differentiated(what: str) -> None:
    def call(F: Any, x: Any) -> Any:
        x.requires_grad_()
        f = {"jacobian": lambda x: x.exp() * x.sum()}.get(what, lambda x: (x**4 * x.sum()).sum())
        vectors = {"jacobian": (), "hessian": (), "vjp": ()}.get(what, (x.detach() + 1,))
        result = getattr(F, what)(f, x, *vectors, create_graph=True)
        total = sum(((r**2).sum() for r in listed(result)), start=0)
        total.backward()
        return x.grad

    assert_alike(*both(call, X))


def test_the_programs_gradients_stay_unchanged() -> None:
    x = ours(X, requires_grad=True)
    with minigrad.no_grad():
        actual = functional.jacobian(lambda x: x**2, x)
    assert x.grad is None and not actual.requires_grad
    assert actual.shape == (2, 3, 2, 3)


def test_numbers_and_empty_outputs() -> None:
    assert_alike(*both(lambda F, x: F.vjp(lambda x: x.sum(), x), X))
    assert_alike(*both(lambda F, x: F.jvp(lambda x: x * 2, x), np.ones(1)))
    assert_alike(*both(lambda F, x: F.jacobian(lambda x: x.sum(), x), X))
    actual = functional.jacobian(lambda x: x[:0], ours(Y))
    assert actual.shape == (0, 3)


REFUSED = programs("""
F.vjp(lambda a: a * 2, x); F.vjp(lambda a: a * 2, x, (x, x)); F.vjp(lambda a: a * 2, (x,), (x, x));
F.vjp(lambda a: a * 2, [x]); F.vjp(lambda a: a * 2, (x, 3)); F.jvp(lambda a: 3, x, x); F.jvp(lambda a: [a], x, x);
F.jvp(lambda a: a * 2, x); F.hessian(lambda a: a * a, x);
F.hessian(lambda a: (a.sum(),), x); F.hvp(lambda a: a * a, x, x); F.vhp(lambda a: (a * a).sum(), x)
""")


@cases("program", REFUSED)
def test_errors_are_pytorchs(program: str) -> None:
    names = ({"F": t.autograd.functional, "x": a(X), "y": a(Y)} for t, a in ((minigrad, ours), (torch, theirs)))
    actual, expected = (outcome(lambda n=n: eval(program, n)) for n in names)  # type: ignore[misc]
    assert actual == expected and expected.startswith(("RuntimeError", "TypeError"))


def test_other_errors() -> None:
    x = ours(Y)
    for name in ("hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"):
        raises(NotImplementedError, "strict", lambda name=name: getattr(functional, name)(sum, x, strict=True))
    raises(RuntimeError, "v has invalid size", lambda: functional.vhp(lambda a: a.sum(), x, ours(X)))
    raises(AssertionError, "Expected strategy", lambda: functional.jacobian(lambda a: a, x, strategy="sideways"))
    raises(NotImplementedError, "forward-mode", lambda: functional.jacobian(lambda a: a, x, strategy="forward-mode"))
