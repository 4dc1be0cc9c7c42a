"""Adam's and AdamW's update of many parameters in one launch: see adam.cu, and ``plain_step`` in ``optim/adam.py``."""

from __future__ import annotations

from collections.abc import Sequence

from ..many_cuda import Many


def step_all(many: Many, rates: Sequence[tuple[float, float]], *numbers: float) -> None:
    """Update the parameters of rows (θ, g, m, v) or (θ, g, m, v, largest v), and the averages, in place."""
    many.each("adam", "adam", *map(float, numbers), rates=rates)
