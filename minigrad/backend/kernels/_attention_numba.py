"""Parts of attention, for compiled loops: some queries of one head against its keys, as scores, weights and slopes.

Such a part is a matrix of rows of ``wide`` numbers, the number of keys rounded up to whole tiles. What a query does
not see, or what is not there, weighs 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled.functions import exp
from ..compiled.loops import Flat, inline
from ..compiled.native import (
    add16,
    bools16,
    first16,
    load16,
    max16,
    mul16,
    row,
    spread16,
    store16,
    sum16,
    top16,
    transpose8,
    zeros16,
)
from ..compiled.tiles import TILE, product

F = np.float32
FEW = 4  # queries: below this it does not pay to transpose the keys for them


@inline
def tiles(count: int) -> int:
    """``count`` rounded up to whole tiles."""
    return -(-count // TILE) * TILE


@inline
def transpose(x: int, step: int, count: int, width: int, out: int) -> None:
    """x (count, width) with rows ``step`` bytes apart: its transpose, tile after tile of columns. What is left of the
    last tile is filled."""
    whole = width - width % 8
    for s in range(0, tiles(count), 8):
        place = out + s // TILE * TILE * 4 * width + s % TILE * 4
        above = max(0, count - 1 - s)  # where no row is left, the last
        lines, left = x + (count - 1 - above) * step, above + 1
        for d in range(0, whole, 8):
            transpose8(lines + 4 * d, step, left, place + 4 * TILE * d)
        if whole < width:
            tile = row(place, TILE * width)
            for j in range(8):
                line = row(lines + min(j, above) * step, width)
                for d in range(whole, width):
                    tile[TILE * d + j] = line[d]


@inline
def gather(x: int, step: int, count: int, width: int, out: int, out_step: int, out_tile: int) -> None:
    """Copy x (count, width) from rows that lie ``step`` bytes apart, of which a cache may hold only few, to rows that
    are ``out_step`` bytes apart, and ``out_tile`` from sixteen columns to the next."""
    left = width % TILE
    for i in range(count):
        source, target = x + i * step, out + i * out_step
        for j in range(0, width - TILE + 1, TILE):
            store16(target + j // TILE * out_tile, load16(source + 4 * j, TILE), TILE)
        if left:
            j = width - left
            store16(target + j // TILE * out_tile, load16(source + 4 * j, left), left)


@inline
def against(
    x: int, step: int, n: int, other: int, other_step: int, turned: int, count: int, width: int, out: int
) -> None:
    """x otherᵀ, (n, tiles(count)), of x (n, width) and other (count, width): by ``turned``, its transpose, or where
    that is 0 by its rows."""
    wide = tiles(count)
    if turned:
        product(x, step, 4, turned, 4 * TILE, 4 * TILE * width, out, 4 * wide, n, width, wide, False)
        return
    for i in range(n):
        line, sums = row(x + i * step, width), row(out + 4 * i * wide, wide)
        for j in range(count):
            along = row(other + j * other_step, width)
            total = F(0.0)
            for d in range(width):
                total += line[d] * along[d]
            sums[j] = total
        for j in range(count, wide):
            sums[j] = F(0.0)


@inline
def mask_rows(
    scores: int,
    n: int,
    keys: int,
    first: int,
    is_causal: int,
    scale: float,
    mask: int,
    step: int,
    top: Flat,
    place: int,
    known: bool,
) -> None:
    """Scores of n queries, from number ``first`` on, to be exponentiated: times ``scale``, plus a mask, -inf where a
    key is not seen, minus the largest of the row. That is written to ``top``, or read from there where it is known.

    Args:
        mask: the address of its row for the first query, 0 for none; ``step`` bytes from row to row.
    """
    wide = tiles(keys)
    for i in range(n):
        line = scores + 4 * i * wide
        seen = min(keys, first + i + 1) if is_causal else keys
        largest = spread16(F(-np.inf))
        for s in range(0, wide, TILE):
            x = mul16(load16(line + 4 * s, TILE), spread16(F(scale)))
            if mask:
                x = add16(x, load16(mask + i * step + 4 * s, keys - s))
            x = first16(x, seen - s, F(-np.inf))
            largest = max16(x, largest)
            store16(line + 4 * s, x, TILE)
        if not known:
            found = top16(largest)
            top[place + i] = F(0.0) if found == F(-np.inf) else found
        shift = spread16(-top[place + i])
        for s in range(0, wide, TILE):
            store16(line + 4 * s, add16(load16(line + 4 * s, TILE), shift), TILE)


@inline
def exponentials(x: int, count: int) -> None:
    """exp, in place."""
    numbers = row(x, count)
    for j in range(count):
        numbers[j] = exp(numbers[j])


@inline
def draw(keep: int, count: int) -> Any:
    """At most sixteen of dropout's bools. Few processors load a part of sixteen bytes: that is for the last ones."""
    return bools16(keep, TILE) if count >= TILE else bools16(keep, count)


@inline
def weigh_rows(
    weights: int, n: int, keys: int, keep: int, keep_step: int, rest: float, share: Flat, place: int
) -> None:
    """Exponentials of n rows as shares of their sums, and dropped by ``keep``, the address of their draw, if that is
    not 0; 1 / the sum is written to ``share``."""
    wide = tiles(keys)
    for i in range(n):
        line = weights + 4 * i * wide
        sums = zeros16()
        for s in range(0, wide, TILE):
            sums = add16(sums, load16(line + 4 * s, TILE))
        total = sum16(sums)
        part = F(0.0) if total == F(0.0) else F(1.0) / total
        share[place + i] = part
        factor = spread16(part * F(rest))
        for s in range(0, wide, TILE):
            x = mul16(load16(line + 4 * s, TILE), factor)
            if keep:
                x = mul16(x, draw(keep + i * keep_step + s, keys - s))
            store16(line + 4 * s, x, TILE)


@inline
def slope_rows(
    weights: int,
    slopes: int,
    n: int,
    keys: int,
    keep: int,
    keep_step: int,
    rest: float,
    scale: float,
    share: Flat,
    place: int,
) -> None:
    """From exponentials and the gradients of dropped weights: the dropped weights, and the gradients of scores before
    ``scale``, w (slope - Σ w slope) · scale."""
    wide = tiles(keys)
    for i in range(n):
        line, slope_line = weights + 4 * i * wide, slopes + 4 * i * wide
        part, factor, sums = spread16(share[place + i]), spread16(F(rest)), zeros16()
        for s in range(0, wide, TILE):
            w, slope = mul16(load16(line + 4 * s, TILE), part), load16(slope_line + 4 * s, TILE)
            if keep:
                slope = mul16(slope, mul16(factor, draw(keep + i * keep_step + s, keys - s)))
                store16(slope_line + 4 * s, slope, TILE)
            sums = add16(sums, mul16(w, slope))
        total, part = -sum16(sums), spread16(share[place + i] * F(scale))
        for s in range(0, wide, TILE):
            x, slope = load16(line + 4 * s, TILE), load16(slope_line + 4 * s, TILE)
            store16(slope_line + 4 * s, mul16(mul16(x, part), add16(slope, spread16(total))), TILE)
            dropped = mul16(x, spread16(share[place + i] * F(rest)))
            if keep:
                dropped = mul16(dropped, draw(keep + i * keep_step + s, keys - s))
            store16(line + 4 * s, dropped, TILE)
