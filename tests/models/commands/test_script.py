"""``minigrad profile`` and ``minigrad compat`` run a user's program as if it were run directly."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from minigrad_models.commands import minigrad_command as cli
from tests.support.cases import cases

PROGRAM = """
import sys
import minigrad as mg

model = mg.nn.Linear(2, 1)
model(mg.ones(3, 2)).sum().backward()
print("said", sys.argv[1:], __name__)
if "leave" in sys.argv:
    sys.exit(7)
if "fail" in sys.argv:
    raise ValueError("on purpose")
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program; the state that running it changes is restored."""
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return file


def test_a_profile_is_a_table_by_op_or_module_and_a_trace(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = program.with_name("trace.json")
    assert cli.main(["profile", "--rows", "3", "--trace", str(trace), str(program), "--lr", "1"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("said ['--lr', '1'] __main__\n") and "Self CPU" in output.out
    assert output.err == f"wrote {trace}\n"
    assert cli.main(["profile", "--by", "module", "--memory", str(program)]) == 0
    by_module = capsys.readouterr().out
    assert "\nLinear " in by_module and "Kept" in by_module
    assert any(event["name"] == "linear" for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"])


def test_the_exit_status_is_the_programs_and_the_table_is_always_printed(program: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["profile", str(program), "leave"])
    assert stop.value.code == 7 and "Self CPU" in capsys.readouterr().out
    assert cli.main(["profile", str(program), "fail"]) == 1
    output = capsys.readouterr()
    assert "Self CPU" in output.out and output.err.rstrip().endswith("ValueError: on purpose")
    assert output.err.splitlines()[1].strip().startswith(f'File "{program}"')


@cases("command", ["profile", "compat"])
def test_a_program_that_does_not_exist(command: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "nonesuch.py"]) == 1
    assert capsys.readouterr().err == "error: cannot read nonesuch.py\n"
    assert cli.main([command, "-m", "nonesuch"]) == 1
    assert capsys.readouterr().err == "error: no module named nonesuch\n"
