"""Optimisers against PyTorch over 20 steps; groups, state, errors."""

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim
from minigrad.optim.optimizer import required
from tests.support.both import outcome
from tests.support.cases import cases, programs, raises
from tests.support.parity import assert_close, assert_same_signature, host, in_torch_words, ours, torch

OPTIONS = programs("""
SGD(lr=0.1); SGD(lr=0.05, momentum=0.9); SGD(lr=0.05, momentum=0.9, dampening=0.3, weight_decay=0.1);
SGD(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1);
SGD(lr=0.01, momentum=0.5, maximize=True, weight_decay=0.1); Adam(lr=0.05);
Adam(lr=0.05, weight_decay=0.1, betas=(0.8, 0.95), eps=1e-3); Adam(lr=0.05, amsgrad=True, weight_decay=0.01);
Adam(lr=0.01, maximize=True, weight_decay=0.01); Adam(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True);
AdamW(lr=0.05); AdamW(lr=0.05, weight_decay=0.2, amsgrad=True); AdamW(lr=0.01, maximize=True, betas=(0.0, 0.9));
RMSprop(); RMSprop(lr=0.02, alpha=0.9, eps=1e-3, weight_decay=0.1, momentum=0.9, centered=True);
RMSprop(maximize=True, momentum=0.5); Adagrad(); Adagrad(maximize=True);
Adagrad(lr=0.1, lr_decay=0.01, weight_decay=0.1, eps=1e-3, initial_accumulator_value=0.3); Adafactor();
Adafactor(lr=0.1, beta2_decay=-0.5, eps=(1e-6, 0.1), d=1.5, weight_decay=0.1, maximize=True); Adadelta();
Adadelta(lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.1, maximize=True); Adamax();
Adamax(lr=0.02, betas=(0.8, 0.9), weight_decay=0.1, maximize=True); NAdam();
NAdam(lr=0.02, betas=(0.8, 0.9), weight_decay=0.1, momentum_decay=0.1);
NAdam(weight_decay=0.1, decoupled_weight_decay=True, maximize=True); RAdam();
RAdam(lr=0.02, betas=(0.8, 0.9), weight_decay=0.1, maximize=True);
RAdam(weight_decay=0.1, decoupled_weight_decay=True); ASGD();
ASGD(lr=0.1, lambd=0.01, alpha=0.5, t0=5, weight_decay=0.1, maximize=True); Rprop();
Rprop(lr=0.1, etas=(0.4, 1.5), step_sizes=(0.01, 0.3), maximize=True)
""")
NAMES = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"]


def optimiser_of(t: Any, row: str, params: list[Any]) -> Any:
    """The optimiser of a row in OPTIONS, in one of the libraries."""
    return eval(f"optim.{row}".replace("(", "(params, ", 1), {"params": params, "optim": t.optim})


def start(dtype: Any, device: str) -> tuple[list[Any], list[Any]]:
    """Parameters of both libraries: small, of several CUDA blocks, without axes, and one without a gradient."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s).astype(dtype) for s in ((4, 3), (40, 30), (), (2,))]
    mine = [nn.Parameter(ours(a, device=device)) for a in arrays]
    other = [torch.nn.Parameter(torch.from_numpy(a.copy())) for a in arrays]
    return mine, other


def run(steps: int, optimisers: tuple[Any, Any], mine: list[Any], other: list[Any], device: str, seed: int = 1) -> None:
    """Steps with random gradients; the last parameter has none."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        for p, t in zip(mine[:-1], other[:-1], strict=True):
            g = np.asarray(rng.standard_normal(tuple(t.shape)) + 0.1, host(p).dtype)
            p.grad, t.grad = ours(g, device=device), torch.from_numpy(g.copy())
        for o in optimisers:
            o.step()


def check(mine: list[Any], other: list[Any], dtype: Any) -> None:
    rtol = 1e-10 if dtype is np.float64 else 2e-6
    for p, t in zip(mine, other, strict=True):
        assert host(p).dtype == dtype
        np.testing.assert_allclose(host(p), host(t), rtol=rtol, atol=rtol)


@cases("row", OPTIONS)
@cases("dtype", [np.float64, np.float32])
def test_20_steps(row: str, dtype: Any, device: str) -> None:
    mine, other = start(dtype, device)
    optimisers = optimiser_of(minigrad, row, mine), optimiser_of(torch, row, other)
    run(20, optimisers, mine, other, device)
    check(mine, other, dtype)
    for p, t in zip(mine, other, strict=True):
        actual, expected = (o.state.get(q, {}) for o, q in zip(optimisers, (p, t), strict=True))
        assert list(actual) == list(expected)
        for key, value in expected.items():
            assert_close(actual[key], value, 1e-9 if dtype is np.float64 else 2e-5, key)
            assert host(actual[key]).dtype == host(value).dtype  # float32 stays float32, and counts are float32 too


