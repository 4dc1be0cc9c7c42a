"""L-BFGS against PyTorch: the same losses at the same points, with and without a line search."""

from typing import Any

import numpy as np

import minigrad
from minigrad import nn, optim
from tests.support.cases import cases, raises
from tests.support.parity import assert_close, ours, torch

OPTIONS: list[dict[str, Any]] = [
    {},
    {"lr": 0.1, "max_iter": 3, "history_size": 2},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "lr": 0.5, "history_size": 3, "max_iter": 7},
    {"line_search_fn": "strong_wolfe", "max_eval": 5},
]


def closure_of(optimiser: Any, loss_of: Any, losses: list[float]) -> Any:
    def closure() -> Any:
        optimiser.zero_grad()
        loss = loss_of()
        loss.backward()
        losses.append(loss.item())
        return loss

    return closure


def valley(x: Any, y: Any) -> Any:
    """Rosenbrock's function, plus a term with a different gradient scale."""
    bend = ((1 - x[:-1]) ** 2).sum() + 100 * ((x[1:] - x[:-1] ** 2) ** 2).sum()
    return bend + 0.1 * (y**4).sum() + ((y - x[0]) ** 2).sum()


def walk(library: Any, how: dict[str, Any], calls: int, make: Any) -> tuple[list[float], Any, Any]:
    """All losses that ``step`` computed, the parameters, and the optimiser."""
    params = [make(np.linspace(-1.2, 1, 5)), make(np.ones((2, 2)))]
    optimiser, losses = library.optim.LBFGS(params, **how), []
    closure = closure_of(optimiser, lambda: valley(*params), losses)
    for _ in range(calls):
        before = len(losses)
        assert optimiser.step(closure).item() == losses[before]  # the first of a call
    return losses, params, optimiser


@cases("how", OPTIONS)
@cases("calls", [1, 6])
def test_against_pytorch(how: dict[str, Any], calls: int, device: str) -> None:
    actual = walk(minigrad, how, calls, lambda a: nn.Parameter(ours(a, device=device)))
    expected = walk(torch, how, calls, lambda a: torch.nn.Parameter(torch.from_numpy(a.copy())))
    np.testing.assert_allclose(actual[0], expected[0], rtol=1e-7)
    for p, t in zip(actual[1], expected[1], strict=True):
        assert_close(p, t, 1e-7)
    mine, other = (o.state_dict()["state"][0] for o in (actual[2], expected[2]))
    assert set(mine) == set(other) - {"al"}
    assert mine["n_iter"] == other["n_iter"] and mine["func_evals"] == other["func_evals"]


def test_complex_parameters() -> None:
    actual = []
    for t in (minigrad, torch):
        z = t.nn.Parameter(t.tensor([1j, 2 + 1j], dtype=t.complex128))
        optimiser = t.optim.LBFGS([z], lr=0.5, max_iter=5)
        optimiser.step(closure_of(optimiser, lambda z=z: (z**3 - 1j).abs().square().sum(), []))
        actual.append(z.detach())
    np.testing.assert_allclose(*(z.numpy() for z in actual), 1e-9)


def test_continuing_from_a_state_dict() -> None:
    make = lambda a: nn.Parameter(ours(a))
    losses, _, whole = walk(minigrad, {"max_iter": 4}, 6, make)
    _, params, first = walk(minigrad, {"max_iter": 4}, 3, make)
    second, again = optim.LBFGS(params, max_iter=4), []
    second.load_state_dict(first.state_dict())
    for _ in range(3):
        second.step(closure_of(second, lambda: valley(*params), again))
    np.testing.assert_allclose(again, losses[-len(again) :], rtol=1e-12)
    assert second.state_dict()["state"][0]["n_iter"] == whole.state_dict()["state"][0]["n_iter"]


def test_errors() -> None:
    p, q = nn.Parameter(minigrad.ones(2)), nn.Parameter(minigrad.ones(2))
    raises(ValueError, "doesn't support per-parameter options", lambda: optim.LBFGS([{"params": [p]}, {"params": [q]}]))
    armijo = optim.LBFGS([p], line_search_fn="armijo")
    closure = closure_of(armijo, lambda: p.square().sum(), [])
    raises(RuntimeError, "only 'strong_wolfe' is supported", lambda: armijo.step(closure))
    raises(TypeError, "closure", lambda: optim.LBFGS([p]).step())  # type: ignore[call-arg]
