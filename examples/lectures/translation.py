"""Training and inference for "I love you very much → Ti amo molto", step by step, with a transformer trained here.

The model is from models/transformer.py (Vaswani et al. 2017), small enough to learn eight pairs in a second. Training
reads the correct words and predicts all next words in one pass (teacher forcing: Williams and Zipser 1989). Inference
reads the words that it has written itself, in one pass per word.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.nn import functional as F
from minigrad.viz.attention import attention
from minigrad_models.text import WordTokenizer
from minigrad_models.text.tokenizer import BOS, EOS, PAD
from minigrad_models.training.progress import Progress
from minigrad_models.translation.transformer import Config, Transformer, pad

from ..lesson.blocks import Array, Block, Chart, Choice, Lesson, Matrix, Series, Steps, number
from ..lesson.markdown import Fields, told

SENTENCE, TRANSLATION = "I love you very much", "Ti amo molto"
PAIRS = {
    SENTENCE: TRANSLATION,
    "I love you": "Ti amo",
    "You love me": "Mi ami",
    "You love me very much": "Mi ami molto",
    "I love cats": "Amo i gatti",
    "You love cats": "Ami i gatti",
    "I like cats": "Mi piacciono i gatti",
    "I like cats very much": "Mi piacciono molto i gatti",
}
SEED, UPDATES, RATE = 0, 60, 5e-3
LOOKS = (0, 5, 10, 15, 20, 30, 40, 60)  # numbers of updates after which the model is recorded
NAMES = {PAD: "PAD", BOS: "SOS", EOS: "EOS"}
MOST = 10  # tokens in a translation


class Look(NamedTuple):
    """The model after some updates."""

    probabilities: Array  # of each word in the vocabulary at each position, after the correct words (T, V)
    text: str  # its own output


class Trained(NamedTuple):
    """The model after all updates; ``losses`` contains the mean loss of each update."""

    model: Transformer
    english: WordTokenizer
    italian: WordTokenizer
    looks: dict[int, Look]
    losses: list[float]


class Written(NamedTuple):
    """A step of inference: the tokens that already exist, and the probabilities of the next token (V,)."""

    tokens: list[int]
    probabilities: Array

    @property
    def chosen(self) -> int:
        """The most likely token."""
        return int(self.probabilities.argmax())


def tokens(trained: Trained) -> tuple[list[int], list[int]]:
    """The sentence with its EOS (S), and its translation from SOS to EOS (T + 1)."""
    return _ids(trained.english, trained.italian, SENTENCE)


def _ids(english: WordTokenizer, italian: WordTokenizer, sentence: str) -> tuple[list[int], list[int]]:
    return [*english.encode(sentence), EOS], [BOS, *italian.encode(PAIRS[sentence]), EOS]


def train(updates: int = UPDATES) -> Trained:
    """Learn PAIRS from scratch with Adam. Each update uses a single batch of all pairs."""
    mg.manual_seed(SEED)
    english, italian = WordTokenizer.train(PAIRS), WordTokenizer.train(PAIRS.values())
    config = Config(len(italian), 32, 2, 1, 64, dropout=0.0, positions=16, source_vocabulary=len(english))
    trained = Trained(Transformer(config), english, italian, {}, [])
    sources, targets = (pad(list(ids)) for ids in zip(*(_ids(english, italian, s) for s in PAIRS), strict=True))
    adam, count, start = mg.optim.Adam(trained.model.parameters(), lr=RATE), targets.numel(), time.monotonic()
    with Progress(updates, math.inf) as progress:
        for update in range(updates):
            if update in LOOKS:
                trained.looks[update] = look(trained)
            loss = trained.model.loss(sources, targets)
            adam.zero_grad()
            loss.backward()
            adam.step()
            trained.losses.append(loss.item())
            progress.advance(loss.item(), count, time.monotonic() - start)
    trained.looks[updates] = look(trained)
    trained.model.eval()
    return trained


def look(trained: Trained) -> Look:
    """Record the model's predictions after the correct words, and its own output."""
    steps = write(trained)
    text = " ".join(name(trained.italian, i) for i in (*steps[-1].tokens[1:], steps[-1].chosen))
    return Look(teacher_forced(trained).numpy(), text)


