"""Mistakes that everyone makes, and what is said of them."""

from pathlib import Path

from book import command, one_line, python, step

DEEP = """
import minigrad as mg
from minigrad import nn


def forward(x):
    return nn.Sequential(nn.Linear(4, 3), nn.Linear(4, 2))(x)


forward(mg.ones(2, 4))
"""


@step("shapes that do not fit: the traceback ends at the person's line, with at most one frame below it")
def _() -> None:
    told = python(DEEP, status=1)
    files = [line for line in told.splitlines() if line.strip().startswith("File ")]
    assert "in forward" in "".join(files[-2:]) and "program.py" in "".join(files[-2:]), told
    error, note = told.splitlines()[-2:]
    assert "linear" in error and "(2, 3)" in error and note == "in the module 1, a Linear", told


@step("--device cuda without CuPy fails before the work, in a line")
def _() -> None:
    told = one_line(command("minigrad", "train", "--device", "cuda", "--run", "runs/cuda", status=1))
    assert "CuPy" in told and "pip install" in told and not Path("runs/cuda").exists(), told


@step("settings that cannot be are named by their options")
def _() -> None:
    options = ("--data", "numbers.tsv", "--run", "runs/none", "--steps", "50", "--warm-up", "500")
    told = one_line(command("minigrad", "train", *options, status=1))
    assert "warm" in told and "steps" in told and "--" in told, told
    assert "dropout is 7" in one_line(command("minigrad", "train", "--dropout", "7", status=1))
