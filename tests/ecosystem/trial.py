"""A library's trial: its example on both sides, each in a separate process, and the verdict."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from .compare import Results, largest, problems, read
from .environments import NotInstalled, both
from .table import HERE, Library

RIGHT, DIFFERS, FAILS, BROKEN = "right", "differs", "fails", "broken"
SECONDS = 900  # time limit of an example
# One core each, so that times are comparable; PyTorch's dropout; nothing from the network or the user's folders.
SETTINGS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "MINIGRAD")}
SETTINGS |= {"MINIGRAD_DROPOUT_STREAM": "pytorch", "PYTHONUTF8": "1", "PYTHONHASHSEED": "0", "MPLBACKEND": "agg"}
SETTINGS |= {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "TOKENIZERS_PARALLELISM": "false"}


class Trial(NamedTuple):
    """The outcome of a library's trial.

    Attributes:
        verdict: "right"; "differs"; "fails", an error that PyTorch does not raise; "broken", without a result: the
            example fails with PyTorch, or cannot be installed.
        difference: the largest difference, relative to scale.
        seconds: the time of ``run()``, on PyTorch and on minigrad.
        why: the differences, or the error.
        log: the whole output.
    """

    verdict: str
    difference: float = 0.0
    seconds: tuple[float, float] = (0.0, 0.0)
    why: str = ""
    log: str = ""


class Failed(Exception):
    """An example failed; the message is its output, which ends with the error."""


def install_and_try(library: Library, wheel: Path, place: Path) -> Trial:
    """Create the two environments in a folder, and try the library in them."""
    try:
        theirs, ours = both(library, place, wheel)
    except NotInstalled as error:
        return Trial(BROKEN, why=f"uv: {error}")
    return attempt(library, theirs, ours, place.parent / "bytecode")


def attempt(library: Library, theirs: Path, ours: Path, bytecode: Path | None = None) -> Trial:
    """Run the example with two Pythons: one from an environment with PyTorch, one from an environment with minigrad.

    Args:
        bytecode: a folder for it, so that the same packages in another environment at that path need no compilation.
    """
    more = {} if bytecode is None else {"PYTHONPYCACHEPREFIX": str(bytecode)}
    try:
        expected = run(library, theirs, more)
    except Failed as error:
        return Trial(BROKEN, why=f"with PyTorch: {last_line(error)}", log=str(error))
    try:
        actual = run(library, ours, more, "--minigrad")
    except Failed as error:
        return Trial(FAILS, why=last_line(error), log=str(error), seconds=(expected.seconds, 0.0))
    differences = list(problems(actual, expected))
    seconds = (expected.seconds, actual.seconds)
    verdict, why = DIFFERS if differences else RIGHT, "; ".join(differences[:3])
    return Trial(verdict, largest(actual, expected), seconds, why, "\n".join(differences))


def run(library: Library, python: Path, more: dict[str, str], *options: str) -> Results:
    """The example's results on one side, from a process in an empty folder. Raises Failed: it raised an error or timed
    out."""
    with tempfile.TemporaryDirectory(prefix="ecosystem-", ignore_cleanup_errors=True) as empty:
        results = Path(empty) / "results.safetensors"
        command = [str(python), "-P", str(HERE / "run.py"), str(library.program), str(results), *options]
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MINIGRAD"))}
        settings = {**outside, **SETTINGS, **more, "HOME": empty, "USERPROFILE": empty}
        try:
            process = subprocess.run(
                command, cwd=empty, env=settings, capture_output=True, text=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"it takes more than {SECONDS} seconds") from None
        if process.returncode:
            raise Failed(process.stdout + process.stderr or f"it ended with status {process.returncode}")
        return read(results)


def last_line(error: Failed) -> str:
    """The error's type and text."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip()[:300]


def wrong(library: Library, trial: Trial) -> str:
    """Why a verdict contradicts the table; "" if it does not."""
    if trial.verdict == RIGHT:
        return f"is right, and libraries.toml says: {library.differs}" if library.differs else ""
    if trial.verdict == BROKEN:
        return trial.why
    return "" if library.differs else trial.why
