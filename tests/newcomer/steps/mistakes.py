"""Common mistakes and their error messages."""

from pathlib import Path

from book import command, one_line, python, step

DEEP = """
import minigrad as mg
from minigrad import nn


def forward(x):
    return nn.Sequential(nn.Linear(4, 3), nn.Linear(4, 2))(x)


forward(mg.ones(2, 4))
"""


@step("shapes that do not fit: the traceback ends at the user's line, with at most one frame below it")
def _() -> None:
    output = python(DEEP, status=1)
    files = [line for line in output.splitlines() if line.strip().startswith("File ")]
    assert "in forward" in "".join(files[-2:]) and "program.py" in "".join(files[-2:]), output
    error, note = output.splitlines()[-2:]
    assert "linear" in error and "(2, 3)" in error and note == "in the module 1, a Linear", output


@step("--device cuda without CuPy fails at once with a one-line error")
def _() -> None:
    error = one_line(command("minigrad", "train", "--device", "cuda", "--run", "runs/cuda", status=1))
    assert "CuPy" in error and "pip install" in error and not Path("runs/cuda").exists(), error


@step("errors in settings name the options")
def _() -> None:
    options = ("--data", "numbers.tsv", "--run", "runs/none", "--steps", "50", "--warm-up", "500")
    error = one_line(command("minigrad", "train", *options, status=1))
    assert "warm" in error and "steps" in error and "--" in error, error
    assert "dropout is 7" in one_line(command("minigrad", "train", "--dropout", "7", status=1))
