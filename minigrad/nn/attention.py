"""Multi-head attention.

Shape letters: B batch size, H heads, T target length, S source length, D model width, Dh head width.
"""

from __future__ import annotations

from typing import Any

from ..functions.creation import empty
from ..tensor import Tensor
from . import init
from .functional.attention import multi_head_attention_forward
from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from .parameter import Parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention with several heads in parallel (Vaswani et al. 2017, section 3.2.2): concat(head₁, ..., headH) Woᵀ +
    bo, where headᵢ = softmax(qᵢ kᵢᵀ / √Dh + mask) vᵢ and q, k, v are projections of the inputs. If a query cannot
    attend to any key, its heads return zeros, whereas PyTorch returns NaN if ``need_weights`` is True.

    Args:
        embed_dim: D, a multiple of ``num_heads``. num_heads: H. kdim, vdim: the key and value widths; D if None.
        dropout: the dropout probability of the attention weights in training. bias: whether projections have a bias.
        add_bias_kv: append a learned key and value. add_zero_attn: append a key and value of zeros.
        batch_first: inputs are (B, T, D) instead of (T, B, D).

    Raises ValueError or AssertionError if ``num_heads`` does not divide ``embed_dim``.

    >>> x = mg.zeros(2, 5, 8)
    >>> out, weights = nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    >>> out.shape, weights.shape
    (minigrad.Size([2, 5, 8]), minigrad.Size([2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = f"did get embed_dim={embed_dim} and num_heads={num_heads}"
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, {sizes}")
        if embed_dim % num_heads:
            raise AssertionError(f"embed_dim must be divisible by num_heads, {sizes}")
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim

        def add(name: str, exists: bool, *shape: int) -> None:
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if exists else None)

        add("in_proj_weight", self._qkv_same_embed_dim, 3 * embed_dim, embed_dim)
        for letter, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            add(f"{letter}_proj_weight", not self._qkv_same_embed_dim, embed_dim, width)
        add("in_proj_bias", bias, 3 * embed_dim)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        add("bias_k", add_bias_kv, 1, 1, embed_dim)
        add("bias_v", add_bias_kv, 1, 1, embed_dim)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if (weight := getattr(self, name)) is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``query`` to ``key``, and return weighted averages of ``value``.

        Args:
            query: (B, T, D) if batch_first, else (T, B, D); (T, D) if unbatched.
            key, value: like ``query``, with length S and widths kdim and vdim.
            key_padding_mask: (B, S). In a bool mask, True masks out the key; a float mask is added to the scores.
            need_weights: also return the weights, averaged over the heads if ``average_attn_weights``. If False,
                attention is a single fused op and runs faster.
            attn_mask: (T, S) or (B H, T, S). True masks out the query-key pair; a float mask is added to the scores.
            is_causal: query i attends only to keys 0 to i; ``attn_mask`` must be None or the causal mask.

        Returns the result, shaped like the query, and the weights after dropout, or None. The weights are (B, T, S) if
        averaged, else (B, H, T, S). Unbatched results lack B. Raises AssertionError or RuntimeError for mismatches."""
        inputs = (query, key, value, self.embed_dim, self.num_heads)
        projections = (self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn)
        output = (self.dropout, self.out_proj.weight, self.out_proj.bias, self.training)
        masks = (key_padding_mask, need_weights, attn_mask)
        separate = (not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        last = (None, None, average_attn_weights, is_causal)
        arguments: Any = (*inputs, *projections, *output, *masks, *separate, *last)
        return multi_head_attention_forward(*arguments, batch_first=self.batch_first)
