"""If a stage raises, crashes, hangs or writes garbage, the runner reports it and runs the next stages."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.gpu import results, runner, suites
from benchmarks.gpu.runner import ROOT, Result, Run
from benchmarks.gpu.stages import Stage
from tests.support.ranks import is_running, until

main: Any = __import__("benchmarks.gpu.__main__", fromlist=["main"])
LONG = 300.0
ABOUT = {"date": "2026-01-01", "machine": "a machine", "rehearsal": False}


def stage(name: str, patience: float = LONG) -> Stage:
    return Stage(name, f"Title of {name}", LONG, 1.0, patience, "tests.support.stages")


def ran(tmp_path: Path, name: str, seconds: float = LONG, patience: float = LONG) -> Result:
    return runner.run(stage(name, patience), Run("strict", tmp_path), seconds)


def ends(result: Result) -> dict[str, str]:
    """How each item ended."""
    kinds = ("failed", "missing", "needs", "values")
    return {row["item"]: next(kind for kind in kinds if kind in row) for row in result.rows}


def clock(monkeypatch: pytest.MonkeyPatch, **changed: Callable[[], float]) -> None:
    """Replace the runner's clock."""
    names = {"monotonic": time.monotonic, "time": time.time, "sleep": time.sleep}
    monkeypatch.setattr(runner, "time", SimpleNamespace(**{**names, **changed}))


def test_an_item_that_raises_does_not_stop_the_others(tmp_path: Path) -> None:
    result = ran(tmp_path, "raises")
    assert ends(result) == {"works": "values", "raises": "failed", "works, too": "values"}
    assert result.rows[1]["failed"] == "ValueError: all is\nwrong"
    assert [row["values"]["ms"] for row in result.rows[2:]] == [2.5, "nan"]
    assert result.status == "failed"
    assert len(result.tail) == runner.TAIL and f"line {runner.TAIL + 19}" in result.tail


def test_an_item_that_cannot_run_is_not_a_failure(tmp_path: Path) -> None:
    for name, end in (("lacks", "missing"), ("needs", "needs")):
        result = ran(tmp_path, name)
        assert result.status == "ok" and ends(result)[name] == end and not result.tail


def test_another_process_continues_after_a_crash(tmp_path: Path) -> None:
    result = ran(tmp_path, "dies")
    assert ends(result) == {"works": "values", "dies": "failed", "works, too": "values"}
    assert "ended with code 3" in result.rows[1]["failed"]


def test_garbage_and_a_stage_that_fails_to_start_are_reported(tmp_path: Path) -> None:
    result = ran(tmp_path, "writes garbage")
    assert result.status == "failed"
    assert len([row for row in result.rows if "not a row of a stage" in row.get("failed", "")]) == 3
    assert ends(result)["writes garbage"] == ends(result)["works, too"] == "values"
    result = ran(tmp_path, "broken")
    assert (result.status, result.rows) == ("failed", [])
    assert result.tail[-1] == "RuntimeError: this stage does not even begin"


@pytest.mark.parametrize("why", ["limit", "silence"])
def test_a_hanging_item_is_killed_with_its_child_processes(why: str, tmp_path: Path, monkeypatch: Any) -> None:
    """The clock starts once the item hangs: how long a process takes to start does not matter."""
    pids = tmp_path / "pids"
    if why == "limit":
        clock(monkeypatch, monotonic=lambda: 1e9 if pids.exists() and pids.read_text() else 0.0)
        result = ran(tmp_path, "hangs", seconds=1.0)
        assert result.status == "out of time" and ends(result) == {"works": "values", "hangs": "failed"}
        assert "ran out of time" in result.rows[1]["failed"]
    else:
        clock(monkeypatch, time=lambda: 1e12 if pids.exists() and pids.read_text() else 0.0)
        result = ran(tmp_path, "hangs", patience=1e11)
        assert result.status == "failed" and ends(result)["hangs"] == "failed"
        assert "no output for" in result.rows[1]["failed"]
    numbers = [int(pid) for pid in pids.read_text().split()]
    until(lambda: not any(map(is_running, numbers)), f"the end of {numbers}")


def test_results_are_saved_after_each_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots: list[list[str]] = []
    write = results.write

    def watched(folder: Path, about: dict[str, Any], outcomes: list[Result]) -> None:
        write(folder, about, outcomes)
        snapshots.append(list(json.loads((folder / "results.json").read_text(encoding="utf-8"))["stages"]))

    stages = [stage("raises"), stage("lacks")]
    monkeypatch.setattr(results, "write", watched)
    monkeypatch.setattr(results, "BY_NAME", {s.name: s for s in stages})
    main.measure(stages, Run("strict", tmp_path), tmp_path, LONG, ABOUT)
    assert snapshots == [["raises"], ["raises", "lacks"]]
    assert not list(tmp_path.glob(".*.tmp"))
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert "raises/raises: failed: ValueError: all is wrong" in table
    assert "lacks/lacks: missing: not installed" in table


def test_stages_are_skipped_when_time_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float] = []

    def instant(stage: Stage, shared: Run, seconds: float) -> Result:
        left.append(seconds)
        return Result(stage.name, "ok")

    monkeypatch.setattr(main, "run", instant)
    monkeypatch.setattr(main.results, "write", lambda *_: None)
    short, long = (Stage(name, name, 10.0, least, 1.0, "none") for name, least in (("short", 1.0), ("long", 50.0)))
    outcomes = main.measure([long, short, long], Run("strict", tmp_path), tmp_path, 20.0, ABOUT)
    assert [r.status for r in outcomes] == ["left out", "ok", "left out"]
    assert 0 < left[0] <= 20.0 - main.RESERVE


def test_the_runner_does_not_load_cuda() -> None:
    program = "import sys, benchmarks.gpu.__main__; print(*{m.partition('.')[0] for m in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert not {"cupy", "minigrad", "numpy", "torch", "tests"} & set(ran.stdout.split())


def test_ending_a_run_ends_its_stage(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; import benchmarks.gpu.__main__ as m\n"
        "from benchmarks.gpu.stages import Stage\n"
        "stage = Stage('hangs', 'T', 300.0, 1.0, 300.0, 'tests.support.stages')\n"
        "shared = m.Run('strict', Path(sys.argv[1]))\n"
        "m.measure = lambda *_: [m.run(stage, shared, 300.0)]\n"
        "m.main(['--rehearse'])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT)
    pids = tmp_path / "pids"
    until(lambda: pids.exists() and pids.read_text().count(" ") == 1, "the stage")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    numbers = [int(pid) for pid in pids.read_text().split()]
    until(lambda: not any(map(is_running, numbers)), f"the end of {numbers}")


@pytest.mark.parametrize("several", [[], ["-n", "2"]])
def test_each_outcome_of_a_test_counts_once(several: list[str], tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_passes(): pass\n"
        "def test_fails(): assert 1 == 2\n"
        "def test_skips(): pytest.skip('no')\n"
        "@pytest.fixture\n"
        "def broken(): raise ValueError('broken')\n"
        "def test_does_not_begin(broken): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-v", "-rfE", "-p", "no:cacheprovider", *several, str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    with pytest.raises(AssertionError) as failed:
        suites.counted("kernels", ran.stdout)
    assert "{'tests': 'kernels', 'passed': 1, 'failed': 2, 'skipped': 1}" in str(failed.value)
    assert "test_some.py::test_fails: assert 1 == 2" in str(failed.value)
    assert "test_some.py::test_does_not_begin: ValueError: broken" in str(failed.value)
