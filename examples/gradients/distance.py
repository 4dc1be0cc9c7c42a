"""How much of a gradient arrives at each distance: norms of Jacobians."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import minigrad as mg
from minigrad import Tensor
from minigrad.viz.numbers import Floats

Model = Callable[[Tensor], Tensor]  # (B, T, D) -> (B, T, H)


def jacobian_norms(model: Model, x: Tensor) -> Floats:
    """‖∂hₜ / ∂xₜ₋ₖ‖₂ at the last t, for k = 0, 1, …, T−1: how much a change at distance k in a sequence x (T, D) can
    affect the last output. The model's outputs must not depend on later inputs.

    The 2-norm is the largest singular value of a matrix. The model processes a batch of as many copies of the sequence
    as the output has elements. The gradient of element i of the i-th copy's last output is then row i of the Jacobian
    for each input, so a single backward pass computes all rows.
    """
    with mg.no_grad():
        width = model(x[None]).shape[-1]
    copies = x.detach().expand(width, *x.shape).clone().requires_grad_(True)  # (H, T, D)
    last = model(copies)[:, -1]  # (H, H)
    (rows,) = mg.autograd.grad(last.diagonal().sum(), copies)  # (H, T, D)
    jacobians = rows.numpy().transpose(1, 0, 2)[::-1]  # (T, H, D), the last input first
    return np.linalg.norm(jacobians, ord=2, axis=(1, 2)).astype(np.float64)


def chain_of_products(factor: float, length: int) -> Floats:
    """|∂g/∂z| at distances 0, 1, …, length before the end of a chain z ← z · y, where g = z². The start is chosen so
    that the last z is 1, so the chain rule gives 2 yᵏ."""
    y = mg.tensor(factor, dtype=mg.float64)
    chain = [mg.tensor(factor**-length, dtype=mg.float64, requires_grad=True)]
    for _ in range(length):
        chain.append(chain[-1] * y)
    gradients = mg.autograd.grad(chain[-1] ** 2, chain)
    return np.array([abs(g.item()) for g in reversed(gradients)])
