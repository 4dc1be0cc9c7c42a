"""The memory that training on a large corpus takes: two million invented sentence pairs, within 2 GiB.

    python -m benchmarks.large_corpus [--pairs 2000000] [--updates 200]

It writes the pairs to a temporary folder (some 300 MB), and then does in a new process what a training
does: reads them, learns subwords, encodes to files, and trains a transformer. After each stage stand the
memory that the process holds and the most it has had, as the system counts: pages of mapped files are
among it, though the system may take these back at any time. The last row is a process of its own: the command
that a person gives, minigrad train.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .machine import describe
from .process import Answer, ask, peak_mebibytes, progress, resident_mebibytes
from .program import parser, show
from .table import Table

LIMIT = 2048.0  # MiB
WORDS = 200_000  # of each language, as many as Europarl has, with Zipf's frequencies
MEAN_WORDS = 12  # of a sentence
SOURCE_SOUNDS = ("bdfgklmnprst", "aeiou")
TARGET_SOUNDS = ("chjqvwxz", "äeïöu")
BLOCK = 10_000  # pairs written at once


# The corpus ----------------------------------------------------------------------------------------------


def write_corpus(folder: Path, pairs: int, seed: int = 0) -> None:
    """Write train.x and train.y: every word of x has its word in y, and sentences run the other way round."""
    draw = np.random.default_rng(seed)
    rows = [invented(WORDS, *sounds) for sounds in (SOURCE_SOUNDS, TARGET_SOUNDS)]
    chances = np.cumsum(1 / (np.arange(WORDS) + 2.7))
    with (
        (folder / "train.x").open("w", encoding="utf-8") as source,
        (folder / "train.y").open("w", encoding="utf-8") as target,
    ):
        for start in range(0, pairs, BLOCK):
            progress(f"writing pair {start:,} of {pairs:,}")
            ends = np.cumsum(1 + draw.poisson(MEAN_WORDS - 1, min(BLOCK, pairs - start)))
            words = np.searchsorted(chances, draw.random(ends[-1]) * chances[-1]).tolist()
            for first, last in itertools.pairwise([0, *ends.tolist()]):
                sentence = words[first:last]
                source.write(" ".join([rows[0][i] for i in sentence]) + ".\n")
                target.write(" ".join([rows[1][i] for i in reversed(sentence)]) + ".\n")


def invented(count: int, consonants: str, vowels: str) -> list[str]:
    """Different words, the first ones short, as a language's commonest are."""
    syllables = [c + v for c in consonants for v in vowels]
    lengths = (itertools.product(syllables, repeat=n) for n in itertools.count(1))
    return ["".join(word) for word in itertools.islice(itertools.chain.from_iterable(lengths), count)]


# The child -----------------------------------------------------------------------------------------------


def measure(library: str, folder: str, updates: int, vocabulary: int = 10_000) -> Answer:
    """Train on a folder's corpus: {"stages": [[what, seconds, MiB held, most MiB], ...], and more}."""
    stages: list[tuple[str, float, float, float]] = []

    def stage(name: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        measured = work()
        stages.append((name, time.perf_counter() - start, resident_mebibytes(), peak_mebibytes()))
        return measured

    from minigrad_models import text

    stage("import", lambda: None)
    pairs = stage("read", lambda: text.read_pairs([Path(folder)], "x", "y")["train"])
    train = text.TokenizerPair.train
    tokenizers = stage("learn subwords", lambda: train(pairs.source, pairs.target, vocabulary=vocabulary))
    ids = Path(folder) / "ids"
    build = text.EncodedPairs.build
    encoded = stage("encode", lambda: build(pairs, tokenizers, longest=256, folder=ids, progress=False))
    batches = text.TokenBatches(encoded.lengths)
    epoch = stage("an epoch's order", lambda: sum(1 for _ in batches.epoch(0)))
    losses = stage("train", lambda: list(losses_of(encoded, batches, len(tokenizers.source), updates)))
    stage("an epoch's pairs", lambda: sum(len(encoded[i]) for rows in batches.epoch(1) for i in rows))
    return {
        "stages": stages,
        "pairs": len(encoded),
        "tokens": int(encoded.lengths.sum(dtype=np.int64)),
        "batches": epoch,
        "losses": [losses[0], losses[-1]],
    }


def losses_of(encoded: Any, batches: Any, vocabulary: int, updates: int) -> Iterator[float]:
    """Train a transformer of Multi30k's size (2.6 million parameters); the loss at each update."""
    import minigrad as mg
    from minigrad_models.translation.transformer import Config, Transformer, pad

    mg.manual_seed(0)
    model = Transformer(Config(vocabulary, d_model=128, heads=4, layers=4, d_ff=256, dropout=0.3))
    adam = mg.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    for rows in itertools.islice(batches.epoch(0), updates):
        source, target = (pad(list(side)) for side in zip(*(encoded[i] for i in rows), strict=True))
        loss = model.loss(source, target, label_smoothing=0.1)
        adam.zero_grad()
        loss.backward()
        adam.step()
        yield loss.item()


def command(library: str, folder: str, updates: int, vocabulary: int = 10_000) -> Answer:
    """``minigrad train`` on a folder's corpus: a row of the table."""
    from minigrad_models.commands.minigrad_command import main as translate

    start = time.perf_counter()
    options = ["--data", folder, "--source", "x", "--target", "y", "--run", str(Path(folder) / "run")]
    sizes = ["--steps", str(updates), "--warm-up", str(updates // 2), "--vocabulary", str(vocabulary)]
    with contextlib.redirect_stdout(sys.stderr):  # the answer goes to stdout
        status = translate(["train", *options, *sizes])
    if status:
        raise RuntimeError(f"the command ended with status {status}")
    seconds = time.perf_counter() - start
    return {"row": ("train, the command", seconds, resident_mebibytes(), peak_mebibytes())}


# The command ---------------------------------------------------------------------------------------------


def table(measured: Answer) -> Table:
    """A row for each stage."""
    title = f"A corpus of {measured['pairs']:,} pairs, {measured['tokens']:,} tokens, {measured['batches']:,} batches"
    result = Table(title, ("stage", "s", "MiB held", "most MiB so far"), ("", ".1f", ".0f", ".0f"))
    for row in measured["stages"]:
        result.add(*row)
    most = max(row[3] for row in measured["stages"])
    first, last = measured["losses"]
    result.notes.append(f"loss {first:.2f} at first, {last:.2f} at last")
    result.notes.append(f"{most:,.0f} MiB of {LIMIT:,.0f}: {'fits' if most <= LIMIT else 'TOO MUCH'}")
    return result


def main() -> int:
    """Make the corpus, measure, and print; 1 if it took more memory than the limit."""
    options = parser("benchmarks.large_corpus", __doc__, pairs=2_000_000, updates=200).parse_args()
    print(describe(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), options.pairs)
        progress("measuring")
        measured = ask("benchmarks.large_corpus:measure", "minigrad", folder=folder, updates=options.updates)
        progress("the command")
        whole = ask("benchmarks.large_corpus:command", "minigrad", folder=folder, updates=options.updates)
        measured["stages"].append(whole["row"])
    show(table(measured))
    return int(max(row[3] for row in measured["stages"]) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
