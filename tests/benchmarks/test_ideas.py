"""Each idea is measured both ways, at small sizes, and what is switched meanwhile is as before afterwards."""

from __future__ import annotations

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
from benchmarks.ideas import passes, ways
from benchmarks.ideas.idea import IDEAS, Given, Row
from benchmarks.ideas.ways import Way
from benchmarks.process import Missing
from minigrad.backend import blas, memory, parallel, products
from minigrad.backend.kernels import _rows as rows
from minigrad.backend.kernels import gelu, linear, scaled_dot_product_attention, scatter_add_rows

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


def test_what_is_switched_off_is_off_in_one_of_two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def look(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        off = memory._SET_BY_USER[-1] in os.environ
        seen.append(off)
        return {"times": [2.0 if off else 1.0], "faults": 300.0 if off else 3.0}

    for name in memory._SET_BY_USER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(memory_ideas, "ask", look)
    assert [row.figures for row in memory_ideas.kept(HURRY)] == [[1.0, 2.0], [3.0, 300.0]]
    assert seen == [False, True, True, False]


@pytest.mark.parametrize("repeats", [0, 1, 40])
def test_runs_are_added_as_in_rounds(repeats: int) -> None:
    draw = np.random.default_rng(0)
    x = draw.standard_normal((60 + repeats, 3))
    indices = np.concatenate((draw.integers(0, 20, 60), np.full(repeats, 7)))
    found = passes.add_runs(x, indices, 20)
    np.testing.assert_allclose(found, scatter_add_rows.forward((), x, indices, 20)[0], rtol=1e-12, atol=1e-12)


def test_ways_take_turns_and_the_first_call_of_each_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    module = ModuleType("module")
    module.value = 1  # type: ignore[attr-defined]
    clock = [0.0]

    def call(name: str, seconds: float) -> None:
        clock[0] += seconds if not done or done[-1] == name else 100 * seconds
        done.append(name)

    def wait() -> None:
        clock[0] += 1000.0

    monkeypatch.setattr(ways.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(ways.time, "sleep", lambda seconds: None)
    a = Way(lambda: call(f"a{module.value}", 0.5), wait)
    b = Way(lambda: call(f"b{module.value}", 0.25), switches=[(module, "value", 2)])
    times = ways.take([a, b], 1e-6)
    assert done == ["a1"] * 3 + ["b2"] * 3 + ["b2"] * 3 + ["a1"] * 3
    assert times == [[500.0] * 4, [250.0] * 4]
    assert module.value == 1


def test_a_switch_goes_back_after_an_error() -> None:
    module = ModuleType("module")
    module.value = 1  # type: ignore[attr-defined]

    def fail() -> None:
        raise ValueError(str(module.value))

    with pytest.raises(ValueError, match="2"):
        ways.take([Way(fail, switches=[(module, "value", 2)])], 0.01)
    assert module.value == 1


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [(1234.5, "ms", "1234 ms"), (99.96, "ms", "100 ms"), (0.012345, "", "0.0123"), (0.0, "", "0")],
)
def test_amounts(value: float, unit: str, written: str) -> None:
    assert program.amount(value, unit) == written


def test_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, name: str, **arguments: Any) -> dict[str, Any]:
        return {"missing": "needs two threads"} if name == "gil" else {"rows": [Row("work", [1.0, 4.0])] * 2}

    monkeypatch.setattr(program, "ask", answer)
    paid, rejected, limits = program.tables(list(IDEAS), Given())
    assert paid.written()[0][1:5] == ["work", "1 ms", "4 ms", "0.25"]
    assert len(paid.rows) + len(rejected.rows) + len(limits.rows) == 2 * len(IDEAS) - 1
    assert ["needs two threads", "–", "–", "–"] in [row[1:5] for row in limits.written()]
    assert len(paid.notes) + len(rejected.notes) + len(limits.notes) == len(IDEAS)
    assert all(len(note) > 40 for note in paid.notes)


def test_one_idea_as_a_program(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "ask", in_this_process)
    monkeypatch.setattr(program, "Given", lambda *given: HURRY)
    program.main(["--only", "side_by_side", "--markdown"])
    assert "| gradients of q, k and v side by side | three of (256, 16, 4, 32) |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        program.main(["--only", "nothing"])
