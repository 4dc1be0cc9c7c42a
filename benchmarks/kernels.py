"""Each fused kernel alone, forward and backward, at the sizes that it has in the training steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from statistics import median
from typing import Any

import numpy as np

from .process import Answer, Differ, alternate, ask, library_module, progress
from .steps import BOTH, EXACT, repeat
from .table import Table, ratio
from .workloads import WORK, build, optimizer

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """A function of tensors, and what it is called with.

    Attributes:
        call: is given the library, then the inputs. shapes: of the inputs, which all get gradients.
        classes: if not 0, a last input of integers below it, ``rows`` of them.
        scale: of the inputs after the first.
    """

    name: str
    size: str
    call: Callable[..., Any]
    shapes: tuple[Shape, ...]
    classes: int = 0
    rows: int = 4096
    scale: float = 1.0


def attention(torch: Any, q: Any, k: Any, v: Any, causal: bool = True, dropout: float = 0.0) -> Any:
    """Attention as the decoder-only model calls it."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, dropout_p=dropout)


def recurrent(torch: Any, x: Any, *weights: Any, name: str) -> Any:
    """One layer of a recurrent network, its weights given from outside."""
    layer = recurrent_layer(torch, name, x.shape[-1], weights[1].shape[-1])
    places = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    return torch.func.functional_call(layer, dict(zip(places, weights, strict=True)), (x,))[0]


@cache
def recurrent_layer(torch: Any, name: str, width: int, state: int) -> Any:
    """Made once: drawing its first weights is no part of the kernel."""
    return getattr(torch.nn, name)(width, state, batch_first=True)


def recurrent_shapes(gates: int, batch: int = 64, length: int = 32, width: int = 128) -> tuple[Shape, ...]:
    wide = gates * width
    return (batch, length, width), (wide, width), (wide, width), (wide,), (wide,)


def functional(name: str, *after: Any, **named: Any) -> Callable[..., Any]:
    """A function of ``torch.nn.functional`` with what follows the tensors."""
    return lambda torch, *inputs: getattr(torch.nn.functional, name)(*inputs, *after, **named)


def linear_then_cross_entropy(torch: Any, x: Any, weight: Any, target: Any) -> Any:
    """As most programs write it."""
    logits = torch.nn.functional.linear(x, weight)
    return torch.nn.functional.cross_entropy(logits, target, label_smoothing=0.1)


def linear_cross_entropy(torch: Any, x: Any, weight: Any, target: Any) -> Any:
    """As one function."""
    return torch.nn.functional.linear_cross_entropy(x, weight, target, label_smoothing=0.1)


def embedding(torch: Any, weight: Any, tokens: Any) -> Any:
    """Rows of a matrix; the gradient adds rows up."""
    return torch.nn.functional.embedding(tokens, weight)


def normed(torch: Any, x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias)


def rms_normed(torch: Any, x: Any, weight: Any) -> Any:
    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-6)


ROWS, WIDTH, CLASSES = 4096, 128, 10_000  # of the first workload
KERNELS = [
    Kernel("softmax", "48×256×256", functional("softmax", -1), ((48, 256, 256),)),
    Kernel("log_softmax", "4096×10000", functional("log_softmax", -1), ((ROWS, CLASSES),)),
    Kernel("layer_norm", "4096×128", normed, ((ROWS, WIDTH), (WIDTH,), (WIDTH,))),
    Kernel("layer_norm", "2048×384", normed, ((2048, 384), (384,), (384,))),
    Kernel("rms_norm", "2048×384", rms_normed, ((2048, 384), (384,))),
    Kernel("gelu", "2048×1536", functional("gelu"), ((2048, 1536),)),
    Kernel("gelu, tanh", "2048×1536", functional("gelu", approximate="tanh"), ((2048, 1536),)),
    Kernel("dropout", "256×16×256", functional("dropout", 0.3), ((256, 16, 256),)),
    Kernel("embedding", "4096 of 10000×128", embedding, ((CLASSES, WIDTH),), CLASSES),
    Kernel("linear", "4096×128 to 256", functional("linear"), ((ROWS, WIDTH), (256, WIDTH), (256,))),
    Kernel("linear", "512×512 to 2048", functional("linear"), ((512, 512), (2048, 512), (2048,))),
    Kernel(
        "cross_entropy", "4096×10000", functional("cross_entropy", label_smoothing=0.1), ((ROWS, CLASSES),), CLASSES
    ),
    Kernel(
        "linear, then cross_entropy",
        "4096×128 to 10000",
        linear_then_cross_entropy,
        ((ROWS, WIDTH), (CLASSES, WIDTH)),
        CLASSES,
    ),
    Kernel(
        "linear_cross_entropy", "4096×128 to 10000", linear_cross_entropy, ((ROWS, WIDTH), (CLASSES, WIDTH)), CLASSES
    ),
    Kernel("attention, causal", "8×6×256×64", attention, ((8, 6, 256, 64),) * 3),
    Kernel("attention", "256×4×16×32", partial(attention, causal=False), ((256, 4, 16, 32),) * 3),
    Kernel("attention, dropout", "256×4×16×32", partial(attention, causal=False, dropout=0.3), ((256, 4, 16, 32),) * 3),
    Kernel("lstm", "64×32×128", partial(recurrent, name="LSTM"), recurrent_shapes(4), scale=0.05),
    Kernel("gru", "64×32×128", partial(recurrent, name="GRU"), recurrent_shapes(3), scale=0.05),
    Kernel("rnn", "64×32×128", partial(recurrent, name="RNN"), recurrent_shapes(1), scale=0.05),
]


