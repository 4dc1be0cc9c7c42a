"""torch.testing.assert_close, autograd.Variable, and types for annotations."""

import importlib
from typing import Any

import numpy as np
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


def test_the_text_tells_where() -> None:
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


DTYPES = "bool uint8 int16 int64 float16 bfloat16 float32 float64 complex64 complex128"
OPTIONS: list[dict[str, Any]] = [
    *({}, {"low": 0}, {"low": 0.4, "high": 1.6}, {"low": -1e300, "high": 1e300}, {"noncontiguous": True}),
    *({"exclude_zero": True, "low": -1, "high": 2}, {"memory_format": "channels_last"}, {"requires_grad": True}),
    *({"low": 2, "high": 1}, {"low": float("nan")}, {"low": 1e300, "high": float("inf")}),
    {"noncontiguous": True, "memory_format": "channels_last"},
]


@cases("name", DTYPES.split())
@cases("options", OPTIONS)
def test_make_tensor(name: str, options: dict[str, Any]) -> None:
    def program(t: Any) -> Any:
        keywords = {k: getattr(t, v) if isinstance(v, str) else v for k, v in options.items()}
        t.manual_seed(3)
        make = importlib.import_module(f"{t.__name__}.testing").make_tensor
        tensor = make((2, 3, 4, 2), dtype=getattr(t, name), device="cpu", **keywords)
        scalars = [make(dtype=tensor.dtype, device="cpu"), make(3, 0, dtype=tensor.dtype, device="cpu")]
        steps = None if "memory_format" in options else tensor.stride()  # here memory has one order
        return [tensor.detach().to(t.complex128), steps, tensor.requires_grad, *(s.shape for s in scalars)]

    try:
        expected = program(torch)
    except ValueError:
        raises(ValueError, r"\S", lambda: program(mg))
    else:
        ours = program(mg)
        np.testing.assert_array_equal(ours[0].numpy(), expected[0].numpy())
        assert ours[1:] == [*expected[1:3], *(tuple(s) for s in expected[3:])]
