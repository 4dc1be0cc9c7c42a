"""Multi-head attention.

Shape letters: B batch, H heads, T and S target and source length, D model width, Dh width of a head.
"""

from __future__ import annotations

from typing import Any

from ..functions.creation import empty, zeros
from ..tensor import Tensor
from . import init
from .functional.attention import attend
from .heads import (
    attend_with_weights,
    causal_mask,
    extended,
    extended_mask,
    heads_first,
    joint_mask,
    laid_out,
    merge_heads,
    project_in,
    split_heads,
)
from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from .parameter import Parameter


class MultiheadAttention(Module):
    """Attention of several heads side by side (Vaswani et al. 2017, section 3.2.2).

    concat(head₁, ..., headH) Woᵀ + bo, where headᵢ = softmax(qᵢ kᵢᵀ / √Dh + mask) vᵢ and q, k, v are
    projections of the inputs. A query that may attend to nothing gets zeros for its heads, where PyTorch
    gives NaN.

    Args:
        embed_dim: D, a multiple of ``num_heads``.
        num_heads: H.
        dropout: of the attention weights, in training.
        bias: whether the projections have one.
        add_bias_kv: a learned key and value after those given. add_zero_attn: a key and value of zeros.
        kdim, vdim: widths of key and value, D if None.
        batch_first: inputs are (B, T, D) and not (T, B, D).
        device, dtype: of the parameters.

    Raises:
        ValueError: ``embed_dim`` and ``num_heads`` do not go together.
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"embed_dim must be a positive multiple of num_heads, did get embed_dim={embed_dim} and "
                f"num_heads={num_heads}"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim

        def new(*shape: int) -> Parameter:
            return Parameter(empty(shape, device=device, dtype=dtype))

        joint = self._qkv_same_embed_dim
        widths = {} if joint else {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        if joint:
            self.in_proj_weight = new(3 * embed_dim, embed_dim)
        for letter in "qkv":
            weight = new(embed_dim, widths[letter]) if widths else None
            self.register_parameter(f"{letter}_proj_weight", weight)
        if not joint:
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", new(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.register_parameter("bias_k", new(1, 1, embed_dim) if add_bias_kv else None)
        self.register_parameter("bias_v", new(1, 1, embed_dim) if add_bias_kv else None)
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
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Attend from ``query`` to ``key``, and gather ``value``.

        Args:
            query: (B, T, D) if batch_first, (T, B, D) if not, (T, D) without a batch.
            key, value: the same with S for T, and widths kdim and vdim.
            key_padding_mask: (B, S): a bool True leaves the key out; numbers are added to the scores.
            need_weights: also return the weights; without them attention is one fused op, and faster.
            attn_mask: (T, S) or (B H, T, S): a bool True leaves the pair out; numbers are added to the
                scores.
            average_attn_weights: return the mean of the heads' weights.
            is_causal: query i attends to the keys up to i. A given ``attn_mask`` must then be that mask.

        Returns:
            The result, shaped as the query, and the weights after their dropout: (B, T, S), for each head
            (B, H, T, S), without B for inputs without a batch; None without ``need_weights``.

        Raises:
            RuntimeError: shapes or dtypes that do not fit.
        """
        if query.ndim == 2:
            return self._unbatched(query, key, value, key_padding_mask, need_weights, attn_mask,
                                   average_attn_weights, is_causal)  # fmt: skip
        self._check(query, key, value, key_padding_mask, attn_mask)
        weights = (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        projected = project_in(query, key, value, weights, self.in_proj_bias, self.num_heads)
        q, k, v = (heads_first(x, self.batch_first) for x in projected)  # (B, H, T or S, Dh)
        attn_mask, is_causal = self._causality(attn_mask, is_causal, q, k)
        k, v, attn_mask, key_padding_mask = self._with_more_keys(k, v, attn_mask, key_padding_mask)
        mask = joint_mask(attn_mask, key_padding_mask, self.num_heads, q)
        dropout_p = self.dropout if self.training else 0.0
        if not need_weights:
            out = attend(q, k, v, mask, dropout_p, is_causal)
            return laid_out(self.out_proj(merge_heads(out, self.batch_first)), self.batch_first), None
        out, attention = attend_with_weights(q, k, v, mask, dropout_p, is_causal)
        out = laid_out(self.out_proj(merge_heads(out, self.batch_first)), self.batch_first)
        return out, attention.mean(1) if average_attn_weights else attention  # (B, H, T, S) -> (B, T, S)

    def _causality(
        self, mask: Tensor | None, is_causal: bool, q: Tensor, k: Tensor
    ) -> tuple[Tensor | None, bool]:
        """What to tell ``attend``: the causal mask goes as a flag, unless more keys are to follow."""
        if not is_causal:
            return mask, False
        if self.bias_k is None and not self.add_zero_attn:
            return None, True
        return causal_mask(q.array.shape[2], k.array.shape[2], q) if mask is None else mask, False

    def _unbatched(self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, *how: Any
                   ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Inputs without a batch, (T, D), as a batch of one; what is one tensor stays one."""
        at = 0 if self.batch_first else 1
        lifted = {id(t): t.unsqueeze(at) for t in (query, key, value)}  # (T, D) -> (1, T, D) or (T, 1, D)
        q, k, v = (lifted[id(t)] for t in (query, key, value))
        out, weights = self.forward(q, k, v, None if padding is None else padding.unsqueeze(0), *how)
        return out.squeeze(at), None if weights is None else weights.squeeze(0)

    def _check(
        self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None
    ) -> None:
        """Refuse shapes that do not fit, in terms of this layer."""
        shapes = tuple(tuple(t.array.shape) for t in (query, key, value))
        widths = (self.embed_dim, self.kdim, self.vdim)
        b, t = (0, 1) if self.batch_first else (1, 0)  # the axes of batch and length
        layout = "(B, T, D)" if self.batch_first else "(T, B, D) (batch_first is False)"
        if any(len(s) != 3 for s in shapes):
            raise RuntimeError(
                f"MultiheadAttention: inputs must be {layout}, or (T, D) without a batch; got {shapes}"
            )
        if tuple(s[2] for s in shapes) != widths:
            raise RuntimeError(
                f"MultiheadAttention: query, key and value must be {widths} wide, but have shapes {shapes}"
            )
        if len({s[b] for s in shapes}) > 1 or shapes[1][t] != shapes[2][t]:
            raise RuntimeError(
                f"MultiheadAttention: inputs are {layout}; batches must be equal, and so must the lengths of "
                f"key and value; got {shapes}"
            )
        batch, target, source = shapes[0][b], shapes[0][t], shapes[1][t]
        allowed: tuple[tuple[int, ...], ...] = ((target, source), (batch * self.num_heads, target, source))
        for name, given, fitting in (
            ("attn_mask", mask, allowed),
            ("key_padding_mask", padding, ((batch, source),)),
        ):
            if given is not None and tuple(given.array.shape) not in fitting:
                told = " or ".join(map(str, fitting))
                raise RuntimeError(
                    f"MultiheadAttention: {name} must have shape {told}, not {tuple(given.array.shape)}"
                )
            if given is not None and given.array.dtype.kind not in "bf":
                raise RuntimeError(
                    f"MultiheadAttention: {name} must be bool or float, not {given.dtype}: use .bool()"
                )

    def _with_more_keys(self, k: Tensor, v: Tensor, attn_mask: Tensor | None, padding: Tensor | None
                        ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:  # fmt: skip
        """Keys and values, and masks, with those that add_bias_kv and add_zero_attn put after them."""
        more: list[tuple[Tensor, Tensor]] = []
        if self.bias_k is not None and self.bias_v is not None:
            key, value = (split_heads(b, self.num_heads, True) for b in (self.bias_k, self.bias_v))
            more.append((key, value))
        if self.add_zero_attn:
            nothing = zeros(1, self.num_heads, 1, self.head_dim, dtype=k.dtype, device=k.device)
            more.append((nothing, nothing))
        if not more:
            return k, v, attn_mask, padding
        k, v = extended(k, *(key for key, _ in more)), extended(v, *(value for _, value in more))
        return k, v, extended_mask(attn_mask, len(more)), extended_mask(padding, len(more))
