"""Digits that are not where they used to be: shifted by some pixels, up or down, left or right."""

from __future__ import annotations

import numpy as np

from .digits_data import Array

DIRECTIONS = {"right": (0, 1), "left": (0, -1), "down": (1, 0), "up": (-1, 0)}


def shifted(images: Array, steps: Array) -> Array:
    """Images (N, S, S), each shifted by its own ``steps`` (N, 2): so many rows down and columns to the right. What
    leaves the frame is lost, and paper comes in from the other side."""
    side, reach = images.shape[1], int(np.abs(steps).max(initial=0))
    framed = np.pad(images, ((0, 0), (reach, reach), (reach, reach)))
    places = np.arange(side) + reach
    rows = places[None, :, None] - steps[:, 0, None, None]  # (N, S, 1)
    columns = places[None, None, :] - steps[:, 1, None, None]  # (N, 1, S)
    moved: Array = framed[np.arange(len(images))[:, None, None], rows, columns]
    return moved


def all_ways(images: Array, distance: int) -> list[Array]:
    """All images shifted by a distance, in each of the four directions; those that are not shifted at all only once."""
    ways = list(DIRECTIONS.values()) if distance else [(0, 0)]
    return [shifted(images, np.tile(np.array(way) * distance, (len(images), 1))) for way in ways]


def lost(images: Array, distance: int) -> float:
    """The part of the ink that leaves the frame, on the mean over the four directions."""
    kept = np.mean([moved.sum(dtype=np.float64) for moved in all_ways(images, distance)])
    return float(1 - kept / images.sum(dtype=np.float64))
