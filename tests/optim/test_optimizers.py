"""Optimisers against PyTorch over 50 steps; groups, state, errors."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim
from tests.support.parity import host, ours, torch

pytestmark = pytest.mark.parity

OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 0.1}),
    "SGD momentum": ("SGD", {"lr": 0.05, "momentum": 0.9}),
    "SGD all": ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    "SGD nesterov": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "SGD maximize": ("SGD", {"lr": 0.01, "momentum": 0.5, "maximize": True, "weight_decay": 0.1}),
    "Adam": ("Adam", {"lr": 0.05}),
    "Adam weight decay": ("Adam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-3}),
    "Adam amsgrad": ("Adam", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.01}),
    "Adam maximize": ("Adam", {"lr": 0.01, "maximize": True, "weight_decay": 0.01}),
    "Adam decoupled": ("Adam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "AdamW": ("AdamW", {"lr": 0.05}),
    "AdamW amsgrad": ("AdamW", {"lr": 0.05, "weight_decay": 0.2, "amsgrad": True}),
    "AdamW maximize": ("AdamW", {"lr": 0.01, "maximize": True, "betas": (0.0, 0.9)}),
}


def start(dtype: Any, device: str, frozen: bool = True) -> tuple[list[Any], list[Any]]:
    """Parameters of both libraries, small, large, without axes, and one without a gradient."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s).astype(dtype) for s in ((4, 3), (150, 100), (), (2,))]
    mine = [nn.Parameter(ours(a, device=device)) for a in arrays]
    other = [torch.nn.Parameter(torch.from_numpy(a.copy())) for a in arrays]
    return mine, other


def set_gradients(mine: list[Any], other: list[Any], rng: Any, device: str) -> None:
    """A noisy quadratic's gradients, none for the last parameter."""
    for p, t in zip(mine[:-1], other[:-1], strict=True):
        g = np.asarray(rng.standard_normal(tuple(t.shape)) + 0.1, host(p).dtype)
        p.grad, t.grad = ours(g, device=device), torch.from_numpy(g.copy())


def run(
    steps: int, optimisers: tuple[Any, Any], mine: list[Any], other: list[Any], device: str, seed: int = 1
) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        set_gradients(mine, other, rng, device)
        for o in optimisers:
            o.step()


