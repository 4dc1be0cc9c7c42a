"""What did not pay, or too little."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import numpy as np

from minigrad.backend import blas, parallel, products
from minigrad.backend.kernels import gelu, linear
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
    shared: Switches = [(parallel, "SERIAL_BYTES", 0), (parallel, "HEAD_START", 0.0)]
    cut: Switches = [(products, "LARGE", 0), (parallel, "HEAD_START", 0.0)]
    product = partial(products.matmul, a, b)
    return [
        given.compare("GELU of 16,384", Way(call, switches=shared), Way(call)),
        given.compare("(128, 128) × (128, 128)", Way(product, switches=cut), Way(product)),
    ]


@idea(REJECTED, "OpenBLAS's threads for products, ours for the rest", "backend/products.py")
def openblas(given: Given) -> list[Row]:
    """They answer faster than ours, as they do not sleep; but all that follows has one core less."""
    step = trainer(given.work("gpt-128"))
    own = SimpleNamespace(one_thread=nullcontext, calls=blas.calls)
    theirs: Switches = [
        (module, *change) for module in (products, linear) for change in (("LARGE", float("inf")), ("blas", own))
    ]
    way = Way(step, switches=theirs)
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


@idea(REJECTED, "both of linear's gradients cut for all threads", "kernels/linear.py, _cuts")
def cut_both(given: Given) -> list[Row]:
    """With one product for each half of the threads, BLAS puts each operand in order for fewer of them. On
    two threads the difference is lost in the noise."""
    x, weight = given.random(given.part(512), 512), given.random(2048, 512)
    g, needs = given.random(len(x), 2048), (True, True, False)

    def halves(needs: tuple[bool, ...], count: int, weight: tuple[int, ...]) -> parallel.Blocks:
        threads = parallel.get_num_threads()
        return [
            (which, length * i // threads, length * (i + 1) // threads)
            for which, length in enumerate((count, max(weight)))
            for i in range(threads)
        ]

    call = partial(linear.backward, needs, None, g, x, weight, None)
    way = Way(call, switches=[(linear, "_cuts", halves)])
    return [given.compare("512 rows, 512 -> 2048", way, Way(call))]
