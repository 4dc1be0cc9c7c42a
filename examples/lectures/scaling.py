"""Why attention divides by √d: the variance of a dot product, measured over the width d.

If the elements of q and k are independent, with mean 0 and variance 1, q · k has variance d (Vaswani et al.
2017, footnote 4). What that does to the softmax and to its gradient is measured as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import minigrad as mg

from ..lesson.blocks import Chart, Lesson, Series
from ..lesson.markdown import told

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
    last = computed[-1]

    def lines(attribute: str, form: str = "softmax({})") -> list[Series]:
        """What was measured over the width, of q · k and of q · k / √d."""
        return [
            Series(form.format(dot), WIDTHS, [getattr(m, prefix + attribute) for m in computed])
            for prefix, dot in (("", "q · k"), ("scaled_", "q · k / √d"))
        ]

    theory, slope = (
        Series("d", WIDTHS, WIDTHS, dashed=True),
        "How much of a gradient gets through the softmax, ∑ |∂p/∂z|",
    )
    variances = (*lines("variance", "{}"), theory)
    return told(
        globals(),
        variances=Chart("The variance of a dot product", "width d", "variance", variances, log_x=True, log_y=True),
        greatest=Chart(
            f"The greatest of {KEYS} weights, on average", "width d", "weight", lines("greatest"), log_x=True
        ),
        slopes=Chart(slope, "width d", "slope", lines("slope"), log_x=True),
        grows=all(abs(m.variance / m.width - 1) < 0.1 for m in computed),
        stays=all(abs(m.scaled_variance - 1) < 0.1 for m in computed),
        lets_through=last.scaled_slope > 5 * last.slope,
    )
