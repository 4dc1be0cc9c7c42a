"""Programs that train on several processes, written for PyTorch, run unchanged on two ranks of both libraries.

Compares each rank's losses, mean losses, gradient norms, and final weights.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.support import ranks

PROGRAMS = Path(__file__).parent / "programs"
RANKS = 2
SECONDS = 120.0  # in a first run, compilers need some of them
FOLDERS = {"ddp_nanogpt": "--out_dir", "ddp_word_lm": "--save"}
Found = list[dict[str, Any]]

# Measured: in float64 losses agree to 4e-16, norms to 2e-15 and weights to 2e-15 of the largest; in float32 to 2e-7,
# 6e-7 and 5e-6.
CLOSE = {
    "float32": {"norms": 5e-6, "weights": 5e-5, "": 2e-6},
    "float64": {"norms": 1e-13, "weights": 1e-13, "": 1e-14},
}
CASES = [("ddp_nanogpt",), ("ddp_word_lm", "--dropout", "0.2", "--dtype", "float64")]
CASES += [("ddp_word_lm", "--model", "Transformer", "--lr", "0.3")]

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.nightly


def command(program: str, folder: Path, *options: str) -> list[str]:
    """A program's file and arguments."""
    return [str(PROGRAMS / f"{program}.py"), FOLDERS[program], str(folder), *options]


def finished(*processes: Any, folder: Path) -> Found:
    """The results that a program's ranks saved; the program must end without an error."""
    for ran in [ranks.finished(process, SECONDS) for process in processes]:
        assert ran.status == 0, f"status {ran.status}\n{ran.out}\n{ran.err}"
    results = []
    for rank in range(RANKS):
        with np.load(folder / f"rank{rank}.npz") as archive:
            results.append(dict(archive))
    return results


def on_minigrad(folder: Path, program: str, *options: str) -> Found:
    """A program on minigrad."""
    folder.mkdir()
    words = [*ranks.launcher(RANKS), "-m", "minigrad", "compat", *command(program, folder, *options)]
    extra = {"MINIGRAD_DROPOUT_STREAM": "pytorch", "MASTER_PORT": str(ranks.free_port())}
    return finished(ranks.begun(words, folder, **extra), folder=folder)


def on_pytorch(folder: Path, program: str, *options: str) -> Found:
    """The same on PyTorch, with the variables that torchrun sets."""
    folder.mkdir()
    where = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(ranks.free_port()), "WORLD_SIZE": str(RANKS)}
    words = [sys.executable, "-W", "ignore", *command(program, folder, *options)]
    processes = [ranks.begun(words, folder, **where, RANK=str(r), LOCAL_RANK=str(r)) for r in range(RANKS)]
    return finished(*processes, folder=folder)


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_a_program_runs_unchanged_and_agrees(case: tuple[str, ...], tmp_path: Path) -> None:
    close = CLOSE["float64" if "float64" in case else "float32"]
    both = on_minigrad(tmp_path / "minigrad", *case), on_pytorch(tmp_path / "torch", *case)
    for ours, theirs in zip(*both, strict=True):
        assert set(ours) == set(theirs) and len(ours["losses"]) == 50
        for name, expected in theirs.items():
            kind = name.partition("/")[0]
            size = np.abs(expected).max() if kind == "weights" else np.abs(expected)
            error = np.max(np.abs(ours[name] - expected) / size)
            assert ours[name].dtype == expected.dtype and error <= close.get(kind, close[""]), f"{name}: {error:.1e}"
    first, second = both[0]
    assert first["losses"][-1] < first["losses"][0] and not np.array_equal(first["losses"], second["losses"])
    assert all(np.array_equal(first[name], second[name]) for name in first if name.startswith("weights"))
    if case == ("ddp_nanogpt",):  # its first rank writes checkpoints
        checkpoint = minigrad.load(tmp_path / "minigrad" / "ckpt.pt")
        assert checkpoint["iter_num"] in (25, 50) and "transformer.wte.weight" in checkpoint["model"]
        assert len(checkpoint["optimizer"]["param_groups"]) == 2
