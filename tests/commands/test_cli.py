"""The command ``minigrad`` as a whole: its commands, its help, its versions."""

import subprocess
import sys

import numpy
import pytest

from minigrad.commands import cli, version
from minigrad.programs import typed
from minigrad.version import project


def test_help_tells_of_every_command_and_a_wrong_line_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--help"], [], ["trian"], ["viz"], ["profile"], ["completion", "tcsh"], ["--verzion"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(wrong)
        out, err = capsys.readouterr()
        assert stop.value.code == (0 if out else 2) and "usage: minigrad" in out + err, wrong
        assert all(f"\n    {command.name}" in out for command in cli.COMMANDS if wrong == ["--help"])


def test_versions(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "_installed", {"cupy-cuda12x": "13.3.0"}.get)
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    first, second = capsys.readouterr().out.splitlines()
    assert stop.value.code == 0 and first == f"minigrad {project}"
    assert second == f"NumPy {numpy.__version__}, Python {sys.version.split()[0]}, CuPy 13.3.0"
    assert version._installed("nonesuch") is None


def test_telling_of_the_commands_loads_neither_models_nor_pictures() -> None:
    program = "import sys; from minigrad.commands import cli; cli.parser().format_help(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    late = ("minigrad.viz", "minigrad.models", "minigrad.compat", "minigrad.translate.translator", "tqdm", "shtab")
    assert "minigrad.translate.cli" in loaded and not [name for name in loaded if name.startswith(late)]


def test_messages_say_what_a_person_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(typed.TYPED, raising=False)
    monkeypatch.setattr(typed, "is_on_path", lambda name: True)
    assert typed.command("minigrad.translate", "train", "--run", "a b") == "minigrad train --run 'a b'"
    assert typed.command("examples.gpt", "train") == "python -m examples.gpt train"
    monkeypatch.setattr(typed, "is_on_path", lambda name: False)
    assert typed.command("minigrad.translate", "train") == "python -m minigrad train"
    monkeypatch.setenv(typed.TYPED, "python tasks.py translate")
    assert typed.command("minigrad.translate", "train") == "python tasks.py translate train"
