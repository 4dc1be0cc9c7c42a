"""The time of a step's matrix products alone: no step can be faster without fewer products."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np

from .workloads import SIZES, Product, products

SECONDS = 0.1  # spent on each shape


def measure(library: str, work: str) -> dict[str, Any]:
    """{"time": ms}: ``matmul`` on float32 arrays of the work's shapes, for each the best of several runs."""
    counts = Counter(products(SIZES[work]))
    return {"time": sum(count * best(product) for product, count in counts.items())}


def best(product: Product, seconds: float = SECONDS) -> float:
    """The best time of a batch of products in milliseconds; operands and result are there beforehand."""
    batch, rows, inner, columns = product
    left = np.ones((batch, rows, inner), np.float32)
    right = np.ones((batch, inner, columns), np.float32)
    if batch == 1:
        left, right = left[0], right[0]
    result = np.matmul(left, right)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        np.matmul(left, right, out=result)
        times.append(1000 * (time.perf_counter() - start))
    return min(times)
