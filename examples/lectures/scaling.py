"""Why attention divides by √d: the variance of a dot product, measured over the width d.

If the elements of q and k are independent, with mean 0 and variance 1, q · k has variance d (Vaswani et al.
2017, footnote 4). What that does to the softmax and to its gradient is measured as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import minigrad as mg

from ..lesson.blocks import Chart, Checked, Lesson, Section, Series, Text

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PAIRS = 4096  # of a query and a key, at each width
KEYS = 16  # that a query is compared with
SEED = 0


class Measured(NamedTuple):
    """At one width.

    Attributes:
        variance, scaled_variance: of q · k, and of q · k / √d.
        greatest, scaled_greatest: the mean of the greatest of KEYS weights.
        slope, scaled_slope: the mean over queries of ∑ⱼ |∂p/∂zⱼ|, p being the greatest weight: 2 p (1 − p).
    """

    width: int
    variance: float
    scaled_variance: float
    greatest: float
    scaled_greatest: float
    slope: float
    scaled_slope: float


def measure(widths: Sequence[int] = WIDTHS, pairs: int = PAIRS) -> list[Measured]:
    """Draw queries and keys, and look at their dot products."""
    generator = mg.Generator().manual_seed(SEED)
    return [_at(width, pairs, generator) for width in widths]


def _at(width: int, pairs: int, generator: mg.Generator) -> Measured:
    query = mg.randn(pairs, width, generator=generator)
    key = mg.randn(pairs, width, generator=generator)
    dots = (query * key).sum(-1)  # (pairs,)
    groups = (query[: pairs // KEYS, None] * key.reshape(-1, KEYS, width)).sum(-1)  # (pairs / KEYS, KEYS)
    computed = [float(dots.var()), float((dots / width**0.5).var())]
    greatest, slopes = [], []
    for scores in (groups, groups / width**0.5):
        scores = scores.detach().requires_grad_()
        p = scores.softmax(-1).amax(-1)
        (slope,) = mg.autograd.grad(p.sum(), scores)  # p (1 − p) at the greatest, −p pⱼ at the others
        greatest.append(float(p.detach().mean()))
        slopes.append(float(slope.abs().sum(-1).mean()))
    return Measured(width, *computed, *greatest, *slopes)


def lesson() -> Lesson:
    """The worked example."""
    computed = measure()
    widths = [m.width for m in computed]
    last = computed[-1]
    return Lesson(
        "scaling",
        "Why 1/√d: the variance of a dot product",
        "A dot product of random vectors grows with their width, and a softmax of it grows sharp, until "
        "hardly any gradient comes through. Divided by √d it does not.",
        (
            Section(
                "1. The variance",
                (
                    Text(
                        "Draw all elements of a query q and of a key k at random, with mean 0 and variance 1. "
                        "A product qᵢ kᵢ then has mean 0 and variance 1 × 1 = 1, and q · k, a sum of d of them, "
                        "has variance d. So q · k / √d has variance 1, whatever the width."
                    ),
                    Text(f"Measured on {PAIRS:,} pairs at each width, drawn with minigrad's generator:"),
                    Chart(
                        "The variance of a dot product",
                        "width d",
                        "variance",
                        (
                            Series("q · k", widths, [m.variance for m in computed]),
                            Series("q · k / √d", widths, [m.scaled_variance for m in computed]),
                            Series("d", widths, widths, dashed=True),
                        ),
                        log_x=True,
                        log_y=True,
                    ),
                ),
            ),
            Section(
                "2. What it does to the weights",
                (
                    Text(
                        f"A query is compared with {KEYS} keys, and p is the greatest of its weights. Without "
                        f"the division p goes to 1 as the width grows."
                    ),
                    Chart(
                        f"The greatest of {KEYS} weights, on average",
                        "width d",
                        "weight",
                        (
                            Series("softmax(q · k)", widths, [m.greatest for m in computed]),
                            Series("softmax(q · k / √d)", widths, [m.scaled_greatest for m in computed]),
                        ),
                        log_x=True,
                    ),
                    Text(
                        "What comes back through the softmax is small then. All derivatives of p by the scores "
                        "z together, ∑ |∂p/∂z|, are 2 p (1 − p): most at p = ½, and 0 at p = 1. (So the curve "
                        "without division rises at first, while p is below ½.)"
                    ),
                    Chart(
                        "How much of a gradient gets through the softmax, ∑ |∂p/∂z|",
                        "width d",
                        "slope",
                        (
                            Series("softmax(q · k)", widths, [m.slope for m in computed]),
                            Series("softmax(q · k / √d)", widths, [m.scaled_slope for m in computed]),
                        ),
                        log_x=True,
                    ),
                ),
            ),
            Section(
                "Checked",
                (
                    Checked(
                        "the variance of q · k is d at every width, within a tenth",
                        all(abs(m.variance / m.width - 1) < 0.1 for m in computed),
                    ),
                    Checked(
                        "divided by √d it is 1 at every width, within a tenth",
                        all(abs(m.scaled_variance - 1) < 0.1 for m in computed),
                    ),
                    Checked(
                        f"at d = {last.width:,} the division lets more than five times as much gradient through",
                        last.scaled_slope > 5 * last.slope,
                    ),
                ),
            ),
        ),
    )
