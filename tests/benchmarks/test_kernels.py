"""Kernels and layers are called as written, give PyTorch's results at small sizes, and differences are noticed."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import minigrad
from benchmarks import kernels, process
from benchmarks.kernels import KERNELS, LAYERS, Part
from benchmarks.process import Differ


def small(part: Part) -> Part:
    """The same with large dimensions divided by 32."""
    shapes = tuple(tuple(max(1, n // 32) if n >= 32 else n for n in shape) for shape in part.shapes)
    return replace(part, shapes=shapes, classes=part.classes // 32, rows=part.rows // 32)


def little(part: Part) -> Part:
    """The same with an input of few elements; the width stays, as a module's weights have it."""
    ((_, *rest),) = part.shapes
    return replace(part, shapes=((2, rest[0], 3, 3) if len(rest) == 3 else (2, 1, rest[1]),))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    own = [small(part) if part.name not in ("lstm", "gru", "rnn") else little(part) for part in KERNELS]
    monkeypatch.setattr(kernels, "PARTS", {"kernels": own, "layers": list(map(little, LAYERS))})
    yield
    minigrad.set_dropout_stream("fast")


@pytest.mark.parametrize("parts", ["kernels", "layers"])
def test_results_and_gradients_are_pytorchs(parts: str) -> None:
    pytest.importorskip("torch")
    answers = {library: kernels.check(library, parts) for library in kernels.BOTH}
    kernels.all_agree(parts, answers)
    for part, ours, theirs in zip(kernels.PARTS[parts], *(a["numbers"] for a in answers.values()), strict=True):
        assert len(ours) >= 3 * (1 + len(part.shapes) * part.trains)
        with pytest.raises(Differ, match=part.name):
            kernels.agree(part.name, ours, [1.001 * value for value in theirs])


@pytest.mark.parametrize("parts", ["kernels", "layers"])
def test_every_part_is_timed(parts: str) -> None:
    measured = kernels.measure("minigrad", parts, 1e-6)["times"]
    assert len(measured) == len(kernels.PARTS[parts]) and all(0 < time < 10_000 for time in measured)


def test_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, parts: str, **arguments: Any) -> dict[str, Any]:
        if function.endswith("check"):
            return {"numbers": [[1.0, 2.0, 3.0]] * len(kernels.PARTS[parts])}
        return {"times": [1.0 if library == "minigrad" else 4.0] * len(kernels.PARTS[parts])}

    monkeypatch.setattr(process, "ask", answer)
    for parts, own in (("kernels", KERNELS), ("layers", LAYERS)):
        written = kernels.table(parts, rounds=1, seconds=1.0).written()
        assert [row[2:] for row in written] == [["1.00", "4.00", "0.25", f"{part.goal:.2f}"] for part in own]
