"""The stages, in the order of their worth. Nothing here imports a library that they measure."""

from __future__ import annotations

from dataclasses import dataclass

PARITY = "The same as PyTorch on one GPU"
STEPS = "Training steps: ms by the device's clock, ms of the host, peak MiB"
LAUNCHES = "Launches of a step, and the time in which the GPU is busy"
SHAKESPEARE = "nanoGPT's setting by time: seconds to a validation loss"
TESTS = "Tests on the GPU"


@dataclass(frozen=True)
class Stage:
    """Something to find out, in a process of its own.

    Attributes:
        name: on the command line. title: of its table; stages of one title share it.
        module: has ``items(place)``, a dict of functions by name, which return rows (see ``child``).
        seconds: the most that the stage may take. least: with less time left it does not begin.
        patience: seconds without a word after which an item is given up, and the next one begins.
        brief: the table counts the items that succeed, and lists only the others.
    """

    name: str
    title: str
    module: str
    seconds: float
    least: float
    patience: float
    brief: bool = False


def _stage(
    name: str, title: str, seconds: float, least: float, patience: float, module: str = "", brief: bool = False
) -> Stage:
    return Stage(name, title, f"benchmarks.gpu.{module or name}", seconds, least, patience, brief)


STAGES = [
    _stage("machine", "The machine and its ceilings", 30, 10, 20),
    _stage("sources", "CUDA sources compile", 45, 15, 30, brief=True),
    _stage("warm", "CuPy's array functions are compiled", 45, 15, 45, brief=True),
    _stage("probes", "First contact", 60, 15, 20, "probes_kernels", brief=True),
    _stage("kernels", TESTS, 40, 20, 40, "suites"),
    _stage("parity-torch", PARITY, 25, 15, 20, "parity", brief=True),
    _stage("parity", PARITY, 50, 15, 30),
    _stage("steps-torch", STEPS, 40, 15, 30, "steps"),
    _stage("steps", STEPS, 60, 15, 30),
    _stage("launches-torch", LAUNCHES, 25, 15, 20, "launches"),
    _stage("launches", LAUNCHES, 30, 15, 20),
    _stage("graph", "A step of an MLP, launched one by one and as a CUDA graph", 20, 10, 20),
    _stage("updates", "Updates of the programs", 40, 15, 30),
    _stage("toy", "The toy translator, trained by its command", 75, 40, 75),
    _stage("shakespeare", SHAKESPEARE, 35, 25, 35),
    _stage("shakespeare-torch", SHAKESPEARE, 35, 25, 35, "shakespeare"),
    _stage("nccl", "NCCL with one rank", 15, 10, 15, brief=True),
    _stage("tests", TESTS, 200, 20, 200, "suites"),
    _stage("threads", "Steps on the CPU by threads, ms", 60, 30, 30),
]
BY_NAME = {stage.name: stage for stage in STAGES}
