"""The stages, most important first. This module does not import the measured libraries."""

from __future__ import annotations

from dataclasses import dataclass

PARITY = "The same as PyTorch on one GPU"
STEPS = "Training steps: ms by the device's clock, ms of the host, peak MiB"
LAUNCHES = "Launches of a step, and the time in which the GPU is busy"
SHAKESPEARE = "nanoGPT's setting by time: seconds to a validation loss"
TESTS = "Tests on the GPU"


@dataclass(frozen=True)
class Stage:
    """A group of measurements or checks that runs in a separate process."""

    name: str  # on the command line
    title: str  # title of its table; stages with the same title share the table
    seconds: float  # the most that the stage may take
    least: float  # the stage does not start with less time left
    patience: float  # after this many seconds without output, the next item starts
    module: str  # defines ``items(place)``: functions by name that return rows (see ``child``)
    brief: bool = False  # the table counts the items that succeed, and lists only the others


STAGES = [
    Stage("machine", "The machine and its ceilings", 30, 10, 20, "machine"),
    Stage("sources", "CUDA sources compile", 45, 15, 30, "compiled", brief=True),
    Stage("warm", "CuPy's array functions are compiled", 45, 15, 45, "compiled", brief=True),
    Stage("probes", "First contact", 60, 15, 20, "probes", brief=True),
    Stage("kernels", TESTS, 40, 20, 40, "suites"),
    Stage("parity-torch", PARITY, 25, 15, 20, "parity", brief=True),
    Stage("parity", PARITY, 50, 15, 30, "parity"),
    Stage("steps-torch", STEPS, 40, 15, 30, "steps"),
    Stage("steps", STEPS, 60, 15, 30, "steps"),
    Stage("launches-torch", LAUNCHES, 25, 15, 20, "steps"),
    Stage("launches", LAUNCHES, 30, 15, 20, "steps"),
    Stage("updates", "Updates of the programs", 40, 15, 30, "programs"),
    Stage("toy", "The toy translator, trained by its command", 75, 40, 75, "programs"),
    Stage("shakespeare", SHAKESPEARE, 35, 25, 35, "shakespeare"),
    Stage("shakespeare-torch", SHAKESPEARE, 35, 25, 35, "shakespeare"),
    Stage("nccl", "NCCL with one rank", 15, 10, 15, "nccl", brief=True),
    Stage("tests", TESTS, 200, 20, 200, "suites"),
]
BY_NAME = {stage.name: stage for stage in STAGES}
