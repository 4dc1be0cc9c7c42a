"""The command for a machine with a GPU, as a whole, on the stand-in for one."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu.runner import ROOT
from benchmarks.gpu.stages import STAGES
from tests.support.kernel_checks import needs_emulator

main: Any = __import__("benchmarks.gpu.__main__", fromlist=["main"])


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that a rehearsal writes, and what it prints."""
    folder = tmp_path_factory.mktemp("rehearsal")
    command = [sys.executable, "-m", "benchmarks.gpu", "--rehearse", "--out", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return folder, done.stdout


@pytest.mark.slow
@needs_emulator
def test_every_stage_is_rehearsed(rehearsed: tuple[Path, str]) -> None:
    folder, printed = rehearsed
    written = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert list(written["stages"]) == [stage.name for stage in STAGES]
    for name, stage in written["stages"].items():
        assert stage["status"] == "ok" and stage["rows"], (name, stage)
        if not name.endswith("-torch") and (find_spec("torch") or name != "parity"):
            assert any("values" in row for row in stage["rows"]), name
    assert printed.rstrip().endswith((folder / "table.md").read_text(encoding="utf-8").rstrip())
    assert sorted(path.name for path in folder.iterdir()) == ["results.json", "table.md"]


@pytest.mark.slow
@needs_emulator
def test_only_what_no_stand_in_has_is_left_out(rehearsed: tuple[Path, str]) -> None:
    written = json.loads((rehearsed[0] / "results.json").read_text(encoding="utf-8"))
    left = {f"{name}/{row['item']}" for name, s in written["stages"].items() for row in s["rows"] if "needs" in row}
    ours = {name for name in left if "-torch/" not in name}
    captured, lowered = "probes/a captured product by CuPy", "probes/cuBLAS by ctypes in bfloat16"
    assert ours == {"machine/card", captured, lowered}


def test_the_stages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [stage.name for stage in STAGES]
