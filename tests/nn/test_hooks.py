"""Hooks of modules: around forward, when gradients pass, at registration; PyTorch's calls in its order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn import hooks as modules
from tests.support.both import agree
from tests.support.cases import raises
from tests.support.parity import torch

pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook is firing")
rng = np.random.default_rng(0)
WEIGHTS = [rng.standard_normal((4, 3)), rng.standard_normal((2, 4))]
X = rng.standard_normal((5, 3))


def net_of(t: Any) -> Any:
    """Two layers, with the same weights in both libraries."""
    net = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.Linear(4, 2)).double()
    for layer, weight in zip((net[0], net[2]), WEIGHTS, strict=True):
        layer.weight.data = t.tensor(weight)
        layer.bias.data.fill_(0.5)
    return net


def copies(gradients: Any) -> list[Any]:
    return [None if g is None else g.detach().clone() for g in gradients]


def compared(run: Callable[[Any, Any], list[Any]]) -> Callable[[], None]:
    """Make a test that compares the records of a run in both libraries: texts, and lists of tensors."""

    def test() -> None:
        agree(lambda t: run(t, net_of(t)), gradient=False)

    test.__name__, test.__module__ = run.__name__, run.__module__
    return test


@compared
def test_backward_hooks_see_pytorchs_gradients(library: Any, net: Any) -> list[Any]:
    events: list[Any] = []
    for i, layer in enumerate(net):
        note = lambda m, gi, go, i=i: events.extend([f"{i} {type(m).__name__}", copies(gi), copies(go)])
        layer.register_full_backward_hook(note)
        layer.register_full_backward_pre_hook(lambda m, go, i=i: events.extend([f"{i} before", copies(go)]))
    for is_leaf in (False, True):
        x = library.tensor(X, requires_grad=is_leaf)
        net(x).square().sum().backward()
        events += [x.grad, copies(p.grad for p in net.parameters())]
    return events


@compared
def test_results_of_backward_hooks_replace_the_gradients(library: Any, net: Any) -> list[Any]:
    net[2].register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    handle = net[2].register_full_backward_hook(lambda m, gi, go: (gi[0] + go[0].sum(),))
    net[1].register_full_backward_hook(lambda m, gi, go: (gi[0].clamp(-1, 1),), prepend=True)
    net(library.tensor(X)).square().sum().backward()
    first = copies(p.grad for p in net.parameters())
    handle.remove()
    net.zero_grad()
    net(library.tensor(X)).square().sum().backward()
    return [first, copies(p.grad for p in net.parameters())]


@compared
def test_backward_hooks_of_modules_with_several_arguments_and_results(library: Any, net: Any) -> list[Any]:
    class Two(library.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, a: Any, factor: int, b: Any) -> tuple[Any, Any, int]:
            return a * b * factor, a + 1, 3

    events: list[Any] = []
    two = Two()
    two.register_full_backward_hook(lambda m, gi, go: events.extend([copies(gi), copies(go)]))
    a = library.tensor(X, requires_grad=True)
    b = library.tensor(X + 1)
    out, _, three = two(a, 3, b)
    assert three == 3
    out.sum().backward()
    assert a.grad is not None and b.grad is None
    two(a, 3, a)[0].sum().backward()  # one tensor as two arguments
    return [*events, a.grad]


@compared
def test_backward_hooks_with_a_graph_of_the_gradients(library: Any, net: Any) -> list[Any]:
    net[0].register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,))
    x = library.tensor(X, requires_grad=True)
    (g,) = library.autograd.grad(net(x).square().sum(), x, create_graph=True)
    g.square().sum().backward()
    return [g, x.grad]


def test_backward_hooks_under_an_observer_of_ops() -> None:
    """Objects that are not tensors do not pass through an op."""

    class Scaled(nn.Module):
        def forward(self, options: dict[str, int], x: Any) -> tuple[dict[str, int], Any]:
            return options, x * options["factor"]

    net, events = Scaled(), []
    net.register_full_backward_hook(lambda m, gi, go: events.append(([g is None for g in gi], [g is None for g in go])))
    with minigrad.autograd.detect_anomaly():
        net({"factor": 2}, minigrad.ones(1, requires_grad=True))[1].sum().backward()
    assert events == [([True, False], [True, False])]


def test_backward_hooks_do_not_disturb_inference() -> None:
    net = nn.Linear(2, 2)
    net.register_full_backward_hook(lambda m, gi, go: pytest.fail("no backward has run"))
    with minigrad.no_grad():
        assert not net(minigrad.ones(1, 2)).requires_grad


def test_errors_of_backward_hooks() -> None:
    net = nn.Linear(2, 2)
    handle = net.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    out = net(minigrad.ones(1, 2, requires_grad=True))
    raises(RuntimeError, "invalid number of grad_input, got 2, but expected 1", lambda: out.sum().backward())
    handle.remove()
    net.register_full_backward_hook(lambda m, gi, go: (go[0],))
    raises(RuntimeError, "where no input requires gradient", lambda: net(minigrad.ones(1, 2)).sum().backward())
    raises(RuntimeError, "Cannot use both regular", lambda: net.register_backward_hook(lambda m, gi, go: None))

    class Dict(nn.Module):
        def forward(self, x: Any) -> Any:
            return {"x": x}

    odd = Dict()
    odd.register_full_backward_hook(lambda m, gi, go: None)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        odd(minigrad.ones(1, requires_grad=True))


def test_the_old_backward_hook_gets_the_gradient_of_the_result() -> None:
    net, events = nn.Linear(2, 2), []
    net.register_backward_hook(lambda m, gi, go: events.append(go[0].tolist()))
    net(minigrad.ones(1, 2)).sum().backward()
    assert events == [[[1.0, 1.0]]]
    raises(RuntimeError, "Cannot use both", lambda: net.register_full_backward_hook(lambda m, gi, go: None))


@compared
def test_hooks_for_all_modules(library: Any, net: Any) -> list[Any]:
    place = modules if library is minigrad else torch.nn.modules.module
    events: list[Any] = []

    def note(when: str) -> Callable[..., None]:
        return lambda module, *values: events.append(f"{when} {type(module).__name__}")

    handles = [
        place.register_module_forward_pre_hook(note("before")),
        place.register_module_forward_hook(note("after")),
        place.register_module_full_backward_pre_hook(note("backward before")),
        place.register_module_full_backward_hook(note("backward")),
    ]
    net[0].register_forward_hook(note("own"))
    net[0].register_full_backward_hook(note("own backward"))
    try:
        net(library.tensor(X, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    count = len(events)
    net[1](library.tensor(X))
    assert len(events) == count
    return events


@compared
def test_hooks_at_registration(library: Any, net: Any) -> list[Any]:
    place = modules if library is minigrad else torch.nn.modules.module
    events: list[Any] = []

    def note(module: Any, name: str, value: Any) -> Any:
        events.append(f"{type(module).__name__} {name}")

    def doubled(module: Any, name: str, value: Any) -> Any:
        return None if value is None else value * 2

    handles = [
        place.register_module_parameter_registration_hook(note),
        place.register_module_module_registration_hook(note),
        place.register_module_buffer_registration_hook(doubled),
    ]
    try:
        inner = library.nn.Module()
        inner.layer = library.nn.Linear(2, 2)
        inner.add_module("empty", None)
        inner.register_buffer("table", library.ones(2))
    finally:
        for handle in handles:
            handle.remove()
    return [*events, inner.table]


@compared
def test_hooks_that_are_always_called(library: Any, net: Any) -> list[Any]:
    class Fails(library.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: int) -> int:
            if x:
                raise ValueError("on purpose")
            return x

    events: list[Any] = []
    module = Fails()
    module.register_forward_hook(lambda m, args, out: events.append(f"never {out}"))
    module.register_forward_hook(lambda m, args, out: events.append(f"{args} {out}"), always_call=True)
    module.register_forward_hook(
        lambda m, args, kwargs, out: events.append(f"{kwargs} {out}"), always_call=True, with_kwargs=True
    )
    module(0)
    for value in (1, 2):
        raises(ValueError, "on purpose", lambda value=value: module(x=value))
    return events


def test_a_failing_hook_after_a_failure_is_reported() -> None:
    class Fails(nn.Module):
        def forward(self) -> None:
            raise ValueError("on purpose")

    module = Fails()
    module.register_forward_hook(lambda m, args, out: 1 / 0, always_call=True)
    with pytest.raises(ValueError, match="on purpose"), pytest.warns(UserWarning, match="suppressed by an earlier"):
        module()


def test_a_pre_hook_with_keywords_must_return_both() -> None:
    net = nn.Identity()
    net.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    raises(RuntimeError, "None or a tuple of", lambda: net(1, 2, 3))


def test_second_order_passes_backward_hooks() -> None:
    """The second backward pass reaches a module's input without passing its result."""
    calls = []
    for library in (minigrad, torch):
        loss, count = library.nn.MSELoss(), [0]
        loss.register_full_backward_hook(lambda m, gi, go, count=count: count.__setitem__(0, count[0] + 1))
        x = library.ones(2, requires_grad=True)
        (first,) = library.autograd.grad(loss(x, library.zeros(2)), x, create_graph=True)
        (second,) = library.autograd.grad(first.sum(), x)
        calls.append((count, second.tolist()))
    assert calls[0] == calls[1] == ([1], [1.0, 1.0])
