"""The progress of a training run on stderr."""

import errno
import io
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.training import progress
from minigrad_models.training.progress import Progress, clock
from tests.models.training.program import trainer


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The current time, in a list."""
    time = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: time[0])
    return time


def test_lines_every_ten_seconds(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(200, math.inf, done=50, seconds=100.0) as bar:
        for _ in range(50):
            now[0] += 0.5
            bar.advance(2.0, 60, 100 + now[0])
        bar.evaluated("bleu", 31.234)
        assert bar.text(125.0) == "step 100/200, loss 2.000, 120 tokens/s, 0:50 left, bleu 31.23"
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "step 70/200, loss 2.000, 120 tokens/s, 1:05 left",
        "step 90/200, loss 2.000, 120 tokens/s, 0:55 left",
    ]


def test_silence(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(10, math.inf, shown=False) as bar:
        now[0] = 100.0
        bar.advance(1.0, 10, 100.0)
        assert capsys.readouterr().err == ""
        bar.note("a warning")
    assert capsys.readouterr().err == "a warning\n"


def test_a_bar_in_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress(4, math.inf) as bar:
        assert bar.bar is not None
        for step in range(4):
            bar.advance(1.0, 10, step + 1.0)
        bar.note("a line of its own")
    err = capsys.readouterr().err
    assert "100%" in err and "step 4/4, loss 1.000" in err and "a line of its own\n" in err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert Progress(4, math.inf).bar is None


def test_evaluations_are_shown_and_the_unit_is_named(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    evaluate = lambda model: {"loss": 2.5, "bleu": 30.0}
    trainer(tmp_path, steps=12, progress=True, unit="pictures", evaluate=evaluate).fit()
    err = capsys.readouterr().err
    assert "step 6: loss 2.5, bleu 30 (best)\n" in err and "step 12: loss 2.5, bleu 30\n" in err
    assert " pictures/s, " in err and "tokens" not in err


class Gone(io.StringIO):
    """A terminal or file that cannot be written to any more."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal, self.tried = terminal, 0

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.tried += 1
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("terminal", [False, True])
def test_a_training_outlives_its_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    output = Gone(terminal)
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    for number, stream in enumerate((output, output, None)):  # the second time, it is closed
        monkeypatch.setattr(sys, "stderr", stream)
        assert trainer(tmp_path / str(number), steps=6, progress=True).fit().finished
        assert output.tried
        output.close()


def test_times_are_readable() -> None:
    clocks = {-3: "0:00", 0: "0:00", 59.6: "1:00", 600: "10:00", 3600: "1:00:00", 5025: "1:23:45"}
    assert {seconds: clock(seconds) for seconds in clocks} == clocks
