"""Each fused kernel on its own, at the sizes that it has in the training steps, and layers of other models than theirs.

One source for both libraries. Results and all gradients, in float64 and of the same numbers, must be equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .process import Answer, Differ, compared, library_module, middle
from .steps import BOTH, EXACT, repeat
from .table import Table, ratio

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A function of tensors or a module, and what it is called with.

    Attributes:
        make: is given the library, and returns what is called.
        shapes: of the inputs, which all get gradients, as a module's weights do.
        classes: if not 0, a last input of integers below it, ``rows`` of them.
        size: in the table; "": the shape of the first input.
        goal: the ratio of times that it should have.
        trains: whether the backward pass is part of it; else it runs in ``eval()`` and ``no_grad``.
    """

    name: str
    make: Callable[[Any], Callable[..., Any]]
    shapes: tuple[Shape, ...]
    classes: int = 0
    rows: int = 4096
    size: str = ""
    goal: float = 1.0
    trains: bool = True


def functional(name: str, *after: Any, **named: Any) -> Callable[[Any], Callable[..., Any]]:
    """A function of ``torch.nn.functional``, with what follows the tensors."""
    return lambda torch: lambda *inputs: getattr(torch.nn.functional, name)(*inputs, *after, **named)


def normed(name: str, *after: Any) -> Callable[[Any], Callable[..., Any]]:
    """A norm over the last axis."""
    return lambda torch: lambda x, *weights: getattr(torch.nn.functional, name)(x, x.shape[-1:], *weights, *after)


def attention(causal: bool, dropout: float = 0.0) -> Callable[[Any], Callable[..., Any]]:
    """Attention as the models call it."""
    return functional("scaled_dot_product_attention", is_causal=causal, dropout_p=dropout)


def recurrent(name: str, *sizes: int, **named: Any) -> Callable[[Any], Callable[..., Any]]:
    return lambda torch: getattr(torch.nn, name)(*sizes, **named)


def linear_then_cross_entropy(torch: Any) -> Callable[..., Any]:
    """As most programs write it."""
    F = torch.nn.functional
    return lambda x, weight, target: F.cross_entropy(F.linear(x, weight), target, label_smoothing=0.1)


