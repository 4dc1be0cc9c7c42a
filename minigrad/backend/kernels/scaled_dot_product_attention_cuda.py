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
from . import Gradients, Needs, wanted
from ._launch import NULL, address, contiguous, launch, over_rows, wide
from .scaled_dot_product_attention import sum_to

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


def _attention_args(q: Array, k: Array, v: Array, *how: Any) -> tuple[Any, ...]:
    """ATTENTION_PARAMETERS of the source."""
    mask, keep, is_causal, scale, dropout_p = how
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
    sizes = q.shape[1], q.shape[2], v.shape[2], q.shape[3], v.shape[3]
    return allowed, added, *strides, address(keep, bool), *sizes, int(is_causal), float(scale), _factor(dropout_p)


def _factor(dropout_p: float) -> float:
    """What dropout multiplies with."""
    return 1 / (1 - dropout_p) if dropout_p < 1 else 0.0


def forward(needs: Needs, q: Array, k: Array, v: Array, *how: Any) -> tuple[Array, tuple[Array, Array] | None]:
    cut = _plan_for(q, k, v)
    if cut is None:
        return _composed(q, k, v, *how)[0], None
    q, k, v = contiguous(q), contiguous(k, q.dtype), contiguous(v, q.dtype)
    batch, heads, queries, _ = q.shape
    out = xp(q).empty((batch, heads, queries, v.shape[-1]), q.dtype)
    lse = xp(q).empty((batch, heads, queries), wide(q))
    grid = (batch * heads * -(-queries // cut.tile),)
    args = (q, k, v, out, lse, *_attention_args(q, k, v, *how))
    launch(q, _SOURCE, "attention", grid, (_SIDE, _SIDE), args, cut.shared_bytes(2, 1), cut.macros)
    return out, (out, lse)


def backward(
    needs: Needs, saved: tuple[Array, Array] | None, g: Array, q: Array, k: Array, v: Array, *how: Any
) -> Gradients:
    cut = _plan_for(q, k, v)
    if saved is None or cut is None:
        return _composed_gradients(needs, g, q, k, v, *how)
    q, k, v, g = contiguous(q), contiguous(k, q.dtype), contiguous(v, q.dtype), contiguous(g, q.dtype)
    out, lse = saved
    delta = xp(q).empty_like(lse)
    over_rows(out, _SOURCE, "attention_delta", g, out, delta, defines=cut.macros)
    tail = _attention_args(q, k, v, *how)

    def run(name: str, length: int, scores: int, *results: Any) -> None:
        """A kernel of blocks of ``length``, with shared memory for so many tiles of scores."""
        grid = (q.shape[0] * q.shape[1] * -(-length // cut.tile),)
        args = (g, q, k, v, lse, delta, *results, *tail)
        launch(q, _SOURCE, name, grid, (_SIDE, _SIDE), args, cut.shared_bytes(4, scores), cut.macros)

    dq = dk = dv = dmask = None
    if needs[1] or needs[2]:
        dk, dv = xp(k).empty_like(k), xp(v).empty_like(v)
        run("attention_key_gradients", k.shape[2], 2, dk, dv)
    if needs[0] or needs[3]:
        dq = xp(q).empty_like(q)
        dscores = xp(q).zeros((*q.shape[:3], k.shape[2]), q.dtype) if needs[3] else None
        run("attention_query_gradients", q.shape[2], 1, dq, address(dscores))
        dmask = None if dscores is None else sum_to(dscores, how[0])
    return wanted(needs, dq, dk, dv, dmask)


def _composed(q: Array, k: Array, v: Array, *how: Any) -> tuple[Array, Array, Any]:
    """The result, the probabilities, and the factors that dropout gives them (1 without)."""
    mask, keep, is_causal, scale, dropout_p = how
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
    factor: Any = 1 if keep is None else keep * wide(q)(_factor(dropout_p))
    return ((p * factor).astype(q.dtype) @ v), p, factor


def _composed_gradients(needs: Needs, g: Array, q: Array, k: Array, v: Array, *how: Any) -> Gradients:
    _, p, factor = _composed(q, k, v, *how)
    mask, scale = how[0], how[3]
    dv = (p * factor).astype(q.dtype).mT @ g if needs[2] else None
    dp = (g @ v.mT) * factor
    ds = (p * (dp - (dp * p).sum(axis=-1, keepdims=True))).astype(q.dtype)
    dq = (ds @ k) * scale if needs[0] else None
    dk = (ds.mT @ q) * scale if needs[1] else None
    return wanted(needs, dq, dk, dv, sum_to(ds, mask) if needs[3] else None)
