"""Three kinds of positions added to "your python code is gorgeous": counts, fractions of the length, and sines.

The word vectors have six random numbers with mean 0 and variance 1, like embeddings before training, rounded to one
digit. The sines are from Vaswani et al. 2017, section 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn

from ..lesson.blocks import Array, Block, Chart, Choice, Equation, Lesson, Mark, Matrix, Series, Steps, cellwise, number
from ..lesson.markdown import Fields, told

WORDS = ("your", "python", "code", "is", "gorgeous")
D, SEED = 6, 0
LONGER = 11  # words in a longer sentence with the same beginning
LENGTHS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
PLACES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 999)  # positions at which a word is shown
Positions = Callable[[int], Tensor]  # the length T -> (T, D)


def words() -> Tensor:
    """The vectors of the words (5, 6)."""
    generator = mg.Generator().manual_seed(SEED)
    return mg.randn(len(WORDS), D, generator=generator, dtype=mg.float64).round(decimals=1)


def counted(length: int) -> Tensor:
    """0, 1, 2 … in each of the six columns (T, 6)."""
    return mg.arange(length, dtype=mg.float64)[:, None].expand(length, D)


def fractions(length: int) -> Tensor:
    """0 at the first word and 1 at the last, in each of the six columns (T, 6)."""
    return counted(length) / (length - 1)


def sines(length: int) -> Tensor:
    """Interleaved sines and cosines with three wavelengths (T, 6)."""
    t, rate = mg.arange(length, dtype=mg.float64)[:, None], 10000 ** (-mg.arange(0, D, 2, dtype=mg.float64) / D)
    return mg.stack(((t * rate).sin(), (t * rate).cos()), -1).reshape(length, D)  # (T, 3, 2) -> (T, 6)


KINDS: dict[str, Positions] = {"counted": counted, "fractions": fractions, "sines": sines}


def step(positions: Positions, length: int) -> float:
    """The distance between the vectors of the first two positions in a text of ``length`` words."""
    table = positions(length)
    return float((table[1] - table[0]).norm())


def share(positions: Positions, place: int, length: int = 1000) -> float:
    """The word's share of the sum, |x|² / (|x|² + |p|²), at a position, averaged over our words."""
    x, p = words().norm(dim=-1) ** 2, positions(length)[place].norm() ** 2
    return float((x / (x + p)).mean())


def lesson() -> Lesson:
    """The worked example."""
    return told(
        globals(),
        **_checks(),
        words=Matrix("X", words(), WORDS, (), 1, "signs", note="5 × 6"),
        **_counted(),
        **_fractions(),
        **_sines(),
        **_compared(),
    )


def _sum(name: str, positions: Tensor, how: Callable[[int, int], str], digits: int) -> Equation:
    """X + P. ``how`` explains the number in P at (i, j)."""
    x, p = words().numpy(), positions.numpy()
    added = cellwise(f"{{:.1f}} + {{:(.{digits}f}} = {{}}", x, p, x + p)
    sources = (Mark(f"X, {name}", "cell"), Mark(f"P, {name}", "cell"))
    return Equation(
        Matrix("X", x, WORDS, (), 1, key=f"X, {name}"),
        "+",
        Matrix("P", p, [str(t) for t in range(len(p))], (), digits, "", how, example=(3, 1), key=f"P, {name}"),
        "=",
        Matrix("X + P", x + p, WORDS, (), 2, "signs", added, sources, example=(3, 1), key=f"X + P, {name}"),
    )


def _counted() -> Fields:
    lengths = [float(v) for v in counted(1000).norm(dim=-1)]
    return {
        "counted": _sum("counted", counted(len(WORDS)), lambda i, j: f"position {i}: {i}", 0),
        "fifth": lengths[4],
        "gorgeous": words()[4].norm(),
        "last": lengths[-1],
    }


def _fractions() -> Fields:
    def how(i: int, j: int) -> str:
        return f"{i} / {len(WORDS) - 1} = {number(i / (len(WORDS) - 1))}"

    options: list[Block] = []
    lengths = range(len(WORDS), LONGER + 1)
    for length in lengths:
        table = fractions(length)[:, :1].T  # all six columns are the same

        def of(_: int, j: int, length: int = length) -> str:
            return f"{j} / {length - 1} = {number(j / (length - 1))}"

        names = [*WORDS, *"…" * (length - len(WORDS))]
        options.append(Matrix(f"T = {length}", table, (), names, 2, "weights", of, example=(0, 1)))
    return {
        "fractions": _sum("fractions", fractions(len(WORDS)), how, 2),
        "step": 1 / (len(WORDS) - 1),
        "longer_step": 1 / (LONGER - 1),
        "lengths": Choice("words T", [str(n) for n in lengths], options, 0, True),
    }


def _sines() -> Fields:
    rates = [10000 ** (-2 * i / D) for i in range(D // 2)]

    def how(i: int, j: int) -> str:
        name, value = ("cos" if j % 2 else "sin"), float(sines(len(WORDS))[i, j])
        return f"{name}({i} × {rates[j // 2]:.4f}) = {number(value)}"

    norm = float(sines(1000).norm(dim=-1).max())
    waves = ", ".join(f"{2 * math.pi / rate:,.1f}" for rate in rates)
    return {"waves": waves, "sines": _sum("sines", sines(len(WORDS)), how, 2), "norm": norm}


def _compared() -> Fields:
    series = [Series(name, LENGTHS, [step(kind, length) for length in LENGTHS]) for name, kind in KINDS.items()]
    rows = [(str(t), *(number(share(kind, t), 3) for kind in KINDS.values())) for t in PLACES]
    options: list[Block] = [_place(t) for t in PLACES]
    return {
        "steps": Chart("The step from position 0 to position 1", "words of the text", "distance", series, log_x=True),
        "shares": Steps(("position", *KINDS), rows, numbers=(0, 1, 2, 3)),
        "places": Choice("position", [str(t) for t in PLACES], options, 3, True),
    }


def _place(t: int) -> Matrix:
    x = words()[-1]
    table = mg.stack([x, *(x + kind(1000)[t] for kind in KINDS.values())])
    return Matrix(f"gorgeous at {t}", table, ("only the word", *KINDS), (), 2, "signs", note="of a thousand words")


def _checks() -> Fields:
    table, norms = sines(1000), counted(1000).norm(dim=-1)
    module = nn.SinusoidalPositionalEncoding(D, 1000)
    steps = (table[1:] - table[:-1]).norm(dim=-1)
    apart: Array = mg.cdist(table, table).numpy() + 10 * np.eye(1000)
    x = words()
    alike = mg.cosine_similarity(x[0] + counted(1000)[-1], x[1] + counted(1000)[-1], dim=0)
    return {
        "grows": mg.allclose(norms.diff(), mg.full((999,), math.sqrt(D), dtype=mg.float64)) and float(alike) > 0.999,
        "moves": not mg.allclose(fractions(5)[1], fractions(LONGER)[1])
        and mg.allclose(fractions(5)[2], fractions(LONGER)[5]),
        "prefix": mg.equal(sines(5), table[:5]),
        "level": mg.allclose(table.norm(dim=-1), mg.full((1000,), math.sqrt(D / 2), dtype=mg.float64))
        and float(steps.max() - steps.min()) < 1e-9,
        "distinct": apart.min() > 0.01,
        "module": mg.allclose(module.eval()(x[None].float())[0], (x + sines(len(WORDS))).float(), atol=1e-6),
    }
