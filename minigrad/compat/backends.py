"""``torch.backends``: switches of PyTorch's backend libraries. They are stored, but have no effect.

The exception is a switch with three names, which determines whether float32 products use TF32 on a GPU
(https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from enum import IntEnum
from typing import Any

from ..autograd.mode import at_end
from ..backend import cublas
from ..extension import PACKAGE, ModuleWithoutFile

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


class Switches(ModuleWithoutFile):
    """A library's switches, which can be read and set. ``switches``: the initial values."""

    def __init__(self, name: str, available: bool = False, **switches: Any) -> None:
        super().__init__(f"{PACKAGE}.backends.{name}", "Switches without effect.")
        vars(self).update(switches, _available=available)

    def is_available(self) -> bool:
        """Whether the library is available."""
        return self._available

    is_built = is_available

    def version(self) -> int | None:
        """None, because PyTorch's switches do not control the library."""

    @contextmanager
    def flags(self, **switches: Any) -> Iterator[None]:
        """Set switches for a ``with`` block."""
        with at_end(self._set, {name: getattr(self, name) for name in switches}) as end, end:
            self._set(switches)
            yield

    def _set(self, switches: dict[str, Any]) -> None:
        for name, value in switches.items():
            setattr(self, name, value)


class ProductSwitches(Switches):
    """cuBLAS's switches. ``allow_tf32`` and ``fp32_precision`` are other names for ``set_float32_matmul_precision``."""

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 products use TF32 on a GPU that has it."""
        return cublas.is_tf32_allowed()

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        set_float32_matmul_precision("high" if allowed else "highest")

    @property
    def fp32_precision(self) -> str:
        """ "tf32", "ieee", or "none" (equivalent to "ieee") if the program has not set it."""
        return str(settings["fp32_precision"])

    @fp32_precision.setter
    def fp32_precision(self, precision: str) -> None:
        if precision not in ("tf32", "ieee", "none"):
            raise RuntimeError(f"Unknown precision: {precision}")
        set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        settings["fp32_precision"] = precision


_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}  # only one kernel exists
cpu = Switches("cpu", True, get_cpu_capability=lambda: "DEFAULT")
cuda = Switches(
    "cuda",
    False,
    matmul=ProductSwitches(
        "cuda.matmul",
        allow_fp16_accumulation=False,
        **{f"allow_{dtype}_reduced_precision_reduction": True for dtype in ("fp16", "bf16")},
    ),
    sdp_kernel=lambda *args, **kwargs: nullcontext(),
    preferred_linalg_library=lambda backend=None: backend,
    **{f"enable_{kind}_sdp": lambda enabled, kind=kind: _attention.update({kind: enabled}) for kind in _attention},
    **{f"{kind}_sdp_enabled": lambda kind=kind: _attention[kind] for kind in _attention},
)
_of_cudnn: Any = {"enabled": True, "benchmark": False, "benchmark_limit": 10, "deterministic": False}
cudnn = Switches("cudnn", allow_tf32=True, fp32_precision="none", **_of_cudnn)
mkl = Switches("mkl", verbose=nullcontext)
mkldnn = Switches("mkldnn", enabled=True, deterministic=False, allow_tf32=True, verbose=nullcontext)
mps = Switches("mps", is_macos_or_newer=lambda *version: False)
openmp = Switches("openmp")
opt_einsum = Switches("opt_einsum", enabled=False, strategy=None)

settings: dict[str, Any] = {"precision": "highest", "fp32_precision": "none"}  # set by the program
settings |= {"deterministic": False, "warn": False, "interop": 1}
get_float32_matmul_precision = lambda: settings["precision"]
are_deterministic_algorithms_enabled = lambda: settings["deterministic"]
is_deterministic_algorithms_warn_only_enabled = lambda: settings["warn"]
get_deterministic_debug_mode = lambda: settings["deterministic"] * (1 if settings["warn"] else 2)
get_num_interop_threads = lambda: settings["interop"]


def set_float32_matmul_precision(precision: str) -> None:
    """Set how a GPU computes float32 products: "highest" uses float32, and "high" and "medium" use TF32, which rounds
    the factors to 11 bits and accumulates in float32. The CPU always uses float32."""
    if not isinstance(precision, str):
        raise TypeError(f"precision must be 'highest', 'high' or 'medium', not {precision!r}")
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium': it has no effect", stacklevel=2)
        return
    cublas.allow_tf32(precision != "highest")
    settings.update(precision=precision, fp32_precision="ieee" if precision == "highest" else "tf32")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Store the mode. On the CPU, results are always deterministic."""
    settings.update(deterministic=bool(mode), warn=bool(mode and warn_only))


def set_num_interop_threads(num: int) -> None:
    """Store the number. It has no effect, because ops run one after another."""
    if num < 1:
        raise RuntimeError("Expected a positive number of threads")
    settings["interop"] = int(num)


class SDPBackend(IntEnum):
    """PyTorch's names for its attention kernels. The choice has no effect."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Accepted for PyTorch programs, but without effect: there is only one attention kernel per device. Raises
    AssertionError if ``backends`` is not an SDPBackend or a list of them."""
    listed: Any = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(listed, Iterable) or not all(isinstance(b, SDPBackend) for b in listed):
        raise AssertionError("backends must be an instance of SDPBackend or a list of SDPBackend instances")
    yield {}
