"""Classes that answer for functions, modes that see them, and tensors of a program's own classes."""

import copy
import inspect
import operator
import pickle
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

import minigrad
from minigrad import nn, tracebacks
from minigrad.compat import overrides
from tests.support.cases import cases
from tests.support.expressions import evaluate, split
from tests.support.parity import torch

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge"]
OPERATORS += ["iadd", "isub", "imul", "itruediv"]


def both() -> list[tuple[Any, Any]]:
    """Either library, with its overrides."""
    return [(minigrad, overrides), (torch, torch.overrides)]


class Duck:
    """No tensor: it tells which function was called."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func.__name__, [t.__name__ for t in types]


class Loud(Duck):
    """A class to be asked before Duck."""


class Sub(minigrad.Tensor):
    """A class of tensors that says nothing: results are of it."""


class Tagged(minigrad.Tensor):
    """Hands a tag on to its results."""

    def __new__(cls, data: Any, tag: str = "") -> Any:
        return super().__new__(cls, data)

    def __init__(self, data: Any, tag: str = "") -> None:
        super().__init__()
        self.tag = tag

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs)
        if isinstance(result, Tagged):
            result.tag = "".join(getattr(a, "tag", "") for a in args)
        return result


def watched(lib: Any, theirs: Any, call: str) -> list[str]:
    """The functions that a mode sees during a call, by the last parts of their names."""
    names: list[str] = []
    x = lib.tensor([1.0, 2.0])

    class Mode(theirs.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(theirs.resolve_name(func).removeprefix("torch."))
            return func(*args, **(kwargs or {}))

    with Mode():
        evaluate(call, t=lib, x=x, operator=operator)
    return [name.replace("Tensor.", "").replace("functional.", "").replace("special.", "") for name in names]


CALLS = """
t.add(x, 1) ; t.special.erf(x) ; t.linalg.norm(x) ; t.fft.fft(x) ; t.nn.functional.relu(x) ; t.zeros(2) ; t.cat([x, x])
t.nn.functional.cross_entropy(x, t.tensor(0)) ; t.einsum("i,i->", x, x) ; t.from_numpy(x.numpy()) ; t.is_tensor(x)
x[0] ; x.__setitem__(0, 2.0) ; x.view(1, 2).shape ; x.dtype, x.device, x.requires_grad, x.T, x.grad
setattr(x, "requires_grad", True) ; setattr(x, "data", x) ; len(x), repr(x), x.tolist(), x.sum().item(), x.numpy()
x.exp_().add_(1).softmax(0) ; -x ; +x ; abs(x) ; 2.0 + x ; 2.0 - x ; 2.0 * x ; 2.0 ** x ; 2.0 < x
"""
CALLED = [*split(CALLS), *(f"operator.{name}(x, x + 0)" for name in OPERATORS)]


@cases("call", CALLED)
def test_modes_see_the_functions_that_they_see_in_pytorch(call: str) -> None:
    names, expected = (watched(*pair, call) for pair in both())
    assert names == expected


def test_functions_show_their_signature_within_a_mode_and_after_it() -> None:
    functions = [minigrad.abs, minigrad.Tensor.detach_, minigrad.Tensor.type, minigrad.nn.functional.linear]
    functions += [value for value in vars(minigrad.Tensor).values() if type(value) is FunctionType]
    before = [inspect.signature(function) for function in functions]
    with overrides.BaseTorchFunctionMode():
        assert [inspect.signature(function) for function in functions] == before
    assert [inspect.signature(function) for function in functions] == before


@cases("lib", ["minigrad", "torch"])
def test_modes_within_modes(lib: str) -> None:
    library, theirs = both()[lib == "torch"]
    order = []

    class Mode(theirs.TorchFunctionMode):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            order.append(self.name)
            return func(*args, **(kwargs or {})) * 2

    with Mode("outer"), Mode("inner"):
        library.ones(2)
    assert order == ["inner", "outer", "outer"]


# Classes that are no tensors ------------------------------------------------------------------------------

D = Duck()
DUCKS = """
x + D ; D + x ; x - D ; t.add(x, D) ; t.cat([D, D]) ; t.mul(x, other=D) ; t.nn.functional.linear(x, D) ; x.matmul(D)
x @ D ; x[D] ; t.exp(D) ; x < D ; x.add_(D) ; t.stack([D, Loud()]) ; t.stack([Loud(), D])
"""


@pytest.fixture(autouse=True)
def nobody_met() -> Iterator[None]:
    """As if no class that answers had come up."""
    yield
    overrides._open(classes=-overrides._counts["classes"])


@cases("call", split(DUCKS))
def test_what_is_no_tensor_answers(call: str) -> None:
    overrides._open(classes=-overrides._counts["classes"])
    first, again, expected = (evaluate(call, t=t, x=t.ones(2), D=D, Loud=Loud) for t in (minigrad, minigrad, torch))
    assert first == again == expected


def test_nobody_answers() -> None:
    class Mute:
        @classmethod
        def __torch_function__(cls, *args: Any) -> Any:
            return NotImplemented

    for lib in both():
        with pytest.raises(TypeError, match=r"for 'torch.add'; all __torch_function__ handlers returned NotImpl"):
            lib[0].add(lib[0].ones(2), Mute())
        with pytest.raises(TypeError, match="unsupported operand"):
            lib[0].ones(2) + Mute()


def test_the_answer_is_asked_for_with_the_function_itself() -> None:
    shape: Any = minigrad.Tensor.shape
    handlers = {minigrad.add: "add", minigrad.nn.functional.relu: "relu", shape.__get__: "shape"}

    class Table(minigrad.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return handlers.get(func, "another")

    table: Any = Table([1.0])
    assert minigrad.add(table, 1) == "add" and nn.functional.relu(table) == "relu" and table.shape == "shape"


def test_errors_are_short_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracebacks, "_filtering", True)
    Sub([1.0])
    with pytest.raises(RuntimeError, match="must match the size") as caught:
        minigrad.ones(2) + minigrad.ones(3)
    assert [entry.name for entry in caught.traceback][2:] == []


# Classes of tensors ---------------------------------------------------------------------------------------


def test_results_are_of_the_class() -> None:
    x = Sub([1.0, 2.0])
    assert type(x) is Sub
    for result in (x + 1, 1 - x, minigrad.ones(2) * x, x.sum(), x[0], x.detach(), x.data, x.exp_(), x.double()):
        assert type(result) is Sub
    values, indices = x.max(0)
    assert type(values) is Sub and type(indices) is Sub and [type(part) for part in x] == [Sub, Sub]
    assert type(minigrad.stack([x, minigrad.ones(2)])) is Sub and x.shape == (2,)
    assert type(x.shape) is minigrad.Size and repr(x).startswith("Sub([")
    with overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is minigrad.Tensor


def test_a_class_hands_on_what_it_likes() -> None:
    x, y = Tagged([1.0], "x"), Tagged([2.0], "y")
    assert (x + y).tag == "xy" and (x + minigrad.ones(1)).tag == "x" and copy.deepcopy(x).tag == "x"
    again = pickle.loads(pickle.dumps(x))
    assert (type(again), again.tag) == (Tagged, "x")


def test_as_subclass_keeps_history_and_memory() -> None:
    leaf = minigrad.ones(2, requires_grad=True)
    x = leaf.as_subclass(Sub)
    assert not x.is_leaf
    (x * x).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [2, 2]
    plain = minigrad.ones(2)
    plain.as_subclass(Sub)[0] = 3
    assert plain.tolist() == [3, 1]
    made = minigrad.Tensor._make_subclass(Sub, plain, True)
    assert made.requires_grad and made.is_leaf and type(x.as_subclass(minigrad.Tensor)) is minigrad.Tensor


def test_parameters() -> None:
    class Own(nn.Parameter):
        pass

    class OnManifold(nn.Parameter):
        def __new__(cls, data: Any, manifold: str = "") -> Any:
            made = super().__new__(cls, data)
            made.manifold = manifold  # type: ignore[attr-defined]
            return made

    assert OnManifold(minigrad.ones(2), manifold="sphere").manifold == "sphere"
    own = Own(minigrad.ones(2))
    assert type(own + 1) is minigrad.Tensor  # parameters answer for nothing
    assert repr(own).startswith("Parameter containing:\nOwn([")
    parameter: Any = nn.Parameter(Tagged([1.0], "x"))
    assert type(parameter) is Tagged and isinstance(parameter, nn.Parameter)
    assert not isinstance(Tagged([1.0]), nn.Parameter)
    module = nn.Module()
    module.weight = parameter
    assert list(module.state_dict()) == ["weight"]
    (parameter * 3).sum().backward()
    assert parameter.grad.tolist() == [3]


@cases("lib", [minigrad, torch])
def test_tensor_called_is_a_tensor_of_floats_or_another_s(lib: Any) -> None:
    x = lib.tensor([1, 2])
    assert lib.Tensor(x).tolist() == [1, 2] and str(lib.Tensor(x).dtype).endswith("int64")
    assert lib.Tensor([1, 2]).sum().item() == 3.0 and tuple(lib.Tensor(2, 3).shape) == (2, 3)
    assert tuple(lib.Tensor(lib.Size([2])).shape) == (2,) and tuple(lib.Tensor().shape) == (0,)


# Helpers --------------------------------------------------------------------------------------------------


def test_helpers() -> None:
    @overrides.wrap_torch_function(lambda a: (a,))
    def double(a: Any) -> Any:
        return a * 2

    shape: Any = minigrad.Tensor.shape
    assert double(2) == 4 and double(D) == ("double", ["Duck"]) and overrides.has_torch_function((1, D))
    assert overrides.has_torch_function_variadic(1, Sub([1.0]))
    assert not overrides.has_torch_function_unary(minigrad.ones(2))
    assert [overrides.is_tensor_like(v) for v in (D, minigrad.ones(2), 1)] == [True, True, False]
    assert overrides.is_tensor_method_or_property(shape.__get__)
    assert overrides.get_testing_overrides()[minigrad.add](1, 2) == -1
    assert minigrad.is_tensor in overrides.get_ignored_functions()
    assert minigrad.add in overrides.get_overridable_functions()[minigrad]