def inputs(torch: Any, kernel: Kernel, dtype: Any) -> list[Any]:
    """Numbers from one stream, which all get gradients, and the classes."""
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(shape).astype(dtype) for shape in kernel.shapes]
    for array in arrays[1:]:
        array *= kernel.scale
    given = [torch.from_numpy(array) for array in arrays]
    for tensor in given:
        tensor.requires_grad_()
    if kernel.classes:
        given.append(torch.from_numpy(draw.integers(0, kernel.classes, kernel.rows)))
    return given


def seed_for(torch: Any, out: Any) -> Any:
    """The gradient that arrives at the result, of its shape."""
    numbers = np.random.default_rng(1).standard_normal(tuple(out.shape), np.float32)
    return torch.from_numpy(np.asarray(numbers)).to(out.dtype)


def check(library: str, chosen: list[int]) -> Answer:
    """For each kernel some numbers of its result and of each gradient, in float64.

    Dropout comes from PyTorch's stream, so that its masks can be compared.
    """
    torch = library_module(library)
    if library == "minigrad":
        torch.set_dropout_stream("pytorch")
    found = {}
    for i in chosen:
        torch.manual_seed(0)
        given = inputs(torch, KERNELS[i], np.float64)
        out = KERNELS[i].call(torch, *given)
        out.backward(seed_for(torch, out))
        tensors = [out.detach(), *(x.grad for x in given if x.requires_grad)]
        found[str(i)] = [number for tensor in tensors for number in fingerprint(tensor.numpy())]
    return {"found": found}


def fingerprint(values: Any) -> tuple[float, float, float]:
    """An array's norm, and two sums over it with weights that differ from place to place."""
    flat = np.asarray(values, np.float64).reshape(-1)
    place = np.arange(flat.size)
    return float(np.sqrt(flat @ flat)), float(flat @ np.cos(place)), float(flat @ np.sin(0.1 * place))


def agree(name: str, ours: list[float], theirs: list[float], tolerance: float = EXACT) -> None:
    """See to it that fingerprints are equal, up to ``tolerance`` of the norm.

    Raises:
        Differ: they are not.
    """
    ok = len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        norm = theirs[i // 3 * 3]
        ok &= math.isclose(a, b, rel_tol=0, abs_tol=tolerance * max(1.0, norm))
    if not ok:
        raise Differ(f"{name}: results or gradients differ: {ours} on minigrad and {theirs} on PyTorch")


def measure(library: str, seconds: float, chosen: list[int]) -> Answer:
    """Median times in ms of each kernel, forward alone (recorded) and with backward, and of Adam's step."""
    torch = library_module(library)
    found = {}
    for i in chosen:
        kernel, given = KERNELS[i], inputs(torch, KERNELS[i], np.float32)
        seed = seed_for(torch, kernel.call(torch, *given))

        def forward(kernel: Kernel = kernel, given: list[Any] = given) -> Any:
            return kernel.call(torch, *given)

        def both(forward: Callable[[], Any] = forward, given: list[Any] = given, seed: Any = seed) -> None:
            for tensor in given:
                tensor.grad = None
            forward().backward(seed)

        found[str(i)] = [median(repeat(step, seconds)) for step in (forward, both)]
    return {"found": found, "adam": adam(torch, seconds)}


def adam(torch: Any, seconds: float) -> float:
    """The time of an Adam step of the first workload's parameters, in ms."""
    work = WORK["multi30k"]
    model = build(torch, work, 0.0)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    return median(repeat(optimizer(torch, work, model).step, seconds))


def table(rounds: int, seconds: float) -> Table:
    """The table, a row for each kernel."""
    chosen = list(range(len(KERNELS)))
    progress("kernels: results and gradients in float64")
    checked = {name: ask("benchmarks.kernels:check", name, chosen=chosen) for name in BOTH}
    for i in () if "missing" in checked["torch"] else chosen:
        agree(KERNELS[i].name, *(checked[name]["found"][str(i)] for name in BOTH))
    measured = partial(ask, "benchmarks.kernels:measure", seconds=seconds, chosen=chosen)
    found = alternate(BOTH, rounds, measured, "kernels")
    columns = (
        "kernel",
        "size",
        "forward ms",
        "PyTorch ms",
        "ratio",
        "with backward ms",
        "PyTorch's ms",
        "ratio of both",
    )
    result = Table("Kernels alone, against PyTorch eager", columns, ("", "", *(".3f", ".3f", ".2f") * 2))
    for row in rows(found):
        result.add(*row)
    return result


def rows(found: dict[str, list[Answer]]) -> Iterator[tuple[Any, ...]]:
    """What is in the table."""
    for i, kernel in enumerate(KERNELS):
        forward, both = ([_median(found[name], str(i), part) for name in BOTH] for part in (0, 1))
        yield kernel.name, kernel.size, *forward, ratio(*forward), *both, ratio(*both)
    times = [median(a["adam"] for a in each) if "adam" in each[0] else None for each in found.values()]
    yield "adam step", "2.6 M parameters", *times, ratio(*times), None, None, None


def _median(answers: list[Answer], key: str, part: int) -> float | None:
    return None if "missing" in answers[0] else median(a["found"][key][part] for a in answers)
