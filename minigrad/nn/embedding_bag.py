"""A table of vectors that are added up by bags."""

from __future__ import annotations

from typing import Any

from ..functions.creation import empty
from ..tensor import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter

__all__ = ["EmbeddingBag"]


class EmbeddingBag(Module):
    """The sum, mean or maximum of the vectors of each bag of indices, (B, embedding_dim).

    Args:
        num_embeddings: V. embedding_dim: the width of a vector.
        mode: "sum", "mean" or "max".
        include_last_offset: whether offsets have one more, the end of the last bag.
        padding_idx: an index that counts as not there; its vector is zeros at first and gets no gradient.
        max_norm, scale_grad_by_freq: not provided. norm_type, sparse: without effect; gradients are dense.
        device, dtype: of the weight.

    Attributes:
        weight: (num_embeddings, embedding_dim), at first standard normal.
    """

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
        if max_norm is not None or scale_grad_by_freq:
            raise NotImplementedError("EmbeddingBag: max_norm and scale_grad_by_freq are not provided")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AssertionError(f"padding_idx must be within num_embeddings ({num_embeddings}), not {padding_idx}")
        shape = (num_embeddings, embedding_dim)
        if _weight is not None and tuple(_weight.shape) != shape:
            raise AssertionError(
                f"Shape of weight {tuple(_weight.shape)} does not match num_embeddings and embedding_dim {shape}"
            )
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset = include_last_offset
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = Parameter(empty(shape, device=device, dtype=dtype) if _weight is None else _weight)
        if _weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An EmbeddingBag around a table (V, D), whose memory it shares; it learns unless ``freeze``."""
        rows, width = embeddings.shape
        made = cls(
            rows,
            width,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        made.weight.requires_grad_(not freeze)
        return made

    def reset_parameters(self) -> None:
        """Draw new values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """(B, L), or (M) with ``offsets`` (B), integers -> (B, embedding_dim)."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}{padding}"
