"""The ``minigrad`` command: its subcommands, help and versions."""

import subprocess
import sys

import numpy
import pytest

from minigrad.backend.version import project
from minigrad_models.commands import minigrad_command as cli
from minigrad_models.commands.minigrad_command import SYSTEMS
from minigrad_models.gpt.gpt_run import PROGRAM as GPT
from minigrad_models.programs import folder
from minigrad_models.translation.translator import PROGRAM as TRANSLATION
from tests.support.cases import cases


def test_help_lists_every_command_and_errors_exit_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--help"], [], ["trian"], ["viz"], ["profile"], ["--verzion"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(wrong)
        out, err = capsys.readouterr()
        assert stop.value.code == (0 if out else 2) and "usage: minigrad" in out + err, wrong
        assert all(f"\n    {command.name}" in out for command in cli.COMMANDS if wrong == ["--help"])


@cases("system", ["", *SYSTEMS])
def test_without_a_command_the_help_is_printed(system: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for more in ([], ["--help"]):
        with pytest.raises(SystemExit) as stop:
            cli.main([*filter(None, [system]), *more])
        out, err = capsys.readouterr()
        assert stop.value.code == 0 and out.startswith("usage: minigrad") and not err
        printed.append(out)
    assert printed[0] == printed[1]


@cases(
    "line, proposal",
    [
        ("trian", "do you mean 'train'?"),
        ("gtp train", "do you mean 'gpt'?"),
        ("--verzion", "--verzion; do you mean --version?"),
        ("train --stepz 3", "--stepz 3; do you mean --steps?"),
        ("evaluate --split=tset", "do you mean 'test'?"),
        ("gpt generate --promt=x", "--promt=x; do you mean --prompt?"),
        ("bert prdict", "do you mean 'predict'?"),
        ("music roll x.mid --outptu y", "--outptu y; do you mean --output?"),
        ("train --qqqq", "unrecognized arguments: --qqqq"),  # no similar name
        ("xyz", "'compat')"),
    ],
)
def test_a_misspelled_word_is_answered_with_the_nearest(
    line: str, proposal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(line.split())
    out, err = capsys.readouterr()
    *usage, last = err.splitlines()
    assert (stop.value.code, out) == (2, "") and usage[0].startswith("usage: minigrad")
    assert last.startswith("minigrad") and ": error: " in last and last.endswith(proposal)


def test_versions(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "CUPY", ("numpy", "nonesuch"))  # the version of the installed package
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    first, second = capsys.readouterr().out.splitlines()
    assert stop.value.code == 0 and first == f"minigrad {project}"
    assert second == f"NumPy {numpy.__version__}, Python {sys.version.split()[0]}, CuPy {numpy.__version__}"
    monkeypatch.setattr(cli, "CUPY", ("nonesuch",))
    assert cli.versions().endswith(", CuPy none")


def test_help_does_not_load_models_or_pictures() -> None:
    program = "import sys; from minigrad_models.commands.minigrad_command import parser; parser().format_help()"
    program += "; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    late = ("minigrad.viz", "minigrad.compat", "tqdm", "minigrad_models.translation.translator")
    late += tuple(f"minigrad_models.{name}" for name in ("architectures", "gpt", "bert", "music"))
    assert "minigrad_models.translation.translation_command" in loaded
    assert not [name for name in loaded if name.startswith(late)]


@cases("name", list(SYSTEMS))
def test_a_system_has_its_own_commands(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0 and f"usage: minigrad {name} " in capsys.readouterr().out


def test_messages_quote_the_command_as_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(folder.TYPED, raising=False)
    monkeypatch.setattr(folder, "is_on_path", lambda name: True)
    assert TRANSLATION.typed("train", "--run", "a b") == "minigrad train --run 'a b'"
    assert GPT.typed("train") == "minigrad gpt train"
    monkeypatch.setattr(folder, "is_on_path", lambda name: False)
    assert TRANSLATION.typed("train") == "python -m minigrad train"
    monkeypatch.setenv(folder.TYPED, "python tasks.py translate")
    assert TRANSLATION.typed("train") == "python tasks.py translate train"