@cases("row", [row for row in OPTIONS if not row.startswith("Adafactor")])  # PyTorch's optimiser also rejects them
def test_complex_parameters(row: str) -> None:
    """A rule treats the two parts as two numbers; the state is complex where PyTorch's is."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((4, 3), ())]
    mine = [nn.Parameter(ours(a)) for a in arrays]
    other = [torch.nn.Parameter(torch.from_numpy(np.array(a))) for a in arrays]
    optimisers = optimiser_of(minigrad, row, mine), optimiser_of(torch, row, other)
    for _ in range(10):
        for t, ps, o in zip((minigrad, torch), (mine, other), optimisers, strict=True):
            o.zero_grad()
            sum(((p - (1 - 2j)) * (0.5 + 1j)).abs().square().sum() for p in ps).backward()
            o.step()
            assert all(t.is_complex(p) for p in ps)
    for p, q in zip(mine, other, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), 1e-9)
        actual, expected = (o.state[x] for o, x in zip(optimisers, (p, q), strict=True))
        assert list(actual) == list(expected)
        for key, value in expected.items():
            np.testing.assert_allclose(np.asarray(actual[key]), np.asarray(value), 1e-8, 1e-10, err_msg=key)


@cases("name", NAMES)
def test_groups_and_rates_that_change(name: str, device: str) -> None:
    mine, other = start(np.float64, device)

    def groups(p: list[Any]) -> list[dict[str, Any]]:
        decay = {} if name == "Rprop" else {"weight_decay": 0.3}
        return [{"params": p[:1], "lr": 0.2, **decay}, {"params": p[1:]}]

    a, b = getattr(optim, name)(groups(mine), lr=0.01), getattr(torch.optim, name)(groups(other), lr=0.01)
    for o in (a, b):
        assert [g["lr"] for g in o.param_groups] == [0.2, 0.01]
    run(5, (a, b), mine, other, device)
    for o in (a, b):
        for group in o.param_groups:
            group["lr"] = group["lr"] * np.float64(0.5)
    run(5, (a, b), mine, other, device, seed=2)
    check(mine, other, np.float64)


@cases("name, row", {row.partition("(")[0]: row for row in OPTIONS if not row.startswith("Adafactor")}.items())
def test_continuing_from_a_state_dict(name: str, row: str, device: str) -> None:
    """Load our state into our optimiser, and PyTorch's state into ours."""
    mine, other = start(np.float64, device)
    a, b = optimiser_of(minigrad, row, mine), optimiser_of(torch, row, other)
    run(7, (a, b), mine, other, device)
    state = copy.deepcopy(a.state_dict())
    assert list(state) == ["state", "param_groups"]
    assert state["param_groups"][0]["params"] == b.state_dict()["param_groups"][0]["params"] == [0, 1, 2, 3]
    assert list(state["state"]) == list(b.state_dict()["state"])
    assert list(state["param_groups"][0]) == list(b.state_dict()["param_groups"][0])

    states = {i: {k: ours(host(v)) for k, v in values.items()} for i, values in b.state_dict()["state"].items()}
    translated = {"param_groups": b.state_dict()["param_groups"], "state": states}
    for passed in (state, translated):
        again = [nn.Parameter(p.detach().clone()) for p in mine]
        others = [torch.nn.Parameter(t.detach().clone()) for t in other]
        c, d = getattr(optim, name)(again, lr=9.0), getattr(torch.optim, name)(others, lr=9.0)
        c.load_state_dict(passed)
        d.load_state_dict(copy.deepcopy(b.state_dict()))  # PyTorch's state would share tensors with b
        assert c.param_groups[0]["lr"] == b.param_groups[0]["lr"]
        run(7, (c, d), again, others, device, seed=3)
        check(again, others, np.float64)


