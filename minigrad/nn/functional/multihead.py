"""Multi-head attention as a function of its parameters (Vaswani et al. 2017, section 3.2.2).

Shape letters: B batch, H heads, T and S target and source length, D model width, Dh width of a head.
"""

from __future__ import annotations

from typing import Any

from ...functions.creation import zeros
from ...tensor import Tensor
from . import heads as parts
from .attention import attend
from .linear import linear

__all__ = ["multi_head_attention_forward"]

Mask = Tensor | None


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Mask = None,
    need_weights: bool = True,
    attn_mask: Mask = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    *,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What ``nn.MultiheadAttention`` computes; see there for inputs, masks and results.

    Args:
        embed_dim_to_check: D.
        in_proj_weight: (3 D, D); None with ``use_separate_proj_weight``, which takes q_proj_weight (D, D),
            k_proj_weight (D, kdim) and v_proj_weight (D, vdim).
        in_proj_bias: (3 D). out_proj_weight: (D, D). out_proj_bias: (D).
        bias_k, bias_v: (1, 1, D), an additional key and value. add_zero_attn: append a key and value of zeros.
        static_k, static_v: (B H, S, Dh), used instead of the projected key and value.
        batch_first: not in PyTorch: inputs are (B, T, D).

    Raises:
        AssertionError, RuntimeError: shapes or dtypes do not fit.
    """
    if query.ndim == 2:
        return _unbatched(query, key, value, locals())
    weights = (in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight)
    if use_separate_proj_weight:
        weights = (None, *weights[1:])
    _check(query, key, value, embed_dim_to_check, weights, batch_first)
    projected = parts.project_in(query, key, value, weights, in_proj_bias, num_heads)
    q, k, v = (parts.heads_first(x, batch_first) for x in projected)  # (B, H, T or S, Dh)
    if bias_k is not None and (static_k is not None or static_v is not None):
        raise AssertionError("bias cannot be added to static key and value")
    k = k if static_k is None else static_k.unflatten(0, (-1, num_heads))  # (B H, S, Dh) -> (B, H, S, Dh)
    v = v if static_v is None else static_v.unflatten(0, (-1, num_heads))
    _check_masks(attn_mask, key_padding_mask, q, k)
    more = _more_keys(bias_k, bias_v, add_zero_attn, q)
    if is_causal and not more:
        attn_mask = None  # it is the causal mask
    elif is_causal:
        attn_mask = parts.causal_mask(q.shape[2], k.shape[2], q) if attn_mask is None else attn_mask
        is_causal = False
    if more:
        k, v = parts.extended(k, *(key for key, _ in more)), parts.extended(v, *(value for _, value in more))
        attn_mask = parts.extended_mask(attn_mask, len(more))
        key_padding_mask = parts.extended_mask(key_padding_mask, len(more))
    mask = parts.joint_mask(attn_mask, key_padding_mask, num_heads, q)
    dropout_p = dropout_p if training else 0.0
    attention = None
    if need_weights:
        out, attention = parts.attend_with_weights(q, k, v, mask, dropout_p, is_causal)
        attention = attention.mean(1) if average_attn_weights else attention  # (B, H, T, S) -> (B, T, S)
    else:
        out = attend(q, k, v, mask, dropout_p, is_causal)
    out = linear(parts.merge_heads(out, batch_first), out_proj_weight, out_proj_bias)
    return parts.laid_out(out, batch_first), attention


def _unbatched(query: Tensor, key: Tensor, value: Tensor, arguments: dict[str, Any]) -> tuple[Tensor, Tensor | None]:
    """``multi_head_attention_forward`` without a batch, (T, D), as a batch of one."""
    axis = 0 if arguments["batch_first"] else 1
    lifted = {id(t): t.unsqueeze(axis) for t in (query, key, value)}  # (T, D) -> (1, T, D) or (T, 1, D)
    q, k, v = (lifted[id(t)] for t in (query, key, value))  # equal inputs stay one tensor
    padding = arguments["key_padding_mask"]
    padding = None if padding is None else padding.unsqueeze(0)  # (S) -> (1, S)
    batch = {"query": q, "key": k, "value": v, "key_padding_mask": padding}
    out, weights = multi_head_attention_forward(**{**arguments, **batch})
    return out.squeeze(axis), None if weights is None else weights.squeeze(0)


def _check(
    query: Tensor, key: Tensor, value: Tensor, width: int, weights: tuple[Tensor | None, ...], batch_first: bool
) -> None:
    """Refuse inputs that do not fit."""
    shapes = tuple(tuple(t.array.shape) for t in (query, key, value))
    widths = (width, *(width if w is None else w.array.shape[1] for w in weights[2:]))
    b, t = (0, 1) if batch_first else (1, 0)  # the axes of batch and length
    layout = "(B, T, D)" if batch_first else "(T, B, D) (batch_first is False)"
    if any(len(s) != 3 for s in shapes):
        raise AssertionError(f"MultiheadAttention: inputs must be {layout}, or (T, D) without a batch; got {shapes}")
    if tuple(s[2] for s in shapes) != widths:
        raise AssertionError(
            f"MultiheadAttention: query, key and value must be {widths} wide, but have shapes {shapes}"
        )
    if len({s[b] for s in shapes}) > 1 or shapes[1][t] != shapes[2][t]:
        raise AssertionError(
            f"MultiheadAttention: inputs are {layout}; batches must be equal, and so must the lengths of "
            f"key and value; got {shapes}"
        )


def _check_masks(mask: Mask, padding: Mask, q: Tensor, k: Tensor) -> None:
    """Refuse masks that do not fit."""
    (batch, heads, target, _), source = q.array.shape, k.array.shape[2]
    for name, tensor, shapes in (
        ("attn_mask", mask, [(target, source), (batch * heads, target, source)]),
        ("key_padding_mask", padding, [(batch, source)]),
    ):
        if tensor is None:
            continue
        if tensor.array.dtype.kind not in "bf":
            raise AssertionError(
                f"only bool and floating types of {name} are supported, not {tensor.dtype}: use .bool()"
            )
        if tuple(tensor.array.shape) not in shapes:
            expected, actual = " or ".join(map(str, shapes)), tuple(tensor.array.shape)
            raise RuntimeError(f"MultiheadAttention: {name} must have shape {expected}, not {actual}")


def _more_keys(
    bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, q: Tensor
) -> list[tuple[Tensor, Tensor]]:
    """The additional keys and values (1, H, 1, Dh)."""
    _, heads, _, width = q.array.shape
    more: list[tuple[Tensor, Tensor]] = []
    if bias_k is not None and bias_v is not None:
        more.append((parts.split_heads(bias_k, heads, True), parts.split_heads(bias_v, heads, True)))
    if add_zero_attn:
        nothing = zeros(1, heads, 1, width, dtype=q.dtype, device=q.device)
        more.append((nothing, nothing))
    return more
