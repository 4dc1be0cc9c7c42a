"""What did not pay, or too little."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from minigrad.backend import parallel, products
from minigrad.backend.kernels import gelu
from minigrad.backend.random import Generator
from minigrad.ops.dropout import dropout

from .idea import REJECTED, Array, Given, Row, idea
from .training import trainer
from .ways import Switches, Way


@idea(REJECTED, "small work on all threads, too", "backend/parallel.py, SERIAL_BYTES; products.py, LARGE")
def small_work(given: Given) -> list[Row]:
    """Waking a thread takes longer than it saves."""
    call = partial(gelu.forward, (True,), given.random(given.part(16_384)), "none")
    a, b = given.random(given.part(128), 128), given.random(128, 128)
    shared: Switches = [(parallel, "SERIAL_BYTES", 0)]
    cut: Switches = [(products, "LARGE", 0), (products, "PART", 1)]
    product = partial(products.matmul, a, b)
    return [
        given.compare("GELU of 16,384", Way(call, switches=shared), Way(call)),
        given.compare("(128, 128) × (128, 128)", Way(product, switches=cut), Way(product)),
    ]


@idea(REJECTED, "OpenBLAS's threads for products, ours for the rest", "backend/products.py")
def openblas(given: Given) -> list[Row]:
    """They answer faster than ours, as they do not sleep; but all that follows has one core less."""
    step = trainer(given.work("gpt-128"))
    way = Way(step, switches=[(products, "_has_loops", lambda: False), (products, "LARGE", 0)])
    return [given.compare("step of decoder-only 4 × 128, T 64", way, Way(step), rest=0.3)]


@idea(REJECTED, "dropout's mask as numbers", "ops/dropout.py")
def mask_of_numbers(given: Given) -> list[Row]:
    """float32 in place of bool spares NumPy a conversion in each product, but has to be made once, and takes
    four times the memory until the backward pass."""
    x, generator = given.random(given.part(4096), 128), Generator()

    def both(convert: Callable[[Array], Array]) -> None:
        keep = convert(generator.keep_mask(x.shape, 0.1))
        for _ in range(2):  # the backward pass does the same to the gradient
            dropout.forward(x, keep, 1 / 0.9)

    numbers = Way(partial(both, lambda keep: keep.astype(np.float32)))
    bits = generator.keep_mask(x.shape, 0.1)
    sizes = [array.nbytes / 2**20 for array in (bits.astype(np.float32), bits)]
    times = given.compare("4096 × 128, drawn, forward and backward", numbers, Way(partial(both, np.asarray)))
    return [times, Row("4096 × 128: memory of the mask", sizes, "MiB")]
