"""Whole PyTorch programs run unchanged on both libraries, the way a user runs them: with ``minigrad compat``.

Compares their output: words and integers must be equal, other numbers close. One program runs by default.
``test_ddp_programs.py`` runs the programs outside the folder ``printed``.
"""

import contextlib
import multiprocessing
import os
import re
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs" / "printed"
BY_DEFAULT = "step_in_hooks"
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
CLOSE = 1e-5
# Here a difference of one rounding error grows from step to step.
ROUGH = {"wgan_gp": 1e-4, "saved_elsewhere": 1e-4, "policy_gradient": 1e-4, "s4_kernel": 2e-5}


def programs() -> Iterator[Any]:
    for path in sorted(PROGRAMS.glob("*.py")):
        yield pytest.param(path, id=path.stem, marks=[] if path.stem == BY_DEFAULT else [pytest.mark.nightly])


def on_minigrad(program: Path) -> str:
    """The output of a program in its own process."""
    hidden = ("MINIGRAD_DROPOUT_STREAM", "PYTHONWARNINGS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "MINIGRAD")}
    command = [sys.executable, "-W", "ignore", "-m", "minigrad", "compat", program]
    environment["PYTHONPATH"] = str(ROOT)
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def on_pytorch(program: Path, output: Path) -> str:
    """The output of a program in a process that starts with PyTorch imported, which takes a second or two."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    context.set_forkserver_preload(["torch"])
    process = context.Process(target=run, args=(program, output))
    process.start()
    process.join(300)
    assert process.exitcode == 0, f"{program} also fails with PyTorch"
    return output.read_text(encoding="utf-8")


def run(program: Path, output: Path) -> None:
    """Do the same as ``python -W ignore program > output``."""
    sys.argv = [str(program)]
    warnings.simplefilter("ignore")
    with output.open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
        runpy.run_path(str(program), run_name="__main__")


@pytest.mark.parametrize("program", list(programs()))
def test_a_program_prints_the_same_as_with_pytorch(program: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    ours, theirs = on_minigrad(program), on_pytorch(program, tmp_path / "printed")
    assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
    actual, expected = ([float(number) for number in NUMBER.findall(text)] for text in (ours, theirs))
    assert len(expected) > 5
    close = ROUGH.get(program.stem, CLOSE)
    assert actual == pytest.approx(expected, rel=close, abs=close)
