"""Without a profile no hooks are installed; with a profile, results are the same."""

import os
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F
from minigrad.ops.op import watch as watched
from minigrad.profiler import profile, watch
from tests.support.cases import cases, raises
from tests.support.engine import Parts, changed, parts


@pytest.fixture
def before() -> Any:
    """The library's parts before a profile and after its lazy imports; at the end no observer may be left."""
    with profile():
        mg.ones(2) + 1
    yield parts()
    assert watch.recording() is None and watched.observers == type(watched).observers == ()


def test_nothing_is_replaced(before: Parts) -> None:
    with pytest.raises(ValueError, match="mine"), profile():
        while_on = changed(before, parts())
        assert "observers" in while_on and not [name for name in while_on if callable(before[name])]
        raise ValueError("mine")
    assert changed(before, parts()) == []


CALLS: dict[str, Any] = {
    "add": [lambda x: x + x, lambda x: x + 1, lambda x: 1 + x, lambda x: mg.add(x, x), lambda x: x.add(2.0)],
    "sub": [lambda x: 1 - x],
    "div": [lambda x: x / 2, lambda x: 1 / x, lambda x: x.double() / 2],
    "pow": [lambda x: x**2, lambda x: 2.0**x, lambda x: mg.pow(x, 3)],
    "neg": [lambda x: -x, lambda x: x.neg()],
    "exp": [lambda x: x.exp(), mg.exp],
    "relu": [F.relu, nn.ReLU(), lambda x: x.relu()],
    "matmul": [lambda x: x @ x, lambda x: mg.mm(x, x), lambda x: mg.matmul(x, x)],
    "sum": [lambda x: x.sum(), lambda x: mg.sum(x, dim=0)],
    "reshape": [lambda x: x.view(-1), lambda x: x.reshape(1, 4)],
    "getitem": [lambda x: x[0]],
    "softmax": [lambda x: x.softmax(-1), nn.Softmax(dim=1)],
    "layer_norm": [nn.LayerNorm(2)],
    "linear": [nn.Linear(2, 3), lambda x: F.linear(x, x)],
}


@cases("name, call", [(name, call) for name, calls in CALLS.items() for call in calls])
def test_no_call_bypasses_the_profile(name: str, call: Any) -> None:
    """Every way to call an op produces an event, and so does its backward."""
    for is_leaf in (True, False):
        x = mg.full((2, 2), 0.5, requires_grad=is_leaf)
        with profile() as p:
            y = call(x)
            if y.requires_grad:
                y.sum().backward()
        ops = [event for event in p.events() if event.name == name and event.phase == "forward"]
        nodes = [event for event in p.events() if event.kind == "node"]
        assert ops and bool(nodes) is y.requires_grad and all(event.forward.kind == "op" for event in nodes)
        assert not nodes or any(event.forward is ops[0] for event in nodes)


def test_a_second_profile_is_refused_and_does_not_affect_the_first(before: Parts) -> None:
    second = profile()
    with profile() as first:
        raises(RuntimeError, "a profile is already running", second.start)
        mg.ones(2) + 1
    assert [average.key for average in first.key_averages()] == ["ones", "add"]
    with second:
        mg.ones(2) * 2
    assert [average.key for average in second.key_averages()] == ["ones", "mul"]
    assert changed(before, parts()) == []


def test_results_are_the_same_to_the_bit(device: str) -> None:
    def train() -> list[Any]:
        mg.manual_seed(3)
        layers = [nn.Linear(4, 8), nn.LayerNorm(8), nn.Dropout(0.5), nn.GELU(), nn.Linear(8, 3)]
        net = nn.Sequential(*layers).to(device)
        optimizer = mg.optim.AdamW(net.parameters(), lr=0.1)
        x, y = mg.randn(5, 4, device=device), mg.tensor([0, 1, 2, 0, 1], device=device)
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
        return [p.numpy(force=True) for p in (loss, *net.parameters())]

    expected = train()
    with profile(record_shapes=True, with_stack=True, with_flops=True, profile_memory=True):
        actual = train()
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)


class Own(mg.optim.SGD):
    """It overrides ``step``, and calls the base's ``step``."""

    def step(self, closure: Any = None) -> Any:
        return super().step(closure)


@pytest.mark.filterwarnings("error")
def test_hooks_and_schedules_of_an_optimizer_continue() -> None:
    w = nn.Parameter(mg.ones(2))
    for kind in (mg.optim.SGD, Own):
        optimizer, calls = kind([w], lr=0.1), []
        schedule = mg.optim.lr_scheduler.StepLR(optimizer, 1)
        optimizer.register_step_pre_hook(lambda *_, calls=calls: calls.append("before"))
        optimizer.register_step_post_hook(lambda *_, calls=calls: calls.append("after"))
        with profile() as p:
            w.sum().backward()
            optimizer.step()
            schedule.step()
        assert calls == ["before", "after"]
        assert sum(event.name == f"Optimizer.step#{kind.__name__}.step" for event in p.events()) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_is_not_watched(before: Parts) -> None:
    with profile():
        child = os.fork()
        if child == 0:
            os._exit(1 if watched.observers or watch.recording() is not None else 0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert watched.observers
