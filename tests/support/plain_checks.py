"""Checks a CPU kernel against the plain definition of its op: values, gradients, layouts, threads."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import minigrad
from minigrad.backend import Device, for_device, parallel
from minigrad.compat.ops.registry import REGISTRY
from minigrad.ops.op import Op

RTOL = {np.float64: 1e-11, np.float32: 2e-5}
Arrays = Sequence[Any]
CUT_BY_THREADS = ("linear", "linear_cross_entropy")  # their products are split into one part per thread


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def check(name: str, args: Arrays, differentiable: Sequence[int], layouts: bool = True) -> None:
    """Compare kernel and plain definition in both dtypes, for every choice of inputs that require a gradient."""
    for dtype in (np.float64, np.float32):
        inputs = [a.astype(dtype) if _is_float(a) else a for a in args]
        expected, derivatives, g = plain(name, args, differentiable)
        for flags in itertools.product([False, True], repeat=len(differentiable)):
            needs = [False] * len(args)
            for i, want in zip(differentiable, flags, strict=True):
                needs[i] = want
            out, gradients = run(name, inputs, tuple(needs), g.astype(dtype))
            close(out, expected, dtype, "value")
            for i, f in enumerate(gradients):
                assert (f is not None) == needs[i], f"gradient of argument {i} computed: {f is not None}"
                if f is not None:
                    close(f, derivatives[i], dtype, f"gradient of argument {i}")
    if layouts:
        _check_layouts(name, args, differentiable)
    _check_threads(name, args, differentiable)


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


@contextmanager
def without_kernel(op: Op) -> Iterator[Op]:
    """Inside the context, the op runs by its forward and its rules."""
    kernel, op.kernel = op.kernel, ""
    try:
        yield op
    finally:
        op.kernel = kernel
        op.plans.clear()  # they save too little for the kernel


def plain(name: str, args: Arrays, differentiable: Sequence[int]) -> tuple[Any, dict[int, Any], Any]:
    """The op's result by its forward, its gradients by its rules, in float64, and the incoming gradient."""
    op = REGISTRY[name]
    tensors = [
        minigrad.tensor(a, requires_grad=i in differentiable) if isinstance(a, np.ndarray) else a
        for i, a in enumerate(args)
    ]
    with without_kernel(op):
        out = op(*tensors)
        g = normal(*out.shape, seed=1) if out.shape else np.array(0.7)
        inputs = [tensors[i] for i in differentiable]
        gradients = minigrad.autograd.grad(out, inputs, minigrad.tensor(g), materialize_grads=True)
    return out.detach().numpy(), {i: f.numpy() for i, f in zip(differentiable, gradients, strict=True)}, g


def run(name: str, args: Arrays, needs: tuple[bool, ...], g: Any, kernel: Any = None) -> tuple[Any, list[Any]]:
    """The result and gradients of a kernel, by default NumPy's; asserts that its inputs are unchanged."""
    kernel, op = kernel or for_device(Device("cpu")).kernels(name)[-1], REGISTRY[name]
    keep = op.plan(0, len(args)).keep
    saved = [a if i in keep else None for i, a in enumerate(args)]  # as on the tape
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    computed = kernel.forward(needs, *args)
    assert computed is not NotImplemented, f"{name}: the kernel does not take these"
    out, residual = computed
    out_before, g_before = np.array(out), np.array(g)
    gradients: list[Any] = [None] * len(args)
    if any(needs) and g is not None:
        gradients = list(kernel.backward(needs, residual, g, *saved))
    for a, b in zip([*args, out, g], [*before, out_before, g_before], strict=True):
        if isinstance(b, np.ndarray):
            np.testing.assert_array_equal(a, b, err_msg="the kernel changed what it was given")
    return np.asarray(out), gradients


def close(actual: Any, expected: Any, dtype: Any, what: str, tolerance: float | None = None) -> None:
    assert actual.shape == expected.shape, f"{what}: {actual.shape} for {expected.shape}"
    assert actual.dtype == dtype, f"{what}: {actual.dtype}"
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max(initial=0.1))  # where terms cancel, only rounding is left
    tolerance = tolerance or RTOL[dtype]
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def _check_layouts(name: str, args: Arrays, differentiable: Sequence[int]) -> None:
    """Check transposed and strided memory, for inputs and for the incoming gradient."""
    needs = tuple(i in differentiable for i in range(len(args)))
    expected, derivatives, g = plain(name, args, differentiable)
    for lay in (transposed, strided):
        out, gradients = run(name, [lay(a) if isinstance(a, np.ndarray) else a for a in args], needs, lay(g))
        close(out, expected, np.float64, lay.__name__)
        for i in differentiable:
            close(gradients[i], derivatives[i], np.float64, f"{lay.__name__}, gradient of argument {i}")


def transposed(a: Any) -> Any:
    """The same numbers in the memory of the transpose."""
    return np.array(a.T, order="C").T


def strided(a: Any) -> Any:
    """The same numbers in every other element of memory along each axis."""
    wide = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    every = wide[tuple(slice(1, None, 2) for _ in a.shape)] if a.ndim else wide
    every[...] = a
    return every


def _check_threads(name: str, args: Arrays, differentiable: Sequence[int]) -> None:
    """Check for the same bits with any number of threads; products that are cut may differ by rounding."""
    needs = tuple(i in differentiable for i in range(len(args)))
    g = plain(name, args, differentiable)[2]

    def compute() -> list[Any]:
        out, gradients = run(name, args, needs, g)
        return [out, *(f for f in gradients if f is not None)]

    on_threads(compute, 8 if name in CUT_BY_THREADS else 0)


def on_threads(compute: Callable[[], Sequence[Any]], ulps: int = 0) -> None:
    """Assert that the arrays do not depend on the number of threads, except by ``ulps`` of float64."""
    before, results = parallel.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            parallel.set_num_threads(threads)
            results.append([np.array(array) for array in compute()])
    finally:
        parallel.set_num_threads(before)
    for threads, others in enumerate(results[1:], 2):
        for number, (a, b) in enumerate(zip(results[0], others, strict=True)):
            message = f"{threads} threads gave other bits of array {number}"
            if ulps:
                rtol = ulps * np.finfo(np.float64).eps
                size = float(np.abs(a[np.isfinite(a)]).max(initial=0.1))
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * size, err_msg=message)
            else:
                np.testing.assert_array_equal(a, b, err_msg=message)
