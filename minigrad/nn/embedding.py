"""Embedding tables, read by index or reduced per bag of indices, and positional encodings (additive and rotary)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from ..functions.creation import arange, empty
from ..functions.shaping import stack
from ..ops.attention import rotate
from ..tensor import Tensor, apply
from . import functional as F, init
from .activation import Dropout
from .functional.embedding import padding_row
from .layer import Layer
from .parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag", "LearnedPositionalEncoding", "RotaryPositionalEncoding"]
__all__ += ["SinusoidalPositionalEncoding"]


class _Table(Layer):
    """Base class of embeddings. The weight (num_embeddings, embedding_dim) is drawn from N(0, 1)."""

    _unnamed = 2
    _usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "sparse": False}

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, *options: Any, **kwargs: Any) -> Self:
        """Create a layer that shares memory with a table (V, D). It is trainable unless ``freeze`` is True."""
        if embeddings.ndim != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, not {tuple(embeddings.shape)}")
        layer = cls(*embeddings.shape, *options, _weight=embeddings, **kwargs)
        layer.weight.requires_grad_(not freeze)
        return layer

    def _add_weight(
        self, shape: tuple[int, int], padding_idx: int | None, weight: Tensor | None, device: Any, dtype: Any
    ) -> None:
        self.num_embeddings, self.embedding_dim = rows, _ = shape
        self.padding_idx = padding_row(padding_idx, rows)
        if weight is not None and tuple(weight.shape) != shape:
            raise AssertionError(f"Shape of weight {tuple(weight.shape)} does not match (V, D), which is {shape}")
        self.weight = Parameter(empty(shape, device=device, dtype=dtype) if weight is None else weight)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])


class Embedding(_Table):
    """A table of V vectors, which are looked up by index. For integers (...), it returns vectors (..., embedding_dim).

    Args:
        num_embeddings: V. embedding_dim: the length of each vector.
        padding_idx: an index whose vector is initially zero and gets no gradient.
        max_norm, norm_type, scale_grad_by_freq, sparse: see ``functional.embedding``.

    Attributes:
        weight: (num_embeddings, embedding_dim), initialised from N(0, 1).

    >>> nn.Embedding(10, 4)(mg.tensor([[1, 2, 3]])).shape
    minigrad.Size([1, 3, 4])
    """

    _repr_fields = (
        *("num_embeddings", "embedding_dim", "padding_idx", "max_norm"),
        *("norm_type", "scale_grad_by_freq", "sparse"),
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._add_weight((num_embeddings, embedding_dim), padding_idx, _weight, device, dtype)
        self.weight.requires_grad_(not _freeze)

    def forward(self, input: Tensor) -> Tensor:
        options = (self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)
        return F.embedding(input, self.weight, *options)


class EmbeddingBag(_Table):
    """Computes the sum, mean or maximum of the vectors for each bag of indices. See ``functional.embedding_bag``."""

    _repr_fields = (
        *("num_embeddings", "embedding_dim", "max_norm", "norm_type"),
        *("scale_grad_by_freq", "mode", "padding_idx"),
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.mode, self.include_last_offset = mode, include_last_offset
        self._add_weight((num_embeddings, embedding_dim), padding_idx, _weight, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Reduce each bag. ``input``: integers (B, L), or (M) with ``offsets`` (B). Returns (B, embedding_dim)."""
        names = ("max_norm", "norm_type", "scale_grad_by_freq", "mode", "include_last_offset", "padding_idx")
        options = {name: getattr(self, name) for name in names}
        return F.embedding_bag(input, self.weight, offsets, per_sample_weights=per_sample_weights, **options)


class _Positional(Layer):
    max_len: int

    def _rows(self, table: Tensor, offset: int, length: int) -> Tensor:
        end = offset + length
        if offset < 0 or end > self.max_len:
            problem = f"positions {offset} to {end - 1} are out of range for max_len = {self.max_len}"
            raise RuntimeError(f"{self._get_name()}: {problem}: set a larger max_len")
        return table[offset:end]


