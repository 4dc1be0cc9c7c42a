"""Measurements in separate processes, and how they fail."""

import pytest

from benchmarks.process import Answer, Failed, alternate, ask


def test_variables_are_added_to_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIGRAD_NUM_THREADS", "many")
    with pytest.raises(Failed, match="MINIGRAD_NUM_THREADS must be"):
        ask("benchmarks.steps:train", "minigrad", work="tiny", seconds=0.001)
    one = {"MINIGRAD_NUM_THREADS": "1"}
    assert ask("benchmarks.steps:train", "minigrad", environment=one, work="tiny", seconds=0.001)["times"]


def test_an_error_is_shown() -> None:
    with pytest.raises(Failed, match=r"(?s)steps:check of minigrad with .*KeyError: 'huge'"):
        ask("benchmarks.steps:check", "minigrad", work="huge")


def test_turns_alternate_and_a_missing_library_is_asked_once() -> None:
    order = []

    def measure(library: str) -> Answer:
        order.append(library)
        return {"missing": "not installed"} if library == "c" else {}

    answers = alternate("abc", 3, measure, "test")
    assert "".join(order) == "abcbaab"
    assert [len(answers[name]) for name in "abc"] == [3, 3, 1]
