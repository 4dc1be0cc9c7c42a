"""The tasks in a checkout, one command each. Requires only Python 3.11 or later:

    python tasks.py translate       train a small translator and use it
    python tasks.py test            run the library's tests
    python tasks.py --help          list all tasks

A task first installs its requirements in the active virtual environment, or otherwise in .venv, which it creates.
Arguments after the task name are passed to the program that the task runs.
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

if sys.version_info < (3, 11):  # noqa: UP036 (for older Pythons, which can parse this file)
    sys.exit(
        f"minigrad needs Python 3.11 or later, and {sys.executable} is Python {sys.version.split()[0]}.\n"
        "Get a newer one from https://www.python.org/downloads/, then: python3.11 tasks.py ..."
    )

ROOT = Path(__file__).resolve().parent
PROJECT = ROOT / "pyproject.toml"
GENERATORS = tuple(f"generate_{page}.py" for page in ("names", "index", "pytorch", "lines", "mistakes"))  # in docs/
STAMP = "minigrad-installed.json"  # in the environment: the installed extras and a hash of pyproject.toml
MOST_TEST_PROCESSES = 8
# Commands of minigrad. Other words after the task name are sentences.
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
    """A command in this program.

    Attributes:
        help: a one-line description.
        run: a function of the environment's Python and the remaining arguments that returns an exit code.
        extra: the extras from pyproject.toml that it requires, comma-separated; None if it needs no environment.
    """

    help: str
    run: Callable[[str, list[str]], int]
    extra: str | None = None


# Tasks ---------------------------------------------------------------------------------------------------


def translate(python: str, args: list[str]) -> int:
    """Run the translation example: train if there are no arguments, translate sentences, or run a command."""
    command = [] if args and args[0] in TRANSLATE_COMMANDS else ["translate" if args else "train"]
    return call([python, "-m", "minigrad", *command, *args], {"MINIGRAD_COMMAND": "python tasks.py translate"})


def test(python: str, args: list[str]) -> int:
    """Run the library's tests or the nightly tests (``--nightly``): the selected ones, or all in parallel.

    Parallel processes use one thread each, so that they do not compete for cores.
    """
    tier = ["-m", "nightly"] if "--nightly" in args else []
    selection = [arg for arg in args if arg != "--nightly"]
    if selection:
        return call([python, "-m", "pytest", *tier, *selection])
    processes = str(min(os.cpu_count() or 1, MOST_TEST_PROCESSES))
    # With worksteal, each process starts with consecutive tests, so that the fixtures of a file are created once.
    return call([python, "-m", "pytest", *tier, "-n", processes, "--dist", "worksteal"], threads(1))


def lint(python: str, args: list[str]) -> int:
    """Check the style, the layout, and the English of sentences and names."""
    ruff = ([python, "-m", "ruff", *words, *(args or ["."])] for words in (["check"], ["format", "--check"]))
    return max(map(call, [*ruff, *([] if args else [[python, str(Path("docs") / "english.py")]])]))


def types(python: str, args: list[str]) -> int:
    """Check the types for this platform and for Windows, whose standard library has different names."""
    if args:
        return call([python, "-m", "mypy", *args])
    windows = ["--platform", "win32", "--cache-dir", ".mypy_cache/windows"]
    return max(call([python, "-m", "mypy", *options]) for options in ([], windows))


def index(python: str, args: list[str]) -> int:
    """Write the generated pages."""
    return max(call([python, str(Path("docs") / name), *args]) for name in GENERATORS)


def site(python: str, args: list[str]) -> int:
    """Build the site in site/, with build tools that are pinned by hashes."""
    requirements = ROOT / "docs" / "web" / "requirements.txt"
    command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "-q", "--require-hashes"]
    return call([*command, "-r", str(requirements)]) or call([python, "-m", "docs.web", *args])


def check(python: str, args: list[str]) -> int:
    """Check the style, types, generated pages and tests. All checks run even if one fails."""
    return max([lint(python, []), types(python, []), index(python, ["--check"]), test(python, args)])


def clean(_python: str, _args: list[str]) -> int:
    """Remove caches and builds, but not .venv."""
    paths = [ROOT / name for name in CACHES]
    for folder in ("minigrad", "models", "examples", "tests", "benchmarks", "docs", "__pycache__"):
        paths += [ROOT / folder] if folder == "__pycache__" else (ROOT / folder).rglob("__pycache__")
    for path in filter(Path.exists, paths):
        print(f"removing {path.relative_to(ROOT)}")
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return 0


TASKS = {
    "translate": Task(
        "train a small translator and use it (models/minigrad_models/translation)", translate, "fast,translate"
    ),
    "test": Task(
        "run the library's tests, or the slow ones (--nightly); paths and pytest options select tests", test, "test"
    ),
    "lint": Task("check the style with ruff", lint, "dev"),
    "types": Task("check the types with mypy", types, "dev"),
    "index": Task("write docs/ops.md, docs/pytorch.md, the name stubs and the line-count table", index, "dev"),
    "site": Task(
        "build the site in site/, with the framework in the browser; --serve shows it",
        site,
        "fast,tensorboard,translate",
    ),
    "check": Task("lint, types, index --check and test: all must pass before a change is merged", check, "dev"),
    "clean": Task("remove caches and builds", clean),
}


# Implementation ------------------------------------------------------------------------------------------


def call(command: list[str], environment: dict[str, str] | None = None) -> int:
    """Print a command in shell syntax, run it in the checkout, and return its exit code."""
    changed = environment or {}
    there = [] if Path.cwd() == ROOT else ["cd", shlex.quote(str(ROOT)), "&&"]
    print(*there, *(f"{name}={shlex.quote(value)}" for name, value in changed.items()), shlex.join(command), flush=True)
    try:
        with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONUTF8": "1", **changed}) as process:
            return process.wait()
    except KeyboardInterrupt:  # the program was interrupted as well, and printed its message
        return 130


def threads(count: int) -> dict[str, str]:
    """Environment variables that limit a process to this many threads."""
    return {f"{name}_NUM_THREADS": str(count) for name in ("OMP", "OPENBLAS", "MKL", "MINIGRAD")}


def environment_python() -> Path:
    """The Python of the active virtual environment, or otherwise of .venv, which is created if necessary."""
    if sys.prefix != sys.base_prefix:
        return Path(sys.executable)
    python = python_in(ROOT / ".venv")
    if not python.exists():
        make_environment(ROOT / ".venv")
    return python


def python_in(environment: Path) -> Path:
    """The path to the Python in a virtual environment."""
    return environment / "Scripts" / "python.exe" if os.name == "nt" else environment / "bin" / "python"


def make_environment(folder: Path) -> None:
    """Create a virtual environment, or exit with a message about the missing requirement."""
    try:
        import ensurepip  # noqa: F401 (Debian packages it separately, and venv's error is cryptic)
        import venv  # noqa: F401
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(
            "This Python cannot create virtual environments: its modules venv and ensurepip are missing.\n"
            f"On Debian and Ubuntu: sudo apt install python{version}-venv. Elsewhere: install Python from\n"
            "https://www.python.org/downloads/. Or create and activate an environment some other way first."
        )
    if call([sys.executable, "-m", "venv", str(folder)]):
        shutil.rmtree(folder, ignore_errors=True)  # otherwise, the next run would use an incomplete environment
        sys.exit(f"Cannot create a virtual environment in {folder}: see above.")


def install(python: Path, extra: str) -> None:
    """Install the checkout with an extra, unless it is already installed from the same pyproject.toml."""
    stamp = python.parent.parent / STAMP
    source = hashlib.sha256(PROJECT.read_bytes() + str(ROOT).encode()).hexdigest()
    installed = read_stamp(stamp, source)
    if extra in installed:
        return
    # --no-compile, since only a few of the thousands of modules are ever imported. Python compiles those on import.
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "-q", "-e"]
    if call([*command, f".[{extra}]"]):
        sys.exit(
            "pip could not install the requirements: see above. Without a network, install them some other way,\n"
            "and put --no-install before the task name."
        )
    stamp.write_text(json.dumps({"source": source, "extras": [*installed, extra]}), encoding="utf-8")


def read_stamp(stamp: Path, source: str) -> list[str]:
    """The extras that were installed from ``source``."""
    try:
        content = json.loads(stamp.read_text(encoding="utf-8"))
        return list(content["extras"]) if content["source"] == source else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def parser() -> argparse.ArgumentParser:
    """The command line."""
    width = max(map(len, TASKS))
    result = argparse.ArgumentParser(
        prog="python tasks.py",
        description="Runs minigrad's programs and checks, after installing what they need.",
        epilog="tasks:\n" + "\n".join(f"  {name:{width}}  {task.help}" for name, task in TASKS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--no-install", action="store_true", help="use this Python without installing anything")
    result.add_argument("task", choices=TASKS, metavar="task", help="one of the tasks below")
    result.add_argument("args", nargs=argparse.REMAINDER, help="arguments for the task's program")
    return result


def main() -> int:
    """Run the task named on the command line."""
    options = parser().parse_args()
    task: Task = TASKS[options.task]
    if task.extra is None or options.no_install:
        return task.run(sys.executable, options.args)
    python = environment_python()
    install(python, task.extra)
    return task.run(str(python), options.args)


if __name__ == "__main__":
    sys.exit(main())
