"""Subclasses and modes under debuggers and whoever else reads the locals of frames; how functions are exchanged."""

import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import minigrad
from minigrad.compat import overrides
from tests.support.cases import cases
from tests.support.expressions import evaluate
from tests.support.parity import torch

PACKAGE = Path(minigrad.__file__).parent
START = """
import minigrad as mg
from minigrad import nn
from minigrad.compat.overrides import TorchFunctionMode

class Sub(mg.Tensor):
    pass

class Mode(TorchFunctionMode):
    seen = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        Mode.seen += 1
        return func(*args, **(kwargs or {}))

def calls(x):
    # Functions, methods, operators and properties: one of each way in which they are exchanged.
    y = mg.add(x, 1, alpha=2) + mg.cat([x, x])[:2]
    y.relu_().eq_(1)
    y.sum(axis=0), y.shape, y.T, y.exp(), mg.zeros(2), mg.linalg.norm(y), 1 - y, y.tolist()
    y.requires_grad = False
    return nn.functional.softmax(y, 0), nn.Linear(2, 2)(x)

# Under a trace that reads locals, some CPythons fail to import llvmlite and ml_dtypes: they are imported before it.
calls(mg.ones(2).to(mg.bfloat16).float())
x = Sub([1.0, 2.0])
mg.set_traceback_filtering(False)
"""
WATCHED = """
# a trace that reads all locals
import sys

lines = set()

def trace(frame, event, argument):
    lines.add((frame.f_code.co_filename, frame.f_lineno, len(frame.f_locals)))
    return trace

sys.settrace(trace)
calls(x)
with Mode():
    calls(mg.ones(2))
sys.settrace(None)
assert len(lines) > 300 and Mode.seen > 10

# tracebacks with locals
import traceback

def fails(call):
    try:
        call()
    except Exception as error:
        text = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
        assert "kwargs = {}" in text and "overrides.py" in text, text
    else:
        raise AssertionError

other = mg.ones(3)
for call in (lambda: mg.add(x, other), lambda: x * other, lambda: x.mul_(other), lambda: x.eq_(other)):
    fails(call)
    with Mode():
        fails(call)

# autocast under a trace
with mg.autocast("cpu"):
    sys.settrace(trace)
    assert (mg.ones(2, 2) @ mg.ones(2, 2)).dtype is mg.bfloat16
    calls(x)
    sys.settrace(None)
"""


