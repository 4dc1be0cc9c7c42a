"""The training steps on other libraries: torch.compile and jitted JAX on all, NumPy's on the small decoder-only model.

Those have no error function, so that model is measured once more with GPT-2's GELU, on every library.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from . import steps
from .process import Answer, alternate, ask, library_module, peak_mebibytes, progress
from .steps import memory_of, time_of
from .table import Cell, Table, ratio
from .workloads import SIZES

COMPILED = {"JAX": ("jax", "jax_numpy:Model")}  # the package, and its model in peers/, as these
ON_NUMPY = {
    "MyGrad": ("mygrad", "on_numpy:MyGrad"),
    "HIPS autograd": ("autograd", "on_numpy:Autograd"),
    "PyDyNet": ("pydynet", "on_numpy:PyDyNet"),
}
PEERS = {**COMPILED, **ON_NUMPY}
NAMES = {"torch": "PyTorch eager", "JAX": "JAX, jitted"}
AGAIN = {"gpt-128": "gpt-128-tanh"}


def model(library: str, work: str, dtype: Any) -> Any:
    """A peer's model. Raises Missing: the library is not installed."""
    package, place = PEERS[library]
    library_module(package)
    module, name = place.split(":")
    return getattr(library_module(f"benchmarks.peers.{module}"), name)(SIZES[work], dtype)


def check(library: str, work: str) -> Answer:
    """Loss and norm of all gradients at the first weights, in float64."""
    loss, gradients = model(library, work, np.float64).loss_and_gradients()
    return {"loss": loss, "norm": float(np.sqrt(sum(np.sum(g * g) for g in gradients)))}


def train(library: str, work: str, seconds: float) -> Answer:
    """As ``steps.train``."""
    peer = model(library, work, np.float32)
    first = peer.step()
    return {"loss": first, "times": steps.repeat(peer.step, seconds), "memory": peak_mebibytes()}


def measure(library: str, work: str, seconds: float) -> Answer:
    """``train`` in a process of its own, whichever library it is."""
    if library in PEERS:
        return ask("benchmarks.libraries:train", library, work=work, seconds=seconds)
    return steps.measure(library, work, seconds)


def compare(work: str, peers: Iterable[str]) -> None:
    """Compare the peers' losses and gradients with minigrad's. Raises Differ: they differ."""
    progress(f"peers {work}: losses and gradients in float64")
    measured = {"minigrad": ask("benchmarks.steps:check", "minigrad", work=work)}
    measured |= {name: ask("benchmarks.libraries:check", name, work=work) for name in peers}
    for what in ("loss", "norm"):
        steps.same(f"{work}, {what}", {name: a[what] for name, a in measured.items() if "missing" not in a})


def table(works: Iterable[str], rounds: int, seconds: float) -> Table:
    """The table, a row for each work and library."""
    result = empty()
    for work in (each for w in works for each in (w, *([AGAIN[w]] if w in AGAIN else []))):
        peers = ON_NUMPY if SIZES[work].gelu == "tanh" else COMPILED
        steps.compare(work)
        compare(work, peers)
        libraries = ["minigrad", "torch", *(["torch.compile"] if peers is COMPILED else []), *peers]
        measured = alternate(libraries, rounds, partial(measure, work=work, seconds=seconds), f"peers {work}")
        steps.plausible(work, measured)
        add(result, SIZES[work].title, measured)
    result.notes.append(
        "to: this library's time over PyTorch's and over minigrad's, in the same run; "
        "those on NumPy have AdamW written as a loop"
    )
    return result


def empty() -> Table:
    """The table before its rows."""
    columns = ("step", "library", "ms", "to PyTorch eager", "to minigrad", "MiB")
    return Table("Other libraries on the same steps", columns, ("", "", ".1f", ".2f", ".1f", ".0f"))


def add(result: Table, title: str, measured: dict[str, list[Answer]]) -> None:
    """A row for each library, or for what it lacks."""
    ours, eager = time_of(measured["minigrad"]), time_of(measured["torch"])
    for library, answers in measured.items():
        name, took = NAMES.get(library, library), time_of(answers)
        missing: Cell = answers[0].get("missing")
        result.add(title, name, missing or took, ratio(took, eager), ratio(took, ours), memory_of(answers))
