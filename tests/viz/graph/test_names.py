"""Names: paths, lines, variables, modules and arguments as a program has them."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.autograd.places import user_frame
from minigrad.ops import elementwise
from minigrad.viz.graph.names import (
    Modules,
    argument_names,
    argument_text,
    function_text,
    place_of,
    readable,
    tensors_within,
    variables,
    variables_of,
)
from tests.support import functions


def test_paths_are_as_short_as_they_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert readable(elementwise.__file__) == "minigrad/ops/elementwise.py"
    monkeypatch.chdir(tmp_path)
    assert readable(str(tmp_path / "a" / "train.py")) == "a/train.py"
    assert readable(elementwise.__file__) == "minigrad/ops/elementwise.py"  # wherever the library is
    assert readable(str(Path.home() / "b" / "train.py")) == "~/b/train.py"
    assert readable("/elsewhere/train.py") == "/elsewhere/train.py"
    assert readable("<stdin>") == "<stdin>"


def test_the_users_frame_is_the_innermost_outside_the_library() -> None:
    frame = user_frame()
    assert frame.f_code.co_name == "test_the_users_frame_is_the_innermost_outside_the_library"
    place, code = place_of(frame)
    assert place.startswith("tests/viz/graph/test_names.py:")
    assert code == "place, code = place_of(frame)"


def test_arguments_as_text() -> None:
    for value, expected in [
        ((slice(None), slice(1, None), Ellipsis, None, 3), "[:, 1:, ..., None, 3]"),
        (slice(0, 10, 2), "0:10:2"),
        ((1, 2), "(1, 2)"),
        ((1,), "(1,)"),
        ((), "()"),
        ("a'b", '"a\'b"'),
        (np.dtype("float32"), "float32"),
        ((np.zeros((2, 3), np.int64), slice(None)), "[int64 (2, 3), :]"),
        (None, "None"),
        ("x" * 300, "'" + "x" * 198 + "…"),
        ((minigrad.ones(2, 3), 1), "(float32 (2, 3), 1)"),  # is not read out
    ]:
        assert argument_text(value) == expected
    line = functions.Cube.forward.__code__.co_firstlineno
    assert function_text(functions.Cube.forward) == f"forward (tests/support/functions.py:{line})"
    assert (function_text(print), function_text(partial(print))) == ("print", "partial")


def test_tensors_within_values() -> None:
    @dataclass
    class Batch:
        tokens: Any
        cached: Any = field(init=False)  # is not set

    a, b, c = minigrad.ones(1), minigrad.ones(2), minigrad.ones(3)
    named = dict(tensors_within({"x": a, "pair": (b, [c]), "n": 3}, "batch"))
    assert named == {"batch.x": a, "batch.pair 0": b, "batch.pair 1 0": c}
    assert list(tensors_within(Batch(a), "batch")) == [("batch.tokens", a)]


def test_arguments_have_the_names_of_the_function() -> None:
    def call(x: Any, *rest: Any, scale: Any = None, **others: Any) -> None:
        pass

    a, b, c, d = (minigrad.ones(n) for n in range(4))
    names = [name for name, _ in argument_names(call, (a, b), {"scale": c, "mask": d})]
    assert names == ["x", "rest 0", "scale", "others.mask"]
    assert [name for name, _ in argument_names(max, (a, b), {})] == ["input 0", "input 1"]
    assert [name for name, _ in argument_names(max, (a,), {})] == ["input"]
    assert argument_names(call, (), {}) == []  # the call itself will say what is wrong


def test_reading_variables_keeps_none_of_them_alive() -> None:
    x, net = minigrad.ones(2), nn.Linear(2, 2)
    gone = weakref.ref(x)
    assert variables(sys._getframe())["x"] is x
    tensors, modules = variables_of(user_frame())
    assert ("x", x) in tensors and modules["net"] is net
    del x, tensors
    assert gone() is None
    assert "gone" in variables(sys._getframe())


def test_what_the_program_holds_of_its_variables_stays() -> None:
    x = minigrad.ones(2)
    own = locals()
    assert variables(sys._getframe())["x"] is x and own["x"] is x


def test_paths_and_shared_parameters_of_modules() -> None:
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, nn.Sequential(shared), nn.LayerNorm(2))
    modules = Modules(net)
    assert modules.name(net, "") == ""
    assert modules.name(net[1], "") == "1"
    assert modules.name(shared, "1") == "0"  # the first name
    loose = nn.Linear(2, 2)
    assert modules.name(loose, "1") == "1.Linear"  # registered nowhere
    names = modules.parameters()
    assert names[id(shared.weight)] == ["0.weight", "1.0.weight"]
    assert names[id(loose.bias)] == ["1.Linear.bias"]
    infos = modules.infos({"1.0"})
    assert list(infos) == ["", "1", "1.0"]
    assert infos["1.0"].kind == "Linear"
