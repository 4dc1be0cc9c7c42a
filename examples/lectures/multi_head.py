"""Multi-head attention on "Your cat is a lovely cat": a real module, and the shapes at every step.

The module is that of models/transformer.py, with the sizes of the lectures: D = 512, H = 4 heads of width
128. Its weights are as they are before training, drawn from a fixed seed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from models.transformer import Config, MultiHeadAttention, initialise, positional_encoding

from .lesson import Checked, Choice, Lesson, Mark, Matrix, Section, Steps, Text, softmax_told

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
        ids, embedded, x, query, queries, keys, values, scores, weights, heads, joined, module.output(joined),
        module,
    )  # fmt: skip


def initialise_all(module: nn.Module) -> None:
    """As the transformer does; a vocabulary without padding has no row of zeros."""
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=D**-0.5)
    else:
        initialise(module)


def lesson() -> Lesson:
    """The worked example."""
    found = attend()
    return Lesson(
        "multi-head", "Multi-head attention: Your cat is a lovely cat",
        "Four attentions side by side, each on its own 128 of 512 dimensions. The module is the "
        "transformer's own (models/transformer.py), not yet trained; all shapes and numbers were read off it "
        "while it ran.",
        (_shapes(found), _input(found), _heads(found), _checks(found)),
    )  # fmt: skip


def _shapes(found: Attended) -> Section:
    def shape(tensor: Tensor) -> str:
        return " × ".join(map(str, tensor.shape))

    return Section("1. Shapes at every step", (
        Text("B = 1 sentence, T = 6 words, D = 512, H = 4 heads, D/H = 128."),
        Steps(("what", "how", "letters", "shape"), (
            ("words as numbers", "ids", "B T", shape(found.ids)),
            ("embeddings and positions", "x = embedding(ids) * √D + positions", "B T D", shape(found.x)),
            ("queries", "query(x)", "B T D", shape(found.query)),
            ("… divided among heads", "q = query(x).view(B, T, H, D/H).transpose(1, 2)", "B H T D/H",
             shape(found.queries)),
            ("keys, likewise", "k = split(key(x))", "B H T D/H", shape(found.keys)),
            ("values, likewise", "v = split(value(x))", "B H T D/H", shape(found.values)),
            ("scores of each head", "s = q @ k.transpose(-1, -2) / √(D/H)", "B H T T", shape(found.scores)),
            ("weights", "a = s.softmax(-1)", "B H T T", shape(found.weights)),
            ("mixtures of values", "a @ v", "B H T D/H", shape(found.heads)),
            ("heads side by side again", ".transpose(1, 2).reshape(B, T, D)", "B T D", shape(found.joined)),
            ("mixed by a last matrix", "output(…)", "B T D", shape(found.output)),
        ), code=(1,)),
    ))  # fmt: skip


def _input(found: Attended) -> Section:
    return Section("2. What goes in", (
        Text("Both cats have the same embedding. Only the positions that are added tell them apart."),
        Matrix("embedding", found.words[0], NAMES, _numbers(D), 2, "signs", first=FIRST, note="6 × 512"),
        Matrix("x", found.x[0], NAMES, _numbers(D), 2, "signs", first=FIRST, note="6 × 512",
               marks=(Mark("embedding", "cell"),)),
    ))  # fmt: skip


def _heads(found: Attended) -> Section:
    weights, scores = found.weights[0].numpy(), found.scores[0].numpy()
    options = [
        Matrix(f"weights of head {h + 1}", weights[h], NAMES, WORDS, 2, "weights", softmax_told(scores[h]),
               note="rows look at columns")
        for h in range(HEADS)
    ]  # fmt: skip
    mean = Matrix("mean of all heads", weights.mean(0), NAMES, WORDS, 2, "weights")
    return Section("3. Four heads look", (
        Text("Each head compares the words in its own 128 dimensions, and so has its own weights. Before "
             "training the differences are chance; training makes heads that look for different things."),
        Choice("head", [*map(str, range(1, HEADS + 1)), "mean"], [*options, mean]),
        Matrix("output", found.output[0], NAMES, _numbers(D), 2, "signs", first=FIRST, note="6 × 512"),
    ))  # fmt: skip


def _numbers(count: int) -> list[str]:
    return list(map(str, range(1, count + 1)))


def _checks(found: Attended) -> Section:
    with mg.no_grad():
        whole = found.module(found.x, found.x, None)
        alone = found.module(found.words, found.words, None)[0].numpy()
    output: Any = found.output[0].numpy()
    return Section("Checked", (
        Checked("the module, called as a whole, gives the same "
                "output", mg.allclose(whole, found.output, atol=1e-5)),
        Checked("each row of each head's weights sums to 1",
                mg.allclose(found.weights.sum(-1), mg.ones(1, HEADS, len(WORDS)), atol=1e-6)),
        Checked("without positions both cats come out the "
                "same", bool(np.allclose(alone[1], alone[5], atol=1e-5))),
        Checked("with positions they do not", not np.allclose(output[1], output[5], atol=1e-2)),
    ))  # fmt: skip