def test_a_loaded_state_is_a_copy_and_has_to_fit() -> None:
    p, q = nn.Parameter(minigrad.ones(2)), nn.Parameter(minigrad.ones(2))
    a, b = optim.Adam([p]), optim.Adam([p])
    p.grad = minigrad.ones(2)
    a.step()
    b.load_state_dict(a.state_dict())
    b.state[p]["exp_avg"].zero_()
    assert a.state[p]["exp_avg"].any().item()
    one, two = optim.SGD([p, q], lr=1), optim.SGD([{"params": [p]}, {"params": [q]}], lr=1)
    load = optim.SGD([p], lr=1).load_state_dict
    raises(ValueError, "different number of parameter groups", lambda: one.load_state_dict(two.state_dict()))
    raises(ValueError, "doesn't match the size of optimizer's group", lambda: load(one.state_dict()))


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
    assert_close(p, np.float32([0.8, 0.8]), 1e-6)
    assert optimiser.step() is None
    optimiser.zero_grad(set_to_none=False)
    assert p.grad is not None and not p.grad.any().item()
    optimiser.zero_grad()
    assert p.grad is None


@cases("name", ["SGD", "Adam"])
def test_earlier_graphs_notice_a_step(name: str) -> None:
    layer = nn.Linear(2, 2)
    x = minigrad.ones(1, 2, requires_grad=True)
    loss = layer(x).sum()
    loss.backward(retain_graph=True)
    getattr(optim, name)(layer.parameters(), lr=0.1).step()
    raises(RuntimeError, rf"modified by an inplace operation.*{name}\.step\(\)", loss.backward)


@cases("name", ["SGD", "Adam"])
def test_parameters_in_any_memory_order(name: str, device: str) -> None:
    values, g = np.random.default_rng(0).standard_normal((2, 200, 150))
    params = [nn.Parameter(ours(values, device=device)), nn.Parameter(ours(values.T, device=device).T)]
    for p in params:
        p.grad = ours(g, device=device)
        getattr(optim, name)([p], lr=0.1).step()
    np.testing.assert_allclose(*map(host, params), rtol=1e-12)


def test_groups_and_repr() -> None:
    p, q = nn.Parameter(minigrad.ones(2)), nn.Parameter(minigrad.ones(3))
    optimiser = optim.AdamW([p], lr=0.1)
    optimiser.add_param_group({"params": q, "lr": 0.2})
    assert [(g["lr"], g["weight_decay"]) for g in optimiser.param_groups] == [(0.1, 0.01), (0.2, 0.01)]
    assert "Parameter Group 1" in repr(optimiser) and "lr: 0.2" in repr(optimiser)


def test_construction_errors() -> None:
    p, q = nn.Parameter(minigrad.ones(2)), nn.Parameter(minigrad.ones(2))
    words = "RMSprop: differentiable=True is not supported"
    raises(NotImplementedError, words, lambda: optim.RMSprop([p], differentiable=True))
    raises(ValueError, "optimizer got an empty parameter list", lambda: optim.SGD([], lr=0.1))
    raises(TypeError, "should be an iterable of Tensors or dicts", lambda: optim.SGD(p, lr=0.1))  # type: ignore[arg-type]
    words = "can only optimize Tensors, but one of the params is <class 'int'>"
    raises(TypeError, words, lambda: optim.SGD([3], lr=0.1))  # type: ignore[list-item]
    raises(ValueError, "can't optimize a non-leaf Tensor", lambda: optim.SGD([p * 2], lr=0.1))
    twice = [{"params": [p]}, {"params": [q, p]}]
    raises(ValueError, "appear in more than one parameter group", lambda: optim.SGD(twice, lr=0.1))
    raises(TypeError, "Please use a list instead", lambda: optim.SGD([{"params": {p}}], lr=0.1))
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([p, p], lr=0.1)
    beta: Any = minigrad.tensor(0.9)
    raises(ValueError, "must be either both floats or both Tensors", lambda: optim.Adam([p], betas=(beta, 0.9)))
    words = r"betas\[0\] as a Tensor is not supported for capturable=False"
    raises(ValueError, words, lambda: optim.Adam([p], betas=(beta, beta), foreach=True))
    raises(ValueError, "lr must be 1-element", lambda: optim.Adam([p], lr=minigrad.ones(2)))
    rate = minigrad.tensor(0.1)
    raises(ValueError, "lr as a Tensor is not supported", lambda: optim.Adam([p], lr=rate, foreach=True))
    raises(ValueError, "a value of required optimization parameter lr", lambda: optim.Optimizer([p], {"lr": required}))