@mg.no_grad()
def teacher_forced(trained: Trained) -> Tensor:
    """Training's single pass: the probabilities (T, V) of the token after each of SOS Ti amo molto."""
    source, target = tokens(trained)
    return trained.model(mg.tensor([source]), mg.tensor([target[:-1]]))[0].softmax(-1)


@mg.no_grad()
def write(trained: Trained, sentence: str = SENTENCE) -> list[Written]:
    """The steps of inference: the encoder runs once, the decoder once per token (the most likely), until EOS."""
    model = trained.model
    memory, mask = model.encode(mg.tensor([[*trained.english.encode(sentence), EOS]]))
    output, steps = [BOS], list[Written]()
    while output[-1] != EOS and len(steps) < MOST:
        states = model.decode(mg.tensor([output]), memory, mask)  # (1, T, D)
        logits = F.linear(states[0, -1], model.embedding.weight)  # (V,)
        steps.append(Written(list(output), logits.softmax(-1).numpy()))
        output.append(steps[-1].chosen)
    return steps


def name(tokenizer: WordTokenizer, i: int) -> str:
    """A token in the notation of the lectures."""
    return NAMES.get(i, tokenizer.token(i))


def names(tokenizer: WordTokenizer, ids: Sequence[int]) -> list[str]:
    """Tokens in the notation of the lectures."""
    return [name(tokenizer, i) for i in ids]


def lesson() -> Lesson:
    """The worked example."""
    trained = train()
    return told(
        globals(),
        **_checks(trained),
        **_words(trained),
        **_forced(trained),
        **_loss(trained),
        **_inference(trained),
        training=passes(trained, teacher_forced),
        inference=passes(trained, write),
        texts=Steps(
            ("updates", "written"), [(str(update), view.text) for update, view in trained.looks.items()], numbers=(0,)
        ),
        count=len(PAIRS),
    )


def _words(trained: Trained) -> Fields:
    source, target = tokens(trained)
    rows = []
    for what, ids, tokenizer in (
        ("encoder reads", source, trained.english),
        ("decoder reads", target[:-1], trained.italian),
        ("target", target[1:], trained.italian),
    ):
        padding = [""] * (6 - len(ids))
        rows += [(what, *names(tokenizer, ids), *padding), ("as numbers", *map(str, ids), *padding)]
    return {
        "tokens": Steps(("", *map(str, range(6))), rows),
        "config": trained.model.config,
        "parameters": sum(p.numel() for p in trained.model.parameters()),
        "english": len(trained.english),
        "italian": len(trained.italian),
        "pairs": Steps(("English", "Italian"), list(PAIRS.items())),
    }


def _forced(trained: Trained) -> Fields:
    _, target = tokens(trained)
    words = names(trained.italian, target)
    allowed = mg.ones(len(words) - 1, len(words) - 1).tril()
    rows = [(str(t), " ".join(words[: t + 1]), words[t + 1]) for t in range(len(words) - 1)]

    def how(i: int, j: int) -> str:
        sees, sign = ("sees", "≤") if j <= i else ("does not see", ">")
        return f"“{words[i]}” {sees} “{words[j]}”: position {j} {sign} {i}"

    return {
        "places": Steps(("position", "the decoder sees", "target"), rows, numbers=(0,)),
        "mask": Matrix("sees", allowed, words[:-1], words[:-1], 0, "weights", how, note="1: yes", example=(1, 2)),
    }


def _loss(trained: Trained) -> Fields:
    _, target = tokens(trained)
    words, columns = names(trained.italian, target), names(trained.italian, range(len(trained.italian)))
    options: list[Block] = [
        _probabilities(u, view.probabilities, words, target, columns) for u, view in trained.looks.items()
    ]
    updates = list(map(str, trained.looks))
    chances = np.stack([_of_targets(view.probabilities, target) for view in trained.looks.values()], 1)  # (T, looks)

    def how(i: int, j: int) -> str:
        return f"−ln {number(chances[i, j], 4)} = {number(-math.log(chances[i, j]), 3)}"

    means = " → ".join(number(v, 3) for v in -np.log(chances).mean(0))
    curve = Series("mean of all tokens", range(0, UPDATES, 2), trained.losses[::2])
    return {
        "looks": Choice("updates", updates, options, len(updates) - 1, True),
        "loss": Matrix("loss", -np.log(chances), words[1:], updates, 3, "", how, example=(1, 2)),
        "means": means,
        "curve": Chart("The loss in training", "updates", "loss", [curve]),
    }


