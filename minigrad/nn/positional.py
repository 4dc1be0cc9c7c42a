"""Positions, added to embeddings: sines and cosines, or learned vectors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..functions.creation import arange, empty
from ..functions.shaping import stack
from ..tensor import Tensor
from . import functional as F
from . import init
from .dropout import Dropout
from .module import Module
from .parameter import Parameter

__all__ = ["LearnedPositionalEncoding", "SinusoidalPositionalEncoding"]


class _Positional(Module):
    """Adds vectors of positions, and applies dropout."""

    _table: ClassVar[str]  # the attribute that holds the vectors, (max_len, D)

    def __init__(
        self,
        d_model: int,
        max_len: int = 5000,
        dropout: float = 0.0,
        batch_first: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.d_model, self.max_len, self.batch_first = d_model, max_len, batch_first
        self.dropout = Dropout(dropout)
        self._add_table(device, dtype)

    def _add_table(self, device: Any, dtype: Any) -> None:
        raise NotImplementedError

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """(B, T, D) -> the same; ``offset`` is the first token's position (when keys and values are cached).

        Raises:
            RuntimeError: the width is not D, or there are more positions than ``max_len``.
        """
        shape = tuple(x.shape)
        if len(shape) not in (2, 3) or shape[-1] != self.d_model:
            layout = "(B, T, D)" if self.batch_first else "(T, B, D)"
            raise RuntimeError(
                f"{self._get_name()}: expected {layout} or (T, D) with D = d_model = {self.d_model}, but got {shape}"
            )
        length = shape[1 if len(shape) == 3 and self.batch_first else 0]
        if offset < 0 or offset + length > self.max_len:
            raise RuntimeError(out_of_range(self, offset, offset + length))
        rows = getattr(self, self._table)[offset : offset + length]
        if len(shape) == 3 and not self.batch_first:
            rows = rows.unsqueeze(1)  # (T, D) -> (T, 1, D)
        return self.dropout(x + rows)

    def extra_repr(self) -> str:
        return f"{self.d_model}, max_len={self.max_len}, batch_first={self.batch_first}"


class SinusoidalPositionalEncoding(_Positional):
    """x + PE, where PE(t, 2i) = sin(t / 10000^(2i/D)) and PE(t, 2i+1) = cos(t / 10000^(2i/D)).

    Vaswani et al. 2017, section 3.5. It has no parameters, and is not in the state dict.

    Args:
        d_model: D. max_len: the number of positions.
        dropout: of the sum, in training.
        batch_first: inputs are (B, T, D) instead of (T, B, D).
    """

    _table = "pe"
    pe: Tensor

    def _add_table(self, device: Any, dtype: Any) -> None:
        table = sinusoids(self.max_len, self.d_model, dtype).to(device=device)
        self.register_buffer("pe", table, persistent=False)


class LearnedPositionalEncoding(_Positional):
    """x + a learned vector for each position (as in GPT-2 and BERT), initially normal with deviation 0.02.

    Args: as in SinusoidalPositionalEncoding.
    """

    _table = "weight"

    def _add_table(self, device: Any, dtype: Any) -> None:
        self.weight = Parameter(empty(self.max_len, self.d_model, device=device, dtype=dtype))
        init.normal_(self.weight, std=0.02)


def out_of_range(module: Any, start: int, end: int) -> str:
    """An error message for positions outside those of a module."""
    return (
        f"{module._get_name()}: positions {start} .. {end - 1} are outside 0 .. max_len - 1 = "
        f"{module.max_len - 1}: make it with a larger max_len"
    )


def sinusoids(max_len: int, d_model: int, dtype: Any = None) -> Tensor:
    """The table PE (max_len, d_model), computed in float64. For an odd width it lacks the last cosine."""
    frequency = (arange(0, d_model, 2, dtype="float64") * (-math.log(10000.0) / d_model)).exp()  # (D/2)
    angle = arange(max_len, dtype="float64").unsqueeze(1) * frequency  # (T, 1) (D/2) -> (T, D/2)
    pairs = stack([angle.sin(), angle.cos()], -1).flatten(1)  # (T, D/2, 2) -> (T, D)
    return F.pad(pairs, (0, d_model - pairs.shape[1])).to(dtype=dtype or "float32")
