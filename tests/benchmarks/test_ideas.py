"""Each idea is measured both ways, at small sizes, and what is switched meanwhile is as before afterwards."""

import importlib
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minigrad
from benchmarks.ideas import __main__ as program
from benchmarks.ideas import memory as memory_ideas
from benchmarks.ideas import ways
from benchmarks.ideas.idea import IDEAS, Given
from benchmarks.ideas.ways import Way
from benchmarks.process import Missing
from minigrad.backend import blas, memory, parallel, products
from minigrad.backend.kernels import _rows as rows
from minigrad.backend.kernels import gelu, linear, scaled_dot_product_attention

HURRY = Given(seconds=0.002, shrink=64)
MODULES = (blas, memory, parallel, products, gelu, linear, rows, scaled_dot_product_attention)
CHANGING = {"_crew", "_inside", "_outside", "_found"}  # while threads work


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = minigrad.get_num_threads()
    minigrad.set_num_threads(2)
    yield
    minigrad.set_num_threads(before)


def in_this_process(function: str, library: str, **arguments: Any) -> Any:
    """In place of ``ask``: a process takes as long to start as all else here."""
    module, name = function.split(":")
    try:
        return getattr(importlib.import_module(module), name)(library, **arguments)
    except Missing as missing:
        return {"missing": str(missing)}


def switches() -> dict[tuple[str, str], Any]:
    """All that an idea could have changed."""
    found: dict[tuple[str, str], Any] = {("_Crew", "place"): parallel._Crew.place}
    for module in MODULES:
        found |= {(module.__name__, name): v for name, v in vars(module).items() if name not in CHANGING}
    return found


@pytest.mark.parametrize("name", IDEAS)
def test_an_idea_is_measured_and_leaves_no_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_ideas, "ask", in_this_process)
    crew, before, environment = parallel._helpers(), switches(), dict(os.environ)
    found = IDEAS[name].measure(HURRY)
    after = switches()
    assert before.keys() == after.keys()
    assert [key for key in before if after[key] is not before[key]] == []
    assert dict(os.environ) == environment
    assert parallel._crew is crew
    assert found
    assert all(len(row.figures) == 2 and np.isfinite(row.figures).all() for row in found)
    assert all(min(row.figures) > 0 for row in found if row.unit)  # there may be no page faults


def test_a_switch_goes_back_after_an_error() -> None:
    module = ModuleType("module")
    module.value = 1  # type: ignore[attr-defined]

    def fail() -> None:
        raise ValueError(str(module.value))

    with pytest.raises(ValueError, match="2"):
        ways.take([Way(fail, switches=[(module, "value", 2)])], 0.01)
    assert module.value == 1


def test_one_idea_as_a_program(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "ask", in_this_process)
    monkeypatch.setattr(program, "Given", lambda *given: HURRY)
    program.main(["--only", "side_by_side", "--markdown"])
    assert "| gradients of q, k and v side by side | three of (256, 16, 4, 32) |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        program.main(["--only", "nothing"])
