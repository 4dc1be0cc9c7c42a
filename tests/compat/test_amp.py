"""GradScaler scales, skips and grows as PyTorch's does, and reads the device once per step."""

import inspect
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.compat import amp
from tests.support import strict
from tests.support.cases import cases, raises
from tests.support.parity import torch
from tests.support.strict_array import StrictArray


@cases("name", [f"{place}.{name}" for place in ("amp", "cuda.amp") for name in ("GradScaler", "autocast")])
def test_signatures_are_pytorchs(name: str) -> None:
    ours: Any = mg
    theirs: Any = torch
    for part in name.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    expected = [(p.name, p.default) for p in inspect.signature(theirs.__init__).parameters.values()]
    actual = [(p.name, p.default) for p in inspect.signature(ours.__init__).parameters.values()]
    assert [n for n, _ in actual] == [n for n, _ in expected]
    assert all(a == b or "float16" in str(b) for (_, a), (_, b) in zip(actual, expected, strict=True))


def training(library: Any, is_clipped: bool) -> list[Any]:
    """Scales, states, weights and gradients of a training run in which some gradients are Inf."""
    weight = library.tensor([1.0, 2.0], requires_grad=True)
    optimizer = library.optim.SGD([weight], lr=0.1)
    scaler = library.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    steps: list[Any] = []
    for factor in (1.0, 1.0, float("inf"), 1.0, float("nan"), 0.5, 0.5, 0.5, 0.5):
        optimizer.zero_grad()
        scaler.scale((weight * weight).sum() * factor).backward()
        if is_clipped:
            scaler.unscale_(optimizer)
        gradient = weight.grad.tolist()
        scaler.step(optimizer)
        scaler.update()
        steps.append((scaler.get_scale(), scaler.state_dict(), [*gradient, *weight.tolist()]))
    return steps


@cases("is_clipped", [False, True])
def test_scales_grow_back_off_and_skip_as_pytorchs(is_clipped: bool) -> None:
    for ours, theirs in zip(training(mg, is_clipped), training(torch, is_clipped), strict=True):
        assert ours[:2] == theirs[:2]
        np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-6)


def test_a_scale_stays_within_float32() -> None:
    scales = []
    for t in (mg, torch):
        optimizer, weights = grads_of(t, [[1.0]])
        scaler = t.amp.GradScaler("cpu", init_scale=2.0**126, growth_interval=1)
        for _ in range(3):
            scaler.scale(weights[0])
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
    assert scales == [2.0**127] * 6


def test_a_scale_is_not_lost_in_float16() -> None:
    scaler = amp.GradScaler("cpu")
    assert scaler.scale(mg.tensor(0.5, dtype=mg.float16)).item() == 0.5 * 65536
    scaled = scaler.scale([mg.ones(2), (mg.ones(1),)])
    assert type(scaled) is list and type(scaled[1]) is tuple and scaled[1][0].item() == 65536
    raises(ValueError, "Tensor", lambda: scaler.scale(3.0))


def test_mistakes_raise_errors() -> None:
    weight = mg.ones(1, requires_grad=True)
    optimizer = mg.optim.SGD([weight], lr=0.1)
    scaler = amp.GradScaler("cpu")
    raises(AssertionError, "inf checks", scaler.update)
    weight.grad = mg.ones(1)
    for early in (scaler.unscale_, scaler.step):
        raises(AssertionError, "never called", partial(early, optimizer))
    assert weight.item() == weight.grad.item() == 1
    weight.grad = None
    scaler.scale(weight)
    raises(AssertionError, "no gradient", lambda: scaler.step(optimizer))
    weight.grad = mg.ones(1)
    scaler.unscale_(optimizer)
    raises(RuntimeError, "already been called", lambda: scaler.unscale_(optimizer))
    scaler.step(optimizer)
    raises(RuntimeError, "since the last update", lambda: scaler.step(optimizer))
    raises(RuntimeError, "after step", lambda: scaler.unscale_(optimizer))
    raises(RuntimeError, "Closure", lambda: scaler.step(optimizer, closure=lambda: None))
    raises(RuntimeError, "is empty", lambda: scaler.load_state_dict({}))
    for wrong in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}):
        with pytest.raises(AssertionError, match="factor"):
            amp.GradScaler("cpu", **wrong)  # type: ignore[arg-type]


