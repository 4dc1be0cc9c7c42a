"""Why attention divides by √d: the variance of a dot product as a function of the width d.

If the elements of q and k are independent, with mean 0 and variance 1, q · k has variance d (Vaswani et al.
2017, footnote 4). The lesson measures the effect on the softmax and its gradient as well.
"""

from __future__ import annotations

from typing import NamedTuple

import minigrad as mg

from ..lesson.blocks import Chart, Lesson, Series
from ..lesson.markdown import told

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PAIRS = 4096  # query-key pairs at each width
KEYS = 16  # keys per query
SEED = 0


class Measured(NamedTuple):
    """Measurements of q · k and of q · k / √d at one width."""

    width: int
    variances: list[float]  # of the dot products
    greatest: list[float]  # the mean of the greatest among KEYS weights
    derivatives: list[float]  # ∑ⱼ |∂p/∂zⱼ| for the greatest weight p, 2 p (1 − p), averaged over queries


def measure(width: int, generator: mg.Generator) -> Measured:
    """Draw queries and keys of a given width, and measure their dot products."""
    query = mg.randn(PAIRS, width, generator=generator)
    key = mg.randn(PAIRS, width, generator=generator)
    dots = (query * key).sum(-1)  # (PAIRS,)
    groups = (query[: PAIRS // KEYS, None] * key.reshape(-1, KEYS, width)).sum(-1)  # (PAIRS / KEYS, KEYS)
    greatest, derivatives = [], []
    for scores in (groups, groups / width**0.5):
        scores = scores.detach().requires_grad_()
        p = scores.softmax(-1).amax(-1)
        (gradient,) = mg.autograd.grad(p.sum(), scores)  # p (1 − p) at the greatest, −p pⱼ at the others
        greatest.append(float(p.detach().mean()))
        derivatives.append(float(gradient.abs().sum(-1).mean()))
    return Measured(width, [float(dots.var()), float((dots / width**0.5).var())], greatest, derivatives)


def lesson() -> Lesson:
    """The worked example."""
    generator = mg.Generator().manual_seed(SEED)
    computed = [measure(width, generator) for width in WIDTHS]
    forms, of_softmax = ("q · k", "q · k / √d"), ("softmax(q · k)", "softmax(q · k / √d)")
    variances = [Series(name, WIDTHS, [m.variances[i] for m in computed]) for i, name in enumerate(forms)]
    variances.append(Series("d", WIDTHS, WIDTHS, dashed=True))
    greatest = [Series(name, WIDTHS, [m.greatest[i] for m in computed]) for i, name in enumerate(of_softmax)]
    derivatives = [Series(name, WIDTHS, [m.derivatives[i] for m in computed]) for i, name in enumerate(of_softmax)]
    title, arrives = f"The greatest of {KEYS} weights, on average", "How much of a gradient gets through the softmax"
    return told(
        globals(),
        variances=Chart("The variance of a dot product", "width d", "variance", variances, log_x=True, log_y=True),
        greatest=Chart(title, "width d", "weight", greatest, log_x=True),
        derivatives=Chart(f"{arrives}, ∑ |∂p/∂z|", "width d", "derivative", derivatives, log_x=True),
        grows=all(abs(m.variances[0] / m.width - 1) < 0.1 for m in computed),
        stays=all(abs(m.variances[1] - 1) < 0.1 for m in computed),
        lets_through=computed[-1].derivatives[1] > 5 * computed[-1].derivatives[0],
    )
