"""The table of training steps: its figures, and an error if the libraries' steps differ."""

from typing import Any

import pytest

from benchmarks import steps
from benchmarks.process import Differ


def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
    """The answer that the process would have returned."""
    match function.split(":")[1]:
        case "check":
            return {"loss": 3.0, "norm": 1.0}
        case "train":
            time = {"minigrad": 5.0, "torch": 10.0}[library] + (3.0 if arguments.get("environment") else 0.0)
            return {"loss": 3.0, "times": [0.8 * time, time, 100 * time], "memory": 10 * time}
        case "floor":
            return {"time": 2.0}
    return {"memory": 20.0}


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "ask", answer)
    table = steps.table(["small"], rounds=2, seconds=1.0)
    (row,) = table.written()
    times = ["5.0", "10.0", "0.50", "0.50–0.50", "0.60", "8.0", "0.80", "2.0", "2.00"]
    assert row[1:] == [*times, "50", "100", "0.50"]
    assert "importing minigrad takes 20 MiB, importing PyTorch 20" in table.text()


@pytest.mark.parametrize(("function", "what"), [("check", "norm"), ("train", "loss")])
def test_different_steps_are_an_error(function: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(name: str, library: str, **arguments: Any) -> dict[str, Any]:
        values = answer(name, library, **arguments)
        if name.endswith(function) and library == "torch":
            values[what] *= 1.05
        return values

    monkeypatch.setattr(steps, "ask", other)
    with pytest.raises(Differ, match=f"small, .*{what}"):
        steps.table(["small"], rounds=1, seconds=1.0)


def test_training_is_timed_and_learns() -> None:
    result = steps.train("minigrad", "tiny", seconds=0.001)
    assert len(result["times"]) == steps.LEAST
    assert min(result["times"]) > 0
    assert result["memory"] > 1
    again = steps.train("minigrad", "tiny-gpt", seconds=0.001)
    assert again["loss"] == pytest.approx(steps.check("minigrad", "tiny-gpt")["loss"], rel=1e-5)
