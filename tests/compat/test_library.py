"""Operators registered by programs: the same numbers and gradients as in PyTorch."""

import uuid
from typing import Any

import pytest

import minigrad
from minigrad.compat import library
from minigrad.compat.names import find
from tests.support.parity import torch


class Ops:
    """minigrad's operators, under PyTorch's names."""

    def __getattr__(self, name: str) -> Any:
        return find("minigrad.ops", name)


def parts(t: Any) -> tuple[Any, Any]:
    """``library`` and ``ops`` of either library."""
    return (library, Ops()) if t is minigrad else (t.library, t.ops)


def test_an_operator_with_a_gradient(t: Any) -> None:
    lb, ops = parts(t)
    space = f"test{uuid.uuid4().hex}"

    @lb.custom_op(f"{space}::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        return x * x * x

    cube.register_fake(lambda x: t.empty_like(x))
    cube.register_autograd(
        lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = t.tensor([1.0, 2.0], requires_grad=True)
    y = getattr(getattr(ops, space), "cube")(x)  # noqa: B009 (a name as of other programs)
    y.sum().backward()
    assert y.tolist() == [1, 8] and x.grad.tolist() == [3, 12] and cube(x.detach()).tolist() == [1, 8]
    assert tuple(cube(t.empty(3, device="meta")).shape) == (3,)


def test_a_library_of_operators(t: Any) -> None:
    lb, ops = parts(t)
    space = f"test{uuid.uuid4().hex}"
    defined = lb.Library(space, "DEF")
    defined.define("twice(Tensor x) -> Tensor")
    defined.impl("twice", lambda x: x * 2, "CPU")
    assert getattr(ops, space).twice(t.ones(2)).tolist() == [2, 2]
    assert getattr(ops, space).twice.default(t.ones(2)).tolist() == [2, 2]
    with pytest.raises(AttributeError):
        _ = getattr(ops, space).thrice


def test_operators_of_the_core(t: Any) -> None:
    _, ops = parts(t)
    table = {ops.aten.add: "add", ops.aten.mm.default: "mm"}
    assert (table[ops.aten.add], table[ops.aten.mm.default]) == ("add", "mm")
    x = t.ones(2, 2)
    assert ops.aten.mm(x, x).tolist() == [[2, 2], [2, 2]] and ops.aten.add(x, x).tolist() == [[2, 2], [2, 2]]
    assert ops.aten.relu(-x).tolist() == [[0, 0], [0, 0]]
