"""Scaled dot-product attention with any leading axes, and multi-head attention as a function of its parameters.

Shape letters: B batch size, H heads, T target length, S source length, D model width, Dh head width, Dv value width.
"""

from __future__ import annotations

import math
from typing import Any

from ...backend.dtype import kind_of
from ...backend.random import follows_pytorch
from ...functions.arguments import common_shape
from ...functions.creation import ones
from ...functions.shaping import cat
from ...ops import attention as ops
from ...tensor import Tensor, apply
from ._checks import probability, same_dtype
from .activation import dropout, keep_mask
from .linear import linear
from .padding import pad

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale · q kᵀ + mask) v (Vaswani et al. 2017, equation 1).

    Args:
        query: (..., T, Dh). key: (..., S, Dh). value: (..., S, Dv). Leading axes broadcast.
        attn_mask: broadcasts to (..., T, S). A bool mask is True where attention is allowed; a float mask is added to
            the scores.
        dropout_p: dropout probability for the attention weights. It applies even in evaluation, so pass 0.0 there.
        is_causal: query i attends only to keys 0 to i; cannot be combined with ``attn_mask``.
        scale: 1 / √Dh if None.
        enable_gqa: key and value may have fewer heads (axis -3) than the query; several query heads share each of them.

    Returns (..., T, Dv), with zeros for any query that cannot attend to any key.

    >>> q = k = v = mg.zeros(1, 2, 5, 4)
    >>> F.scaled_dot_product_attention(q, k, v, is_causal=True).shape
    minigrad.Size([1, 2, 5, 4])
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    same_dtype("scaled_dot_product_attention", query, key=key, value=value)
    q, k, v = query.array.shape, key.array.shape, value.array.shape
    if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2]:
        expected = "query (..., T, Dh), key (..., S, Dh) and value (..., S, Dv)"
        raise RuntimeError(f"scaled_dot_product_attention: {expected} do not match: got {q}, {k} and {v}")
    if attn_mask is not None and kind_of(attn_mask.array) not in "bf":
        problem = f"Expected attn_mask dtype to be bool or float, but got {attn_mask.dtype}"
        raise RuntimeError(f"scaled_dot_product_attention: {problem}: convert a mask of zeros and ones with .bool()")
    probability("dropout", dropout_p)
    if enable_gqa and key.ndim >= 3 and key.shape[-3] != query.shape[-3]:
        key, value = _shared_heads(query, key), _shared_heads(query, value)
    lead, *others = (t.array.shape[:-2] for t in (query, key, value))
    lead = lead if lead == others[0] == others[1] else common_shape(lead, *others)
    if attn_mask is not None:
        shape, scores = tuple(attn_mask.array.shape), (*lead, query.array.shape[-2], key.array.shape[-2])
        if len(shape) > len(scores) or any(n not in (1, m) for n, m in zip(shape[::-1], scores[::-1], strict=False)):
            fits = f"the scores (..., T, S), {scores}: {scores[-2:]} would fit"
            raise RuntimeError(f"scaled_dot_product_attention: attn_mask of shape {shape} does not broadcast to {fits}")
        if len(lead) != 2 and len(shape) > min(3, len(lead) + 1):  # (..., H, T, S) -> (B, H, T, S)
            wide = attn_mask.expand(*lead[:-1], *((1,) * (len(scores) - len(shape)) + shape)[-3:])
            attn_mask = wide.reshape(math.prod(lead[:-1]), *wide.shape[-3:])
    q, k, v = (t if t.array.shape[:-2] == lead else t.expand(*lead, *t.shape[-2:]) for t in (query, key, value))
    if len(lead) != 2:  # (..., T, D) -> (B, H, T, D)
        axes = math.prod(lead[:-1]), lead[-1] if lead else 1
        q, k, v = (t.reshape(*axes, *t.shape[-2:]) for t in (q, k, v))
    out = attend(q, k, v, attn_mask, dropout_p, is_causal, scale)
    return out if len(lead) == 2 else out.reshape(*lead, *out.shape[-2:])  # (B, H, T, Dv) -> (..., T, Dv)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Apply the fused op to a query (B, H, T, Dh), key (B, H, S, Dh) and value (B, H, S, Dv). Returns (B, H, T, Dv)."""
    keep = None
    if dropout_p:
        keep = keep_mask(query, (*query.array.shape[:-1], key.array.shape[-2]), dropout_p)
    scale = 1 / math.sqrt(query.array.shape[-1]) if scale is None else scale
    args = (query, key, value, mask, keep, is_causal, float(scale), float(dropout_p))
    out: Tensor = apply(ops.scaled_dot_product_attention, args)
    return out if out.array.dtype == query.array.dtype else out.to(query.dtype)  # wide masks do not change the dtype


