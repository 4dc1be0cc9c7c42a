"""Everything that is done in a checkout, as one command each. It needs Python 3.11 or later and nothing else:

    python tasks.py translate       train a small translator, and talk to it
    python tasks.py test            run the library's tests
    python tasks.py --help          the rest

A task first sees to it that what it needs is installed: in the virtual environment that is active, or else in
one that it makes in .venv. What follows the task's name goes to the program that the task runs.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

if sys.version_info < (3, 11):  # noqa: UP036 (it speaks to older Pythons, which can read this file so far)
    sys.exit(
        f"minigrad needs Python 3.11 or later, and {sys.executable} is Python {sys.version.split()[0]}.\n"
        "Get a newer one from https://www.python.org/downloads/, then: python3.11 tasks.py ..."
    )

ROOT = Path(__file__).resolve().parent
PROJECT = ROOT / "pyproject.toml"
GENERATORS = tuple(f"generate_{what}.py" for what in ("names", "index", "pytorch", "lines", "mistakes"))  # in docs/
STAMP = "minigrad-installed.json"  # in the environment: which extras, from which pyproject.toml
MOST_TEST_PROCESSES = 8
# Of minigrad; other words after the task's name are sentences.
TRANSLATE_COMMANDS = ("train", "evaluate", "translate", "serve", "config", "data", "-h", "--help")
CACHES = (
    "build",
    "dist",
    "site",
    ".site-parts",
    "htmlcov",
    "minigrad_nn.egg-info",
    ".coverage",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
)


class Task(NamedTuple):
    """A word for the command line.

    Attributes:
        help: what it does, in a line.
        run: is given the environment's Python and the rest of the command line; returns an exit code.
        extra: which extras of pyproject.toml it needs, by comma; None for a task that needs no environment.
    """

    help: str
    run: Callable[[str, list[str]], int]
    extra: str | None = None


# What tasks do -------------------------------------------------------------------------------------------


def translate(python: str, args: list[str]) -> int:
    """The translation example: it trains if nothing is given, translates sentences, or runs its commands."""
    command = [] if args and args[0] in TRANSLATE_COMMANDS else ["translate" if args else "train"]
    return call([python, "-m", "minigrad", *command, *args], {"MINIGRAD_COMMAND": "python tasks.py translate"})


def test(python: str, args: list[str]) -> int:
    """The library's tests, or the others (``--nightly``): those that the arguments name, or all, side by side.

    They would fight for the cores if each process used them all.
    """
    which = ["-m", "nightly"] if "--nightly" in args else []
    named = [arg for arg in args if arg != "--nightly"]
    if named:
        return call([python, "-m", "pytest", *which, *named])
    processes = str(min(os.cpu_count() or 1, MOST_TEST_PROCESSES))
    # Each process begins with a stretch of its own, so that what a file's tests share is made once.
    return call([python, "-m", "pytest", *which, "-n", processes, "--dist", "worksteal"], threads(1))


def lint(python: str, args: list[str]) -> int:
    """Style, layout, and the English of sentences and names."""
    ruff = ([python, "-m", "ruff", *words, *(args or ["."])] for words in (["check"], ["format", "--check"]))
    return max(map(call, [*ruff, *([] if args else [[python, str(Path("docs") / "english.py")]])]))


def types(python: str, args: list[str]) -> int:
    """Types, here and on Windows, where other names of the standard library are missing."""
    if args:
        return call([python, "-m", "mypy", *args])
    windows = ["--platform", "win32", "--cache-dir", ".mypy_cache/windows"]
    return max(call([python, "-m", "mypy", *more]) for more in ([], windows))


def index(python: str, args: list[str]) -> int:
    """The pages that are generated from the code."""
    return max(call([python, str(Path("docs") / name), *args]) for name in GENERATORS)


def site(python: str, args: list[str]) -> int:
    """The site, in site/. What it is built with is pinned by hashes."""
    pinned = ROOT / "docs" / "web" / "requirements.txt"
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "-q", "--require-hashes"]
    return call([*command, "-r", str(pinned)]) or call([python, "-m", "docs.web", *args])


def check(python: str, args: list[str]) -> int:
    """Style, types, generated pages and tests, all of them even if one fails."""
    return max([lint(python, []), types(python, []), index(python, ["--check"]), test(python, args)])


def clean(_python: str, _args: list[str]) -> int:
    """Caches and builds; .venv stays."""
    found = [ROOT / name for name in CACHES]
    for folder in ("minigrad", "models", "examples", "tests", "benchmarks", "docs", "__pycache__"):
        found += [ROOT / folder] if folder == "__pycache__" else (ROOT / folder).rglob("__pycache__")
    for path in filter(Path.exists, found):
        print(f"removing {path.relative_to(ROOT)}")
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return 0


TASKS = {
    "translate": Task(
        "train a small translator and talk to it (models/minigrad_models/translation)", translate, "fast,translate"
    ),
    "test": Task(
        "run the library's tests, or the slow ones (--nightly); paths and pytest options choose among them",
        test,
        "test",
    ),
    "lint": Task("check the style with ruff", lint, "dev"),
    "types": Task("check the types with mypy", types, "dev"),
    "index": Task("write docs/ops.md, docs/pytorch.md, the stubs of names and README.md's table anew", index, "dev"),
    "site": Task(
        "build the site in site/, where the framework runs in the browser; --serve shows it",
        site,
        "fast,tensorboard,translate",
    ),
    "check": Task("lint, types, index --check and test: what a change must pass", check, "dev"),
    "clean": Task("remove caches and builds", clean),
}


# How they are done ---------------------------------------------------------------------------------------


def call(command: list[str], environment: dict[str, str] | None = None) -> int:
    """Print a command as a line for a shell, run it in the checkout, and return its exit code."""
    changed = environment or {}
    there = [] if Path.cwd() == ROOT else ["cd", shlex.quote(str(ROOT)), "&&"]
    print(*there, *(f"{name}={shlex.quote(value)}" for name, value in changed.items()), shlex.join(command), flush=True)
    try:
        with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONUTF8": "1", **changed}) as process:
            return process.wait()
    except KeyboardInterrupt:  # the program was interrupted as well, and has said so
        return 130


def threads(count: int) -> dict[str, str]:
    """Settings under which a process computes on so many cores."""
    return {f"{name}_NUM_THREADS": str(count) for name in ("OMP", "OPENBLAS", "MKL", "MINIGRAD")}


def environment_python() -> Path:
    """The Python to work with: that of the active virtual environment, or else of .venv, made if need be."""
    if sys.prefix != sys.base_prefix:
        return Path(sys.executable)
    python = python_in(ROOT / ".venv")
    if not python.exists():
        make_environment(ROOT / ".venv")
    return python


def python_in(environment: Path) -> Path:
    """Where a virtual environment has its Python."""
    return environment / "Scripts" / "python.exe" if os.name == "nt" else environment / "bin" / "python"


def make_environment(folder: Path) -> None:
    """Make a virtual environment, or say what is missing for it."""
    try:
        import ensurepip  # noqa: F401 (Debian takes it out of Python, and venv fails with a riddle)
        import venv  # noqa: F401
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(
            "This Python cannot make virtual environments: its modules venv and ensurepip are missing.\n"
            f"On Debian and Ubuntu: sudo apt install python{version}-venv. Elsewhere: install Python from\n"
            "https://www.python.org/downloads/. Or make and activate an environment by other means first."
        )
    if call([sys.executable, "-m", "venv", str(folder)]):
        shutil.rmtree(folder, ignore_errors=True)  # half an environment would be taken for a whole one
        sys.exit(f"No virtual environment could be made in {folder}: see above.")


def install(python: Path, extra: str) -> None:
    """Install the checkout with an extra, unless that was done before from the same pyproject.toml."""
    stamp = python.parent.parent / STAMP
    source = hashlib.sha256(PROJECT.read_bytes() + str(ROOT).encode()).hexdigest()
    installed = read_stamp(stamp, source)
    if extra in installed:
        return
    # Of thousands of modules few are ever imported: Python compiles those, then.
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "-q", "-e"]
    if call([*command, f".[{extra}]"]):
        sys.exit(
            "pip could not install what this needs: see above. Without a network install it by other means,\n"
            "and put --no-install before the task's name."
        )
    stamp.write_text(json.dumps({"source": source, "extras": [*installed, extra]}), encoding="utf-8")


def read_stamp(stamp: Path, source: str) -> list[str]:
    """The extras that are installed from ``source``."""
    try:
        found = json.loads(stamp.read_text(encoding="utf-8"))
        return list(found["extras"]) if found["source"] == source else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def parser() -> argparse.ArgumentParser:
    """The command line."""
    width = max(map(len, TASKS))
    made = argparse.ArgumentParser(
        prog="python tasks.py",
        description="Runs minigrad's programs and checks, after installing what they need.",
        epilog="tasks:\n" + "\n".join(f"  {name:{width}}  {task.help}" for name, task in TASKS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--no-install", action="store_true", help="use this Python as it is")
    made.add_argument("task", choices=TASKS, metavar="task", help="one of those below")
    made.add_argument("args", nargs=argparse.REMAINDER, help="what goes to the task's program")
    return made


def main() -> int:
    """Run the task that the command line names."""
    given = parser().parse_args()
    task: Task = TASKS[given.task]
    if task.extra is None or given.no_install:
        return task.run(sys.executable, given.args)
    python = environment_python()
    install(python, task.extra)
    return task.run(str(python), given.args)


if __name__ == "__main__":
    sys.exit(main())
