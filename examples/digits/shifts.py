"""Shifts digits by a few pixels: up, down, left or right."""

from __future__ import annotations

import numpy as np

from .digits_data import Array

DIRECTIONS = {"right": (0, 1), "left": (0, -1), "down": (1, 0), "up": (-1, 0)}


def shifted(images: Array, steps: Array) -> Array:
    """Images (N, S, S), each shifted by its ``steps`` (N, 2): rows down and columns right. Pixels that leave the frame
    are lost, and the other side is filled with paper."""
    side, reach = images.shape[1], int(np.abs(steps).max(initial=0))
    framed = np.pad(images, ((0, 0), (reach, reach), (reach, reach)))
    places = np.arange(side) + reach
    rows = places[None, :, None] - steps[:, 0, None, None]  # (N, S, 1)
    columns = places[None, None, :] - steps[:, 1, None, None]  # (N, 1, S)
    moved: Array = framed[np.arange(len(images))[:, None, None], rows, columns]
    return moved


def all_ways(images: Array, distance: int) -> list[Array]:
    """All images shifted by a distance in each of the four directions (a single copy for distance 0)."""
    ways = list(DIRECTIONS.values()) if distance else [(0, 0)]
    return [shifted(images, np.tile(np.array(way) * distance, (len(images), 1))) for way in ways]


def lost(images: Array, distance: int) -> float:
    """The share of the ink that leaves the frame, averaged over the four directions."""
    ink = np.mean([moved.sum(dtype=np.float64) for moved in all_ways(images, distance)])
    return float(1 - ink / images.sum(dtype=np.float64))
