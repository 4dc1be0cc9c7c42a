"""The time of a step before and after drawing: what the processes do, in which order, and the ratios."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import drawing
from benchmarks.drawing import DRAW, IMPORT, NOTHING, Worker
from benchmarks.process import Failed

TINY = {"rows": 2, "layers": 1, "d_model": 8, "heads": 2, "d_ff": 16}


def test_a_measurement() -> None:
    with Worker(**TINY) as worker:
        assert min(worker.ask("step")) > 0
        assert min(worker.ask(IMPORT)) > 0
        with pytest.raises(Failed, match="asked for 'imported viz'"):
            worker.ask(IMPORT)  # a second time


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
