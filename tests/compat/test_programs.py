"""Whole programs, written for PyTorch, run unchanged on both libraries and compared number by number."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
PROGRAMS = [path for path in PROGRAMS if not path.stem.startswith("ddp_")]  # they are test_ddp_programs.py's
NUMBERS = ("losses", "rates", "rewards", "accuracies", "norm")
# Its first steps are so long (losses of 20) that PyTorch's own losses move by 1.5e-5 where each weight begins one
# rounding away: whether they agree better depends on the processor.
ROUGH = {"masked_resume": 5e-5}


def on_minigrad(program: Path, output: Path) -> dict[str, Any]:
    """A program's results, from a process for it alone."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "MINIGRAD")}
    environment = {**os.environ, **threads, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "minigrad", "compat", str(program), str(output)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout}{ran.stderr}"
    with np.load(output) as archive:
        return dict(archive)


def on_pytorch(program: Path, output: Path) -> dict[str, Any]:
    """A program's results, from a process that begins with PyTorch imported, which takes a second or two."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    context.set_forkserver_preload(["torch"])
    process = context.Process(target=be, args=(program, output))
    process.start()
    process.join(300)
    assert process.exitcode == 0, f"{program} fails with PyTorch, too"
    with np.load(output) as archive:
        return dict(archive)


def be(program: Path, output: Path) -> None:
    """Do as ``python -W ignore program output`` does."""
    sys.argv = [str(program), str(output)]
    warnings.simplefilter("ignore")
    runpy.run_path(str(program), run_name="__main__")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_runs_unchanged_and_agrees(program: Path, tmp_path: Path) -> None:
    ours = on_minigrad(program, tmp_path / "minigrad.npz")
    assert len(ours["losses"]) == 20
    assert ours["losses"][-1] < ours["losses"][0]
    pytest.importorskip("torch")
    theirs = on_pytorch(program, tmp_path / "torch.npz")
    assert set(ours) == set(theirs)
    assert ours["keys"].tolist() == theirs["keys"].tolist()
    for name, expected in theirs.items():
        if name == "keys":
            continue
        actual, kind = ours[name], expected.dtype.kind
        assert actual.shape == expected.shape, name
        assert actual.dtype == expected.dtype, name
        if kind in "iub":
            np.testing.assert_array_equal(actual, expected, err_msg=name)
        elif name in NUMBERS:
            np.testing.assert_allclose(actual, expected, rtol=ROUGH.get(program.stem, 1e-5), err_msg=name)
        else:  # logits, and gradients of the first step by name
            size = max(float(np.abs(expected).max(initial=0)), 1e-3 if name.startswith("grad") else 0.0)
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * size, err_msg=name)


def test_there_are_the_programs_that_people_write() -> None:
    assert len(PROGRAMS) >= 7
