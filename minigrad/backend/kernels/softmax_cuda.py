"""Softmax and its logarithm along ``dim``, and their gradients from the result (see softmax.cu)."""

from __future__ import annotations

from types import SimpleNamespace

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs
from ._launch import contiguous, over_rows, unset_like


def _along(name: str) -> SimpleNamespace:
    """A kernel for an op on rows along ``dim``."""

    def run(name: str, dim: int, *inputs: Array) -> Array:
        last = [contiguous(xp(x).moveaxis(x, dim, -1)) if x.ndim else x.reshape(1) for x in inputs]
        out = unset_like(last[0])
        over_rows(out, "softmax", name, *last, out)
        return contiguous(xp(out).moveaxis(out, -1, dim)) if inputs[0].ndim else out.reshape(())

    def forward(needs: Needs, x: Array, dim: int) -> tuple[Array, Array]:
        out = run(name, dim, x)
        return out, out

    def backward(needs: Needs, out: Array, g: Array, x: None, dim: int) -> Gradients:
        return run(f"{name}_gradient", dim, g, out), None

    return SimpleNamespace(forward=forward, backward=backward)


KERNELS = {name: _along(name) for name in ("softmax", "log_softmax")}
