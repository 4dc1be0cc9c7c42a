"""A newcomer's steps with the wheel, in a fresh environment, outside the checkout.

    python tests/newcomer/run.py             run all steps and print a line for each
    python tests/newcomer/run.py --keep DIR  run in this folder, keep it, and reuse its environment

The steps are in ``steps/``. They see only the installed package. A later step installs the optional libraries, so that
the steps before it show which features work without them, and the errors if one is missing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main() -> int:
    """Build, install, run the steps. Returns the exit status."""
    parser = argparse.ArgumentParser(description="A newcomer's steps with the wheel, in a fresh environment.")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="work in this folder, and leave it there")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory(prefix="newcomer-") as temporary:
        place = (keep or Path(temporary)).resolve()
        if place == ROOT or ROOT in place.parents:
            parser.error("the folder must lie outside the checkout")
        place.mkdir(parents=True, exist_ok=True)
        return in_folder(place)


def in_folder(place: Path) -> int:
    """Do everything in an empty folder, or one from an earlier run."""
    start = time.perf_counter()
    wheel = build(place)
    python = environment(place / "venv")
    install(python, "--force-reinstall", "--no-deps", str(wheel))
    install(python, str(wheel))
    report(f"{wheel.name}, installed in a fresh environment", start)
    steps, home = place / "steps", place / "home"
    for folder in (steps, home):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "steps", steps, ignore=shutil.ignore_patterns("__pycache__"))
    home.mkdir()
    shutil.copy(ROOT / "tests" / "user_types" / "program.py", home / "user.py")
    return subprocess.run([python, steps, wheel], cwd=home, check=False, env=plain(python)).returncode


def build(place: Path) -> Path:
    """Build the wheel from a copy of its sources, since a build leaves files behind."""
    source, dist = place / "source", place / "dist"
    for folder in (source, dist):
        shutil.rmtree(folder, ignore_errors=True)
    for name in ("minigrad", "models"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)]
    subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = dist.glob("*.whl")
    return wheel


def environment(folder: Path) -> Path:
    """The Python of a new virtual environment."""
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(python: Path, *what: str) -> None:
    """Run pip as a user does, but compile nothing, since most modules are never imported."""
    command = [str(python), "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", *what]
    subprocess.run(command, check=True)


def plain(python: Path) -> dict[str, str]:
    """The environment variables of a shell with the virtual environment active, without the checkout."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MINIGRAD"))}
    paths = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    more = {"PATH": paths, "VIRTUAL_ENV": str(python.parent.parent), "PYTHONUTF8": "1", "PIP_NO_COMPILE": "1"}
    return {**outside, **more, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def report(what: str, start: float) -> None:
    """Print how long something took."""
    print(f"{what} ({time.perf_counter() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
