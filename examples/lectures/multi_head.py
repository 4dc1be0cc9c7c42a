"""Multi-head attention on "Your cat is a lovely cat": a real module, and the shapes at every step.

The module is that of minigrad_models.translation.transformer, with the sizes of the lectures: D = 512, H = 4 heads of
width 128. Its weights are as they are before training, drawn from a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad_models.architectures.layers import MultiHeadAttention
from minigrad_models.translation.transformer import Config, initialise, positional_encoding

from ..lesson.blocks import (
    Array,
    Checked,
    Choice,
    Lesson,
    Mark,
    Matrix,
    Section,
    Steps,
    Text,
    number,
    softmax_told,
    term,
)

WORDS = ("Your", "cat", "is", "a", "lovely", "cat")
D, HEADS, SEED = 512, 4, 0
FIRST = 6  # columns of a wide matrix that are shown
NAMES = tuple(f"{i} {word}" for i, word in enumerate(WORDS))


class Attended(NamedTuple):
    """Every intermediate result: B = 1, T = 6, D = 512, H = 4, Dh = 128."""

    ids: Tensor  # (B, T)
    words: Tensor  # (B, T, D): embeddings alone
    x: Tensor  # (B, T, D): and positions
    query: Tensor  # (B, T, D)
    queries: Tensor  # (B, H, T, Dh)
    keys: Tensor
    values: Tensor
    scores: Tensor  # (B, H, T, T)
    weights: Tensor
    heads: Tensor  # (B, H, T, Dh)
    joined: Tensor  # (B, T, D)
    output: Tensor
    module: MultiHeadAttention


@mg.no_grad()
def attend(words: tuple[str, ...] = WORDS) -> Attended:
    """The module's own parts, one after another."""
    mg.manual_seed(SEED)
    vocabulary = sorted(set(WORDS))
    module = MultiHeadAttention(Config(len(vocabulary), D, HEADS))
    embedding = nn.Embedding(len(vocabulary), D)
    for part in (module, embedding):
        part.apply(initialise_all)
    ids = mg.tensor([[vocabulary.index(word) for word in words]])
    embedded = embedding(ids) * math.sqrt(D)
    x = embedded + positional_encoding(len(words), D)
    query = module.query(x)
    queries, keys, values = module.split(query), module.split(module.key(x)), module.split(module.value(x))
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
    weights = scores.softmax(-1)
    heads = weights @ values
    joined = heads.transpose(1, 2).reshape(1, len(words), D)  # (B, H, T, Dh) -> (B, T, D)
    return Attended(
        ids, embedded, x, query, queries, keys, values, scores, weights, heads, joined, module.output(joined), module
    )


def initialise_all(module: nn.Module) -> None:
    """As the transformer does; a vocabulary without padding has no row of zeros."""
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=D**-0.5)
    else:
        initialise(module)


def lesson() -> Lesson:
    """The worked example."""
    computed = attend()
    return Lesson(
        "multi-head",
        "Multi-head attention: Your cat is a lovely cat",
        f"Four attentions side by side, each on its own {D // HEADS} of {D} dimensions. The module is the "
        f"transformer's own (minigrad_models/translation/transformer.py), not yet trained. Its parts were run one "
        f"after another, and all shapes and numbers are what they gave.",
        (_shapes(computed), _input(computed), _heads(computed), _output(computed), _checks(computed)),
    )


