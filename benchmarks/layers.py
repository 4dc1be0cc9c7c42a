"""Layers of other models than the training steps': recurrent ones, images', and a sentence encoder's forward pass.

One source for both libraries. Their results and all gradients, in float64 and with the same weights, must be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .kernels import agree, fingerprint
from .process import Answer, alternate, ask, library_module, progress
from .steps import BOTH, repeat
from .table import Table, ratio

Shape = tuple[int, ...]
IMAGES = (32, 64, 28, 28)
SENTENCES = (32, 64, 384)


@dataclass(frozen=True)
class Layer:
    """A layer, or a function, and what it is called with.

    Attributes:
        make: is given the library, and returns what takes the input. shape: of the input.
        goal: the ratio of times that it should have.
        trains: whether the backward pass is part of it; else it runs in ``eval()`` and ``no_grad``.
    """

    name: str
    make: Callable[[Any], Any]
    shape: Shape
    goal: float = 1.0
    trains: bool = True


def encoder(torch: Any, layers: int = 6) -> Any:
    """As large as all-MiniLM-L6-v2's."""
    nn, width = torch.nn, SENTENCES[-1]
    layer = nn.TransformerEncoderLayer(width, 12, 4 * width, activation="gelu", batch_first=True)
    return nn.TransformerEncoder(layer, layers)


def double_size(mode: str) -> Callable[[Any], Any]:
    return lambda torch: partial(torch.nn.functional.interpolate, scale_factor=2, mode=mode)


LAYERS = (
    Layer("LSTM, 2 layers of 256", lambda torch: torch.nn.LSTM(256, 256, num_layers=2), (64, 32, 256)),
    Layer("GRU, 2 layers of 256", lambda torch: torch.nn.GRU(256, 256, num_layers=2), (64, 32, 256)),
    Layer("GroupNorm, 8 groups", lambda torch: torch.nn.GroupNorm(8, IMAGES[1]), IMAGES),
    Layer("interpolate, bilinear, to double size", double_size("bilinear"), IMAGES),
    Layer("interpolate, nearest, to double size", double_size("nearest"), IMAGES),
    Layer("conv 3 × 3", lambda torch: torch.nn.Conv2d(IMAGES[1], IMAGES[1], 3, padding=1), IMAGES, goal=1.5),
    Layer("encoder 6 × 384, forward alone", encoder, SENTENCES, trains=False),
)


def prepared(torch: Any, layer: Layer, dtype: str, shape: Shape) -> tuple[Callable[[], Any], list[Any]]:
    """A function that runs the layer once and returns its result, and the tensors that then have gradients.

    Weights and input are drawn by NumPy: the same for all libraries.
    """
    draw, kind = np.random.default_rng(0), getattr(torch, dtype)
    run = layer.make(torch)
    wanted: list[Any] = []
    if isinstance(run, torch.nn.Module):
        run = run.to(kind).train(layer.trains)
        wanted = list(run.parameters())
        with torch.no_grad():
            for weight in wanted:
                weight.copy_(torch.tensor(0.1 * draw.standard_normal(tuple(weight.shape))))
    x = torch.tensor(draw.standard_normal(shape), dtype=kind, requires_grad=layer.trains)
    if not layer.trains:
        return torch.no_grad()(lambda: run(x)), []
    wanted.append(x)
    slopes: list[Any] = []

    def step() -> Any:
        for tensor in wanted:
            tensor.grad = None
        found = run(x)
        out = found[0] if isinstance(found, tuple) else found
        if not slopes:
            slopes.append(torch.tensor(draw.standard_normal(tuple(out.shape)), dtype=kind))
        out.backward(slopes[0])
        return out

    return step, wanted


def check(library: str, number: int, shape: Shape) -> Answer:
    """The layer's result and gradients for an input of another shape, in float64, as fingerprints."""
    step, wanted = prepared(library_module(library), LAYERS[number], "float64", tuple(shape))
    arrays = [step().detach().numpy(), *(tensor.grad.numpy() for tensor in wanted)]
    return {"found": [value for array in arrays for value in fingerprint(array)]}


def measure(library: str, seconds: float) -> Answer:
    """The median time of each layer in ms, in this process."""
    torch = library_module(library)
    return {"times": [median(repeat(prepared(torch, layer, "float32", layer.shape)[0], seconds)) for layer in LAYERS]}


def small(shape: Shape) -> Shape:
    """Few steps, sentences or images, of the same width."""
    return (3, *(shape[1:] if len(shape) == 4 else (2, shape[2])))


def compare(names: Iterable[str] = BOTH) -> None:
    """See to it that the libraries compute the same.

    Raises:
        Differ: they do not.
    """
    for number, layer in enumerate(LAYERS):
        progress(f"{layer.name}: results and gradients in float64")
        options: dict[str, Any] = {"number": number, "shape": small(layer.shape)}
        ours, *others = (ask("benchmarks.layers:check", name, **options) for name in names)
        for theirs in others:
            if "missing" not in theirs:
                agree(layer.name, ours["found"], theirs["found"])


def table(rounds: int, seconds: float) -> Table:
    """The table, a row for each layer."""
    compare()
    columns = ("layer", "input", "minigrad ms", "PyTorch ms", "ratio", "goal")
    result = Table("Layers, against PyTorch eager", columns, ("", "", ".2f", ".2f", ".2f", ".2f"))
    found = alternate(BOTH, rounds, partial(ask, "benchmarks.layers:measure", seconds=seconds), "layers")
    for row in _rows(found):
        result.add(*row)
    result.notes.append("in training, forward and backward, but for the encoder")
    return result


def _rows(found: dict[str, list[Answer]]) -> Iterator[tuple[Any, ...]]:
    for i, layer in enumerate(LAYERS):
        ours, theirs = (
            median(times) if (times := [a["times"][i] for a in found[name] if "times" in a]) else None for name in BOTH
        )
        yield layer.name, " × ".join(map(str, layer.shape)), ours, theirs, ratio(ours, theirs), layer.goal
