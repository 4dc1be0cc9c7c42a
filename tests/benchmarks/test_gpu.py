"""The whole GPU benchmark command, run on the emulator."""

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


@needs_emulator
def test_every_stage_is_rehearsed(tmp_path: Path) -> None:
    """It may skip only stages that the emulator cannot run."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--rehearse", "--out", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    report = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert list(report["stages"]) == [stage.name for stage in STAGES]
    for name, stage in report["stages"].items():
        assert stage["status"] == "ok" and stage["rows"], (name, stage)
        if not name.endswith("-torch") and (find_spec("torch") or name != "parity"):
            assert any("values" in row for row in stage["rows"]), name
    assert result.stdout.rstrip().endswith((tmp_path / "table.md").read_text(encoding="utf-8").rstrip())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.json", "table.md"]
    left = {f"{name}/{row['item']}" for name, s in report["stages"].items() for row in s["rows"] if "needs" in row}
    ours = {name for name in left if "-torch/" not in name}
    assert ours == {"machine/card"}


def test_the_stages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [stage.name for stage in STAGES]
