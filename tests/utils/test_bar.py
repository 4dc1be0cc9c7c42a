"""The progress bar: on stderr, after a while, and only if tqdm is installed."""

import subprocess
import sys
from typing import Any

import pytest

from minigrad.utils import bar as bars
from minigrad.utils.bar import bar, say, watched


def test_it_is_on_stderr_and_only_after_its_delay(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm", reason="tqdm draws the bar: pip install tqdm")
    with bar(3, "reading", " lines", delay=0) as progress:
        progress.update(3)
    with bar(3, "waiting", " lines") as late:
        late.update(3)
    out, error = capsys.readouterr()
    assert out == "" and "reading" in error and "waiting" not in error


def test_it_is_left_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with bar(3, "reading", " lines", shown=False, delay=0) as progress:
        progress.update(3)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with bar(3, "reading", " lines", delay=0) as progress:
        progress.update()
    assert capsys.readouterr().err == ""


def test_slow_loops_have_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(bars, "_chosen", lambda _: lambda items, **options: calls.append(options) or items)
    assert list(watched([1, 2], "counting")) == [1, 2]
    assert calls == [{"desc": "counting", "leave": False, "delay": 2, "disable": None}]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert list(watched([1, 2], "counting")) == [1, 2] and len(calls) == 1


def test_lines_between_bars(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with bar(3, "reading", " lines", delay=0):
        say("a line", sys.stdout)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    say("another", sys.stdout)
    assert capsys.readouterr().out == "a line\nanother\n"


NOTEBOOK = """
import sys, warnings
from types import SimpleNamespace
warnings.simplefilter("error")
shell = SimpleNamespace(kernel=object(), config={"IPKernelApp": {}})
sys.modules["IPython"] = SimpleNamespace(get_ipython=lambda: shell, version_info=(9,))
sys.modules["ipywidgets"] = None
from minigrad_models.training.progress import Progress
with Progress(2, 60.0) as progress:
    progress.advance(1.0, 10, 1.0)
    progress.advance(1.0, 10, 2.0)
"""


def test_a_notebook_without_widgets_has_a_bar_of_text_and_no_warning() -> None:
    pytest.importorskip("tqdm", reason="tqdm draws the bar: pip install tqdm")
    process = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True, check=True)
    assert "100%" in process.stderr and "step 2/2" in process.stderr and "IProgress" not in process.stderr
