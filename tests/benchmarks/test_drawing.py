"""The time of a step before and after drawing: what the processes do, in which order, and the ratios."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from benchmarks import drawing
from benchmarks.drawing import ACTIONS, DRAW, IMPORT, NOTHING, Training, Worker
from benchmarks.process import ROOT, Failed

TINY = {"rows": 2, "layers": 1, "d_model": 8, "heads": 2, "d_ff": 16}


def test_a_process_draws_halfway_and_no_earlier() -> None:
    program = f"""
import sys
from benchmarks.drawing import DRAW, NOTHING, Training
training = Training(**{TINY})
training.step()
training.halfway(NOTHING)
assert not [name for name in sys.modules if name.startswith("minigrad.viz")]
training.halfway(DRAW)
assert "minigrad.viz.playback" in sys.modules
training.step()
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_a_process_that_has_drawn_already_is_refused() -> None:
    import minigrad.viz  # noqa: F401

    with pytest.raises(RuntimeError, match="imported already"):
        Training(**TINY).halfway(NOTHING)


def test_a_measurement() -> None:
    with Worker(**TINY) as worker:
        assert min(worker.ask("step")) > 0
        assert min(worker.ask(IMPORT)) > 0
        with pytest.raises(Failed, match="asked for 'imported viz'"):
            worker.ask(IMPORT)  # a second time


class Told:
    """A worker whose steps take 10 ms, half of it work, and after its action as many as are given."""

    def __init__(self, number: int, after: float, asked: list[int]) -> None:
        self.number, self.now, self.after, self.asked = number, 10.0, after, asked
        self.actions: list[str] = []

    def ask(self, what: str) -> tuple[float, float]:
        if what == "step":
            self.asked.append(self.number)
        else:
            self.actions.append(what)
            self.now = self.after
        return self.now, 5.0


def test_processes_take_turns_and_the_first_of_each_turn_is_another() -> None:
    asked: list[int] = []
    workers: list[Any] = [Told(n, 20.0 + 2 * n, asked) for n in range(4)]
    found = drawing.one_round(workers, 0.001)
    assert found.before == [10, 10, 10, 10]
    assert found.after == [20, 22, 24, 26]
    np.testing.assert_allclose(found.ratios, [[1, 1], [1.1, 1], [1.2, 1], [1.3, 1]])
    assert [worker.actions for worker in workers] == [[action] for action in ACTIONS]
    turns = [asked[i : i + 4] for i in range(0, len(asked), 4)]
    assert all(sorted(turn) == [0, 1, 2, 3] for turn in turns)
    assert {turn[0] for turn in turns} == {0, 1, 2, 3}


def test_the_table() -> None:
    """In one round of three drawing cost a tenth."""
    nothing = drawing.Round([10.0] * 4, [10.0] * 4, np.ones((4, 2)))
    slower = drawing.Round([10.0] * 4, [20.0] * 4, np.array([[1, 1], [1, 1], [1, 1], [1.1, 1.05]]))
    rows = drawing.table([nothing, slower, nothing]).written()
    same = ["10.0", "10.0", "1.000", "1.000–1.000", "1.000", "1.000–1.000"]
    assert rows == [
        [NOTHING, *same, "–"],
        [IMPORT, *same, "1.0"],
        [DRAW, "10.0", "10.0", "1.000", "1.000–1.100", "1.000", "1.000–1.050", "1.0"],
    ]