def check(mine: list[Any], other: list[Any], dtype: Any) -> None:
    rtol = 1e-10 if dtype is np.float64 else 2e-6
    for p, t in zip(mine, other, strict=True):
        assert host(p).dtype == dtype
        np.testing.assert_allclose(host(p), host(t), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", OPTIONS)
def test_50_steps(options: str, dtype: Any, device: str) -> None:
    name, how = OPTIONS[options]
    mine, other = start(dtype, device)
    optimisers = getattr(optim, name)(mine, **how), getattr(torch.optim, name)(other, **how)
    run(50, optimisers, mine, other, device)
    check(mine, other, dtype)
    for state in optimisers[0].state.values():  # float32 stays float32
        assert all(v.array.dtype == dtype for v in state.values() if isinstance(v, minigrad.Tensor))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_groups_and_rates_that_change(name: str, device: str) -> None:
    mine, other = start(np.float64, device)

    def groups(p: list[Any]) -> list[dict[str, Any]]:
        return [{"params": p[:1], "lr": 0.2, "weight_decay": 0.3}, {"params": p[1:]}]

    a, b = getattr(optim, name)(groups(mine), lr=0.01), getattr(torch.optim, name)(groups(other), lr=0.01)
    for o in (a, b):
        assert [g["lr"] for g in o.param_groups] == [0.2, 0.01]
    run(5, (a, b), mine, other, device)
    for o in (a, b):
        for group in o.param_groups:
            group["lr"] = group["lr"] * np.float64(0.5)
    run(5, (a, b), mine, other, device, seed=2)
    check(mine, other, np.float64)


def test_the_size_of_one_sgd_step(device: str) -> None:
    p = nn.Parameter(minigrad.tensor([1.0, 2.0], device=device))
    (p * minigrad.tensor([3.0, -4.0], device=device)).sum().backward()
    optim.SGD([p], lr=0.5).step()
    np.testing.assert_allclose(host(p), [1 - 0.5 * 3, 2 + 0.5 * 4])


def test_the_first_step_of_adam_has_the_length_of_the_rate(device: str) -> None:
    p = nn.Parameter(minigrad.tensor([1.0, 2.0], device=device))
    p.grad = minigrad.tensor([300.0, -0.004], device=device)
    optim.Adam([p], lr=0.1).step()
    np.testing.assert_allclose(host(p), [0.9, 2.1], rtol=1e-5)


@pytest.mark.parametrize("options", ["SGD all", "Adam amsgrad", "AdamW"])
def test_going_on_from_a_state_dict(options: str, device: str) -> None:
    """Ours into ours, and PyTorch's into ours."""
    name, how = OPTIONS[options]
    mine, other = start(np.float64, device)
    a, b = getattr(optim, name)(mine, **how), getattr(torch.optim, name)(other, **how)
    run(7, (a, b), mine, other, device)
    state = copy.deepcopy(a.state_dict())
    assert list(state) == ["state", "param_groups"]
    assert state["param_groups"][0]["params"] == b.state_dict()["param_groups"][0]["params"] == [0, 1, 2, 3]
    assert list(state["state"]) == list(b.state_dict()["state"]) == [0, 1, 2]
    assert set(state["state"][0]) == set(b.state_dict()["state"][0])
    assert set(b.state_dict()["param_groups"][0]) - {"params"} <= set(state["param_groups"][0])

    translated = {
        "param_groups": b.state_dict()["param_groups"],
        "state": {i: {k: ours(host(v)) if torch.is_tensor(v) else v for k, v in s.items()}
                  for i, s in b.state_dict()["state"].items()},
    }  # fmt: skip
    for given in (state, translated):
        again = [nn.Parameter(p.detach().clone()) for p in mine]
        others = [torch.nn.Parameter(t.detach().clone()) for t in other]
        c, d = getattr(optim, name)(again, lr=9.0), getattr(torch.optim, name)(others, lr=9.0)
        c.load_state_dict(given)
        d.load_state_dict(copy.deepcopy(b.state_dict()))  # PyTorch's would share tensors with b
        assert c.param_groups[0]["lr"] == how["lr"]
        run(7, (c, d), again, others, device, seed=3)
        check(again, others, np.float64)


def test_a_loaded_state_is_a_copy() -> None:
    p = nn.Parameter(minigrad.ones(2))
    a, b = optim.Adam([p]), optim.Adam([p])
    p.grad = minigrad.ones(2)
    a.step()
    b.load_state_dict(a.state_dict())
    b.state[p]["exp_avg"].zero_()
    assert a.state[p]["exp_avg"].any().item()


def test_state_dicts_that_do_not_fit() -> None:
    p, q = nn.Parameter(minigrad.ones(2)), nn.Parameter(minigrad.ones(2))
    two = optim.SGD([{"params": [p]}, {"params": [q]}], lr=1)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optim.SGD([p, q], lr=1).load_state_dict(two.state_dict())
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optim.SGD([p], lr=1).load_state_dict(optim.SGD([p, q], lr=1).state_dict())


def test_zero_grad_and_closure() -> None:
    p = nn.Parameter(minigrad.ones(2))
    optimiser = optim.SGD([p], lr=0.1)

    def closure() -> Any:
        optimiser.zero_grad()
        loss = p.square().sum()
        loss.backward()
        return loss

    with minigrad.no_grad():
        assert optimiser.step(closure).item() == 2
    np.testing.assert_allclose(host(p), [0.8, 0.8], rtol=1e-6)
    assert optimiser.step() is None
    optimiser.zero_grad(set_to_none=False)
    assert p.grad is not None and not p.grad.any().item()
    optimiser.zero_grad()
    assert p.grad is None


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_step_is_noticed_by_graphs_recorded_before(name: str) -> None:
    layer = nn.Linear(2, 2)
    x = minigrad.ones(1, 2, requires_grad=True)
    loss = layer(x).sum()
    loss.backward(retain_graph=True)
    getattr(optim, name)(layer.parameters(), lr=0.1).step()
    with pytest.raises(RuntimeError, match=rf"modified by an inplace operation.*{name}\.step\(\)"):
        loss.backward()


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_parameters_in_any_memory_order(name: str, device: str) -> None:
    values = np.random.default_rng(0).standard_normal((200, 150))
    a = nn.Parameter(ours(values, device=device))
    b = nn.Parameter(ours(values.T, device=device).T)
    g = np.random.default_rng(1).standard_normal((200, 150))
    for p in (a, b):
        p.grad = ours(g, device=device)
        getattr(optim, name)([p], lr=0.1).step()
    np.testing.assert_allclose(host(a), host(b), rtol=1e-12)


def test_add_param_group_and_repr() -> None:
    p, q = nn.Parameter(minigrad.ones(2)), nn.Parameter(minigrad.ones(3))
    optimiser = optim.AdamW([("named", p)], lr=0.1)
    optimiser.add_param_group({"params": q, "lr": 0.2})
    assert [g["lr"] for g in optimiser.param_groups] == [0.1, 0.2]
    assert optimiser.param_groups[1]["weight_decay"] == 0.01
    assert "Parameter Group 1" in repr(optimiser) and "lr: 0.2" in repr(optimiser)


def test_construction_errors() -> None:
    p = nn.Parameter(minigrad.ones(2))
    with pytest.raises(ValueError, match="optimizer got an empty parameter list"):
        optim.SGD([], lr=0.1)
    with pytest.raises(TypeError, match="should be an iterable of Tensors or dicts"):
        optim.SGD(p, lr=0.1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="can only optimize Tensors, but one of the params is <class 'int'>"):
        optim.SGD([3], lr=0.1)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        optim.SGD([p * 2], lr=0.1)
    with pytest.raises(ValueError, match="appear in more than one parameter group"):
        optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1)
    with pytest.raises(TypeError, match="Please use a list instead"):
        optim.SGD([{"params": {p}}], lr=0.1)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p], lr=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: optim.SGD(p, lr=-1), "Invalid learning rate: -1"),
        (lambda p: optim.SGD(p, momentum=-1), "Invalid momentum value: -1"),
        (lambda p: optim.SGD(p, nesterov=True), "Nesterov momentum requires a momentum and zero dampening"),
        (lambda p: optim.Adam(p, lr=-1), "Invalid learning rate: -1"),
        (lambda p: optim.Adam(p, eps=-1), "Invalid epsilon value: -1"),
        (lambda p: optim.Adam(p, betas=(1.0, 0.9)), "Invalid beta parameter at index 0: 1.0"),
        (lambda p: optim.AdamW(p, betas=(0.9, 2)), "Invalid beta parameter at index 1: 2"),
        (lambda p: optim.AdamW(p, weight_decay=-1), "Invalid weight_decay value: -1"),
    ],
)
def test_option_errors(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make([nn.Parameter(minigrad.ones(1))])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_signatures_and_defaults_are_pytorchs(name: str) -> None:
    found = inspect.signature(getattr(optim, name)).parameters
    expected = inspect.signature(getattr(torch.optim, name)).parameters
    assert list(found)[:3] == list(expected)[:3]
    for key, parameter in expected.items():
        assert found[key].default == parameter.default and found[key].kind == parameter.kind, key
    assert "fused" in found
