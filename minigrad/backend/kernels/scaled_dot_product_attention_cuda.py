"""Scaled dot-product attention, tile by tile: see scaled_dot_product_attention.cu.

Kept for the backward pass: the result and the logarithm of each row's sum of exponentials. Where a tile of
very wide heads does not fit a block's shared memory, attention is composed of ordinary array functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ..dtype import Array
from ..registry import xp
from ._launch import NULL, address, contiguous, each_row, launch, row_count, wide

_SOURCE = "scaled_dot_product_attention"
_SIDE = 16  # threads along each side of a block
_TILES = (64, 32, 16)
_WIDEST_HEAD = 256


@dataclass(frozen=True)
class Plan:
    """How one call is cut up.

    Attributes:
        head: the larger width of q and v, rounded up to 16.
        tile: how many queries and keys are worked on at once.
        itemsize: bytes of a number in shared memory.
    """

    head: int
    tile: int
    itemsize: int

    @property
    def macros(self) -> tuple[tuple[str, int], ...]:
        return (("HEAD", self.head), ("TILE", self.tile))

    def shared_bytes(self, tiles: int, scores: int) -> int:
        """Shared memory for so many tiles of rows and of scores."""
        return (tiles * self.tile * (self.head + 1) + scores * self.tile * (self.tile + 1)) * self.itemsize


@cache
def plan(head: int, length: int, itemsize: int, most_bytes: int) -> Plan | None:
    """The largest tiles that the backward pass has room for, and the length calls for; None: no room."""
    if head > _WIDEST_HEAD:
        return None
    padded = -(-max(head, 1) // _SIDE) * _SIDE
    for tile in _TILES:
        candidate = Plan(padded, tile, itemsize)
        if candidate.shared_bytes(4, 2) <= most_bytes and (tile == _TILES[-1] or length > tile // 2):
            return candidate
    return None


_most_bytes: dict[tuple[Any, int], int] = {}  # shared memory that a block may ask for, by library and GPU


def _plan_for(q: Array, k: Array, v: Array) -> Plan | None:
    gpu = (type(q), q.device.id)
    if gpu not in _most_bytes:  # CuPy reads a hundred attributes to get this one
        _most_bytes[gpu] = int(q.device.attributes.get("MaxSharedMemoryPerBlockOptin", 48 * 1024))
    length = max(q.shape[-2], k.shape[-2])
    return plan(max(q.shape[-1], v.shape[-1]), length, wide(q)().itemsize, _most_bytes[gpu])


def _attention_args(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    keep: Array | None,
    is_causal: bool,
    scale: float,
    dropout_p: float,
) -> tuple[Any, ...]:
    """ATTENTION_PARAMETERS of the source."""
    _, heads, queries, width = q.shape
    keys, value_width = v.shape[-2:]
    allowed: Any = NULL
    added: Any = NULL
    strides = [0, 0, 0, 0]
    if mask is not None:
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        step = 1
        for axis in (3, 2, 1, 0):  # an axis of length 1 is broadcast: no step along it
            strides[axis] = step if mask.shape[axis] > 1 else 0
            step *= mask.shape[axis]
        if mask.dtype.kind == "b":
            allowed = contiguous(mask)
        else:
            added = contiguous(mask, q.dtype)
    keep_scale = 1 / (1 - dropout_p) if dropout_p < 1 else 0.0
    return (
        allowed,
        added,
        *strides,
        address(keep, bool),
        heads,
        queries,
        keys,
        width,
        value_width,
        int(is_causal),
        float(scale),
        float(keep_scale),
    )


def forward(
    needs: tuple[bool, ...], q: Array, k: Array, v: Array, mask: Array | None, keep: Array | None, *how: Any
) -> tuple[Array, tuple[Array, Array] | None]:
    cut = _plan_for(q, k, v)
    if cut is None:
        return _composed(q, k, v, mask, keep, *how)[0], None
    q, k, v = contiguous(q), contiguous(k, q.dtype), contiguous(v, q.dtype)
    batch, heads, queries, _ = q.shape
    out = xp(q).empty((batch, heads, queries, v.shape[-1]), q.dtype)
    lse = xp(q).empty((batch, heads, queries), wide(q))
    grid = (batch * heads * -(-queries // cut.tile),)
    args = (q, k, v, out, lse, *_attention_args(q, k, v, mask, keep, *how))
    launch(q, _SOURCE, "attention", grid, (_SIDE, _SIDE), args, cut.shared_bytes(2, 1), cut.macros)
    return out, (out, lse)


def backward(
    needs: tuple[bool, ...],
    saved: tuple[Array, Array] | None,
    g: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    keep: Array | None,
    *how: Any,
) -> tuple[Any, ...]:
    cut = _plan_for(q, k, v)
    if saved is None or cut is None:
        return _composed_gradients(needs, g, q, k, v, mask, keep, *how)
    q, k, v, g = contiguous(q), contiguous(k, q.dtype), contiguous(v, q.dtype), contiguous(g, q.dtype)
    out, lse = saved
    delta = xp(q).empty_like(lse)
    rows, n = row_count(out), out.shape[-1]
    launch(q, _SOURCE, "attention_delta", *each_row(rows, n), (g, out, delta, rows, n), 0, cut.macros)
    arguments = (g, q, k, v, lse, delta)
    tail = _attention_args(q, k, v, mask, keep, *how)
    heads, block = q.shape[0] * q.shape[1], (_SIDE, _SIDE)
    dq = dk = dv = dmask = None
    if needs[1] or needs[2]:
        dk, dv = xp(k).empty_like(k), xp(v).empty_like(v)
        grid = (heads * -(-k.shape[2] // cut.tile),)
        launch(
            q,
            _SOURCE,
            "attention_key_gradients",
            grid,
            block,
            (*arguments, dk, dv, *tail),
            cut.shared_bytes(4, 2),
            cut.macros,
        )
    if needs[0] or needs[3]:
        dq = xp(q).empty_like(q)
        dscores = xp(q).zeros((*q.shape[:3], k.shape[2]), q.dtype) if needs[3] else None
        grid = (heads * -(-q.shape[2] // cut.tile),)
        launch(
            q,
            _SOURCE,
            "attention_query_gradients",
            grid,
            block,
            (*arguments, dq, address(dscores), *tail),
            cut.shared_bytes(4, 1),
            cut.macros,
        )
        dmask = None if dscores is None else _like_mask(dscores, mask)
    wanted = (dq, dk, dv, dmask)
    return (*(d if need else None for d, need in zip(wanted, needs, strict=False)), None, None, None, None)


def _like_mask(dscores: Array, mask: Any) -> Array:
    """The gradient of the scores, summed over the axes that the mask was broadcast along."""
    shape = (1,) * (4 - mask.ndim) + mask.shape
    axes = tuple(i for i in range(4) if shape[i] == 1 < dscores.shape[i])
    return dscores.sum(axis=axes, keepdims=True).reshape(mask.shape).astype(mask.dtype, copy=False)


def _composed(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    keep: Array | None,
    is_causal: bool,
    scale: float,
    dropout_p: float,
) -> tuple[Array, Array, Any]:
    """The result, the probabilities, and the factors that dropout gives them (1 without)."""
    m = xp(q)
    scores = (q @ k.mT).astype(wide(q), copy=False) * scale
    if mask is not None:
        scores = m.where(mask, scores, -m.inf) if mask.dtype.kind == "b" else scores + mask
    if is_causal:
        scores = m.where(m.tri(*scores.shape[-2:], dtype=bool), scores, -m.inf)
    largest = scores.max(axis=-1, keepdims=True)
    p = m.exp(scores - m.where(m.isneginf(largest), 0, largest))
    total = p.sum(axis=-1, keepdims=True)
    p /= m.where(total == 0, 1, total)
    factor: Any = 1
    if keep is not None:
        factor = keep * wide(q)(1 / (1 - dropout_p) if dropout_p < 1 else 0)
    return ((p * factor).astype(q.dtype) @ v), p, factor


def _composed_gradients(
    needs: tuple[bool, ...], g: Array, q: Array, k: Array, v: Array, mask: Any, keep: Any, *how: Any
) -> tuple[Any, ...]:
    _, p, factor = _composed(q, k, v, mask, keep, *how)
    scale = how[1]
    dv = (p * factor).astype(q.dtype).mT @ g if needs[2] else None
    dp = (g @ v.mT) * factor
    ds = (p * (dp - (dp * p).sum(axis=-1, keepdims=True))).astype(q.dtype)
    dq = (ds @ k) * scale if needs[0] else None
    dk = (ds.mT @ q) * scale if needs[1] else None
    return dq, dk, dv, _like_mask(ds, mask) if needs[3] else None, None, None, None, None