class _Added(_Positional):
    """Base class of encodings that add position vectors and apply dropout."""

    _table: ClassVar[str]  # the attribute with the vectors, (max_len, D)
    _repr_fields, _unnamed = ("d_model", "max_len", "batch_first"), 1

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

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Encode x (B, T, D). ``offset``: the position of the first token, nonzero with a key-value cache."""
        shape = tuple(x.shape)
        if len(shape) not in (2, 3) or shape[-1] != self.d_model:
            layout = "(B, T, D)" if self.batch_first else "(T, B, D)"
            expected = f"{layout} or (T, D) with D = d_model = {self.d_model}"
            raise RuntimeError(f"{self._get_name()}: expected {expected}, but got {shape}")
        rows = self._rows(getattr(self, self._table), offset, shape[1 if len(shape) == 3 and self.batch_first else 0])
        if len(shape) == 3 and not self.batch_first:
            rows = rows.unsqueeze(1)  # (T, D) -> (T, 1, D)
        return self.dropout(x + rows)


class SinusoidalPositionalEncoding(_Added):
    """x + PE, where PE(t, 2i) = sin(t / 10000^(2i/D)) and PE(t, 2i+1) = cos(t / 10000^(2i/D)) (Vaswani et al. 2017,
    section 3.5). It has no parameters and is not in the state dict. ``d_model``: D. ``max_len``: the number of
    positions. ``dropout``: applied to the sum in training. ``batch_first``: inputs are (B, T, D), not (T, B, D)."""

    _table = "pe"
    pe: Tensor

    def _add_table(self, device: Any, dtype: Any) -> None:
        table = sinusoids(self.max_len, self.d_model, dtype).to(device=device)
        self.register_buffer("pe", table, persistent=False)


class LearnedPositionalEncoding(_Added):
    """x + a learned vector per position, initialised from N(0, 0.02²) as in GPT-2 and BERT."""

    _table = "weight"

    def _add_table(self, device: Any, dtype: Any) -> None:
        self._add_parameters(device, dtype, weight=(self.max_len, self.d_model))

    def reset_parameters(self) -> None:
        init.normal_(self.weight, std=0.02)


class RotaryPositionalEncoding(_Positional):
    """RoPE (Su et al. 2021, arXiv 2104.09864, equation 15): rotates elements 2i and 2i+1 of each query or key at
    position t by the angle t / base^(2i/Dh), so the dot product of a query at t and a key at s depends only on t - s.
    RoPE has no parameters and is not in the state dict. ``head_dim``: Dh, the head width. ``max_len``: the number of
    positions. The slowest pair turns once in about 2π · base positions. Raises ValueError if Dh is odd."""

    table: Tensor

    def __init__(
        self, head_dim: int, max_len: int = 5000, base: float = 10000.0, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"rotary positions rotate pairs of elements, so head_dim must be even, not {head_dim}")
        self.head_dim, self.max_len, self.base = head_dim, max_len, base
        angle = angles(max_len, head_dim, base)
        table = stack([angle.cos(), angle.sin()], -1).to(dtype=dtype or "float32", device=device)  # (T, Dh/2, 2)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Rotate queries or keys (..., T, Dh). ``offset``: the position of the first token. Raises RuntimeError if the
        width is not Dh, or if there are more positions than ``max_len``."""
        if x.ndim < 2 or x.shape[-1] != self.head_dim:
            raise RuntimeError(f"{self._get_name()}: expected (..., T, {self.head_dim}), but got {tuple(x.shape)}")
        return apply(rotate, (x, self._rows(self.table, offset, x.shape[-2]), False))

    def extra_repr(self) -> str:
        return f"{self.head_dim}, max_len={self.max_len}, base={self.base:g}"


def sinusoids(max_len: int, d_model: int, dtype: Any = None) -> Tensor:
    """The table PE (max_len, d_model), computed in float64. If ``d_model`` is odd, the last cosine is omitted."""
    angle = angles(max_len, d_model)
    pairs = stack([angle.sin(), angle.cos()], -1).flatten(1)  # (T, D/2, 2) -> (T, D)
    return F.pad(pairs, (0, d_model - pairs.shape[1])).to(dtype=dtype or "float32")


def angles(max_len: int, width: int, base: float = 10000.0) -> Tensor:
    """A float64 table (max_len, width/2) of t / base^(2i/width) for each position t and pair i."""
    rate = (arange(0, width, 2, dtype="float64") * (-math.log(base) / width)).exp()
    return arange(max_len, dtype="float64").unsqueeze(1) * rate  # (T, 1) (D/2) -> (T, D/2)