def test_names_of_parameters() -> None:
    p, q = nn.Parameter(minigrad.ones(2)), nn.Parameter(minigrad.ones(3))
    optimiser = optim.SGD([("a", p), ("b", q)], lr=0.1)
    assert optimiser.param_groups[0]["param_names"] == ["a", "b"]
    assert optimiser.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    optimiser.load_state_dict(optim.SGD([p, q], lr=0.2).state_dict())
    assert optimiser.param_groups[0]["param_names"] == ["a", "b"] and optimiser.param_groups[0]["lr"] == 0.2
    raises(ValueError, "Some param names are missing", lambda: optim.SGD([("a", p), q]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimiser.add_param_group({"params": [nn.Parameter(minigrad.ones(1))]})


@cases("library", [minigrad, torch])
def test_hooks(library: Any) -> None:
    p = library.nn.Parameter(library.ones(2))
    optimiser, events = library.optim.SGD([p], lr=0.1), []
    p.grad = library.ones(2)
    before = optimiser.register_step_pre_hook(lambda o, args, kwargs: events.append((o, args, kwargs)))
    after = optimiser.register_step_post_hook(lambda o, args, kwargs: events.append(float(p.detach()[0])))
    optimiser.step(closure=None)
    assert events == [(optimiser, (optimiser,), {"closure": None}), pytest.approx(0.9)]
    before.remove()
    after.remove()
    optimiser.step()
    assert len(events) == 2

    optimiser.register_state_dict_pre_hook(lambda o: events.append("before"))
    optimiser.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimiser.register_state_dict_post_hook(lambda o, state: {**state, "first": 1}, prepend=True)
    state = optimiser.state_dict()
    assert events[2:] == ["before"] and list(state)[2:] == ["first", "more"]
    optimiser.register_load_state_dict_pre_hook(lambda o, state: {**state, "state": {0: {"x": 1}}})
    optimiser.register_load_state_dict_post_hook(lambda o: events.append(o.state[p]))
    optimiser.load_state_dict(state)
    assert events[3:] == [{"x": 1}]


@cases("library", [minigrad, torch])
def test_a_wrapper_of_an_optimiser(library: Any, recwarn: Any) -> None:
    """Libraries derive one from Optimizer without calling its ``__init__``."""

    class Wrapper(library.optim.Optimizer):  # type: ignore[misc, name-defined]
        def __init__(self, wrapped: Any) -> None:
            self.wrapped = wrapped

        def step(self, closure: Any = None) -> None:
            self.wrapped.step(closure)

        param_groups = property(lambda self: self.wrapped.param_groups)

    p = library.nn.Parameter(library.ones(2))
    optimiser = Wrapper(library.optim.SGD([p], lr=0.5))
    schedule = library.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 / (1 + step))
    p.grad = library.ones(2)
    optimiser.step()
    schedule.step()
    assert p.tolist() == [0.5, 0.5] and schedule.get_last_lr() == [0.25]
    assert isinstance(optimiser, library.optim.Optimizer) and not recwarn.list


@cases("library", [minigrad, torch])
def test_a_custom_optimiser(library: Any) -> None:
    """As people write them: a complete ``step``, on ``.data`` and ``self.state[p]``."""

    class Heavy(library.optim.Optimizer):  # type: ignore[misc, name-defined]
        def __init__(self, params: Any, lr: float = 0.1, beta: float = 0.5) -> None:
            super().__init__(params, {"lr": lr, "beta": beta})

        def __setstate__(self, state: Any) -> None:
            super().__setstate__(state)
            self.param_groups[0].setdefault("new", 3)

        def step(self, closure: Any = None) -> Any:
            loss = closure() if closure is not None else None
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"], state["m"] = 0, library.zeros_like(p.data)
                    state["step"] += 1
                    state["m"].mul_(group["beta"]).add_(p.grad.data, alpha=1 - group["beta"])
                    p.data.add_(state["m"], alpha=-group["lr"])
            return loss

    p = library.nn.Parameter(library.ones(2))
    optimiser, events = Heavy([p]), []
    optimiser.register_step_pre_hook(lambda *_: events.append(1))
    schedule = library.optim.lr_scheduler.LambdaLR(optimiser, lambda e: 1 / (1 + e))
    for _ in range(2):
        p.grad = library.ones(2)
        optimiser.step()
        schedule.step()
    np.testing.assert_allclose(host(p), 1 - 0.1 * 0.5 - 0.05 * 0.75, rtol=1e-6)
    assert events == [1, 1] and isinstance(optimiser.state_dict()["state"][0]["step"], int)
    assert optimiser.param_groups[0]["initial_lr"] == 0.1
    other = Heavy([library.nn.Parameter(library.ones(2))])
    other.load_state_dict(optimiser.state_dict())
    assert other.param_groups[0]["new"] == 3 and other.state_dict()["state"][0]["step"] == 2


class Loud(optim.Adam):
    """A subclass that calls the parent's step: hooks run once."""

    def step(self, closure: Any = None) -> Any:
        return super().step(closure)


def test_an_optimiser_without_a_rule() -> None:
    p = nn.Parameter(minigrad.ones(2))
    p.grad = minigrad.ones(2)
    raises(NotImplementedError, "Optimizer has no update rule", lambda: optim.Optimizer([p], {}).step())
    events: list[int] = []
    loud = Loud([p])
    loud.register_step_post_hook(lambda *_: events.append(1))
    loud.step()
    assert events == [1] and "hooked" not in repr(inspect.signature(Loud.step))
    assert list(inspect.signature(Loud.step).parameters) == ["self", "closure"]


@cases("how", [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))])
@cases("name", ["Adam", "NAdam", "SGD"])
def test_copies_continue_alike(name: str, how: Any) -> None:
    layer = nn.Linear(3, 2)
    optimiser = getattr(optim, name)(layer.parameters(), lr=0.1)

    def train(layer: Any, optimiser: Any) -> None:
        for _ in range(3):
            optimiser.zero_grad()
            layer(minigrad.ones(4, 3)).square().sum().backward()
            optimiser.step()

    train(layer, optimiser)
    other, copied = how((layer, optimiser))
    assert copied.param_groups[0]["params"][0] is other.weight and copied.defaults == optimiser.defaults
    train(layer, optimiser)
    train(other, copied)
    np.testing.assert_array_equal(host(layer.weight), host(other.weight))


