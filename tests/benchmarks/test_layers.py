"""Layers match PyTorch at small sizes, every layer is timed, and differences are detected."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks import layers
from benchmarks.layers import LAYERS, Layer
from benchmarks.process import Differ


def little(layer: Layer) -> Layer:
    """The layer with a small input. The width is unchanged, since the module's weights depend on it."""
    _, *rest = layer.shape
    return replace(layer, shape=(2, rest[0], 3, 3) if len(rest) == 3 else (2, 1, rest[1]))


@pytest.fixture(autouse=True)
def small_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "LAYERS", list(map(little, LAYERS)))


def test_results_and_gradients_match_pytorch() -> None:
    pytest.importorskip("torch")
    answers = {library: layers.check(library) for library in layers.BOTH}
    layers.agree(answers)
    for layer, numbers in zip(layers.LAYERS, answers["torch"]["numbers"], strict=True):
        assert len(numbers) >= 3 * (1 + layer.trains)
        numbers[-3:] = [1.001 * value for value in numbers[-3:]]
        with pytest.raises(Differ, match=layer.name):
            layers.agree(answers)
        numbers[-3:] = [value / 1.001 for value in numbers[-3:]]


def test_every_layer_is_timed() -> None:
    times = layers.measure("minigrad", 1e-6)["times"]
    assert len(times) == len(LAYERS) and all(0 < time < 10_000 for time in times)


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        if function.endswith("check"):
            return {"numbers": [[1.0, 2.0, 3.0]] * len(LAYERS)}
        return {"times": [1.0 if library == "minigrad" else 4.0] * len(LAYERS)}

    monkeypatch.setattr(layers, "ask", answer)
    rows = layers.table(rounds=1, seconds=1.0).written()
    assert [row[2:] for row in rows] == [["1.00", "4.00", "0.25", f"{layer.goal:.2f}"] for layer in LAYERS]
