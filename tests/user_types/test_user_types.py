"""Type checkers and editors on a user's program, with minigrad installed as a package."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Checker = Callable[[Path, Path], tuple[set[int], str]]  # environment, file -> lines with errors, all output


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with an editable install of this checkout: a path in a .pth file."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    base = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", base))
    lines = [str(ROOT), sysconfig.get_path("purelib")]
    (site / "minigrad.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return python


def mypy(python: Path, file: Path) -> tuple[set[int], str]:
    """Run mypy as a user does, in a separate folder without the repository's settings."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "--config-file", ""]
    output = run([*command, "--cache-dir", str(python.parent.parent / "mypy"), str(file)])
    return {int(n) for n in re.findall(rf"{file.name}:(\d+): error", output)}, output


def pyright(python: Path, file: Path) -> tuple[set[int], str]:
    """Run pyright as a user does."""
    pytest.importorskip("pyright", reason="pyright is not installed")
    project = python.parent.parent / "pyright"
    project.mkdir(exist_ok=True)
    (project / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}', encoding="utf-8")
    copy = shutil.copy(file, project)
    text = run([sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(python), "-p", str(project), copy])
    if "generalDiagnostics" not in text:
        pytest.skip(f"pyright does not run here: {text[-200:]}")
    diagnostics = json.loads(text[text.index("{") :])["generalDiagnostics"]
    errors = {entry["range"]["start"]["line"] + 1 for entry in diagnostics if entry["severity"] == "error"}
    return errors, "\n".join(f"{entry['range']['start']['line'] + 1}: {entry['message']}" for entry in diagnostics)


def run(command: list[str]) -> str:
    """The output of a checker."""
    result = subprocess.run(command, check=False, capture_output=True, text=True, timeout=500, encoding="utf-8")
    return result.stdout + result.stderr


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_types_are_inferred_and_mistakes_reported(environment: Path, checker: Checker) -> None:
    for name in ("program.py", "revealed.py"):
        lines, output = checker(environment, HERE / name)
        assert not lines, output
    mistakes, marks = HERE / "mistakes.py", ("# mistake:", f"# mistake for {checker.__name__}:")
    text = mistakes.read_text(encoding="utf-8").splitlines()
    expected = {number for number, line in enumerate(text, 1) if any(mark in line for mark in marks)}
    lines, output = checker(environment, mistakes)
    assert len(expected) > 20
    assert lines == expected, output


@pytest.mark.parametrize("name", ["program.py", "revealed.py"])
def test_the_programs_run(tmp_path: Path, name: str) -> None:
    result = subprocess.run(
        [sys.executable, str(HERE / name), str(tmp_path)], check=False, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr


COMPLETED = {"nn.LSTM(2, 3)(x)[1][0].": "unsqueeze", "x.max(0).": "indices", "x.max(0).values.": "softmax"}
COMPLETED |= {"(x * 2).sum().": "backward", "minigrad.device('cpu').": "index"}


def test_completion(environment: Path) -> None:
    jedi = pytest.importorskip("jedi", reason="jedi is not installed")
    start = "import minigrad\nfrom minigrad import nn\nx = minigrad.ones(2)\n"
    project = jedi.Project(ROOT)
    missed = [
        text
        for text, name in COMPLETED.items()
        if name not in {c.name for c in jedi.Script(start + text, project=project).complete(4, len(text))}
    ]
    assert not missed
