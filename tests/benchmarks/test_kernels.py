"""Kernels are called as written, give PyTorch's results at small sizes, and differences are noticed."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import minigrad
from benchmarks import kernels
from benchmarks.kernels import KERNELS, Kernel
from benchmarks.process import Differ

EVERY = range(len(KERNELS))


def small(kernel: Kernel) -> Kernel:
    """The same with large dimensions divided by 32."""
    shapes = tuple(tuple(max(1, n // 32) if n >= 32 else n for n in shape) for shape in kernel.shapes)
    return replace(kernel, shapes=shapes, classes=kernel.classes // 32, rows=kernel.rows // 32)


@pytest.fixture(autouse=True)
def small_kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kernels, "KERNELS", [small(kernel) for kernel in KERNELS])
    yield
    minigrad.set_dropout_stream("fast")


def test_results_and_gradients_are_pytorchs() -> None:
    pytest.importorskip("torch")
    ours, theirs = (kernels.check(library, list(EVERY))["found"] for library in kernels.BOTH)
    for i, kernel in enumerate(KERNELS):
        assert len(ours[str(i)]) == 3 * (1 + len(kernel.shapes))
        kernels.agree(kernel.name, ours[str(i)], theirs[str(i)])
        with pytest.raises(Differ, match=kernel.name):
            kernels.agree(kernel.name, ours[str(i)], [1.001 * value for value in theirs[str(i)]])


def test_every_kernel_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "adam", lambda torch, seconds: 1.0)
    found = kernels.measure("minigrad", 1e-6, list(EVERY))["found"]
    assert all(0 < time < 1000 for times in found.values() for time in times)
    assert sorted(map(int, found)) == list(EVERY)


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        if function.endswith("check"):
            return {"found": {str(i): [1.0, 2.0, 3.0] for i in EVERY}}
        times = [1.0, 2.0] if library == "minigrad" else [4.0, 4.0]
        return {"found": {str(i): times for i in EVERY}, "adam": times[0]}

    monkeypatch.setattr(kernels, "ask", answer)
    written = kernels.table(rounds=1, seconds=1.0).written()
    assert len(written) == len(KERNELS) + 1
    assert all(row[2:] == ["1.000", "4.000", "0.25", "2.000", "4.000", "0.50"] for row in written[:-1])
    assert written[-1][2:] == ["1.000", "4.000", "0.25", "–", "–", "–"]