def _shared_heads(query: Tensor, few: Tensor) -> Tensor:
    """Repeat each key or value head for the query heads that share it: (..., Hk, S, D) -> (..., H, S, D)."""
    heads, shared = query.shape[-3], few.shape[-3]
    if heads % shared:
        raise RuntimeError(f"scaled_dot_product_attention: {heads} query heads cannot share {shared} key/value heads")
    return few.repeat_interleave(heads // shared, -3)


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
    """The forward pass of ``nn.MultiheadAttention``, which documents the inputs, masks and results.

    Args:
        embed_dim_to_check: D.
        in_proj_weight: (3 D, D). With ``use_separate_proj_weight`` it is None, and q_proj_weight (D, D), k_proj_weight
            (D, kdim) and v_proj_weight (D, vdim) are used instead.
        in_proj_bias: (3 D). out_proj_weight: (D, D). out_proj_bias: (D).
        bias_k, bias_v: (1, 1, D), an additional key and value. add_zero_attn: append a zero key and value.
        static_k, static_v: (B H, S, Dh), used instead of the projected key and value.
        batch_first: inputs are (B, T, D) (not in PyTorch).

    Raises AssertionError or RuntimeError if shapes or dtypes do not match."""
    if query.ndim == 2:
        return _unbatched(query, key, value, locals())
    weights = (in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight)
    if use_separate_proj_weight:
        weights = (None, *weights[1:])
    _check(query, key, value, embed_dim_to_check, weights, batch_first)
    projected = _project_in(query, key, value, weights, in_proj_bias, num_heads)
    q, k, v = (x.transpose(1, 2) if batch_first else x.permute(1, 2, 0, 3) for x in projected)  # (B, H, T or S, Dh)
    if bias_k is not None and (static_k is not None or static_v is not None):
        raise AssertionError("bias cannot be added to static key and value")
    k = k if static_k is None else static_k.unflatten(0, (-1, num_heads))  # (B H, S, Dh) -> (B, H, S, Dh)
    v = v if static_v is None else static_v.unflatten(0, (-1, num_heads))
    _check_masks(attn_mask, key_padding_mask, q, k)
    more = (bias_k is not None and bias_v is not None) + add_zero_attn
    if is_causal and not more:
        attn_mask = None  # it equals the causal mask
    elif is_causal:
        attn_mask = causal_mask(q.shape[2], k.shape[2], q) if attn_mask is None else attn_mask
        is_causal = False
    if more:
        k, v = _extended(k, bias_k, add_zero_attn), _extended(v, bias_v, add_zero_attn)
        masks = (attn_mask, key_padding_mask)
        attn_mask, key_padding_mask = (m if m is None else pad(m, (0, more)) for m in masks)
    mask = _joint_mask(attn_mask, key_padding_mask, num_heads, q)
    dropout_p = dropout_p if training else 0.0
    attention = None
    if need_weights:
        attention = dropout(ops.attention_weights(q, k, mask, is_causal, 1 / math.sqrt(q.array.shape[-1])), dropout_p)
        out = attention @ v
        attention = attention.mean(1) if average_attn_weights else attention  # (B, H, T, S) -> (B, T, S)
    else:
        out = attend(q, k, v, mask, dropout_p, is_causal)
    rows = out.transpose(1, 2) if batch_first else out.permute(2, 0, 1, 3)  # (B, T, H, Dh) or (T, B, H, Dh)
    a, b, heads, width = rows.array.shape
    out = linear(rows.reshape(a, b, heads * width), out_proj_weight, out_proj_bias)
    if batch_first and follows_pytorch(out.device):  # later dropout draws in PyTorch's memory order, (T, B, D)
        out = out.transpose(0, 1).contiguous().transpose(0, 1)
    return out, attention


def _unbatched(query: Tensor, key: Tensor, value: Tensor, arguments: dict[str, Any]) -> tuple[Tensor, Tensor | None]:
    """``multi_head_attention_forward`` for an unbatched input (T, D), run as a batch of one."""
    axis = 0 if arguments["batch_first"] else 1
    lifted = {id(t): t.unsqueeze(axis) for t in (query, key, value)}  # (T, D) -> (1, T, D) or (T, 1, D)
    q, k, v = (lifted[id(t)] for t in (query, key, value))  # identical inputs stay one tensor
    padding = arguments["key_padding_mask"]
    padding = None if padding is None else padding.unsqueeze(0)  # (S) -> (1, S)
    batch = {"query": q, "key": k, "value": v, "key_padding_mask": padding}
    out, weights = multi_head_attention_forward(**{**arguments, **batch})
    return out.squeeze(axis), None if weights is None else weights.squeeze(0)


def _check(
    query: Tensor, key: Tensor, value: Tensor, width: int, weights: tuple[Tensor | None, ...], batch_first: bool
) -> None:
    shapes = tuple(tuple(t.array.shape) for t in (query, key, value))
    widths = (width, *(width if w is None else w.array.shape[1] for w in weights[2:]))
    b, t = (0, 1) if batch_first else (1, 0)  # the batch and length axes
    layout = "(B, T, D)" if batch_first else "(T, B, D) (batch_first is False)"
    if any(len(s) != 3 for s in shapes):
        raise AssertionError(f"MultiheadAttention: inputs must be {layout}, or (T, D) without a batch; got {shapes}")
    if tuple(s[2] for s in shapes) != widths:
        raise AssertionError(f"MultiheadAttention: query, key and value must have widths {widths}, but got {shapes}")
    if len({s[b] for s in shapes}) > 1 or shapes[1][t] != shapes[2][t]:
        problem = "all batch sizes must be equal, and so must the lengths of key and value"
        raise AssertionError(f"MultiheadAttention: inputs are {layout}; {problem}; got {shapes}")


def _check_masks(mask: Mask, padding: Mask, q: Tensor, k: Tensor) -> None:
    (batch, heads, target, _), source = q.array.shape, k.array.shape[2]
    for name, tensor, shapes, meanings in (
        ("attn_mask", mask, [(target, source), (batch * heads, target, source)], "(T, S), or (batch · heads, T, S)"),
        ("key_padding_mask", padding, [(batch, source)], "(batch, S)"),
    ):
        if tensor is None:
            continue
        if kind_of(tensor.array) not in "bf":
            kinds = f"only bool and floating types of {name}"
            raise AssertionError(f"{kinds} are supported, not {tensor.dtype}: use .bool()")
        if tuple(tensor.array.shape) not in shapes:
            expected, actual = " or ".join(map(str, shapes)), tuple(tensor.array.shape)
            kind = RuntimeError if tensor is mask else AssertionError  # as in PyTorch
            raise kind(f"MultiheadAttention: {name} must have shape {expected}, not {actual}: {meanings}")


def _project_in(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor | None, ...], bias: Tensor | None, heads: int
) -> tuple[Tensor, ...]:
    """Project query, key and value to (., ., H, Dh), in one product if all are the same tensor, or two if key is value.
    ``weights``: (3 D, D) for all three, or None followed by (D, D), (D, kdim), (D, vdim). ``bias``: (3 D) or None."""
    joint = weights[0]
    if joint is not None and query is key and key is value:
        return _split_projections(linear(query, joint, bias), 3, heads)
    width = weights[1].array.shape[0] if weights[1] is not None else query.array.shape[-1]
    if joint is not None and key is value:
        first, rest = joint.split((width, 2 * width))
        biases = (None, None) if bias is None else bias.split((width, 2 * width))
        q = linear(query, first, biases[0])
        kv = linear(key, rest, biases[1])
        return *_split_projections(q, 1, heads), *_split_projections(kv, 2, heads)
    matrices = joint.chunk(3) if joint is not None else [w for w in weights[1:] if w is not None]
    vectors = (None, None, None) if bias is None else bias.chunk(3)
    projected = [linear(x, w, b) for x, w, b in zip((query, key, value), matrices, vectors, strict=True)]
    return tuple(_split_projections(x, 1, heads)[0] for x in projected)


