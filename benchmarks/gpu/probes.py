"""Compares each op's results and gradients (tests/ops/cases.py) on a device with results on the CPU.

The ``tests`` stage covers the rest: views, indexing and optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.backend.kernels import CUDA_FILES

from .place import Place

TOLERANCE = {"float32": 2e-5, "float16": 8e-3, "bfloat16": 5e-2, "float64": 1e-10}  # relative to the largest number


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """Ops with a CUDA kernel in each dtype, and all other ops in float64."""
    cases = import_module("tests.ops.cases")
    jobs: dict[str, Callable[[], Any]] = {}
    for op in dict.fromkeys(case.op for case in cases.CASES):
        dtypes = TOLERANCE if op in CUDA_FILES and has_bfloat16(place) else ("float64",)
        for dtype in dtypes:
            some = cases.find(op)[: 3 if "16" in dtype else None]  # complex cases are last
            jobs[f"op {op} in {dtype}"] = partial(checked, place, some, dtype)
    return jobs


def has_bfloat16(place: Place) -> bool:
    """Whether the device supports bfloat16."""
    try:
        mg.zeros(1).to(mg.bfloat16).to(place.device)
    except (ImportError, RuntimeError, TypeError):
        return False
    return True


def checked(place: Place, cases: list[Any], dtype: str) -> None:
    """Compare an op's results and gradients with float64 on the CPU. Raises AssertionError if they differ."""
    for case in cases:
        inputs = [
            mg.tensor(values) if isinstance(kind, np.ndarray) else mg.tensor(values).to(getattr(mg, dtype))
            for kind, values in zip(case.inputs, case.arrays(), strict=True)
        ]
        expected, actual = (results(case, inputs, device) for device in ("cpu", place.device))
        for reference, result in zip(expected, actual, strict=True):
            assert reference.shape == result.shape, (reference.shape, result.shape)
            atol = TOLERANCE[dtype] * np.abs(reference[np.isfinite(reference)]).max(initial=1.0)
            np.testing.assert_allclose(result, reference, rtol=0, atol=atol)


def results(case: Any, inputs: list[Any], device: str) -> list[Any]:
    """The results of a case, and its input gradients for a fixed output gradient. The CPU computes in float64."""
    leaves = []
    for x, kind in zip(inputs, case.inputs, strict=True):
        wide = x.double() if device == "cpu" and x.is_floating_point() else x
        leaves.append(wide.to(device).detach().requires_grad_(not isinstance(kind, np.ndarray)))
    with mg.device(device):
        outputs = case.ours(mg, *leaves)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if roots := [out for out in outputs if out.requires_grad]:
            draw = np.random.default_rng(1)
            grads = [draw.standard_normal(tuple(out.shape)) for out in roots]
            mg.autograd.backward(roots, [mg.tensor(g).to(out.dtype) for g, out in zip(grads, roots, strict=True)])
    values = [*outputs, *(x.grad for x in leaves if x.grad is not None)]
    return [(x.detach().double() if x.is_floating_point() else x).cpu().numpy() for x in values]
