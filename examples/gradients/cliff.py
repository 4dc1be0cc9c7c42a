"""A cliff in the loss of a recurrent network, and gradient descent there with and without clipping.

The network, with a single unit, is from Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent
neural networks", figure 6: h ← w σ(h) + b, 50 times from h = ½, with the loss (σ(h) − 0.7)².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn

STEPS, START, TARGET = 50, 0.5, 0.7
BEGIN = (6.0, -3.0)  # initial w and b
RATE, CLIP, UPDATES = 0.5, 1.0, 200


def loss_at(w: Tensor, b: Tensor) -> Tensor:
    """The loss for weights and biases, elementwise."""
    h = mg.full_like(w, START)
    for _ in range(STEPS):
        h = w * h.sigmoid() + b
    return (h.sigmoid() - TARGET) ** 2


@dataclass(frozen=True)
class Descent:
    """A descent: w and b after 0, 1, … updates, the loss, and the gradient norm before and after clipping."""

    places: np.ndarray  # (updates + 1, 2)
    losses: np.ndarray  # (updates + 1,)
    norms: np.ndarray
    clipped: np.ndarray

    @property
    def cliff(self) -> int:
        """The number of updates after which the gradient is largest."""
        return int(self.norms.argmax())


def descend(clip: float | None, updates: int = UPDATES) -> Descent:
    """Gradient descent with ``optim.SGD``, and ``nn.utils.clip_grad_norm_`` if ``clip`` is given."""
    place = mg.tensor(BEGIN, dtype=mg.float64, requires_grad=True)
    sgd = mg.optim.SGD([place], lr=RATE)
    rows = []
    for _ in range(updates + 1):
        loss = loss_at(place[0], place[1])
        sgd.zero_grad()
        loss.backward()
        assert place.grad is not None
        before = nn.utils.clip_grad_norm_([place], float("inf") if clip is None else clip)
        rows.append([*place.tolist(), loss.item(), before.item(), place.grad.norm().item()])
        sgd.step()
    table = np.array(rows)
    return Descent(table[:, :2], *table[:, 2:].T)


def profile(b: float, w: np.ndarray) -> np.ndarray:
    """The loss as a function of the weight, at a fixed bias."""
    return loss_at(mg.tensor(w), mg.full((len(w),), b, dtype=mg.float64)).numpy()