@cases("library", [minigrad, torch])
def test_a_rate_that_is_a_tensor(library: Any) -> None:
    p, rate = library.nn.Parameter(library.ones(2)), library.tensor(0.5)
    optimiser = library.optim.SGD([p], lr=rate)
    schedule = library.optim.lr_scheduler.ExponentialLR(optimiser, 0.5)
    for _ in range(2):
        p.grad = library.ones(2)
        optimiser.step()
        schedule.step()
    np.testing.assert_allclose(host(p), 1 - 0.5 - 0.25)
    assert optimiser.param_groups[0]["lr"] is rate and float(rate) == 0.125
    assert float(schedule.base_lrs[0]) == 0.5 and float(schedule.get_last_lr()[0]) == 0.125


BAD = programs("""
Adafactor(beta2_decay=0.1); Adafactor(eps=(-1, 0.1)); Adafactor(eps=(None, -1)); Adafactor(d=0.5); SGD(momentum=-1);
SGD(nesterov=True); SGD(fused=True, foreach=True); RMSprop(momentum=-1); RMSprop(alpha=-1); Adagrad(lr_decay=-1);
Adagrad(initial_accumulator_value=-1); Adadelta(rho=2); NAdam(momentum_decay=-1); Rprop(etas=(2, 3));
SparseAdam(eps=0); SparseAdam(lr=0); Adam(fused=True, differentiable=True)
""")
BAD += [f"{name}(lr=-1)" for name in (*NAMES, "SparseAdam", "LBFGS")]
BAD += [f"{name}(eps=-1)" for name in ("Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam")]
BAD += [f"{name}(weight_decay=-1)" for name in NAMES if name != "Rprop"]
BAD += [f"{name}(betas=(1.0, 0.9))" for name in ("Adam", "Adamax", "NAdam", "RAdam", "SparseAdam")]
BAD += [f"{name}(betas=(0.9, 2))" for name in ("AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam")]


@cases("program", BAD)
def test_option_errors_are_pytorchs(program: str) -> None:
    calls = (lambda t=t: optimiser_of(t, program, [t.nn.Parameter(t.ones(1))]) for t in (minigrad, torch))
    texts = [outcome(call) for call in calls]  # type: ignore[arg-type]
    assert texts[0] == texts[1] and texts[1].startswith(("ValueError: ", "RuntimeError: "))


@cases("name", [*NAMES, "Muon", "SparseAdam", "LBFGS", "Optimizer"])
def test_signatures_and_defaults_are_pytorchs(name: str) -> None:
    assert_same_signature(getattr(optim, name), getattr(torch.optim, name))


@cases("name, shape", [("Adafactor", (2,)), ("Muon", (2, 2)), ("SparseAdam", (2,))])
def test_no_complex_parameters(name: str, shape: tuple[int, ...]) -> None:
    p = nn.Parameter(minigrad.ones(shape, dtype=minigrad.complex64))
    p.grad = minigrad.ones_like(p)
    words = f"{name} does not support complex parameters"
    raises((RuntimeError, ValueError), words, lambda: getattr(optim, name)([p]).step())


