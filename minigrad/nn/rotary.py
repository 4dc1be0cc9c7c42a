"""Positions as angles: queries and keys are turned, so that their products see distances alone."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.calls import apply
from ..functions.creation import arange
from ..functions.shaping import stack
from ..ops.rotary import rotate
from ..tensor import Tensor
from .module import Module


class RotaryPositionalEncoding(Module):
    """RoPE (Su et al. 2021, arXiv 2104.09864, equation 15): at position t, the numbers 2i and 2i+1 of a
    head's query or key are turned by the angle t / base^(2i/Dh).

    A product of a query at t and a key at s then depends on t - s, not on where both are. It has no
    parameters, and nothing in the state dict.

    Args:
        head_dim: Dh, width of a head; even. max_len: how many positions there are. base: the slowest pair
            turns once in about 2π · base positions.

    Raises:
        ValueError: an odd width.
    """

    table: Tensor

    def __init__(
        self, head_dim: int, max_len: int = 5000, base: float = 10000.0, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"rotary positions turn pairs of numbers: head_dim ({head_dim}) must be even")
        self.head_dim, self.max_len, self.base = head_dim, max_len, base
        table = turns(max_len, head_dim, base, dtype).to(device=device)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Queries or keys (..., T, Dh) -> the same; ``offset`` is the first token's position.

        Raises:
            RuntimeError: a width other than Dh, or more positions than ``max_len``.
        """
        if x.ndim < 2 or x.shape[-1] != self.head_dim:
            raise RuntimeError(f"{self._get_name()}: expected (..., T, {self.head_dim}), but got {tuple(x.shape)}")
        end = offset + x.shape[-2]
        if offset < 0 or end > self.max_len:
            raise RuntimeError(
                f"{self._get_name()}: positions {offset} .. {end - 1} are outside 0 .. max_len - 1 = "
                f"{self.max_len - 1}: make it with a larger max_len"
            )
        found: Tensor = apply(rotate, (x, self.table[offset:end], False))
        return found

    def extra_repr(self) -> str:
        return f"{self.head_dim}, max_len={self.max_len}, base={self.base:g}"


def turns(max_len: int, head_dim: int, base: float, dtype: Any = None) -> Tensor:
    """cos and sin of the angle of each position and pair, (max_len, Dh/2, 2), computed in float64."""
    rate = (arange(0, head_dim, 2, dtype="float64") * (-math.log(base) / head_dim)).exp()  # (Dh/2)
    angle = arange(max_len, dtype="float64").unsqueeze(1) * rate  # (T, 1) (Dh/2) -> (T, Dh/2)
    return stack([angle.cos(), angle.sin()], -1).to(dtype=dtype or "float32")
