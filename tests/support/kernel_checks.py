"""Helpers for the tests of CUDA kernels: run a kernel (emulated or on a GPU), check its gradients."""

from typing import Any

import numpy as np
import pytest

from minigrad import backend
from minigrad.backend import cuda
from minigrad.backend.device import Device

from . import cuda_emulator, strict
from .plain_checks import plain

Ndarray = Any
needs_emulator = pytest.mark.skipif(bool(cuda_emulator.missing()), reason=cuda_emulator.missing() or "none")
PLACES = [pytest.param("strict", marks=needs_emulator)]
if cuda.is_available():
    PLACES.append(pytest.param("cuda", marks=pytest.mark.cuda))
TOLERANCE = {"float16": 4e-3, "float32": 1e-5, "float64": 1e-10}


_place = "strict"


def use(place: str) -> None:
    """Choose where kernels run: "strict" (the emulator) or "cuda"."""
    global _place
    _place = place
    strict.install()


def _backend() -> Any:
    return backend.for_device(Device(_place))


def namespace() -> Any:
    """``cupy``, or its stand-in."""
    return _backend().xp


def most_shared_bytes() -> int:
    """The shared memory that a block may request."""
    return int(on_device(np.zeros(1)).device.attributes["MaxSharedMemoryPerBlockOptin"])


def kernel(name: str) -> Any:
    """The CUDA kernel with this name."""
    return _backend().kernels(name)[0]


def on_device(value: Any) -> Any:
    """A NumPy array as an array of the backend; anything else unchanged."""
    return _backend().asarray(value, Device(_place)) if isinstance(value, np.ndarray) else value


def to_host(value: Any) -> Any:
    """The backend's arrays, also in a tuple, as NumPy arrays."""
    if isinstance(value, tuple):
        return tuple(to_host(v) for v in value)
    return value.get() if hasattr(value, "get") else value


def forward(name: str, *args: Any) -> Ndarray:
    """A kernel's result."""
    return to_host(kernel(name).forward((False,) * len(args), *map(on_device, args))[0])


def gradients(name: str, g: Ndarray, *args: Any, needs: tuple[int, ...]) -> tuple[Any, ...]:
    """The result, and the gradients of the arguments in ``needs``. No other gradient may be computed."""
    flags = tuple(i in needs for i in range(len(args)))
    moved = tuple(map(on_device, args))
    out, saved = kernel(name).forward(flags, *moved)
    gradients = to_host(kernel(name).backward(flags, saved, on_device(g), *moved))
    assert len(gradients) == len(args)
    assert [f is not None for f in gradients] == list(flags)
    for i in needs:
        assert gradients[i].shape == args[i].shape
        assert gradients[i].dtype == args[i].dtype
    return (to_host(out), *(gradients[i] for i in needs))


def assert_close(actual: Any, expected: Any, dtype: str = "float64", what: str = "") -> None:
    """Assert equality within a dtype's tolerance, relative to the largest number, including NaN and shapes."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert actual.shape == expected.shape
    finite = np.abs(expected[np.isfinite(expected)])
    largest = max(1.0, float(finite.max(initial=0.0)))
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * largest, err_msg=what)


def check(name: str, *args: Any, needs: tuple[int, ...], dtypes: tuple[str, ...] = tuple(TOLERANCE)) -> None:
    """Check a kernel's result and gradients in each dtype, against the op's plain definition in float64."""
    for dtype in dtypes:
        single = [a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in args]
        wide = [a.astype("float64") if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in single]
        expected, derivatives, g = plain(name, wide, needs)
        out, *own = gradients(name, np.asarray(g, dtype), *single, needs=needs)
        assert out.dtype == dtype, f"{name}: {out.dtype} of {dtype}"
        for what, one, other in zip(
            ("result", *needs), (out, *own), (expected, *map(derivatives.get, needs)), strict=True
        ):
            assert_close(one, other, dtype, f"{name} in {dtype}: {what}")


def check_derivatives(name: str, *args: Any, needs: tuple[int, ...], seed: int = 0) -> None:
    """Check each gradient in float64 along a random direction, against the difference quotient of the forward."""
    rng, step = np.random.default_rng(seed), 1e-6
    out = forward(name, *args)
    g = np.asarray(rng.standard_normal(out.shape))
    _, *derivatives = gradients(name, g, *args, needs=needs)
    for i, gradient in zip(needs, derivatives, strict=True):
        direction = rng.standard_normal(args[i].shape)
        moved = [np.asarray(args[i] + s * step * direction) for s in (1, -1)]
        ahead, behind = (forward(name, *args[:i], arg, *args[i + 1 :]) for arg in moved)
        derivative = float((g * (ahead - behind)).sum() / (2 * step))
        assert float((gradient * direction).sum()) == pytest.approx(derivative, rel=1e-6, abs=1e-7)
