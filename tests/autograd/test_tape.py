"""The tape records operators, functions and ``apply`` alike; rules get the values that they name."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd.calls import apply
from minigrad.ops import elementwise
from minigrad.ops.op import Op
from tests.support.cases import cases, raises

Make = Callable[[str], Any]
_VALUES = [0.5, 0.25, 2.0, 1.5]


def _leaf(device: str, dtype: Any = mg.float32) -> Any:
    return mg.tensor(_VALUES, dtype=dtype, device=device, requires_grad=True)


def _changed_view(device: str) -> Any:
    """A view whose memory was changed through its base after the view was created."""
    base = _leaf(device) * 1.0
    view = base[:]
    base.mul_(0.5)
    return view


MAKERS: dict[str, Make] = {
    "leaf": _leaf,
    "result": lambda device: _leaf(device) * 0.5,
    "view": lambda device: _leaf(device)[:],
    "changed view": _changed_view,
    "constant": lambda device: mg.tensor(_VALUES, device=device),
    "parameter": lambda device: mg.nn.Parameter(mg.tensor(_VALUES, device=device)),
    "float64": lambda device: _leaf(device, mg.float64),
    "float16": lambda device: _leaf(device, mg.float16),
    "int64": lambda device: mg.tensor([1, 2, 3, 4], device=device),
    "bool": lambda device: mg.tensor([True, False, True, True], device=device),
    "no axes": lambda device: mg.tensor(0.5, device=device, requires_grad=True),
    "column": lambda device: mg.tensor([[0.5], [2.0]], device=device, requires_grad=True),
}


def _recorded(compute: Callable[..., Any], makers: tuple[Make, ...], device: str) -> dict[str, Any]:
    """The result of a function on new operands, its record, and the leaves' gradients."""
    operands = [make(device) for make in makers]
    out = compute(*operands)
    facts: dict[str, Any] = {"array": out.detach().cpu().numpy(), "dtype": out.dtype}
    if out.requires_grad:
        node = out.grad_fn
        facts["node"] = repr(node), [(n and n.name(), slot) for n, slot in node.next_functions]
        facts["edges"] = [(slot, shape, dtype) for _, slot, shape, dtype in node.edges]
        facts["kept"] = len(node.saved), len(node.versions), node.out is None
        needed: list[Any] = [o for o in operands if isinstance(o, mg.Tensor) and o.requires_grad]
        for o in needed:
            o.retain_grad()
        out.backward(mg.full_like(out, 3.0))
        facts["grads"] = [o.grad.cpu().numpy() for o in needed]
    return facts


def _assert_same(one: dict[str, Any], other: dict[str, Any], what: str) -> None:
    assert one.keys() == other.keys(), what
    for key in one.keys() - {"array", "grads"}:
        assert one[key] == other[key], f"{what}: {key}"
    np.testing.assert_array_equal(one["array"], other["array"], err_msg=what)
    for a, b in zip(one.get("grads", []), other.get("grads", []), strict=True):
        assert a.dtype == b.dtype, what
        np.testing.assert_array_equal(a, b, err_msg=what)


@cases("name", ["exp", "tanh", "square", "sqrt", "relu", "floor", "isnan"])
def test_a_method_is_apply(name: str, device: str) -> None:
    of: Op = getattr(elementwise, name)
    for operand, make in MAKERS.items():
        method = _recorded(lambda x: getattr(mg, name)(x), (make,), device)
        _assert_same(method, _recorded(lambda x: apply(of, (x,)), (make,), device), operand)


@cases("first", ["leaf", "changed view", "constant", "parameter", "float64", "column"])
@cases("name", ["add", "mul", "truediv", "lt"])
def test_an_operator_is_apply(name: str, first: str, device: str) -> None:
    of: Op = getattr(elementwise, {"truediv": "div"}.get(name, name))
    numbers: dict[str, Make] = {"float": lambda device: 1.5, "int": lambda device: 2}
    for second, make in {**MAKERS, **numbers}.items():
        makers = (MAKERS[first], make)
        sign = _recorded(lambda a, b: getattr(operator, name)(a, b), makers, device)
        _assert_same(sign, _recorded(lambda a, b: apply(of, (a, b)), makers, device), f"{first} and {second}")


def test_errors_name_the_op_and_its_operands() -> None:
    with pytest.raises(RuntimeError, match=r"mul: .*\(given \(4,\) float32, \(3,\) float32\)"):
        apply(elementwise.mul, (mg.ones(4), mg.ones(3)))
    raises(TypeError, r"argument 'input' .* must be Tensor, not list", lambda: apply(elementwise.exp, ([1.0],)))


def test_every_name_that_a_rule_may_use_is_found() -> None:
    events: list[Any] = []

    def forward(x: Any, scale: Any, *rest: Any) -> Any:
        return x * scale + sum(rest)

    def of_rest(g: Any, out: Any, which: Any, shapes: Any, scale: Any) -> Any:
        events.append((out.tolist(), which, shapes, scale))
        return g

    scaled = Op(forward)
    scaled.gradient(x=lambda g, shape, arguments: g.reshape(shape) * arguments[1], rest=of_rest)
    leaves: list[Any] = [mg.tensor([n], requires_grad=True) for n in (1.0, 2.0, 3.0)]
    x, first, second = leaves
    out = scaled(x, 2.0, first, second)
    out.backward(mg.tensor([1.0]))
    assert events == [([7.0], 0, [(1,), (1,)], 2.0), ([7.0], 1, [(1,), (1,)], 2.0)]
    assert x.grad.tolist() == [2.0] and second.grad.tolist() == [1.0]
