"""A line search for the strong Wolfe conditions: how far to go along a direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..backend.dtype import Array

ENOUGH = 1e-4  # of the decrease that the slope promises
FLATTER = 0.9  # the slope is to be at most this part of the first one


class Point(NamedTuple):
    """A place on the line.

    Attributes:
        t: how far along the direction. f: the loss there.
        gradient: its gradient. slope: its derivative along the line.
    """

    t: float
    f: float
    gradient: Array
    slope: float


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Where the cubic through two points, with their slopes, has its minimum, clipped to [low, high]."""
    a, b = (a, b) if a.t <= b.t else (b, a)
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(t, low), high)


def strong_wolfe(
    at: Callable[[float], Point], start: Point, t: float, length: float, tolerance: float = 1e-9, most: int = 25
) -> tuple[Point, int]:
    """A point with enough decrease and a slope flat enough (Nocedal and Wright 2006, algorithms 3.5 and 3.6).

    Args:
        at: the point at t. start: the one at 0, whose slope is negative.
        t: where to look first. length: the largest number of the direction.
        tolerance: give up where the bracket is shorter. most: how many points to try.

    Returns:
        The best point, and how many were computed.
    """
    low, high, done, tries = _bracket(at, start, t, most)
    evaluations, insufficient = tries + 1, False
    while not done and tries < most and abs(high.t - low.t) * length >= tolerance:
        left, right = sorted((low.t, high.t))
        t = cubic_minimum(low, high, left, right)
        margin = 0.1 * (right - left)
        near = min(right - t, t - left) < margin
        if near and (insufficient or t >= right or t <= left):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            near = False
        insufficient = near  # at most once in a row so close to an end
        new = at(t)
        tries, evaluations = tries + 1, evaluations + 1
        if new.f > start.f + ENOUGH * t * start.slope or new.f >= low.f:
            low, high = (low, new) if low.f <= new.f else (new, low)
            continue
        done = abs(new.slope) <= -FLATTER * start.slope
        if not done and new.slope * (high.t - low.t) >= 0:
            high = low
        low = new
    return low, evaluations


def _bracket(at: Callable[[float], Point], start: Point, t: float, most: int) -> tuple[Point, Point, bool, int]:
    """Two points with a good one between them, the better one first; or a good one, and True."""
    last, new, tries = start, at(t), 0
    while tries < most:
        if new.f > start.f + ENOUGH * new.t * start.slope or (tries > 1 and new.f >= last.f):
            break
        if abs(new.slope) <= -FLATTER * start.slope:
            return new, new, True, tries
        if new.slope >= 0:
            break
        t = cubic_minimum(last, new, new.t + 0.01 * (new.t - last.t), new.t * 10)
        last, new, tries = new, at(t), tries + 1
    if tries == most:
        last = start
    return (last, new, False, tries) if last.f <= new.f else (new, last, False, tries)
