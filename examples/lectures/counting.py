"""Three kinds of positions added to "your python code is gorgeous": counted, as fractions of the length, as sines.

The words' vectors of six are drawn at random, with mean 0 and variance 1, as embeddings are before training, and
rounded to one digit. The sines are those of Vaswani et al. 2017, section 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn

from ..lesson.blocks import (
    Array,
    Block,
    Chart,
    Checked,
    Choice,
    Equation,
    Lesson,
    Mark,
    Matrix,
    Section,
    Series,
    Steps,
    Text,
    number,
    term,
)

WORDS = ("your", "python", "code", "is", "gorgeous")
D, SEED = 6, 0
LONGER = 11  # words of a sentence that begins like ours
LENGTHS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
PLACES = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 999)  # where one word is put
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
    """Sines and cosines of three wavelengths, side by side (T, 6)."""
    t, rate = mg.arange(length, dtype=mg.float64)[:, None], 10000 ** (-mg.arange(0, D, 2, dtype=mg.float64) / D)
    return mg.stack(((t * rate).sin(), (t * rate).cos()), -1).reshape(length, D)  # (T, 3, 2) -> (T, 6)


KINDS: dict[str, Positions] = {"counted": counted, "fractions": fractions, "sines": sines}


def step(positions: Positions, length: int) -> float:
    """The distance between the vectors of the first two positions in a text of so many words."""
    table = positions(length)
    return float((table[1] - table[0]).norm())


def share(positions: Positions, place: int, length: int = 1000) -> float:
    """How much of the sum is the word: the mean over our words of |x|² / (|x|² + |p|²), at one position."""
    x, p = words().norm(dim=-1) ** 2, positions(length)[place].norm() ** 2
    return float((x / (x + p)).mean())


def lesson() -> Lesson:
    """The worked example."""
    return Lesson(
        "counting",
        "Positions: counted, as fractions, as sines",
        "A transformer reads all words at once, and a sum over words has no order. So each word's vector gets a "
        "vector for its position added to it. Which one? Three answers, on “your python code is gorgeous”, with "
        "vectors of six numbers.",
        (_words(), _counted(), _fractions(), _sines(), _compared(), _checks()),
    )


def _words() -> Section:
    return Section(
        "1. The words",
        (
            Text(
                "A row for each word. The numbers are drawn at random, with variance 1, as they are before training. "
                "“gorgeous code is your python” has the same five rows."
            ),
            Matrix("X", words(), WORDS, (), 1, "signs", note="5 × 6"),
        ),
    )


def _sum(name: str, positions: Tensor, how: Callable[[int, int], str], digits: int) -> Equation:
    """X + P; ``how`` says what the number of P at (i, j) is."""
    x, p = words().numpy(), positions.numpy()

    def added(i: int, j: int) -> str:
        return f"{number(x[i, j], 1)} + {term(p[i, j], digits)} = {number(x[i, j] + p[i, j], 2)}"

    sources = (Mark(f"X, {name}", "cell"), Mark(f"P, {name}", "cell"))
    return Equation(
        (
            Matrix("X", x, WORDS, (), 1, key=f"X, {name}"),
            "+",
            Matrix("P", p, [str(t) for t in range(len(p))], (), digits, "", how, example=(3, 1), key=f"P, {name}"),
            "=",
            Matrix("X + P", x + p, WORDS, (), 2, "signs", added, sources, example=(3, 1), key=f"X + P, {name}"),
        )
    )


def _counted() -> Section:
    lengths = [float(v) for v in counted(1000).norm(dim=-1)]
    return Section(
        "2. Counted: 0, 1, 2 …",
        (
            Text("The position itself is added to each of the six numbers."),
            _sum("counted", counted(len(WORDS)), lambda i, j: f"position {i}: {i}", 0),
            Text(
                f"Four positions on, the word is hard to see: the vector of position 4 has length "
                f"{number(lengths[4])}, that of “gorgeous” {number(float(words()[4].norm()))}. And it goes on: a "
                f"text of a thousand words ends with a vector of length {number(lengths[-1], 0)}. All words there "
                f"look alike, and a model that was trained on short texts meets numbers that it has never seen."
            ),
        ),
    )


def _fractions() -> Section:
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
    return Section(
        "3. As fractions of the length",
        (
            Text("Divided by the number of the last position, they stay between 0 and 1."),
            _sum("fractions", fractions(len(WORDS)), how, 2),
            Text(
                "But the same word at the same place has another vector as soon as the sentence goes on. Move the "
                "slider: each further word moves all others but the first. “The next word” is a step of "
                f"{number(1 / (len(WORDS) - 1))} here, and of {number(1 / (LONGER - 1))} in a sentence of {LONGER} "
                f"words, so that no weight of a model can mean “one word back”. And a decoder, which does not know "
                f"yet how long its sentence will be, cannot compute them."
            ),
            Choice("words T", [str(n) for n in lengths], options, 0, True, printed=(0, len(lengths) - 1)),
        ),
    )


def _sines() -> Section:
    rates = [10000 ** (-2 * i / D) for i in range(D // 2)]

    def how(i: int, j: int) -> str:
        name, value = ("cos" if j % 2 else "sin"), float(sines(len(WORDS))[i, j])
        return f"{name}({i} × {rates[j // 2]:.4f}) = {number(value)}"

    norm = float(sines(1000).norm(dim=-1).max())
    waves = ", ".join(f"{2 * math.pi / rate:,.1f}" for rate in rates)
    return Section(
        "4. As sines",
        (
            Text(
                f"Each pair of columns is the sine and the cosine of the position, at its own pace: the pairs repeat "
                f"after {waves} words."
            ),
            _sum("sines", sines(len(WORDS)), how, 2),
            Text(
                f"All numbers are between −1 and 1, and every position's vector has the length √3 = {number(norm)}, "
                f"since sin² + cos² = 1 in each of three pairs. The length of the sentence is not in the formula: "
                f"position 3 is the same in every sentence. A step is the same turn everywhere. And the slow pairs "
                f"tell apart what the fast one confuses. (The lesson positions shows more of them.)"
            ),
        ),
    )


def _compared() -> Section:
    series = [Series(name, LENGTHS, [step(kind, length) for length in LENGTHS]) for name, kind in KINDS.items()]
    rows = [(str(t), *(number(share(kind, t), 3) for kind in KINDS.values())) for t in PLACES]
    options: list[Block] = [_place(t) for t in PLACES]
    return Section(
        "5. Side by side",
        (
            Text("How far apart are the first two positions, in a text of so many words?"),
            Chart("The step from position 0 to position 1", "words of the text", "distance", series, log_x=True),
            Text(
                "And how much of the sum is the word? This is |x|² / (|x|² + |p|²), the mean over the five words, at "
                "positions of a text of a thousand words."
            ),
            Steps(("position", *KINDS), rows, numbers=(0, 1, 2, 3)),
            Text("“gorgeous”, moved through that text, with each kind of position added:"),
            Choice("position", [str(t) for t in PLACES], options, 3, True, printed=(1, len(PLACES) - 1)),
        ),
    )


def _place(t: int) -> Matrix:
    x = words()[-1]
    table = mg.stack([x, *(x + kind(1000)[t] for kind in KINDS.values())])
    return Matrix(f"gorgeous at {t}", table, ("the word alone", *KINDS), (), 2, "signs", note="of a thousand words")


def _checks() -> Section:
    table, norms = sines(1000), counted(1000).norm(dim=-1)
    module = nn.SinusoidalPositionalEncoding(D, 1000)
    steps = (table[1:] - table[:-1]).norm(dim=-1)
    apart: Array = mg.cdist(table, table).numpy() + 10 * np.eye(1000)
    x = words()
    alike = mg.cosine_similarity(x[0] + counted(1000)[-1], x[1] + counted(1000)[-1], dim=0)
    return Section(
        "Checked",
        (
            Checked(
                "counted positions grow by √6 at each word, and 999 makes different words alike (cosine above 0.999)",
                mg.allclose(norms.diff(), mg.full((999,), math.sqrt(D), dtype=mg.float64)) and float(alike) > 0.999,
            ),
            Checked(
                "as fractions, position 1 of 5 words is not position 1 of 11, and position 2 of 5 is position 5 of 11",
                not mg.allclose(fractions(5)[1], fractions(LONGER)[1])
                and mg.allclose(fractions(5)[2], fractions(LONGER)[5]),
            ),
            Checked("sines of 5 words are the first five of a thousand", mg.equal(sines(5), table[:5])),
            Checked(
                "their vectors have the length √3 everywhere, and all steps are the same",
                mg.allclose(table.norm(dim=-1), mg.full((1000,), math.sqrt(D / 2), dtype=mg.float64))
                and float(steps.max() - steps.min()) < 1e-9,
            ),
            Checked("no two of a thousand positions have sines closer than 0.01", bool(apart.min() > 0.01)),
            Checked(
                "nn.SinusoidalPositionalEncoding adds the same",
                mg.allclose(module.eval()(x[None].float())[0], (x + sines(len(WORDS))).float(), atol=1e-6),
            ),
        ),
    )