def test_state_dicts() -> None:
    scaler = amp.GradScaler("cpu", init_scale=8.0, growth_interval=7)
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    other = amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert (other.get_growth_factor(), other.get_backoff_factor()) == (3.0, 0.25)
    assert other.get_growth_interval() == 7
    other.update(new_scale=2.0)
    assert other.get_scale() == 2


@pytest.mark.skipif(mg.cuda.is_available(), reason="this machine has a GPU")
def test_a_disabled_scaler_does_nothing() -> None:
    with pytest.warns(UserWarning, match="no GPU"):
        scaler = mg.cuda.amp.GradScaler()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        off = mg.amp.GradScaler(enabled=False)
    for disabled in (scaler, off):
        assert not disabled.is_enabled() and disabled.get_scale() == 1.0 and disabled.state_dict() == {}
        disabled.load_state_dict({})
        weight = mg.ones(1, requires_grad=True)
        optimizer = mg.optim.SGD([weight], lr=0.5)
        loss = weight.sum()
        assert disabled.scale(loss) is loss
        loss.backward()
        disabled.unscale_(optimizer)
        disabled.step(optimizer)
        disabled.update()
        assert weight.item() == 0.5


def grads_of(library: Any, values: list[Any], device: str = "cpu") -> tuple[Any, list[Any]]:
    """An optimiser, and its parameters, with these values as gradients."""
    weights = [library.zeros(len(v), device=device).requires_grad_() for v in values]
    for weight, value in zip(weights, values, strict=True):
        weight.grad = library.tensor(value, device=device)
    return library.optim.SGD(weights, lr=0.1), weights


@cases(
    "values",
    [
        [[1.0, 2.0], [3.0]],
        [[1.0], [float("inf"), 0.0]],
        [[float("-inf")], [float("inf")]],
        [[float("nan"), 1.0], [2.0]],
        [[3e38, 2e38], [3e38]],  # their float32 sum is Inf
    ],
)
def test_inf_and_nan_in_any_gradient_skip_the_step(values: list[Any]) -> None:
    results = []
    for t in (mg, torch):
        optimizer, weights = grads_of(t, values)
        scaler = t.amp.GradScaler("cpu", init_scale=2.0, growth_interval=1)
        scaler.scale(t.ones(1))
        scaler.step(optimizer)
        scaler.update()
        results.append(([w.tolist() for w in weights], scaler.get_scale()))
    assert results[0][1] == results[1][1]
    for actual, expected in zip(results[0][0], results[1][0], strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_a_step_reads_the_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    strict.install(emulate=False)
    optimizer, weights = grads_of(mg, [[1.0, 2.0], [3.0], [4.0, 5.0]], "strict")
    looks: list[str] = []
    for name in ("get", "item", "tolist", "__bool__", "__float__", "__int__"):
        usual = getattr(StrictArray, name)
        monkeypatch.setattr(StrictArray, name, lambda self, *a, n=name, u=usual: (looks.append(n), u(self, *a))[1])
    scaler = amp.GradScaler("strict", init_scale=2.0)
    scaler.scale(weights[0].sum())
    scaler.unscale_(optimizer)
    assert not looks
    scaler.step(optimizer)
    assert looks == ["item"]
    scaler.update()
    assert looks == ["item"]
    monkeypatch.undo()
    np.testing.assert_allclose(weights[2].tolist(), [-0.2, -0.25])


def test_gradients_of_float16_are_refused(t: Any) -> None:
    weight, scaler = t.ones(2, dtype=t.float16).requires_grad_(), t.amp.GradScaler("cpu")
    weight.grad = t.ones(2, dtype=t.float16)
    scaler.scale(t.ones(1))
    optimizer = t.optim.SGD([weight], lr=0.1)
    raises(ValueError, "Attempting to unscale FP16 gradients", lambda: scaler.unscale_(optimizer))
