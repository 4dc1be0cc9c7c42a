"""Switches of the libraries below PyTorch, under the names of ``torch.backends``: kept, and without effect.

NumPy and CuPy have no such switches: products of matrices are in full precision (CuPy's TF32 is asked for by
CUPY_TF32=1), and results repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..extension import PACKAGE, ModuleWithoutFile

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


class Switches(ModuleWithoutFile):
    """A library's switches: any can be set and read. ``switches`` are the values at the beginning."""

    def __init__(self, name: str, available: bool = False, **switches: Any) -> None:
        super().__init__(f"{PACKAGE}.backends.{name}", "Switches without effect.")
        vars(self).update(switches, _available=available)

    def is_available(self) -> bool:
        """Whether the library is there."""
        return self._available

    is_built = is_available

    def version(self) -> int | None:
        """None: the library is not used through PyTorch's switches."""

    @contextmanager
    def flags(self, **switches: Any) -> Iterator[None]:
        """Set switches for the time of a ``with``."""
        before = {name: value for name, value in vars(self).items() if name in switches}
        vars(self).update(switches)
        try:
            yield
        finally:
            vars(self).update(before)


_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}  # there is one kernel
cpu = Switches("cpu", True, get_cpu_capability=lambda: "DEFAULT")
cuda = Switches(
    "cuda",
    False,
    matmul=Switches(
        "cuda.matmul",
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
        allow_fp16_accumulation=False,
        fp32_precision="none",
    ),
    sdp_kernel=lambda *args, **kwargs: nullcontext(),
    preferred_linalg_library=lambda backend=None: backend,
    **{f"enable_{kind}_sdp": lambda enabled, kind=kind: _attention.update({kind: enabled}) for kind in _attention},
    **{f"{kind}_sdp_enabled": lambda kind=kind: _attention[kind] for kind in _attention},
)
cudnn = Switches(
    "cudnn",
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
)
mkl = Switches("mkl", verbose=nullcontext)
mkldnn = Switches("mkldnn", enabled=True, deterministic=False, allow_tf32=True, verbose=nullcontext)
mps = Switches("mps", is_macos_or_newer=lambda *version: False)
openmp = Switches("openmp")
opt_einsum = Switches("opt_einsum", enabled=False, strategy=None)

# Precision and repeatability ------------------------------------------------------------------------------

# What programs set; no_ops.py has the functions that return it.
settings: dict[str, Any] = {"precision": "highest", "deterministic": False, "warn": False, "interop": 1}


def set_float32_matmul_precision(precision: str) -> None:
    """Keep "highest", "high" or "medium"; products are in full precision whatever it is."""
    if not isinstance(precision, str):
        raise TypeError(f"precision is 'highest', 'high' or 'medium', not {precision!r}")
    if precision in ("highest", "high", "medium"):
        settings["precision"] = precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Keep the mode; on the CPU, results always repeat."""
    settings.update(deterministic=bool(mode), warn=bool(mode and warn_only))


def set_num_interop_threads(num: int) -> None:
    """Keep a number; ops run one after the other."""
    if num < 1:
        raise RuntimeError("Expected a positive number of threads")
    settings["interop"] = int(num)
