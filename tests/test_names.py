"""The single list of names: programs, type checkers and editors see the same function, defined once."""

import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad
from minigrad.autograd.methods import Methods
from minigrad.compat import functions as above
from minigrad.functions import names

ROOT = Path(__file__).parent.parent


def test_signatures_and_docstrings_at_run_time() -> None:
    for function in (minigrad.exp, minigrad.Tensor.exp, minigrad.Tensor.exp_):
        assert list(inspect.signature(function).parameters) == ["input"]
        assert "elementwise" in (function.__doc__ or "")
    assert minigrad.Tensor.exp_.__doc__ == f"In place: {minigrad.exp.__doc__}"
    assert minigrad.Tensor.exp_.__name__ == "exp_"
    assert list(inspect.signature(minigrad.ones(1).clamp_).parameters) == ["min", "max"]


def test_an_alias_is_an_alias_everywhere() -> None:
    assert minigrad.multiply is minigrad.mul
    assert minigrad.Tensor.multiply is minigrad.Tensor.mul
    x = minigrad.ones(2)
    assert x.multiply_(3) is x
    assert x.tolist() == [3, 3]


def test_every_function_and_method_has_a_docstring() -> None:
    functions = {name: getattr(minigrad, name) for name in (*names.__all__, *above.FREE)}
    methods = {name: value for name, value in vars(Methods).items() if callable(value) and not name.startswith("__")}
    assert not [name for name, value in {**functions, **methods}.items() if not value.__doc__]


def test_every_function_can_be_pickled() -> None:
    functions = [f for name in (*names.__all__, *above.FREE) if not isinstance(f := getattr(minigrad, name), type)]
    assert [f for f in functions if pickle.loads(pickle.dumps(f)) is not f] == []


def test_methods_and_functions_of_compat_have_a_place_in_the_core() -> None:
    """A program that uses one of them loads all of them."""
    program = """
import sys, minigrad
free, methods = {*vars(minigrad)}, {*vars(minigrad._Methods)}
assert callable(minigrad.Tensor.lgamma) and minigrad.compat
from minigrad.compat.functions import FREE
assert {*vars(minigrad._Methods)} == methods, {*vars(minigrad._Methods)} ^ methods
assert not {*FREE} & free and {*FREE} <= {*dir(minigrad)}
assert not [name for name, value in vars(minigrad._Methods).items() if type(value).__name__ == "_Method"]
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_the_stub_is_up_to_date() -> None:
    command = [sys.executable, "docs/generate_names.py", "--check"]
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.nightly
def test_completion_by_jedi() -> None:
    jedi = pytest.importorskip("jedi")
    start = "import minigrad\nx = minigrad.ones(2)\n"

    def signature(text: str) -> tuple[str, str]:
        (name,) = jedi.Script(start + text, project=jedi.Project(ROOT)).infer(3, len(text))
        return name.get_signatures()[0].to_string(), name.docstring(raw=True)

    assert signature("minigrad.exp") == ("exp(input: Tensor) -> Tensor", "eˣ, elementwise.")
    assert signature("x.exp_") == ("exp_() -> Tensor", "In place: eˣ, elementwise.")
    assert signature("(x + 1).sum")[1].startswith("The sum over")