@cases("dtype", ["float16", "bfloat16"])
@cases("name", [*NAMES, "Adafactor", "Muon"])
def test_parameters_of_16_bits(name: str, dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    start = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    options = {"lr": 0.1, "momentum": 0.9} if name == "SGD" else {"lr": 0.05}
    states = []
    for library in (torch, minigrad):
        p = library.nn.Parameter(library.tensor(start).to(getattr(library, dtype)))
        optimizer = getattr(library.optim, name)([p], **options)
        memory = p.data_ptr()
        for _ in range(4):
            optimizer.zero_grad()
            (p * p).float().sum().backward()
            optimizer.step()
        assert p.data_ptr() == memory and p.grad.dtype is p.dtype is getattr(library, dtype)
        states.append((p, {k: v for k, v in optimizer.state[p].items() if hasattr(v, "dtype")}))
    (theirs, expected), (mine, state) = states
    assert {k: in_torch_words(v.dtype) for k, v in state.items()} == {k: str(v.dtype) for k, v in expected.items()}
    near = 3e-2 if dtype == "bfloat16" else 4e-3
    np.testing.assert_allclose(mine.tolist(), theirs.tolist(), near, near)
    assert mine.tolist() != start.tolist()


@cases("name", ["Adam", "Adagrad", "RMSprop", "SGD"])
def test_steps_of_float16_are_computed_in_float32(name: str) -> None:
    """An epsilon of 1e-8, a square of 1e-5 and a rate of 1e5 are beyond float16: the step would be infinite or 0."""
    ends = []
    for dtype in (minigrad.float16, minigrad.float32):
        p = nn.Parameter(minigrad.tensor([0.5, -2.0], dtype=dtype))
        p.grad = minigrad.tensor([1e-5, -2e-7], dtype=minigrad.float16).to(dtype)
        getattr(optim, name)([p], lr=1e5 if name == "SGD" else 0.1).step()
        ends.append(p.detach().half().tolist())
    assert ends[0] == ends[1] != [0.5, -2.0]


@cases("maximize", [False, True])
def test_sparse_adam_of_an_embedding(maximize: bool, device: str) -> None:
    table, rng = np.random.default_rng(0).standard_normal((7, 3)), np.random.default_rng(1)
    mine = nn.Parameter(ours(table, device=device))
    other = torch.nn.Embedding(7, 3, sparse=True, dtype=torch.float64)
    other.weight.data.copy_(torch.from_numpy(table))
    a = optim.SparseAdam([mine], lr=0.1, betas=(0.8, 0.9), maximize=maximize)
    b = torch.optim.SparseAdam(other.parameters(), lr=0.1, betas=(0.8, 0.9), maximize=maximize)
    for _ in range(20):
        batch, weights = rng.integers(0, 6, 3), rng.standard_normal((3, 3))  # row 6 is never used
        a.zero_grad()
        b.zero_grad()
        rows = nn.functional.embedding(minigrad.tensor(batch, device=device), mine)
        (rows * ours(weights, device=device)).sum().backward()
        (other(torch.from_numpy(batch)) * torch.from_numpy(weights)).sum().backward()
        a.step()
        b.step()
    assert_close(mine, other.weight, 1e-10)
    np.testing.assert_array_equal(host(mine)[6], table[6])
    actual, expected = a.state_dict()["state"][0], b.state_dict()["state"][0]
    assert list(actual) == list(expected) and actual["step"] == expected["step"] == 20
    for key in ("exp_avg", "exp_avg_sq"):
        assert_close(actual[key], expected[key], 1e-10)


def test_sparse_adam_of_a_parameter_without_axes(device: str) -> None:
    p = nn.Parameter(minigrad.tensor(2.0, device=device))
    optimiser = optim.SparseAdam([p], lr=0.5)
    for derivative in (3.0, 0.0):  # Adam would continue to move it
        p.grad = minigrad.tensor(derivative, device=device)
        optimiser.step()
        assert p.item() == pytest.approx(1.5)


def test_sparse_adam_of_memory_that_is_not_contiguous(device: str) -> None:
    p = nn.Parameter(ours(np.zeros((3, 4)), device=device).T)
    p.grad = ours(np.ones((4, 3)), device=device)
    optim.SparseAdam([p], lr=0.5).step()
    np.testing.assert_allclose(host(p), -0.5, rtol=1e-6)