def encoder(torch: Any, layers: int = 6) -> Any:
    """As large as all-MiniLM-L6-v2's."""
    width = SENTENCES[-1]
    layer = torch.nn.TransformerEncoderLayer(width, 12, 4 * width, activation="gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, layers)


ROWS, WIDTH, CLASSES = 4096, 128, 10_000  # of the first workload
HEAD = (ROWS, WIDTH), (CLASSES, WIDTH)
RECURRENT = (64, 32, 128)
KERNELS = [
    Part("softmax", functional("softmax", -1), ((48, 256, 256),)),
    Part("log_softmax", functional("log_softmax", -1), ((ROWS, CLASSES),)),
    Part("layer_norm", normed("layer_norm"), ((ROWS, WIDTH), (WIDTH,), (WIDTH,))),
    Part("layer_norm", normed("layer_norm"), ((2048, 384), (384,), (384,))),
    Part("rms_norm", normed("rms_norm", 1e-6), ((2048, 384), (384,))),
    Part("gelu", functional("gelu"), ((2048, 1536),)),
    Part("gelu, tanh", functional("gelu", approximate="tanh"), ((2048, 1536),)),
    Part("dropout", functional("dropout", 0.3), ((256, 16, 256),)),
    Part(
        "embedding",
        lambda torch: lambda weight, tokens: torch.nn.functional.embedding(tokens, weight),
        ((CLASSES, WIDTH),),
        CLASSES,
    ),
    Part("linear", functional("linear"), ((ROWS, WIDTH), (256, WIDTH), (256,)), size="4096 × 128 to 256"),
    Part("linear", functional("linear"), ((512, 512), (2048, 512), (2048,)), size="512 × 512 to 2048"),
    Part("cross_entropy", functional("cross_entropy", label_smoothing=0.1), ((ROWS, CLASSES),), CLASSES),
    Part("linear, then cross_entropy", linear_then_cross_entropy, HEAD, CLASSES, size="4096 × 128 to 10000"),
    Part(
        "linear_cross_entropy",
        functional("linear_cross_entropy", label_smoothing=0.1),
        HEAD,
        CLASSES,
        size="4096 × 128 to 10000",
    ),
    Part("attention, causal", attention(True), ((8, 6, 256, 64),) * 3),
    Part("attention", attention(False), ((256, 4, 16, 32),) * 3),
    Part("attention, dropout", attention(False, 0.3), ((256, 4, 16, 32),) * 3),
    *(Part(name.lower(), recurrent(name, 128, 128, batch_first=True), (RECURRENT,)) for name in ("LSTM", "GRU", "RNN")),
]
IMAGES = (32, 64, 28, 28)
SENTENCES = (32, 64, 384)
SEQUENCES = (64, 32, 256)
LAYERS = [
    Part("LSTM, 2 layers of 256", recurrent("LSTM", 256, 256, num_layers=2), (SEQUENCES,)),
    Part("GRU, 2 layers of 256", recurrent("GRU", 256, 256, num_layers=2), (SEQUENCES,)),
    Part("GroupNorm, 8 groups", lambda torch: torch.nn.GroupNorm(8, IMAGES[1]), (IMAGES,)),
    *(
        Part(f"interpolate, {mode}, to double size", functional("interpolate", scale_factor=2, mode=mode), (IMAGES,))
        for mode in ("bilinear", "nearest")
    ),
    Part("conv 3 × 3", lambda torch: torch.nn.Conv2d(IMAGES[1], IMAGES[1], 3, padding=1), (IMAGES,), goal=1.5),
    Part("encoder 6 × 384, forward only", encoder, (SENTENCES,), trains=False),
]
PARTS = {"kernels": KERNELS, "layers": LAYERS}


def prepared(torch: Any, part: Part, dtype: str) -> tuple[Callable[[], Any], list[Any]]:
    """A function that runs the part once and returns its result, and the tensors whose gradients count.

    Weights and inputs are drawn by NumPy: the same for all libraries.
    """
    draw, kind = np.random.default_rng(0), getattr(torch, dtype)
    called = part.make(torch)
    leaves: list[Any] = []
    if isinstance(called, torch.nn.Module):
        called = called.to(kind).train(part.trains)
        leaves = list(called.parameters())
        with torch.no_grad():
            for weight in leaves:
                weight.copy_(torch.tensor(0.1 * draw.standard_normal(tuple(weight.shape))))
    inputs = [torch.tensor(draw.standard_normal(shape), dtype=kind, requires_grad=part.trains) for shape in part.shapes]
    leaves += inputs
    if part.classes:
        inputs = [*inputs, torch.from_numpy(draw.integers(0, part.classes, part.rows))]

    def forward() -> Any:
        out = called(*inputs)
        return out[0] if isinstance(out, tuple) else out

    return (forward, leaves) if part.trains else (torch.no_grad()(forward), [])


def with_backward(torch: Any, forward: Callable[[], Any], leaves: list[Any]) -> Callable[[], Any]:
    """The function with its gradients along one direction; itself, if it has none."""
    if not leaves:
        return forward
    out = forward()
    slopes = torch.tensor(np.random.default_rng(1).standard_normal(tuple(out.shape)), dtype=out.dtype)

    def both() -> Any:
        for leaf in leaves:
            leaf.grad = None
        out = forward()
        out.backward(slopes)
        return out

    return both


def check(library: str, parts: str) -> Answer:
    """For each part some numbers of its result and of each gradient, in float64.

    Dropout comes from PyTorch's stream, so that its masks can be compared.
    """
    torch = library_module(library)
    if library == "minigrad":
        torch.set_dropout_stream("pytorch")
    numbers = []
    for part in PARTS[parts]:
        forward, leaves = prepared(torch, part, "float64")
        torch.manual_seed(0)
        result = with_backward(torch, forward, leaves)()
        arrays = [result.detach().numpy(), *(leaf.grad.numpy() for leaf in leaves)]
        numbers.append([number for array in arrays for number in fingerprint(array)])
    return {"numbers": numbers}


def fingerprint(values: Any) -> tuple[float, float, float]:
    """An array's norm, and two sums over it with weights that differ from place to place."""
    flat = np.asarray(values, np.float64).reshape(-1)
    place = np.arange(flat.size)
    return float(np.sqrt(flat @ flat)), float(flat @ np.cos(place)), float(flat @ np.sin(0.1 * place))


def agree(name: str, ours: list[float], theirs: list[float], tolerance: float = EXACT) -> None:
    """See to it that fingerprints are equal, up to ``tolerance`` of the norm. Raises Differ: they are not."""
    norms = [max(1.0, norm) for norm in theirs[::3] for _ in range(3)]
    if len(ours) != len(theirs) or not all(
        math.isclose(a, b, rel_tol=0, abs_tol=tolerance * norm) for a, b, norm in zip(ours, theirs, norms, strict=True)
    ):
        raise Differ(f"{name}: results or gradients differ: {ours} on minigrad and {theirs} on PyTorch")


def all_agree(parts: str, answers: dict[str, Answer]) -> None:
    """See to it that the libraries compute the same. Raises Differ: they do not."""
    ours, *others = (answer["numbers"] for answer in answers.values())
    for theirs in others:
        for part, mine, other in zip(PARTS[parts], ours, theirs, strict=True):
            agree(part.name, mine, other)


def measure(library: str, parts: str, seconds: float) -> Answer:
    """The median time of each part in ms."""
    torch = library_module(library)
    calls = (with_backward(torch, *prepared(torch, part, "float32")) for part in PARTS[parts])
    return {"times": [median(repeat(call, seconds)) for call in calls]}


def table(parts: str, rounds: int, seconds: float) -> Table:
    """The table of kernels or of layers, a row for each."""
    answers = compared("kernels", BOTH, rounds, seconds, partial(all_agree, parts), parts=parts)
    columns = ("part", "input", "minigrad ms", "PyTorch ms", "ratio", "goal")
    result = Table(f"{parts.capitalize()}, against PyTorch eager", columns, ("", "", ".2f", ".2f", ".2f", ".2f"))
    for i, part in enumerate(PARTS[parts]):
        times = [middle(answers[name], "times", i) for name in BOTH]
        result.add(part.name, part.size or " × ".join(map(str, part.shapes[0])), *times, ratio(*times), part.goal)
    result.notes.append("in training, forward and backward, except the encoder")
    return result
