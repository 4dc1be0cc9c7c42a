"""Trainings that are killed at random moments, also while they put an earlier run aside: nothing is lost."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import minigrad as mg
from minigrad_models.training import read_checkpoint

from . import seeds
from .watch import Finding

ROOT = Path(__file__).parents[1]
_STEPS = "--steps 40 --save-seconds 0.02 --snapshot-every 7 --evaluate-every 20 --log-every 3"
STEPS = _STEPS.split()


def cases(folder: Path, rng: random.Random) -> Iterator[Finding]:
    """A finding for each kill, with "" where there was nothing wrong."""
    for name in ("whole", "killed"):
        (folder / name).mkdir()
    argv = [sys.executable, "-m", "minigrad", *seeds.command(folder / "whole", *STEPS)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    expected = weights(folder / "whole" / "run" / "last.safetensors")
    seeds.command(folder / "killed")
    argv = [part.replace(str(folder / "whole"), str(folder / "killed")) for part in argv]
    run, number = folder / "killed" / "run", 0
    (folder / "killed" / "c.tsv").write_bytes((folder / "whole" / "c.tsv").read_bytes())
    while True:
        reached, kept = step(run), {path: path.read_bytes() for path in (folder / "killed").glob("run.old-*/last.*")}
        fresh = reached == 40
        moment = rng.uniform(0, 2.5)
        errors = killed([*argv, *(["--fresh"] if fresh else [])], run, moment)
        case = f"kill {number}, at step {step(run)}, {moment:.2f} s after it began{', with --fresh' if fresh else ''}"
        yield Finding(case, errors or lost(run, reached, fresh, expected, kept))
        number += 1


def killed(argv: list[str], run: Path, moment: float) -> str:
    """Run a training and kill it after so many seconds. Returns what it said, if it ended otherwise than well."""
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            said = process.communicate(timeout=moment)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return ""
    return said.decode(errors="replace")[-2000:] if process.returncode else ""


def lost(run: Path, reached: int, fresh: bool, expected: dict[str, mg.Tensor], kept: dict[Path, bytes]) -> str:
    """What a kill has destroyed: the last checkpoint, steps that were saved, an earlier run, or the result."""
    folders = [run, *run.parent.glob("run.old-*")]
    if any(not path.exists() or path.read_bytes() != data for path, data in kept.items()):
        return "an earlier run has gone"
    if fresh and step(run) != 40 and not any(step(folder) == 40 for folder in folders[1:]):
        return "the finished run has gone"
    if not fresh and step(run) < reached:
        return f"it was at step {reached}, and is at {step(run)}"
    if step(run) == 40:
        last = weights(run / "last.safetensors")
        if last.keys() != expected.keys() or not all(mg.equal(last[name], expected[name]) for name in expected):
            return "the weights are others than those of a training that was not killed"
    return ""


def step(run: Path) -> int:
    """The step of the last checkpoint; 0 without one. Raises RuntimeError: it is damaged."""
    path = run / "last.safetensors"
    return int(read_checkpoint(path, mmap=True)["step"]) if path.exists() else 0


def weights(path: Path) -> dict[str, mg.Tensor]:
    content: dict[str, mg.Tensor] = read_checkpoint(path)["model"]
    return content
