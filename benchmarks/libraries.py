"""The training steps on torch.compile and on jitted JAX, beside minigrad and PyTorch eager."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from . import steps
from .process import Answer, alternate, ask, progress
from .steps import memory_of, time_of
from .table import Cell, Table, ratio
from .workloads import SIZES

NAMES = {"minigrad": "minigrad", "torch": "PyTorch eager", "torch.compile": "torch.compile", "jax": "JAX, jitted"}


def measure(library: str, work: str, seconds: float) -> Answer:
    """``train`` in a process of its own, whichever library it is."""
    if library == "jax":
        return ask("benchmarks.on_jax:train", library, work=work, seconds=seconds)
    return steps.measure(library, work, seconds)


def table(works: Iterable[str], rounds: int, seconds: float) -> Table:
    """The table, a row for each work and library. Raises Differ: they do not compute the same."""
    columns = ("step", "library", "ms", "to PyTorch eager", "to minigrad", "MiB")
    result = Table("Other libraries on the same steps", columns, ("", "", ".1f", ".2f", ".1f", ".0f"))
    for work in works:
        steps.compare(work)
        progress(f"peers {work}: losses and gradients in float64")
        checked = {"minigrad": ask("benchmarks.steps:check", "minigrad", work=work)}
        checked["jax"] = ask("benchmarks.on_jax:check", "jax", work=work)
        steps.all_same(work, checked)
        measured = alternate(NAMES, rounds, partial(measure, work=work, seconds=seconds), f"peers {work}")
        steps.plausible(work, measured)
        for row in rows(measured):
            result.add(SIZES[work].title, *row)
    result.notes.append("to: this library's time over PyTorch's and over minigrad's, in the same run")
    return result


def rows(measured: dict[str, list[Answer]]) -> Iterator[tuple[Cell, ...]]:
    """A row for each library, or for what it lacks."""
    ours, eager = time_of(measured["minigrad"]), time_of(measured["torch"])
    for library, answers in measured.items():
        took, missing = time_of(answers), answers[0].get("missing")
        yield NAMES[library], missing or took, ratio(took, eager), ratio(took, ours), memory_of(answers)
