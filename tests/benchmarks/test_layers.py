"""The table of layers: both libraries compute the same, every layer is timed, and what differs makes no table."""

import pytest

from benchmarks import kernels, layers, steps
from benchmarks.layers import LAYERS


def little(number: int) -> tuple[int, ...]:
    """An input of few elements; the width stays, as the weights have it."""
    _, *rest = LAYERS[number].shape
    return (2, rest[0], 3, 3) if len(rest) == 3 else (2, 1, rest[1])


def test_results_and_gradients_are_pytorchs() -> None:
    pytest.importorskip("torch")
    for number, layer in enumerate(LAYERS):
        ours, theirs = (layers.check(library, number, little(number))["found"] for library in steps.BOTH)
        kernels.agree(layer.name, ours, theirs)


def test_every_layer_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    small = [layers.Layer(each.name, each.make, little(i), each.goal, each.trains) for i, each in enumerate(LAYERS)]
    monkeypatch.setattr(layers, "LAYERS", small)
    times = layers.measure("minigrad", 1e-6)["times"]
    assert len(times) == len(LAYERS)
    assert all(0 < time < 10_000 for time in times)
