"""Scaled dot-product attention, tile by tile (see scaled_dot_product_attention.cu). It saves the result and the
logarithm of each row's sum of exponentials for the backward pass. If heads are so wide that a tile exceeds a block's
shared memory, the plain definition runs instead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from ..dtype import Array
from ..registry import xp
from . import Gradients, Needs, wanted
from ._attention import empty_result, factor, laid_like, sum_to
from ._launch import NULL, address, contiguous, drawn, launch, strided, unset_like, wide

_SOURCE = "scaled_dot_product_attention"
_SIDE = 16  # threads along each side of a block
_TILES = (64, 32, 16)
_WIDEST_HEAD = 256


@dataclass(frozen=True)
class Plan:
    """The tiling of one call. ``head`` is the larger width of q and v, rounded up to 16. ``tile`` is the number of
    queries and of keys in a tile. ``itemsize`` is the bytes per number in shared memory."""

    head: int
    tile: int
    itemsize: int

    @property
    def macros(self) -> tuple[tuple[str, int], ...]:
        return (("HEAD", self.head), ("TILE", self.tile))

    def shared_bytes(self, tiles: int, scores: int) -> int:
        """The bytes of shared memory for this many tiles of rows and of scores."""
        return (tiles * self.tile * (self.head + 1) + scores * self.tile * (self.tile + 1)) * self.itemsize


@cache
def plan(head: int, length: int, itemsize: int, most_bytes: int) -> Plan | None:
    """The largest useful tiles for the length that fit into shared memory in the backward pass, or None if none fit."""
    if head > _WIDEST_HEAD:
        return None
    padded = -(-max(head, 1) // _SIDE) * _SIDE
    for tile in _TILES:
        candidate = Plan(padded, tile, itemsize)
        if candidate.shared_bytes(4, 2) <= most_bytes and (tile == _TILES[-1] or length > tile // 2):
            return candidate
    return None


_most_bytes: dict[tuple[Any, int], int] = {}  # shared memory that a block may request, by library and GPU


def _plan_for(q: Array, k: Array, v: Array) -> Plan | None:
    gpu = (type(q), q.device.id)
    if gpu not in _most_bytes:  # cached, as CuPy reads a hundred attributes to get this one
        _most_bytes[gpu] = int(q.device.attributes.get("MaxSharedMemoryPerBlockOptin", 48 * 1024))
    length = max(q.shape[-2], k.shape[-2])
    return plan(max(q.shape[-1], v.shape[-1]), length, wide(q)().itemsize, _most_bytes[gpu])


def takes(q: Array, k: Array, v: Array, *mask: Array) -> bool:
    """Whether heads are narrow enough for a block's shared memory."""
    return _plan_for(q, k, v) is not None


def _attention_args(q: Array, k: Array, v: Array, *how: Any) -> tuple[Any, ...]:
    """ATTENTION_PARAMETERS of the source."""
    mask, keep, is_causal, scale, dropout_p = how
    allowed: Any = NULL
    added: Any = NULL
    strides = [0, 0, 0, 0]
    if mask is not None:
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        step = 1
        for axis in (3, 2, 1, 0):  # an axis of length 1 is broadcast, with a stride of 0
            strides[axis] = step if mask.shape[axis] > 1 else 0
            step *= mask.shape[axis]
        if mask.dtype.kind == "b":
            allowed = contiguous(mask)
        else:
            added = contiguous(mask, q.dtype)
    sizes = q.shape[1], q.shape[2], v.shape[2], q.shape[3], v.shape[3]
    return allowed, added, *strides, *drawn(keep), *sizes, int(is_causal), float(scale), factor(keep, dropout_p)


def forward(needs: Needs, q: Array, k: Array, v: Array, *how: Any) -> tuple[Array, tuple[Array, Array, Plan]]:
    cut = _plan_for(q, k, v)
    if cut is None:
        return NotImplemented
    batch, heads, queries, _ = q.shape
    out, lse = empty_result(q, v), xp(q).empty((batch, heads, queries), wide(q))
    grid = (batch * heads * -(-queries // cut.tile),)
    arrays = *strided(q), *strided(k, q.dtype), *strided(v, q.dtype), *strided(out)
    args = (*arrays, lse, *_attention_args(q, k, v, *how))
    launch(q, _SOURCE, "attention", grid, (_SIDE, _SIDE), args, cut.shared_bytes(2, 1), cut.macros)
    return out, (out, lse, cut)


def backward(
    needs: Needs, saved: tuple[Array, Array, Plan], g: Array, q: Array, k: Array, v: Array, *how: Any
) -> Gradients:
    out, lse, cut = saved
    inputs = *strided(g, q.dtype), *strided(q), *strided(k, q.dtype), *strided(v, q.dtype)
    tail = _attention_args(q, k, v, *how)
    delta, (dq, dk, dv) = unset_like(lse), laid_like(q, k, v)
    dscores = xp(q).zeros((*q.shape[:3], k.shape[2]), wide(q)) if needs[3] else None

    def run(name: str, length: int, scores: int, *results: Any) -> None:
        """Run a kernel over blocks of ``length``, with shared memory for ``scores`` tiles of scores."""
        grid = (q.shape[0] * q.shape[1] * -(-length // cut.tile),)
        args = (*inputs, *results, *tail)
        launch(q, _SOURCE, name, grid, (_SIDE, _SIDE), args, cut.shared_bytes(4, scores), cut.macros)

    run("attention_query_gradients", q.shape[2], 1, *strided(out), *strided(dq), lse, delta, address(dscores))
    if needs[1] or needs[2]:
        run("attention_key_gradients", k.shape[2], 2, *strided(dk), *strided(dv), lse, delta)
    dmask = None if dscores is None else sum_to(dscores, how[0])
    return wanted(needs, dq, dk, dv, dmask)