def _of_targets(probabilities: Array, target: Sequence[int]) -> Array:
    """The probability of the target at each position (T,)."""
    return probabilities[np.arange(len(target) - 1), target[1:]]


def _probabilities(update: int, table: Array, words: list[str], target: list[int], columns: list[str]) -> Matrix:
    def how(i: int, j: int) -> str:
        if j != target[i + 1]:
            return f"after “{words[i]}”, “{columns[j]}”: {number(table[i, j], 4)}"
        loss = number(-math.log(table[i, j]), 3)
        return f"after “{words[i]}” the target is “{columns[j]}”: loss −ln {number(table[i, j], 4)} = {loss}"

    rows = [f"{a} → {b}" for a, b in itertools.pairwise(words)]
    return Matrix(
        f"after {update} updates", table, rows, columns, 2, "weights", how, note="read → target", example=(0, target[1])
    )


def _inference(trained: Trained) -> Fields:
    source, _ = tokens(trained)
    steps = write(trained)
    rows = []
    for i, step in enumerate(steps):
        best = np.argsort(-step.probabilities)[:3].tolist()
        shares = [f"{name(trained.italian, j)} {number(step.probabilities[j], 3)}" for j in best]
        rows.append((str(i + 1), " ".join(names(trained.italian, step.tokens)), *shares))
    output = names(trained.italian, [step.chosen for step in steps])
    read, note = names(trained.english, source), "rows look at columns"
    # the mean over the heads of each step (T, S)
    weights = attention(trained.model, mg.tensor([source]), mg.tensor([steps[-1].tokens])).weights("cross")[-1].mean(0)
    return {
        "steps": Steps(("step", "the decoder reads", "likeliest, written", "second", "third"), rows, numbers=(0,)),
        "cross_attention": Matrix("cross-attention", weights, output, read, 2, "weights", note=note),
    }


def passes(trained: Trained, work: Callable[[Trained], object]) -> tuple[int, int]:
    """How often the encoder and the decoder run, counted by calls of their first layers."""
    calls: Counter[nn.Module] = Counter()

    def count(layer: nn.Module, *_: object) -> None:
        calls[layer] += 1

    layers = trained.model.encoder[0], trained.model.decoder[0]
    handles = [layer.register_forward_pre_hook(count) for layer in layers]
    try:
        work(trained)
    finally:
        for handle in handles:
            handle.remove()
    return calls[layers[0]], calls[layers[1]]


def _checks(trained: Trained) -> Fields:
    source, target = tokens(trained)
    steps, forced = write(trained), teacher_forced(trained)
    chances = _of_targets(forced.numpy(), target)
    with mg.no_grad():
        loss = float(trained.model.loss(mg.tensor([source]), mg.tensor([target])))
        other = trained.model(mg.tensor([source]), mg.tensor([[*target[:-2], trained.italian.ids["gatti"]]]))[0]
        cached = trained.model.greedy(mg.tensor([source]))[0].tolist()
    untrained = trained.looks[0].probabilities
    return {
        "untrained": untrained.argmax(-1).tolist() == target[:-1],
        "by_heart": all([s.chosen for s in write(trained, text)] == _ids(*trained[1:3], text)[1][1:] for text in PAIRS),
        "mean": abs(loss + float(np.log(chances).mean())) < 1e-5,
        "same_pass": np.abs(np.stack([s.probabilities for s in steps]) - forced.numpy()).max() < 1e-5,
        "unchanged": mg.allclose(other[:-1].softmax(-1), forced[:-1], atol=1e-6)
        and not mg.allclose(other[-1].softmax(-1), forced[-1], atol=1e-5),
        "passes_counted": passes(trained, teacher_forced) == (1, 1) and passes(trained, write) == (1, len(target) - 1),
        "cached": cached == target[1:],
    }
