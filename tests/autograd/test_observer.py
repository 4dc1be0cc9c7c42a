"""Observers: which events they see, in which order, and that they leave nothing behind."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import minigrad as mg
from minigrad.autograd.observer import Observer, attach, detach, observed, span
from minigrad.ops import elementwise, shape
from minigrad.ops.op import watch


class Diary(Observer):
    """Records each event: its name, and the arguments that can be compared."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []


def writes(name: str, facts: Callable[..., tuple[Any, ...]]) -> None:
    setattr(Diary, name, lambda self, *args: self.events.append((name, *facts(*args))))


writes("applying", lambda op, args: (op.name,))
writes("applied", lambda op, args, result, node: (op.name, node))
writes("failed", lambda op: (op.name,))
writes("arrived", lambda target, slot, gradient: (target, slot, gradient.tolist()))
writes("passing", lambda node: (node,))
writes("delivered", lambda node, position, gradient: (node, position, gradient.tolist()))
writes("passed", lambda node, gradients: (node, len(gradients)))
writes("ended", lambda: ())
writes("entered", lambda name, kind, subject: (name, kind, subject))
writes("left", lambda: ())


@pytest.fixture
def diary() -> Any:
    yield Diary()
    assert watch.observers == ()


def test_an_op_is_reported_before_and_after(diary: Diary) -> None:
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    with observed(diary):
        y = x.exp()
        x.detach().exp()
    x.exp()
    exp = elementwise.exp.name
    assert diary.events == [("applying", exp), ("applied", exp, y.grad_fn), ("applying", exp), ("applied", exp, None)]


def test_the_walk_is_shown_gradient_by_gradient(diary: Diary) -> None:
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    y = h.sum()
    with observed(diary):
        y.backward()
    events = [event for event in diary.events if event[0] not in ("applying", "applied", "entered", "left")]
    ones, total, product = [1.0, 1.0], y.grad_fn, h.grad_fn
    assert events == [
        ("arrived", total, 0, 1.0),
        ("passing", total),
        ("delivered", total, 0, ones),
        ("passed", total, 1),
        ("arrived", product, 0, ones),
        ("passing", product),
        ("delivered", product, 0, [1.0, 2.0]),
        ("delivered", product, 1, [1.0, 2.0]),
        ("passed", product, 2),
        ("arrived", x, 0, [2.0, 4.0]),
        ("ended",),
    ]


def test_ops_on_arrays_within_rules_are_shown(diary: Diary) -> None:
    x = mg.tensor([[1.0, 2.0]], requires_grad=True)
    y = mg.unsqueeze(x, 0)
    with observed(diary):
        y.backward(mg.ones(1, 1, 2))
    assert ("applied", shape.reshape.name, None) in diary.events


def test_a_change_in_place_is_shown_as_its_op(diary: Diary) -> None:
    base = mg.ones(3, requires_grad=True) * 2
    with observed(diary):
        base[0] = 5.0
    assert [event[1] for event in diary.events if event[0] == "applied"] == ["put"]


def test_an_op_that_fails_is_shown(diary: Diary) -> None:
    a, b = mg.ones(2, 3), mg.ones(2, 3)
    with observed(diary), pytest.raises(RuntimeError, match="matmul"):
        a @ b
    assert diary.events == [("applying", "matmul"), ("failed", "matmul")]


def test_attached_observers_watch_until_they_are_detached(diary: Diary) -> None:
    attach(diary)
    other = Diary()
    with observed(other):
        detach(diary)
        assert watch.observers == (other,)
    assert watch.observers == (diary,)  # as the block found it
    detach(diary)


def test_an_observer_of_all_threads(diary: Diary) -> None:
    x = mg.ones(2)
    attach(diary, everywhere=True)
    try:
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
    finally:  # even where there are no threads
        detach(diary)
    threading.Thread(target=lambda: x.tanh()).start()
    assert [event[:2] for event in diary.events] == [("applying", "exp"), ("applied", "exp")]


def test_calls_modules_steps_and_walks_are_spans(diary: Diary) -> None:
    layer = mg.nn.Linear(2, 1)
    optimizer = mg.optim.SGD(layer.parameters(), lr=0.1)
    with observed(diary):
        loss = layer(mg.ones(1, 2)).sum()
        loss.backward()
        optimizer.step()
        loss.detach().add_(1)
    spans = [event[1:3] for event in diary.events if event[0] == "entered"]
    assert spans == [
        ("ones", "call"),
        ("Linear", "module"),
        ("backward", "walk"),
        *[("AccumulateGrad", "call")] * 2,
        ("SGD.step", "step"),
        ("add_", "call"),
    ]
    assert sum(event[0] == "left" for event in diary.events) == len(spans)


def test_a_span_also_ends_by_an_exception(diary: Diary) -> None:
    with observed(diary), pytest.raises(KeyError), span("name", "call", diary):
        raise KeyError
    assert diary.events == [("entered", "name", "call", diary), ("left",)]


def test_observers_can_be_combined_or_exclusive(diary: Diary) -> None:
    other = Diary()
    with observed(diary):
        with observed(other):
            assert watch.observers == (diary, other)
        with observed(other, exclusive=True):
            assert watch.observers == (other,)
        assert watch.observers == (diary,)
