"""torch.testing.assert_close, autograd.Variable, and types for annotations."""

from typing import Any

import pytest

import minigrad as mg
from minigrad.testing import assert_close
from tests.support.cases import cases, raises
from tests.support.expressions import evaluate, split
from tests.support.parity import torch

PAIRS = """
t.ones(2), t.ones(2) ; t.ones(2), t.ones(2) + 1e-6 ; t.ones(2), t.ones(2) + 1e-4 ; t.ones(2), t.ones(3)
t.ones(2), t.ones(1, 2) ; t.ones(2), t.ones(2, dtype=t.float64) ; t.tensor([math.nan]), t.tensor([math.nan])
t.tensor([math.inf, 1.0]), t.tensor([math.inf, 1.0]) ; t.tensor([1, 2]), t.tensor([1, 3])
t.tensor([True]), t.tensor([True]) ; t.zeros(0), t.zeros(0) ; [t.ones(2), 1.0], [t.ones(2), 1.0]
{"a": t.ones(2)}, {"a": t.zeros(2)} ; {"a": t.ones(2)}, {"b": t.ones(2)} ; [t.ones(2)], [t.ones(2), t.ones(2)]
1.0, 1.0 + 1e-9 ; 1.0, 1.1 ; 1.0, 1.0 + 1e-6 ; 3, 3 ; None, None ; 1j, 1j + 1e-9
t.ones(2, dtype=t.complex64), t.ones(2, dtype=t.complex64) + 1e-3j ; t.tensor([2**60]), t.tensor([2**60 + 1])
t.tensor([0], dtype=t.uint8), t.tensor([255], dtype=t.uint8) ; t.tensor([1.0]), t.tensor([math.inf])
"""
CASES: list[tuple[str, dict[str, Any]]] = [
    *((pair, {}) for pair in split(PAIRS)),
    ("t.ones(2), t.ones(2) + 1e-4", {"rtol": 1e-3, "atol": 0.0}),
    ("t.ones(2), t.ones(2, dtype=t.float64)", {"check_dtype": False}),
    ("t.tensor([math.nan]), t.tensor([math.nan])", {"equal_nan": True}),
    ("t.zeros(3, 2).t(), t.zeros(2, 3)", {"check_stride": True}),
    ("t.ones(2, dtype=t.bfloat16), t.ones(2) * 1.01", {"check_dtype": False}),
    ("t.tensor(1j * math.nan), t.tensor(1j * math.nan)", {"equal_nan": True}),
    *[
        (f"t.ones(2, dtype=t.{dtype}), t.ones(2, dtype=t.{dtype}) * {factor}", {})
        for dtype in ("float16", "bfloat16", "complex64", "complex128")
        for factor in (1, 1 + 1e-8, 1.002, 1.01, 1.1)
    ],
]


@cases("pair, keywords", CASES)
def test_it_is_as_strict_as_pytorchs(pair: str, keywords: dict[str, Any]) -> None:
    def passes(library: Any) -> bool:
        try:
            library.testing.assert_close(*evaluate(pair, t=library), **keywords)
        except AssertionError:
            return False
        return True

    assert passes(mg) == passes(torch)


def test_the_message_has_the_position() -> None:
    x = mg.zeros(2, 3)
    y = x.clone()
    y[1, 2] = 5.0
    with pytest.raises(AssertionError, match=r"1 / 6(.|\n)*5\.0 at index \(1, 2\)(.|\n)*item \['w'\]"):
        assert_close({"w": y}, {"w": x})
    raises(AssertionError, r"^mine$", lambda: assert_close(y, x, msg="mine"))
    raises(AssertionError, r"^mine: Tensor", lambda: assert_close(y, x, msg=lambda text: f"mine: {text}"))
    raises(ValueError, "both", lambda: assert_close(x, x, rtol=1.0))


def test_variable_makes_a_leaf_on_the_same_memory() -> None:
    from minigrad.autograd import Variable

    x = mg.ones(2)
    leaf = Variable(x, requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad and not x.requires_grad
    leaf.data[0] = 5
    assert x[0] == 5 and not Variable(leaf * 2).requires_grad and Variable(leaf * 2).grad_fn is None
    assert type(leaf) is mg.Tensor and isinstance(x, Variable) and not isinstance(3, Variable)
    assert Variable(x, volatile=True) is not x
    raises(TypeError, "list", lambda: Variable([1.0]))
    raises(ValueError, "volatile", lambda: Variable(x, requires_grad=True, volatile=True))
    assert mg.autograd.variable.Variable is Variable


def test_types() -> None:
    from minigrad.nn.common_types import _size_2_t
    from minigrad.nn.modules.utils import _pair, _reverse_repeat_tuple, _single
    from minigrad.types import Device, Number

    assert isinstance(3, Number) and isinstance("cpu", Device) and isinstance((1, 2), tuple) and _size_2_t
    assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2) and _single(1) == (1,)
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
