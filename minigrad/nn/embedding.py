"""Tables of vectors: looked up one by one, or added up by bags."""

from __future__ import annotations

from typing import Any, Self

from ..functions.creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .functional.embedding import padding_row
from .layer import Layer
from .parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Layer):
    """A weight (num_embeddings, embedding_dim), drawn from the standard normal distribution."""

    _unnamed = 2
    _usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "sparse": False}

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, *options: Any, **named: Any) -> Self:
        """A layer that shares the memory of a table (V, D), and learns unless ``freeze``. ``options``: those of the
        constructor, after the sizes."""
        if embeddings.ndim != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, not {tuple(embeddings.shape)}")
        layer = cls(*embeddings.shape, *options, _weight=embeddings, **named)
        layer.weight.requires_grad_(not freeze)
        return layer

    def _add_weight(
        self, shape: tuple[int, int], padding_idx: int | None, weight: Tensor | None, device: Any, dtype: Any
    ) -> None:
        self.num_embeddings, self.embedding_dim = rows, _ = shape
        self.padding_idx = padding_row(padding_idx, rows)
        if weight is not None and tuple(weight.shape) != shape:
            problem = f"does not match (num_embeddings, embedding_dim) {shape}"
            raise AssertionError(f"Shape of weight {tuple(weight.shape)} {problem}")
        self.weight = Parameter(empty(shape, device=device, dtype=dtype) if weight is None else weight)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])


class Embedding(_Table):
    """A vector for each of V indices: (...) integers -> (..., embedding_dim).

    Args:
        num_embeddings: V. embedding_dim: the length of a vector.
        padding_idx: an index whose vector is initially zero and gets no gradient.
        max_norm, norm_type, scale_grad_by_freq, sparse: see ``functional.embedding``.

    Attributes:
        weight: (num_embeddings, embedding_dim), initially standard normal.

    >>> nn.Embedding(10, 4)(mg.tensor([[1, 2, 3]])).shape
    minigrad.Size([1, 3, 4])
    """

    _shown = ("num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")

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
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )


class EmbeddingBag(_Table):
    """The sum, mean or maximum of each bag's vectors, (B, embedding_dim). Args: as of ``functional.embedding_bag``."""

    _shown = ("num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "padding_idx")

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
        """(B, L), or (M) with ``offsets`` (B), integers -> (B, embedding_dim)."""
        names = ("max_norm", "norm_type", "scale_grad_by_freq", "mode", "include_last_offset", "padding_idx")
        options = {name: getattr(self, name) for name in names}
        return F.embedding_bag(input, self.weight, offsets, per_sample_weights=per_sample_weights, **options)
