"""vmap is a loop over slices, with PyTorch's arguments for selecting them."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad
from minigrad import func, nn
from tests.support.both import agree
from tests.support.cases import cases, raises

X = np.random.default_rng(0).normal(size=(4, 3, 2))
CASES: list[Callable[[Any, Any], Any]] = [
    lambda f, x: f.vmap(lambda a: a.sum(0))(x),
    lambda f, x: f.vmap(lambda a, b: a * b, in_dims=(1, None))(x, x[:, 0]),
    lambda f, x: f.vmap(lambda a: a.sum(0), in_dims=-1)(x),
    lambda f, x: f.vmap(lambda p, b: p["w"] * b, ({"w": 0}, 2))({"w": x[..., 0][:2]}, x[0][:, None]),
    lambda f, x: f.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x),
    lambda f, x: f.vmap(f.vmap(lambda a, b: a @ b, (0, None)), (None, 0))(x[0], x[:, 0]),
    lambda f, x: f.vmap(lambda a, by: a * by)(x, by=x[0]),
    lambda f, x: f.vmap(lambda a: a * 2, chunk_size=2)(x),
]


@cases("case", CASES)
def test_agrees_with_torch(case: Callable[[Any, Any], Any]) -> None:
    agree(lambda t, x: case(t.func, x), X)


def test_random_numbers_are_rejected_the_same_or_different() -> None:
    x = minigrad.tensor(X)
    raises(RuntimeError, "randomness='different'", lambda: func.vmap(lambda a: a + minigrad.rand(2))(x))
    same = func.vmap(lambda a: minigrad.rand(2) + 0 * a[0], randomness="same")(x)
    assert bool((same == same[0]).all())
    other = func.vmap(lambda a: minigrad.rand(2) + 0 * a[0], randomness="different")(x)
    assert len({tuple(row) for row in other.tolist()}) == len(X)


@cases(
    "call, text",
    [
        (lambda x: func.vmap(lambda a, b: a)(x, x[0]), "must have equal sizes"),
        (lambda x: func.vmap(lambda a: a, in_dims=None)(x), "no argument is mapped"),
        (lambda x: func.vmap(lambda a: a, in_dims=(0, 0))(x), "does not match the arguments"),
        (lambda x: func.vmap(lambda a: a)(x[:0]), "there are no slices"),
        (lambda x: func.vmap(lambda a: a, out_dims=(0, 1))(x), "out_dims has 2 entries for 1"),
    ],
)
def test_bad_use_raises_an_error(call: Callable[[Any], Any], text: str) -> None:
    raises(ValueError, text, lambda: call(minigrad.tensor(X)))


def test_an_ensemble_equals_its_models() -> None:
    minigrad.manual_seed(0)
    models = [nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval() for _ in range(3)]
    parameters, buffers = func.stack_module_state(models)
    x = minigrad.randn(5, 3)
    together = func.vmap(lambda p, b: func.functional_call(models[0], (p, b), (x,)), randomness="error")(
        parameters, buffers
    )
    alone = minigrad.stack([model(x) for model in models])
    np.testing.assert_allclose(together.numpy(force=True), alone.numpy(force=True), rtol=1e-6)
    assert set(parameters) == {"0.weight", "0.bias", "1.weight", "1.bias"} and parameters["0.weight"].is_leaf
    raises(RuntimeError, "at least one model", lambda: func.stack_module_state([]))
    raises(RuntimeError, "same class", lambda: func.stack_module_state([models[0], nn.Linear(1, 1)]))
