"""Operators that programs register: the same numbers and gradients as PyTorch's."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

import minigrad
from minigrad.compat import library
from minigrad.compat.names import find
from tests.support.cases import cases
from tests.support.parity import torch


def both() -> list[tuple[Any, Any, Any]]:
    """Either library, its ``library`` and its ``ops``."""

    class Ops:
        def __getattr__(self, name: str) -> Any:
            return find("minigrad.ops", name)

    return [(minigrad, library, Ops()), (torch, torch.library, torch.ops)]


@cases("side", [0, 1])
def test_an_operator_with_a_gradient(side: int) -> None:
    lib, lb, ops = both()[side]
    space = f"test{uuid.uuid4().hex}"

    @lb.custom_op(f"{space}::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        return x * x * x

    cube.register_fake(lambda x: lib.empty_like(x))
    cube.register_autograd(
        lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    called = getattr(getattr(ops, space), "cube")(x)  # noqa: B009 (a name as of other programs)
    called.sum().backward()
    assert called.tolist() == [1, 8] and x.grad.tolist() == [3, 12] and cube(x.detach()).tolist() == [1, 8]
    assert tuple(cube(lib.empty(3, device="meta")).shape) == (3,)


@cases("side", [0, 1])
def test_a_library_of_operators(side: int) -> None:
    lib, lb, ops = both()[side]
    space = f"test{uuid.uuid4().hex}"
    defined = lb.Library(space, "DEF")
    defined.define("twice(Tensor x) -> Tensor")
    defined.impl("twice", lambda x: x * 2, "CPU")
    assert getattr(ops, space).twice(lib.ones(2)).tolist() == [2, 2]
    assert getattr(ops, space).twice.default(lib.ones(2)).tolist() == [2, 2]
    with pytest.raises(AttributeError):
        _ = getattr(ops, space).thrice


@cases("side", [0, 1])
def test_operators_of_the_core(side: int) -> None:
    lib, _, ops = both()[side]
    table = {ops.aten.add: "add", ops.aten.mm.default: "mm"}
    assert (table[ops.aten.add], table[ops.aten.mm.default]) == ("add", "mm")
    x = lib.ones(2, 2)
    assert ops.aten.mm(x, x).tolist() == [[2, 2], [2, 2]] and ops.aten.add(x, x).tolist() == [[2, 2], [2, 2]]
    assert ops.aten.relu(-x).tolist() == [[0, 0], [0, 0]]
