"""Mistakes that everyone makes, and what is said of them."""

from __future__ import annotations

import warnings
from pathlib import Path

from book import command, one_line, python, step

import minigrad as mg
from minigrad import nn

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
    assert "linear" in told.splitlines()[-1] and "(2, 3)" in told.splitlines()[-1], told


@step(".grad of a tensor that is no leaf warns")
def _() -> None:
    y = mg.ones(2, requires_grad=True) * 2
    y.sum().backward()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert y.grad is None
    assert any("leaf" in str(warning.message) and "retain_grad" in str(warning.message) for warning in told), told


@step("an attention mask of a wrong shape is named attn_mask, with what would fit")
def _() -> None:
    attention, x = nn.MultiheadAttention(8, 2, batch_first=True), mg.ones(3, 5, 8)
    try:
        attention(x, x, x, attn_mask=mg.zeros(4, 4))
    except (RuntimeError, ValueError) as error:
        assert "attn_mask" in str(error) and "(5, 5)" in str(error), error
    else:
        raise AssertionError("a mask of a wrong shape was taken")


@step("messages say minigrad, and so do dtypes")
def _() -> None:
    assert repr(mg.float32) == "minigrad.float32"
    try:
        mg.ones(2, dtype="float3")  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        assert "torch" not in str(error), error


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
