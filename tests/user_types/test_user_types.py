"""What type checkers and editors say of a user's program, with minigrad found as an installed package is."""

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
Checker = Callable[[Path, Path], tuple[set[int], str]]  # environment, file -> lines with errors, all that it says


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which pip has installed this checkout for editing: a path in a .pth file."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    base = {"base": str(folder), "platbase": str(folder)}
    site = Path(sysconfig.get_path("purelib", "venv", base))
    lines = [str(ROOT), sysconfig.get_path("purelib")]
    (site / "minigrad.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return python


def mypy(python: Path, file: Path) -> tuple[set[int], str]:
    """As a user calls it, in a folder of its own: the repository's settings do not count."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "--config-file", ""]
    said = run([*command, "--cache-dir", str(python.parent.parent / "mypy"), str(file)])
    return {int(n) for n in re.findall(rf"{file.name}:(\d+): error", said)}, said


def pyright(python: Path, file: Path) -> tuple[set[int], str]:
    """As a user calls it."""
    pytest.importorskip("pyright", reason="pyright is not installed")
    project = python.parent.parent / "pyright"
    project.mkdir(exist_ok=True)
    (project / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}', encoding="utf-8")
    copy = shutil.copy(file, project)
    said = run([sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(python), "-p", str(project), copy])
    if "generalDiagnostics" not in said:
        pytest.skip(f"pyright does not run here: {said[-200:]}")
    found = json.loads(said[said.index("{") :])["generalDiagnostics"]
    errors = {entry["range"]["start"]["line"] + 1 for entry in found if entry["severity"] == "error"}
    return errors, "\n".join(f"{entry['range']['start']['line'] + 1}: {entry['message']}" for entry in found)


def run(command: list[str]) -> str:
    """What a checker says."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=500, encoding="utf-8")
    return done.stdout + done.stderr


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_types_are_known_and_mistakes_reported(environment: Path, checker: Checker) -> None:
    for name in ("program.py", "revealed.py"):
        lines, said = checker(environment, HERE / name)
        assert not lines, said
    mistakes, marks = HERE / "mistakes.py", ("# mistake:", f"# mistake for {checker.__name__}:")
    text = mistakes.read_text(encoding="utf-8").splitlines()
    expected = {number for number, line in enumerate(text, 1) if any(mark in line for mark in marks)}
    lines, said = checker(environment, mistakes)
    assert len(expected) > 20
    assert lines == expected, said


@pytest.mark.parametrize("name", ["program.py", "revealed.py"])
def test_they_run(tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / name), str(tmp_path)], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


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
