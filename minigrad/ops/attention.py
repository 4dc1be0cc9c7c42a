"""Scaled dot-product attention and rotary position embeddings."""

from __future__ import annotations

from typing import Any

from ..backend import xp
from ..backend.dtype import Array
from .activation import dropout
from .elementwise import where
from .linear import matmul
from .op import Arguments, bare, op
from .reduction import sum as sum_over
from .shape import transpose
from .softmax import softmax


@op(
    "dq = scale · dS k, dS = P (g vᵀ − Σ g y); dk = scale · dSᵀ q; dv = Pᵀ g; dmask = Σ dS",
    query=lambda g, out, key, scale, arguments: matmul(arguments.once(_score_grad, g, out), key) * scale,
    key=lambda g, out, query, scale, arguments: matmul(
        transpose(arguments.once(_score_grad, g, out), -1, -2), query * scale
    ),
    value=lambda g, keep, dropout_p, arguments: matmul(
        transpose(dropped(arguments.once(_weights), keep, dropout_p), -1, -2), g
    ),
    mask=lambda g, out, arguments: arguments.once(_score_grad, g, out),
)
def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array = None,
    keep: Array = None,
    is_causal: bool = False,
    scale: float = 1.0,
    dropout_p: float = 0.0,
) -> Array:
    """softmax(scale · q kᵀ + mask) v (Vaswani et al. 2017, equation 1)

    query (B, H, T, D), key (B, H, S, D), value (B, H, S, Dv) -> (B, H, T, Dv). A bool mask (broadcastable to (B, H, T,
    S)) is True where attention is allowed; a float mask is added. ``keep`` is the dropout mask (B, H, T, S). The result
    is zero for a query that may not attend to any key."""
    out = matmul(dropped(attention_weights(query, key, mask, is_causal, scale), keep, dropout_p), value)
    by_rows = transpose(out, 1, 2)  # the next layer needs the memory layout (B, T, H, Dv)
    return transpose(xp(out).ascontiguousarray(by_rows), 1, 2)


def attention_weights(query: Array, key: Array, mask: Array, is_causal: bool, scale: float) -> Array:
    """P = softmax(S), where S = scale · q kᵀ + mask. Both are (B, H, T, S)."""
    return softmax(attention_scores(query, key, mask, is_causal, scale), -1)


def attention_scores(query: Array, key: Array, mask: Array, is_causal: bool, scale: float) -> Array:
    """S = scale · q kᵀ + mask, (B, H, T, S)."""
    scores = matmul(query * scale, transpose(key, -1, -2))
    if is_causal:
        scores = where(causal_mask(scores), scores, float("-inf"))
    if mask is not None:
        scores = where(mask, scores, float("-inf")) if bare(mask).dtype.kind == "b" else scores + mask
    return scores


def causal_mask(scores: Array) -> Array:
    """A bool mask (T, S), in which query i may attend to keys 0 to i."""
    return xp(bare(scores)).tri(scores.shape[-2], scores.shape[-1], dtype=bool)


def dropped(x: Array, keep: Array, dropout_p: float) -> Array:
    """P after dropout. ``keep`` is the dropout mask, or None without dropout."""
    return x if keep is None else dropout(x, keep, 1 / (1 - dropout_p) if dropout_p < 1 else 0.0)


def _weights(arguments: Arguments) -> Array:
    query, key, _, mask, _, is_causal, scale, _ = arguments
    return attention_weights(query, key, mask, is_causal, scale)


def _score_grad(g: Array, out: Array, arguments: Arguments) -> Array:
    """dS = P (dP − Σ P dP), where dP = g vᵀ. Σ P dP over the keys equals Σ g y over the width of the values."""
    _, _, value, _, keep, _, _, dropout_p = arguments
    grad = dropped(matmul(g, transpose(value, -1, -2)), keep, dropout_p)
    return arguments.once(_weights) * (grad - sum_over(g * out, -1, True))


@op("dx = g turned by −θ", x=lambda g, turns, back: rotate(g, turns, not back))
def rotate(x: Array, turns: Array, back: bool = False) -> Array:
    """Elements 2i and 2i+1 of each row, rotated as a pair: (a + bi) · e^(iθ) (Su et al. 2021, equation 15)

    x (..., T, D); ``turns`` (T, D/2, 2) contains cos θ and sin θ. ``back`` rotates by -θ."""
    phases = _as_complex(turns, x)[..., 0]
    pairs = _as_complex(x, x)
    out = pairs * (phases.conj() if back else phases)  # complex numbers take one pass over memory instead of six
    return out.view(out.real.dtype).astype(x.dtype, copy=False)


def _as_complex(x: Array, like: Array) -> Any:
    """Pairs in x (..., D) as complex numbers (..., D/2), complex128 if ``like`` is float64, else complex64."""
    m = xp(x)
    x = x.astype("float64" if like.dtype.name == "float64" else "float32", copy=False)
    if x.strides[-1] != x.itemsize or not x.size:
        x = m.ascontiguousarray(x)
    return x.view("complex128" if x.itemsize == 8 else "complex64")
