"""Orthogonal weights: each map, for matrices of all shapes, trained, assigned and removed."""

from typing import Any

from tests.support.both import agree, numbers, refuse
from tests.support.cases import cases

SHAPES = [(4, 4), (5, 3), (3, 5), (2, 4, 3)]


def layer(t: Any, shape: tuple[int, ...]) -> Any:
    """A module with a weight of that shape."""
    module = t.nn.Module()
    module.weight = t.nn.Parameter(t.from_numpy(numbers(*shape)))
    return module


@cases("shape", SHAPES)
@cases("kind", ["matrix_exp", "cayley", "householder", None])
def test_a_step_of_training(shape: tuple[int, ...], kind: str | None) -> None:
    def program(t: Any, target: Any) -> Any:
        t.manual_seed(3)
        module = layer(t, shape)
        t.nn.utils.parametrizations.orthogonal(module, orthogonal_map=kind)
        before = module.weight.detach().clone()
        optimizer = t.optim.SGD(module.parameters(), lr=0.1)
        (module.weight - target.detach()).square().sum().backward()
        (original,) = module.parameters()
        grad = original.grad.clone()
        optimizer.step()
        tall = module.weight if shape[-2] >= shape[-1] else module.weight.mT
        error = (tall.mT @ tall - t.eye(tall.shape[-1]).double()).abs().max() < 1e-10
        after = module.weight.detach().clone()
        t.nn.utils.parametrize.remove_parametrizations(module, "weight")
        return [before, grad, after, bool(error), module.weight.detach() - after]

    agree(program, numbers(*shape, seed=1), gradient=False, near=1e-7)


@cases("trivialised", [True, False])
def test_assigned(trivialised: bool) -> None:
    def program(t: Any) -> Any:
        module = layer(t, (5, 3))
        module.weight.data = t.nn.init.orthogonal_(module.weight.data)
        t.nn.utils.parametrizations.orthogonal(module, orthogonal_map="householder", use_trivialization=trivialised)
        value = t.linalg.qr(t.from_numpy(numbers(5, 3, seed=4)))[0]
        module.weight = value
        return (module.weight.detach() - value).abs().max() < 1e-10

    agree(program, gradient=False)


def test_refused() -> None:
    refuse(lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), "missing"))
    refuse(lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), "bias"))
    refuse(lambda t: t.nn.utils.parametrizations.orthogonal(t.nn.Linear(2, 2), orthogonal_map="other"))

    def assign(t: Any) -> None:
        module = layer(t, (3, 3))
        t.nn.utils.parametrizations.orthogonal(module, use_trivialization=False)
        module.weight = t.eye(3).double()

    refuse(assign)