def test_somebody_reads_the_locals() -> None:
    environment = {**os.environ, "MINIGRAD_TRACEBACK_FILTERING": "off"}
    done = subprocess.run(
        [sys.executable, "-c", START + WATCHED], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


# How functions are exchanged --------------------------------------------------------------------------------

NATIVE = "minigrad.compat.native"  # C++ functions' names: they call functions that ask
PUBLIC = {name: public for public, (name, _) in overrides._table().items()}


class Sub(minigrad.Tensor):
    """A class of tensors that says nothing."""


class Minus(overrides.TorchFunctionMode):
    """Answers for all functions."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return -1, func, args, kwargs


def forget_classes() -> None:
    """As if no class that answers had come up."""
    overrides._open(classes=-overrides._counts["classes"])


@pytest.fixture(autouse=True)
def nobody_met() -> Iterator[None]:
    yield
    forget_classes()


def named(name: str) -> Any:
    """A public function, as programs get at it."""
    value: Any = minigrad
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def test_each_public_function_asks() -> None:
    x = minigrad.ones(2)
    assert len(PUBLIC) > 900
    for name in PUBLIC:
        args = (x, 0)[: 1 + name.endswith("__set__")] if name.endswith(("et__", "delete__")) else ()
        with Minus():
            public = named(name)
            answer = public(*args)
        if not name.endswith(("__set__", "__delete__")):  # which Python lets return nothing
            number, func, *_ = answer
            assert number == -1 and overrides.resolve_name(func) is not None
            assert func == public or name.rpartition(".")[2] in overrides._OPERATORS


@cases("place", ["", "linalg", "fft", "special", "nn.functional", "nn.init"])
def test_all_of_pytorchs_functions_ask(place: str) -> None:
    ours, theirs = (named(f"torch.{place}".rstrip(".")) if place else minigrad), torch
    for part in place.split(".") if place else ():
        theirs = getattr(theirs, part)
    names = set(dir(ours)) & set(dir(theirs)) - overrides._IGNORED
    functions = {name: getattr(ours, name) for name in names if name[0] != "_"}
    functions = {name: f for name, f in functions.items() if type(f) is FunctionType and f.__module__ != NATIVE}
    overridable = {f for place in torch.overrides.get_overridable_functions().values() for f in place}
    silent = [name for name, f in functions.items() if f not in overrides._table()]
    assert [name for name in silent if getattr(theirs, name) in overridable] == []


def test_functions_stay_the_objects_that_they_are() -> None:
    """In tables, from function to handler, and in variables of a program that had them before."""
    before = {name: named(name) for name in PUBLIC}
    handlers = {function: name for name, function in before.items()}
    with Minus():
        for name, function in before.items():
            now = named(name)
            assert now == function and function == now and handlers[now] == handlers[function]
            assert now is function or (name.startswith("torch.Tensor.") and not hasattr(function, "is_border"))
            assert now.__name__ == function.__name__ or name.endswith("et__")
            assert now.__module__ == function.__module__ if hasattr(function, "__module__") else True
            assert now.__doc__ == function.__doc__ or name.endswith("et__")
    functions = {name: function for name, function in before.items() if type(function) is FunctionType}
    assert [name for name, function in functions.items() if named(name) is not function] == []


def test_a_function_in_a_variable_asks() -> None:
    add, softmax, zeros, shape = minigrad.add, minigrad.nn.functional.softmax, minigrad.zeros, minigrad.Tensor.shape
    get: Any = shape
    x = minigrad.ones(2)
    with Minus():
        for function, args in [(add, (x, 1)), (softmax, (x,)), (zeros, (2,)), (get.__get__, (x,))]:
            assert function(*args) == (-1, function, args, {})
        for options in ({"axis": 0}, {"dim": 0, "out": x}, {"keepdims": True, "axis": 0, "dtype": None}):
            assert minigrad.sum(x, **options) == (-1, minigrad.sum, (x,), options)  # as it was written


class Duck:
    """No tensor: it tells how a function was called."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func, args, kwargs


def test_the_first_call_is_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {"sum": "t.sum(D, axis=0, out=out)", "add": "x + D", "add_": "x.__iadd__(D)", "sub": "x - D"}
    calls |= {"__getitem__": "x[1, D]", "normal": "t.normal(D, D)", "linear": "t.nn.functional.linear(x, D)"}
    names = {"t": minigrad, "D": Duck(), "x": minigrad.ones(2), "out": minigrad.zeros(2)}
    for closings in (100, 0):  # functions do not ask yet, or still ask because of modes
        for name, call in calls.items():
            monkeypatch.setattr(overrides, "_closings", closings)
            forget_classes()
            first, again = (evaluate(call, **names) for _ in range(2))
            assert first == again and first[0].__name__ == name
    forget_classes()
    with overrides.BaseTorchFunctionMode():  # in which the class is met
        answers = [evaluate(call, **names) for call in ("t.exp(D)", "x + D")]
    assert [answer[0].__name__ for answer in answers] == ["exp", "add"]


@cases("name", ["add", "nn.functional.mse_loss", "cat", "Tensor.matmul"])
def test_errors_are_those_of_the_function_or_of_the_handler(name: str) -> None:
    class Wrong(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            try:
                raise KeyError("within")
            except KeyError as error:
                raise TypeError("the handler's own") from error

    function, layer = named(f"torch.{name}"), minigrad.nn.Linear(2, 2)
    with pytest.raises((TypeError, AttributeError)) as before:
        function(minigrad.ones(2), layer)
    with overrides.BaseTorchFunctionMode(), pytest.raises(type(before.value), match=re.escape(str(before.value))):
        function(minigrad.ones(2), layer)
    with Wrong(), pytest.raises(TypeError, match="the handler's own"):
        function(minigrad.ones(2), layer)


def test_threads_meet_the_first_class_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    interval = sys.getswitchinterval()
    results, start = [], threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        if number % 2:
            results.append(named("torch.add")(minigrad.ones(2), Duck())[0].__name__)
        else:
            results.append(type(Sub([1.0]) + 1).__name__)

    monkeypatch.setattr(overrides, "_closings", 100)
    forget_classes()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(results) == ["Sub"] * 4 + ["add"] * 4


def test_another_thread_meets_the_first_class_while_a_call_runs() -> None:
    """A call that began before functions asked is repeated if another thread has met a class meanwhile."""

    class Late(Duck):
        @property
        def array(self) -> Any:
            overrides._open(classes=1)  # as the other thread does
            raise AttributeError

    for call in ("t.add(x, D)", "x + D", "x[D]", "t.cat([x, D])"):
        forget_classes()
        assert evaluate(call, t=minigrad, x=minigrad.ones(2), D=Late())[0].__name__ in (
            "add",
            "getitem",
            "__getitem__",
            "cat",
        )


def test_modes_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    class Twice(overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            return result * 2 if isinstance(result, minigrad.Tensor) else result

    monkeypatch.setattr(overrides, "_closings", 100)
    forget_classes()
    x, own = minigrad.ones(2), vars(minigrad.Tensor.__base__)["__add__"]
    for i in range(120):
        with Twice():
            assert minigrad.add(x, 1).tolist() == [4, 4] and (x + 1).tolist() == [4, 4]
            assert vars(minigrad.Tensor.__base__)["__add__"] is not own
        assert minigrad.add(x, 1).tolist() == [2, 2] and (x + 1).tolist() == [2, 2]
        assert i > 50 or vars(minigrad.Tensor.__base__)["__add__"] is own


def test_a_program_s_own_method_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def own(self: Any) -> str:
        return "own"

    with overrides.BaseTorchFunctionMode():
        monkeypatch.setattr(minigrad.Tensor, "exp_", own)
        monkeypatch.setattr(minigrad.Tensor, "ndim", property(own))
    x: Any = minigrad.ones(2)
    assert (x.exp_(), x.ndim) == ("own", "own")


def test_functions_are_pickled_while_they_ask() -> None:
    functions = [minigrad.add, minigrad.nn.functional.softmax, minigrad.zeros]
    x = minigrad.ones(2)
    with overrides.BaseTorchFunctionMode():
        functions += [minigrad.Tensor.exp_, minigrad.Tensor.__getitem__, minigrad.Tensor.relu]
        for function in functions:
            assert pickle.loads(pickle.dumps(function)) is function
        assert pickle.loads(pickle.dumps(x.exp))().tolist() == x.exp().tolist()


def test_threads_within_a_mode_and_without_it() -> None:
    results: list[Any] = []
    x = minigrad.ones(2)

    def work() -> None:
        for _ in range(200):
            results.append(minigrad.add(x, 1).tolist())

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        with Minus():
            assert minigrad.add(x, 1)[0] == -1
    thread.join()
    assert results == [[2, 2]] * 200


def test_an_exchanged_method_is_a_method() -> None:
    x: Any = minigrad.ones(2)
    with overrides.BaseTorchFunctionMode():
        exp: Any = minigrad.Tensor.exp
        assert type(exp) is not FunctionType and exp.__code__.co_name == "function"
        assert repr(exp).startswith("<function exp") and x.exp.__self__ is x
        assert exp(x).tolist() == x.exp().tolist()