def _split_projections(x: Tensor, count: int, heads: int) -> tuple[Tensor, ...]:
    """Split x (., ., count D), which contains ``count`` projections, into separate ones, each (., ., H, Dh)."""
    a, b, width = x.array.shape
    return x.reshape(a, b, count, heads, width // count // heads).unbind(2)


def causal_mask(target: int, source: int, like: Tensor) -> Tensor:
    """A bool mask (T, S), True where query i cannot attend to key j, that is, where j > i."""
    return ones(target, source, dtype="bool", device=like.device).triu(1)


def _joint_mask(attn_mask: Tensor | None, padding_mask: Tensor | None, heads: int, like: Tensor) -> Tensor | None:
    """Combine PyTorch's two masks (where True means masked out) into one for ``attend`` (where True means allowed), or
    None. ``attn_mask``: (T, S) or (B H, T, S). ``padding_mask``: (B, S). Each is a bool mask or a float mask to add."""
    parts: list[Tensor] = []
    if attn_mask is not None:
        is_by_head = attn_mask.ndim == 3
        parts.append(attn_mask.unflatten(0, (-1, heads)) if is_by_head else attn_mask)  # (B H, ...) -> (B, H, ...)
    if padding_mask is not None:
        parts.append(padding_mask[:, None, None, :])  # (B, S) -> (B, 1, 1, S)
    if not parts:
        return None
    if all(m.array.dtype.kind == "b" for m in parts):
        return ~parts[0] if len(parts) == 1 else ~(parts[0] | parts[1])
    for i, m in enumerate(parts):
        added = like.new_zeros(m.shape).masked_fill_(m, float("-inf")) if m.array.dtype.kind == "b" else m
        parts[i] = added.to(dtype=like.dtype)
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def _extended(x: Tensor, row: Tensor | None, has_zeros: bool) -> Tensor:
    """Append an optional row (1, 1, D), and a row of zeros if ``has_zeros``, to keys or values (B, H, S, Dh)."""
    batch, heads, _, width = x.array.shape
    rows = [] if row is None else [row.reshape(1, heads, 1, width).expand(batch, heads, 1, width)]
    return cat([x, *rows, x.new_zeros(batch, heads, 1, width)] if has_zeros else [x, *rows], 2)
