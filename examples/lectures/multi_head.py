"""Multi-head attention on "Your cat is a lovely cat": a real module and the shapes at every step.

The module is from minigrad_models.translation.transformer, with the sizes in the lectures: D = 512, H = 4 heads of
width 128. Its weights are untrained, drawn from a fixed seed.
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

from ..lesson.blocks import Array, Choice, Lesson, Mark, Matrix, cellwise, softmax_told
from ..lesson.markdown import Fields, told

WORDS = ("Your", "cat", "is", "a", "lovely", "cat")
D, HEADS, SEED = 512, 4, 0
DH = D // HEADS  # 128, the width of a head
FIRST = 6  # columns of a wide matrix to show
NAMES = tuple(f"{i} {word}" for i, word in enumerate(WORDS))


class Attended(NamedTuple):
    """Every intermediate result: B = 1, T = 6, D = 512, H = 4, Dh = 128."""

    ids: Tensor  # (B, T)
    words: Tensor  # (B, T, D): only the embeddings
    x: Tensor  # (B, T, D): with positions
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
    """Run the parts of the module one by one."""
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
    """Initialize as in the transformer. A vocabulary without padding has no row of zeros."""
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=D**-0.5)
    else:
        initialise(module)


def lesson() -> Lesson:
    """The worked example."""
    computed = attend()
    return told(
        globals(),
        **_checks(computed),
        **_shapes(computed),
        **_input(computed),
        head=_heads(computed),
        joined=_wide("joined", computed.joined[0].numpy()),
        output=_wide("output", computed.output[0].numpy()),
    )


def _shapes(computed: Attended) -> Fields:
    """The shapes of all results and of the module's matrices, in the page format."""
    shapes = {name: _shape(value) for name, value in computed._asdict().items() if isinstance(value, Tensor)}
    return {"words": len(WORDS), "shapes": shapes, "W": _shape(computed.module.query.weight)}


def _input(computed: Attended) -> Fields:
    words, x = computed.words[0].numpy(), computed.x[0].numpy()
    placed = cellwise("{} + {:(} = {}", words, x - words, x)
    return {
        "embedding": _wide("embedding", words),
        "placed": _wide("x", x, placed, (Mark("embedding", "cell"),), (1, 0)),
    }


def _heads(computed: Attended) -> Choice:
    weights, scores = computed.weights[0].numpy(), computed.scores[0].numpy()
    note = "rows look at columns"
    options = [
        Matrix(f"weights of head {h + 1}", weights[h], NAMES, WORDS, 2, "weights", softmax_told(scores[h]), note=note)
        for h in range(HEADS)
    ]
    mean = Matrix("mean of all heads", weights.mean(0), NAMES, WORDS, 2, "weights")
    return Choice("head", [*map(str, range(1, HEADS + 1)), "mean"], [*options, mean])


def _wide(
    name: str,
    values: Array,
    how: Callable[[int, int], str] | None = None,
    marks: tuple[Mark, ...] = (),
    example: tuple[int, int] = (0, 0),
) -> Matrix:
    """A vector for each word: the first numbers and the last number."""
    columns = [str(j + 1) for j in range(D)]
    return Matrix(name, values, NAMES, columns, 2, "signs", how, marks, FIRST, _shape(values), example=example)


def _shape(values: Tensor | Array) -> str:
    return " × ".join(map(str, values.shape))


def _checks(computed: Attended) -> Fields:
    with mg.no_grad():
        whole = computed.module(computed.x, computed.x, None)
        unplaced = computed.module(computed.words, computed.words, None)[0].numpy()
    output: Any = computed.output[0].numpy()
    return {
        "whole": mg.allclose(whole, computed.output, atol=1e-5),
        "sums": mg.allclose(computed.weights.sum(-1), mg.ones(1, HEADS, len(WORDS)), atol=1e-6),
        "same": np.allclose(unplaced[1], unplaced[5], atol=1e-5),
        "apart": not np.allclose(output[1], output[5], atol=1e-2),
    }
