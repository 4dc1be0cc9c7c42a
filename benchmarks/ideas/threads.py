"""Threads: whose, where, and with how much each."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from minigrad.backend import parallel, products
from minigrad.backend.compiled import store
from minigrad.backend.kernels import gelu

from .idea import PAID, Given, Row, idea, medians
from .ways import Way, one_pass, switched, take


@idea(PAID, "products on our own threads, OpenBLAS's asleep", "backend/products.py")
def asleep(given: Given) -> list[Row]:
    """OpenBLAS's threads look for more work for a while after a product, and so take a core from
    the pass that follows it."""
    side = given.part(1024)
    a, x = given.random(side, side), given.random(given.part(500_000))
    after = one_pass(np.exp, x)
    ours, theirs = Way(after, partial(products.matmul, a, a)), Way(after, partial(np.matmul, a, a))
    return [given.compare("exp of 500,000 numbers, right after a product", ours, theirs, rest=0.3)]


@idea(PAID, "threads bound to CPUs", "backend/parallel.py, _Crew.place")
def bound(given: Given) -> list[Row]:
    """A thread that wakes may be put on the CPU of the one that woke it, where the two take turns: above all
    when both have slept. In calls without a pause it makes no difference."""
    with switched([(parallel._Crew, "place", lambda crew, member: None)]):
        helpers, library = parallel.get_num_threads() - 1, store.library()
        free = parallel._Crew(helpers, parallel._Native(library, helpers) if library else None)
    product = partial(products.matmul, given.random(given.part(4096), 256), given.random(256, 128))
    exp = one_pass(np.exp, given.random(given.part(500_000)))
    cases = (
        ("(4096, 256) × (256, 128), one after another", product, 0.0),
        ("exp of 500,000 numbers, after sleeping for 1 ms", exp, 0.001),
    )
    found = []
    for what, call, pause in cases:
        ways = [Way(call, partial(time.sleep, pause), switches) for switches in ((), ((parallel, "_crew", free),))]
        times = take(ways, 2 * given.seconds)
        worst = [float(np.percentile(each, 99)) for each in times]
        found += [Row(f"{what}: median", medians(times)), Row(f"{what}: the slowest of 100", worst)]
    free.dismiss()
    return found


@idea(PAID, "blocks of 4 MiB", "backend/parallel.py, BLOCK_BYTES")
def blocks(given: Given) -> list[Row]:
    """A block should stay in cache, but between calls a thread waits for the GIL: long calls win."""
    x = given.random(given.part(2048), 1536)
    call = partial(gelu.forward, (True,), x, "none")
    ways = [Way(call, switches=[(parallel, "BLOCK_BYTES", kib << 10)]) for kib in (64, 256, 1024, 16384)]
    found = medians(take([Way(call), *ways], given.seconds))
    sizes = ("64 KiB", "256 KiB", "1 MiB", "16 MiB")
    return [
        Row(f"GELU of 2048 × 1536, against blocks of {size}", [found[0], other])
        for size, other in zip(sizes, found[1:], strict=True)
    ]
