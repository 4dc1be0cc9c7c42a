"""Grad mode and anomaly mode: where they begin, and that they always end."""

from collections.abc import Iterator
from typing import Any

import pytest

import minigrad
from minigrad import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from minigrad.autograd import detect_anomaly, set_detect_anomaly
from minigrad.ops.op import watch
from tests.support.cases import cases, raises


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    assert is_grad_enabled() and not watch.observers


def recorded() -> bool:
    return (minigrad.ones(1, requires_grad=True) * 2).requires_grad


def test_contexts_nest() -> None:
    with no_grad():
        assert not recorded()
        with enable_grad():
            assert recorded()
            with set_grad_enabled(False):
                assert not recorded()
            assert recorded()
        assert not recorded()
    mode = no_grad()
    with mode, mode:
        assert not recorded()
    with mode:
        assert not recorded()
        x = minigrad.ones(2, requires_grad=True)  # leaves can be made
    assert recorded() and x.requires_grad and (x * 2).requires_grad
    set_grad_enabled(False)
    assert not recorded()
    set_grad_enabled(True)
    assert recorded() and minigrad.inference_mode(mode=recorded)() is False
    with minigrad.inference_mode(mode=False):
        assert recorded()


@cases("mode", [no_grad, enable_grad, lambda: set_grad_enabled(False), detect_anomaly])
def test_exceptions_end_it(mode: Any) -> None:
    with pytest.raises(ZeroDivisionError), mode():
        1 / 0
    assert is_grad_enabled() and not watch.observers


def test_decorators() -> None:
    assert no_grad()(recorded)() is False and no_grad(recorded)() is False
    assert set_grad_enabled(False)(recorded)() is False and is_grad_enabled()
    with no_grad():
        assert enable_grad()(recorded)() is True and enable_grad(recorded)() is True
        assert not is_grad_enabled()

    @no_grad()
    def named(a: int, b: int = 2) -> int:
        """Text."""
        return a + b

    raises(ZeroDivisionError, None, no_grad()(lambda: 1 / 0))
    assert is_grad_enabled()
    assert (named.__name__, named.__doc__, named(1, b=3)) == ("named", "Text.", 4)


def test_anomaly_mode() -> None:
    with detect_anomaly():
        assert watch.observers
        with set_detect_anomaly(False):
            assert not watch.observers
        assert watch.observers
    context = detect_anomaly()
    assert not watch.observers, "making one changes nothing until it is entered"
    with context:
        assert watch.observers
    set_detect_anomaly(True)
    assert watch.observers
    set_detect_anomaly(False)


def test_an_exception_thrown_into_a_decorated_generator_reaches_its_body() -> None:
    log: list[Any] = []

    @no_grad()
    def steady() -> Iterator[int]:
        number = 0
        try:
            while True:
                try:
                    yield number
                except LookupError as error:
                    log.append((str(error), is_grad_enabled()))
                    number += 10
        finally:
            log.append(("closed", is_grad_enabled()))

    generator: Any = steady()
    assert next(generator) == 0
    assert generator.throw(LookupError("again")) == 10 and is_grad_enabled()
    raises(ZeroDivisionError, "not caught", lambda: generator.throw(ZeroDivisionError("not caught")))
    assert log == [("again", False), ("closed", False)] and is_grad_enabled()
    second: Any = steady()
    next(second)
    second.close()
    assert log[2:] == [("closed", False)] and is_grad_enabled()


def test_a_decorated_class_warns() -> None:
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @no_grad()
        class Maker:
            def __init__(self) -> None:
                self.recorded = recorded()

    assert not Maker().recorded
