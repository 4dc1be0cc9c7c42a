"""SGD's update of many parameters in one launch: see sgd.cu, and ``optim/sgd.py``."""

from __future__ import annotations

from ..many_cuda import Many


def step_all(many: Many, *numbers: float) -> None:
    """Update the parameters of rows (θ, g) or (θ, g, b), and b, in place."""
    many.each("sgd", "sgd", *map(float, numbers))
