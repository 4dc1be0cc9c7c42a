"""A prototype: one training step of an MLP, launched one by one and as a CUDA graph.

It decides whether whole steps should become graphs. The step is written in arrays: products by ctypes' cuBLAS, the
library's kernels for GELU and the loss, and an update by array functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .capture import captured
from .cublas import products
from .place import Place

RATE = 0.1
STEPS = 5
CLOSE = 1e-3  # relative: cuBLAS may add in another order


class Mlp:
    """A multi-layer perceptron with GELU, and the batch that it learns."""

    def __init__(self, place: Place, layers: int, width: int, batch: int) -> None:
        draw = np.random.default_rng(0)
        shape = (layers, width, width)
        self.xp, self.weights = place.xp(), list(place.array(draw.normal(0, width**-0.5, shape).astype("float32")))
        self.x = place.array(draw.standard_normal((batch, width)).astype("float32"))
        self.target = place.array(draw.integers(0, width, batch))
        self.gelu, self.loss = place.kernel("gelu"), place.kernel("cross_entropy")
        self.matmul = products(place).matmul

    def product(self, a: Any, b: Any) -> Any:
        """``a @ b``, in new memory."""
        out = self.xp.empty((a.shape[0], b.shape[1]), a.dtype)
        self.matmul(a, b, out)
        return out

    def step(self, product: Callable[[Any, Any], Any] | None = None) -> None:
        """Change the weights by a step of gradient descent."""
        multiply = product or self.product
        inputs, sums = [self.x], []
        for weight in self.weights:
            sums.append(multiply(inputs[-1], weight))
            inputs.append(self.gelu.forward((True,), sums[-1], "tanh")[0])
        args = sums[-1], self.target, None, -100, 0.0
        losses, saved = self.loss.forward((True,), *args)
        slope = self.xp.full_like(losses, 1 / len(losses))
        g = self.loss.backward((True,), saved, slope, *args)[0]
        for i in reversed(range(len(self.weights))):
            before = multiply(g, self.weights[i].T) if i else None
            self.weights[i] -= RATE * multiply(inputs[i].T, g)
            if before is not None:
                g = self.gelu.backward((True,), None, before, sums[i - 1], "tanh")[0]


WAYS = ("by CuPy's products", "by ctypes' products", "as a graph")


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Steps of two sizes, in three ways, and whether the ways agree."""
    sizes = place.choose([(4, 256, 64), (8, 1024, 256)], [(2, 32, 4)])
    steps: dict[str, Callable[[], Any]] = {}
    for size in sizes:
        make, title = partial(Mlp, place, *size), "{} layers × {}, batch {}".format(*size)
        steps |= {f"{title} {way}": partial(timed, place, make, title, way) for way in WAYS}
        steps[f"{title} the same weights"] = partial(same, place, make)
    return steps


def timed(place: Place, make: Callable[[], Mlp], title: str, way: str) -> dict[str, Any]:
    """Times of a step in one way."""
    mlp, seconds = make(), place.choose(0.5, 0.01)
    if way == "as a graph":
        launcher = captured(place, mlp.step)
        with launcher.on_stream():
            times = place.time(launcher.launch, seconds)
    else:
        product = (lambda a, b: a @ b) if way == "by CuPy's products" else None
        times = place.time(partial(mlp.step, product), seconds)
    return {"MLP": title, "launched": way, **times}


def same(place: Place, make: Callable[[], Mlp]) -> dict[str, Any]:
    """A graph changes the weights as single launches do. Raises ArithmeticError: it does not."""
    one, other = make(), make()
    launcher = captured(place, other.step)  # which has done one step
    with launcher.on_stream():
        for _ in range(STEPS - 1):
            launcher.launch()
        place.synchronize()
    for _ in range(STEPS):
        one.step()
    place.synchronize()
    worst = max(float(abs(a - b).max()) / float(abs(a).max()) for a, b in zip(one.weights, other.weights, strict=True))
    if not worst <= CLOSE:
        raise ArithmeticError(f"weights differ by {worst:.1e} of the largest")
    return {}
