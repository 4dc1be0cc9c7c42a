"""Layers that the training steps do not cover, including their backward passes.

Both libraries run the same code. In float64, with the same weights and inputs, all results and gradients must agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .process import Answer, Differ, alternate, ask, library_module, middle
from .steps import BOTH, EXACT, repeat
from .table import Table, ratio

IMAGES, SENTENCES, SEQUENCES = (32, 64, 28, 28), (32, 64, 384), (64, 32, 256)


@dataclass(frozen=True)
class Layer:
    """A module, or a function of a tensor."""

    name: str
    make: Callable[[Any], Callable[..., Any]]  # returns a library's module or function
    shape: tuple[int, ...]  # of the input, which gets a gradient as the module's weights do
    goal: float = 1.0  # the target ratio of times
    trains: bool = True  # whether the backward pass is included; else ``eval()`` and ``no_grad``


def interpolate(mode: str) -> Callable[[Any], Callable[..., Any]]:
    return lambda torch: lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode=mode)


def encoder(torch: Any, layers: int = 6) -> Any:
    """An encoder of the same size as all-MiniLM-L6-v2."""
    width = SENTENCES[-1]
    layer = torch.nn.TransformerEncoderLayer(width, 12, 4 * width, activation="gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, layers)


LAYERS = [
    Layer("LSTM, 2 layers of 256", lambda torch: torch.nn.LSTM(256, 256, num_layers=2), SEQUENCES),
    Layer("GRU, 2 layers of 256", lambda torch: torch.nn.GRU(256, 256, num_layers=2), SEQUENCES),
    Layer("GroupNorm, 8 groups", lambda torch: torch.nn.GroupNorm(8, IMAGES[1]), IMAGES),
    Layer("interpolate, bilinear, to double size", interpolate("bilinear"), IMAGES),
    Layer("interpolate, nearest, to double size", interpolate("nearest"), IMAGES),
    Layer("conv 3 × 3", lambda torch: torch.nn.Conv2d(IMAGES[1], IMAGES[1], 3, padding=1), IMAGES, goal=1.5),
    Layer("encoder 6 × 384, forward only", encoder, SENTENCES, trains=False),
]


def prepared(torch: Any, layer: Layer, dtype: str) -> tuple[Callable[[], Any], list[Any]]:
    """A function that runs the layer forward, then backward from a fixed output gradient, and returns the output; and
    the tensors that get gradients. NumPy draws the weights and inputs, so they are the same in all libraries."""
    draw, kind = np.random.default_rng(0), getattr(torch, dtype)
    module = layer.make(torch)
    leaves: list[Any] = []
    if isinstance(module, torch.nn.Module):
        module = module.to(kind).train(layer.trains)
        leaves = list(module.parameters())
        with torch.no_grad():
            for weight in leaves:
                weight.copy_(torch.tensor(0.1 * draw.standard_normal(tuple(weight.shape))))
    x = torch.tensor(draw.standard_normal(layer.shape), dtype=kind, requires_grad=layer.trains)

    def forward() -> Any:
        out = module(x)
        return out[0] if isinstance(out, tuple) else out

    if not layer.trains:
        return torch.no_grad()(forward), []
    output_grad = torch.tensor(np.random.default_rng(1).standard_normal(tuple(forward().shape)), dtype=kind)
    leaves.append(x)

    def both() -> Any:
        for leaf in leaves:
            leaf.grad = None
        out = forward()
        out.backward(output_grad)
        return out

    return both, leaves


def check(library: str) -> Answer:
    """For each layer, a fingerprint of its result and of each gradient, in float64."""
    torch = library_module(library)
    numbers = []
    for layer in LAYERS:
        run, leaves = prepared(torch, layer, "float64")
        arrays = [run().detach().numpy(), *(leaf.grad.numpy() for leaf in leaves)]
        numbers.append([number for array in arrays for number in fingerprint(array)])
    return {"numbers": numbers}


def fingerprint(values: Any) -> tuple[float, float, float]:
    """The norm of an array, and two weighted sums over it, whose weights depend on the position."""
    flat = np.asarray(values, np.float64).reshape(-1)
    place = np.arange(flat.size)
    return float(np.sqrt(flat @ flat)), float(flat @ np.cos(place)), float(flat @ np.sin(0.1 * place))


def agree(answers: dict[str, Answer]) -> None:
    """Raise Differ if fingerprints differ by more than EXACT of the norm."""
    first, *others = (answer["numbers"] for answer in answers.values())
    for other in others:
        for layer, ours, theirs in zip(LAYERS, first, other, strict=True):
            norms = [max(1.0, norm) for norm in theirs[::3] for _ in range(3)]
            pairs = zip(ours, theirs, norms, strict=True)
            if not all(math.isclose(a, b, rel_tol=0, abs_tol=EXACT * norm) for a, b, norm in pairs):
                raise Differ(f"{layer.name}: results or gradients differ: {ours} on minigrad and {theirs} on PyTorch")


def measure(library: str, seconds: float) -> Answer:
    """The median time of each layer in ms."""
    torch = library_module(library)
    return {"times": [median(repeat(prepared(torch, layer, "float32")[0], seconds)) for layer in LAYERS]}


def table(rounds: int, seconds: float) -> Table:
    """The table, with one row per layer."""
    checked = {library: ask("benchmarks.layers:check", library) for library in BOTH}
    agree({library: answer for library, answer in checked.items() if "missing" not in answer})
    answers = alternate(BOTH, rounds, partial(ask, "benchmarks.layers:measure", seconds=seconds), "layers")
    columns = ("layer", "input", "minigrad ms", "PyTorch ms", "ratio", "goal")
    result = Table("Layers, against PyTorch eager", columns, ("", "", ".2f", ".2f", ".2f", ".2f"))
    for i, layer in enumerate(LAYERS):
        times = [middle(answers[name], "times", i) for name in BOTH]
        result.add(layer.name, " × ".join(map(str, layer.shape)), *times, ratio(*times), layer.goal)
    result.notes.append("forward and backward in training mode, except the encoder")
    return result
