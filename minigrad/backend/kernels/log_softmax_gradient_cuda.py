"""The gradient of log_softmax along ``dim``, from its result: see softmax.cu."""

from __future__ import annotations

from ..dtype import Array
from .launch import along


def forward(needs: tuple[bool, ...], g: Array, out: Array, dim: int) -> tuple[Array, None]:
    return along(dim, "softmax", "log_softmax_gradient", g, out), None
