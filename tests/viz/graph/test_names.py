"""Names: paths, lines, variables, modules and arguments as in the program."""

import sys
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.autograd.tracebacks import user_frame
from minigrad.ops import elementwise
from minigrad.viz.graph.graph_names import argument_text, function_text, readable, variables, variables_of
from tests.support import functions


def test_paths_are_as_short_as_possible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert readable(elementwise.__file__) == "minigrad/ops/elementwise.py"
    monkeypatch.chdir(tmp_path)
    assert readable(str(tmp_path / "a" / "train.py")) == "a/train.py"
    assert readable(elementwise.__file__) == "minigrad/ops/elementwise.py"  # independent of the library's location
    assert readable(str(Path.home() / "b" / "train.py")) == "~/b/train.py"
    assert readable("/elsewhere/train.py") == "/elsewhere/train.py"
    assert readable("<stdin>") == "<stdin>"


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
        ((minigrad.ones(2, 3), 1), "(float32 (2, 3), 1)"),  # its data are not read
    ]:
        assert argument_text(value) == expected
    line = functions.Cube.forward.__code__.co_firstlineno
    assert function_text(functions.Cube.forward) == f"forward (tests/support/functions.py:{line})"
    assert (function_text(print), function_text(partial(print))) == ("print", "partial")


def test_reading_variables_does_not_keep_or_change_them() -> None:
    x, net = minigrad.ones(2), nn.Linear(2, 2)
    reference = weakref.ref(x)
    assert variables(sys._getframe())["x"] is x
    tensors, modules = variables_of(user_frame())
    assert ("x", x) in tensors and modules["net"] is net
    del x, tensors
    assert reference() is None
    assert "reference" in variables(sys._getframe())
    x = minigrad.ones(2)
    own = locals()
    assert variables(sys._getframe())["x"] is x and own["x"] is x