def _shapes(computed: Attended) -> Section:
    part = computed.module
    return Section(
        "1. Shapes at every step",
        (
            Text(
                f"B = 1 sentence, T = {len(WORDS)} words, D = {D} dimensions, H = {HEADS} heads, each of "
                f"Dh = D/H = {D // HEADS} dimensions. The module has four matrices W, each with a bias."
            ),
            Steps(
                ("what", "how", "W", "letters", "shape"),
                (
                    ("words as numbers", "ids", "", "B T", _shape(computed.ids)),
                    ("embeddings + positions", "x = embedding(ids) * √D + PE", "", "B T D", _shape(computed.x)),
                    ("queries", "query(x)", _shape(part.query.weight), "B T D", _shape(computed.query)),
                    ("… divided among heads", "q = split(query(x))", "", "B H T Dh", _shape(computed.queries)),
                    ("keys, likewise", "k = split(key(x))", _shape(part.key.weight), "B H T Dh", _shape(computed.keys)),
                    (
                        "values, likewise",
                        "v = split(value(x))",
                        _shape(part.value.weight),
                        "B H T Dh",
                        _shape(computed.values),
                    ),
                    (
                        "scores of each head",
                        "s = q @ k.transpose(-1, -2) / √Dh",
                        "",
                        "B H T T",
                        _shape(computed.scores),
                    ),
                    ("weights", "a = s.softmax(-1)", "", "B H T T", _shape(computed.weights)),
                    ("mixtures of values", "m = a @ v", "", "B H T Dh", _shape(computed.heads)),
                    (
                        "joined, side by side",
                        "m.transpose(1, 2).reshape(B, T, D)",
                        "",
                        "B T D",
                        _shape(computed.joined),
                    ),
                    (
                        "mixed with each other",
                        "output(joined)",
                        _shape(part.output.weight),
                        "B T D",
                        _shape(computed.output),
                    ),
                ),
                code=(1,),
            ),
            Text(
                "`split(t)` is `t.view(B, T, H, Dh).transpose(1, 2)`: it cuts the D numbers of each word into H "
                "pieces, one for each head, and puts the heads before the words."
            ),
        ),
    )


def _input(computed: Attended) -> Section:
    words, x = computed.words[0].numpy(), computed.x[0].numpy()

    def placed(i: int, j: int) -> str:
        return f"{number(words[i, j])} + {term(x[i, j] - words[i, j])} = {number(x[i, j])}"

    return Section(
        "2. What goes in",
        (
            Text("Both cats have the same embedding. Only the positions that are added, in x, tell them apart."),
            _wide("embedding", words),
            _wide("x", x, placed, (Mark("embedding", "cell"),), (1, 0)),
        ),
    )


def _heads(computed: Attended) -> Section:
    weights, scores = computed.weights[0].numpy(), computed.scores[0].numpy()
    options = [
        Matrix(
            f"weights of head {h + 1}",
            weights[h],
            NAMES,
            WORDS,
            2,
            "weights",
            softmax_told(scores[h]),
            note="rows look at columns",
        )
        for h in range(HEADS)
    ]
    mean = Matrix("mean of all heads", weights.mean(0), NAMES, WORDS, 2, "weights")
    return Section(
        "3. Four heads look",
        (
            Text(
                f"Each head compares the words in its own {D // HEADS} dimensions, and so has its own weights. "
                f"Before training the differences are chance; training makes heads that look for different "
                f"things. (The mean is for us to look at: the module has no use for it.)"
            ),
            Choice("head", [*map(str, range(1, HEADS + 1)), "mean"], [*options, mean]),
        ),
    )


def _output(computed: Attended) -> Section:
    return Section(
        "4. What comes out",
        (
            Text(
                f"The heads' mixtures stand side by side: head 1 in the first {D // HEADS} columns, head "
                f"{HEADS} in the last. The matrix of output mixes them with each other. Each word has a vector "
                f"of {D} numbers again, as it had before."
            ),
            _wide("joined", computed.joined[0].numpy()),
            _wide("output", computed.output[0].numpy()),
        ),
    )


def _wide(
    name: str,
    values: Array,
    how: Callable[[int, int], str] | None = None,
    marks: tuple[Mark, ...] = (),
    example: tuple[int, int] = (0, 0),
) -> Matrix:
    """A vector for each word: the first numbers and the last."""
    return Matrix(name, values, NAMES, _numbers(D), 2, "signs", how, marks, FIRST, _shape(values), example=example)


def _shape(values: Tensor | Array) -> str:
    return " × ".join(map(str, values.shape))


def _numbers(count: int) -> list[str]:
    return list(map(str, range(1, count + 1)))


def _checks(computed: Attended) -> Section:
    with mg.no_grad():
        whole = computed.module(computed.x, computed.x, None)
        alone = computed.module(computed.words, computed.words, None)[0].numpy()
    output: Any = computed.output[0].numpy()
    return Section(
        "Checked",
        (
            Checked(
                "the module, called as a whole, gives the same output", mg.allclose(whole, computed.output, atol=1e-5)
            ),
            Checked(
                "each row of each head's weights sums to 1",
                mg.allclose(computed.weights.sum(-1), mg.ones(1, HEADS, len(WORDS)), atol=1e-6),
            ),
            Checked("without positions both cats come out the same", bool(np.allclose(alone[1], alone[5], atol=1e-5))),
            Checked("with positions they do not", not np.allclose(output[1], output[5], atol=1e-2)),
        ),
    )
