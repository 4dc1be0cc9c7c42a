"""tasks.py: the commands it runs, the packages it installs, and its messages if something is missing."""

import ast
import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tasks
from tests.support.cases import raises


class Recorder:
    """Stands in for ``tasks.call``: records commands and returns exit codes (0 when none is left)."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], environment: dict[str, str] | None = None) -> int:
        self.commands.append(command)
        return self.codes.pop(0) if self.codes else 0


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """A recorder that replaces ``tasks.call``."""
    recorder = Recorder()
    monkeypatch.setattr(tasks, "call", recorder)
    return recorder


def test_help_lists_all_tasks() -> None:
    command = [sys.executable, "tasks.py", "--help"]
    ran = subprocess.run(command, cwd=tasks.ROOT, check=True, capture_output=True, text=True)
    assert all(f"  {name}" in ran.stdout for name in tasks.TASKS)


def test_older_pythons_can_parse_it() -> None:
    ast.parse((tasks.ROOT / "tasks.py").read_text(encoding="utf-8"), feature_version=(3, 6))


def test_every_task_needs_extras_that_exist() -> None:
    import tomllib

    extras = tomllib.loads(tasks.PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    needs = {extra for task in tasks.TASKS.values() if task.extra for extra in task.extra.split(",")}
    assert {"fast", "translate", "test", "dev"} <= needs <= set(extras)


def test_arguments_go_to_the_program(recorder: Recorder) -> None:
    tasks.translate("py", ["train", "--steps", "5"])
    tasks.translate("py", [])
    tasks.translate("py", ["I like cats", "I like dogs"])
    tasks.test("py", ["tests/ops", "-k", "tanh"])
    program = ["py", "-m", "minigrad"]
    assert recorder.commands == [
        [*program, "train", "--steps", "5"],
        [*program, "train"],
        [*program, "translate", "I like cats", "I like dogs"],
        ["py", "-m", "pytest", "tests/ops", "-k", "tanh"],
    ]


def test_translator_commands_exist() -> None:
    from minigrad_models.translation import translation_command as cli

    commands = {command.name for command in cli.COMMANDS} | {"serve", "data"}  # of all systems, which messages name
    assert set(tasks.TRANSLATE_COMMANDS) == {*commands, "-h", "--help"}


def test_options_after_the_task_are_the_programs() -> None:
    options = tasks.parser().parse_args(["--no-install", "translate", "--help", "--no-install"])
    assert (options.no_install, options.task, options.args) == (True, "translate", ["--help", "--no-install"])


@pytest.mark.parametrize(("args", "tier"), [([], []), (["--nightly"], ["-m", "nightly"])])
def test_there_are_two_tiers_of_tests(recorder: Recorder, args: list[str], tier: list[str]) -> None:
    recorder.codes = [3, 3]
    assert tasks.test("py", args) == tasks.test("py", [*args, "tests/web"]) == 3
    whole, part = recorder.commands
    assert whole[3:-4] == tier and whole[-4] == "-n"
    assert part[3:] == [*tier, "tests/web"]


def test_check_continues_after_a_failure(recorder: Recorder) -> None:
    recorder.codes = [1]
    assert tasks.check("py", []) == 1
    programs = [Path(command[2 if command[1] == "-m" else 1]).name for command in recorder.commands]
    assert programs == ["ruff", "ruff", "english.py", "mypy", "mypy", *tasks.GENERATORS, "pytest"]


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The Python of an environment that does not exist, with a separate pyproject.toml."""
    monkeypatch.setattr(tasks, "PROJECT", tmp_path / "pyproject.toml")
    tasks.PROJECT.write_text("[project]\n", encoding="utf-8")
    python = tasks.python_in(tmp_path / "environment")
    python.parent.mkdir(parents=True)
    return python


def test_an_extra_is_installed_once(recorder: Recorder, environment: Path) -> None:
    for extra in ("test", "test", "translate", "test", "translate"):
        tasks.install(environment, extra)
    assert [command[-1] for command in recorder.commands] == [".[test]", ".[translate]"]


def test_an_extra_is_installed_again(recorder: Recorder, environment: Path) -> None:
    """After a change of pyproject.toml, a failed installation, or a damaged stamp."""
    tasks.install(environment, "test")
    tasks.PROJECT.write_text("[project]\nname = 'other'\n", encoding="utf-8")
    recorder.codes = [1]
    raises(SystemExit, "--no-install", lambda: tasks.install(environment, "test"))
    tasks.install(environment, "test")
    (environment.parent.parent / tasks.STAMP).write_text("[", encoding="utf-8")
    tasks.install(environment, "test")
    assert len(recorder.commands) == 4


def test_without_venv_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without_ensurepip(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ensurepip":
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_ensurepip)
    raises(SystemExit, r"apt install python3\.\d+-venv", lambda: tasks.make_environment(tmp_path / "environment"))


def test_half_an_environment_is_not_left(recorder: Recorder, tmp_path: Path) -> None:
    recorder.codes = [1]
    (tmp_path / "environment").mkdir()
    raises(SystemExit, "virtual environment", lambda: tasks.make_environment(tmp_path / "environment"))
    assert not (tmp_path / "environment").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no sh")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_printed_command_runs_in_a_shell(
    elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The printed command repeats the task in the checkout, with its settings and arguments."""
    monkeypatch.chdir(tmp_path if elsewhere else tasks.ROOT)
    program = "import os, sys; print(os.environ['MINIGRAD_COMMAND'], sys.argv[1:], os.getcwd())"
    words = ["I like cats", "it's $HOME; *"]
    tasks.call([sys.executable, "-c", program, *words], {"MINIGRAD_COMMAND": "python tasks.py translate"})
    line, *output = capfd.readouterr().out.splitlines()
    assert output == [f"python tasks.py translate {words} {tasks.ROOT}"]
    environment = {name: value for name, value in os.environ.items() if name != "MINIGRAD_COMMAND"}
    ran = subprocess.run(["sh", "-c", line], env=environment, check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines() == output


def test_the_exit_code_is_the_programs() -> None:
    assert tasks.call([sys.executable, "-c", "raise SystemExit(3)"]) == 3
