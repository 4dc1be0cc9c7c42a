"""What the documents say is so: examples run, commands exist and take the arguments shown, links lead on.

Two things are not done here: a test cannot run the test suite that it is part of, and training is left to
the tests of the examples. Of such commands the form is checked: the `--help` of the program must know every
option on the page. A command of an unknown kind fails, so that nothing is skipped unseen.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import tasks
from tests.support.documents import Block, blocks

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
SHELL = ("bash", "sh")
SHOWN = ("", "text", "diff", "mermaid", "toml", "json", "bibtex")  # to be read, not run
LINK = re.compile(r"\[[^\]]*\]\((?!\w+:|#)([^)#\s]+)(?:#([^)\s]*))?\)")


def page_blocks() -> Iterator[tuple[str, Block]]:
    """All blocks of all pages."""
    for name, page in zip(NAMES, PAGES, strict=True):
        if page.exists():
            yield from ((name, block) for block in blocks(page.read_text(encoding="utf-8")))


def command_lines() -> list[tuple[str, str]]:
    """(place, command) of each line of the shell blocks; continued lines are joined."""
    found = []
    for name, block in page_blocks():
        if block.language in SHELL:
            text = block.text.replace("\\\n", " ")
            lines = [line.removeprefix("$ ").strip() for line in text.splitlines()]
            found += [(f"{name}:{block.line}", line) for line in lines if line and not line.startswith("#")]
    return found


# Python --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_python_examples_run_and_print_what_the_page_says(name: str, tmp_path: Path) -> None:
    page = ROOT / name
    examples = [b.text for b in blocks(page.read_text(encoding="utf-8")) if b.language == "python"]
    for library in ("torch", "transformers"):  # not imported here: the page has a process of its own
        needed = any(re.search(rf"^\s*(import|from) {library}\b", text, re.MULTILINE) for text in examples)
        if needed and importlib.util.find_spec(library) is None:
            pytest.skip(f"not installed: {library}")
    if not examples:
        return
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.documents", str(page)],
        cwd=tmp_path,
        check=False,
        text=True,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": paths, "PYTHONUTF8": "1"},
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"


def test_every_block_is_of_a_known_kind() -> None:
    known = (*SHELL, *SHOWN, "python")
    unknown = [(name, b.line, b.language) for name, b in page_blocks() if b.language not in known]
    assert not unknown, f"blocks that are neither run nor known to be for reading alone: {unknown}"


# Commands ------------------------------------------------------------------------------------------------


def check_python(args: list[str]) -> None:
    """``python -m module …`` and ``python file …``."""
    if args[:2] == ["-m", "venv"]:
        return
    if args[:2] in (["-m", "pip"], ["-m", "pytest"]):
        CHECKS[args[1]](args[2:])
    elif args[0] == "tasks.py":
        check_task(args[1:])
    elif args[0] == "-m":
        assert find_module(args[1]).exists(), f"there is no module {args[1]}"
        check_options(("-m", args[1]), args[2:])
    else:
        assert (ROOT / args[0]).exists(), f"there is no file {args[0]}"
        check_options((args[0],), args[1:])


# Programs that give the options that they do not know to another one
GIVES_ON: dict[tuple[str, ...], tuple[str, ...]] = {("-m", "examples.ablations"): ("-m", "minigrad", "train")}


def find_module(name: str) -> Path:
    """The file that ``python -m name`` runs."""
    path = ROOT.joinpath(*name.split("."))
    return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")


def check_options(program: tuple[str, ...], args: list[str]) -> None:
    """Every option on a command line must stand in the program's ``--help``."""
    options = {arg.split("=")[0] for arg in args if re.match(r"--?[a-zA-Z]", arg)} - {"--help"}
    described = help_of(program)
    if args and re.search(rf"^    {re.escape(args[0])}(  |$)", described, re.MULTILINE):
        described = help_of((*program, args[0]))  # a command of the program's
    if program in GIVES_ON:
        described += help_of(GIVES_ON[program])
    missing = [option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", described)]
    assert not missing, f"{' '.join(program)} --help does not know {missing}:\n{described}"


@cache
def help_of(program: tuple[str, ...]) -> str:
    """What a program answers to ``--help``; subcommands must be described in it as well."""
    ran = subprocess.run(
        [sys.executable, *program, "--help"],
        cwd=ROOT,
        check=False,
        text=True,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1", "COLUMNS": "200"},
    )
    assert ran.returncode == 0, f"{' '.join(program)} --help fails:\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def check_task(args: list[str]) -> None:
    """``python tasks.py task …``: the task is there, and what follows suits its program."""
    if args == ["--help"]:
        return
    task, rest = (args[0], args[1:]) if args[0] != "--no-install" else (args[1], args[2:])
    assert task in tasks.TASKS, f"tasks.py has no task {task}"
    if task == "translate":
        command = [] if rest and rest[0] in tasks.TRANSLATE_COMMANDS else ["translate" if rest else "train"]
        check_options(("-m", "minigrad"), [*command, *rest])
    elif task == "test":
        check_pytest(rest)
    elif task == "index":
        check_options(("docs/generate_index.py",), rest)


def check_pytest(args: list[str]) -> None:
    """The paths are there. (A suite cannot run itself: ``.ci/run`` runs the command as the README has it.)"""
    for arg in args:
        assert "/" not in arg or (ROOT / arg.split("::")[0]).exists(), f"there is no {arg}"


def check_pip(args: list[str]) -> None:
    """``pip install``; extras of this project are in pyproject.toml."""
    assert args[0] == "install", f"pip {args[0]} is not a known kind of command"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for arg in args[1:]:
        if match := re.fullmatch(r"(?:\.|minigrad-nn)\[([\w,-]+)\]", arg):
            unknown = set(match[1].split(",")) - set(project["optional-dependencies"])
            assert not unknown, f"pyproject.toml has no extra {unknown}"


def check_git(args: list[str]) -> None:
    """``git clone``."""
    assert args[0] == "clone", f"git {args[0]} is not a known kind of command"


def check_cd(args: list[str]) -> None:
    """Into what was cloned, or a folder that is there."""
    assert args[0] == "minigrad" or (ROOT / args[0]).is_dir(), f"there is no folder {args[0]}"


def check_source(args: list[str]) -> None:
    """Activating an environment."""
    assert args[0].endswith("/bin/activate"), f"source {args[0]} is not a known kind of command"


def check_bash(args: list[str]) -> None:
    """A script that is there."""
    assert (ROOT / args[0]).exists(), f"there is no script {args[0]}"


def check_tool(_args: list[str]) -> None:
    """A development tool, whose options are its own matter."""


CHECKS: dict[str, Callable[[list[str]], None]] = {
    "python": check_python,
    "python3": check_python,
    "python3.11": check_python,
    "pip": check_pip,
    "uv": lambda args: check_pip(args[1:]),
    "pytest": check_pytest,
    "git": check_git,
    "mpiexec": lambda args: CHECKS[args[2]](args[3:]),  # after -n N
    "minigrad": lambda args: check_options(("-m", "minigrad"), args),
    "cd": check_cd,
    "source": check_source,
    "bash": check_bash,
    "ruff": check_tool,
    "mypy": check_tool,
    "nvidia-smi": check_tool,
}


@pytest.mark.parametrize(("place", "command"), command_lines())
def test_commands_exist_and_take_the_arguments_shown(place: str, command: str) -> None:
    for part in re.split(r"&&|;", command):
        words = shlex.split(part, comments=True)
        while words and re.match(r"[A-Z_]+=", words[0]):  # settings: NAME=value python ...
            words = words[1:]
        assert words and words[0] in CHECKS, f"{place}: this test does not know such commands: {part}"
        CHECKS[words[0]](words[1:])


@pytest.mark.parametrize(
    "command",
    [
        "python tasks.py nonesuch",
        "python -m examples.nonesuch",
        "pip install minigrad-nn[nonesuch]",
        "git push",
        "python docs/generate_index.py --nonesuch",
        "make nonesuch",
        "curl x | sh",
    ],
)
def test_a_wrong_command_is_noticed(command: str) -> None:
    with pytest.raises(AssertionError):
        test_commands_exist_and_take_the_arguments_shown("here", command)


# Links and the index -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    wrong = []
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target
        if not path.exists():
            wrong.append(target)
        elif re.fullmatch(r"L\d+", anchor) and int(anchor[1:]) > len(file_lines(path)):
            wrong.append(f"{target}#{anchor}")
    assert not wrong, f"{name} has links that lead nowhere: {wrong}"


@cache
def file_lines(path: Path) -> list[str]:
    """The lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def test_the_index_of_ops_is_up_to_date() -> None:
    command = [sys.executable, "docs/generate_index.py", "--check"]
    ran = subprocess.run(command, cwd=ROOT, check=False, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_index_finds_every_rule() -> None:
    """The index reads rules from the source: none of those that the library runs may be missing in it."""
    from minigrad.ops.registry import REGISTRY

    index = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert "[](" not in index, "a rule without a formula"
    for op in REGISTRY.values():
        if op.__module__.startswith("minigrad.ops"):
            row = next((line for line in index.splitlines() if line.startswith(f"| [`{op.name}`]")), "")
            missing = [name for name in op.rules if op.formula(name).replace("|", "\\|") not in row]
            assert row and not missing, f"docs/ops.md lacks {op.name} or its rules for {missing}"
