"""Tables of vectors."""

from __future__ import annotations

from typing import Any

from ..functions.creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["Embedding"]


class Embedding(Module):
    """A vector for each of V indices: (...) integers -> (..., embedding_dim).

    Args:
        num_embeddings: V. embedding_dim: the width of a vector.
        padding_idx: an index whose vector is zeros at first and gets no gradient.
        max_norm: rows that are looked up are first scaled down to a norm of at most this, in place.
        norm_type: which norm. scale_grad_by_freq: a row's gradient is divided by how often it was looked up.
        sparse: without effect; gradients are dense.
        device, dtype: of the weight.

    Attributes:
        weight: (num_embeddings, embedding_dim), at first standard normal.
    """

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
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError(f"Padding_idx must be within num_embeddings ({num_embeddings}), not {padding_idx}")
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        shape = (num_embeddings, embedding_dim)
        if _weight is not None and tuple(_weight.shape) != shape:
            raise AssertionError(
                f"Shape of weight {tuple(_weight.shape)} does not match (num_embeddings, embedding_dim) {shape}"
            )
        values = empty(shape, device=device, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(values, not _freeze)
        if _weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An Embedding around a table (V, D), whose memory it shares; it learns unless ``freeze``."""
        if embeddings.ndim != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, not {tuple(embeddings.shape)}")
        rows, width = embeddings.shape
        return cls(rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def reset_parameters(self) -> None:
        """Draw new values."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "sparse": False}
        told = [f", {name}={value}" for name, default in usual.items() if (value := getattr(self, name)) != default]
        return f"{self.num_embeddings}, {self.embedding_dim}{''.join(told)}"
