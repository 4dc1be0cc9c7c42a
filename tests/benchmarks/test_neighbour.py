"""Steps beside a busy process: that it is busy, and what the table makes of the times."""

from __future__ import annotations

from benchmarks import neighbour, steps


def test_steps_are_timed_in_both_states() -> None:
    found = neighbour.train("minigrad", "tiny", 0.001)
    assert len(found["quiet"]) == len(found["busy"]) == neighbour.TURNS * steps.LEAST
    assert min(found["quiet"] + found["busy"]) > 0
