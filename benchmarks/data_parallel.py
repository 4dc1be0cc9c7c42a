"""Threads that share each operation against processes that share the batches of an update.

    python -m benchmarks.data_parallel [--updates 60] [--rounds 3]

Both train the transformer of the preset multi30k (4 + 4 layers of width 128, 6,000 tokens) with
minigrad.training, each update of as many batches as there are cores. With one process these come one after
another, and each operation is shared by all threads; with several each process has a batch of its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from .machine import describe
from .process import Answer, ask, progress
from .table import Table

LENGTH, VOCABULARY = 16, 6000
TOKENS = (1024, 2048, 4096)  # of each batch
WARM_UP = 5  # updates that are not counted


class Random:
    """Batches of random tokens."""

    def __init__(self, tokens: int) -> None:
        self.rows = tokens // LENGTH

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Source and target of each batch."""
        import minigrad as mg

        for i in range(start, 1000):
            draw = np.random.default_rng((number, i))
            source = draw.integers(4, VOCABULARY, (self.rows, LENGTH))
            yield mg.tensor(source), mg.tensor(draw.integers(4, VOCABULARY, (self.rows, LENGTH + 1)))


def measure(library: str, processes: int, accumulate: int, tokens: int, updates: int) -> Answer:
    """{"ms": median milliseconds of an update}"""
    import minigrad as mg
    from minigrad.models.transformer import Config, Transformer
    from minigrad.training import Settings, Trainer, read_log

    mg.manual_seed(0)
    model = Transformer(Config(VOCABULARY, 128, 4, 4, 256, 0.3, norm_first=True))
    optimizer = mg.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    settings = Settings(
        steps=updates + WARM_UP,
        accumulate=accumulate,
        processes=processes,
        log_every=1,
        progress=False,
        save_seconds=None,
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model,
            optimizer,
            Random(tokens),
            lambda model, batch: (model.loss(*batch, 0.1), float(tokens)),
            folder=folder,
            settings=settings,
        )
        trainer.fit()
        seconds = [line["seconds"] for line in read_log(folder)]
    return {"ms": 1000 * statistics.median(np.diff(seconds[WARM_UP:]).tolist())}


def main(arguments: list[str]) -> int:
    """Measure in turns, and print a table."""
    p = argparse.ArgumentParser(
        prog="python -m benchmarks.data_parallel",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("--updates", type=int, default=60, help="of each measurement (default: 60)")
    p.add_argument("--rounds", type=int, default=3, help="default: 3")
    p.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: the cores")
    given = p.parse_args(arguments)
    if min(given.updates, given.rounds) < 1 or given.processes < 2:
        p.error("at least 1 update, 1 round and 2 processes are needed")
    print(describe(), flush=True)
    print(table(given.updates, given.rounds, given.processes).text())
    return 0


def table(updates: int, rounds: int, processes: int) -> Table:
    """A row for each size of a batch; medians of the rounds."""
    columns = ("tokens of a batch", "1 process, ms", f"{processes} processes, ms", "ratio")
    result = Table(f"An update of {processes} batches", columns, (",d", ".0f", ".0f", ".2f"))
    for tokens in TOKENS:
        found: dict[int, list[float]] = {1: [], processes: []}
        for n in range(rounds):
            for count, times in found.items():
                progress(f"{tokens:,} tokens, {count} processes, round {n + 1} of {rounds}")
                answer = ask(
                    "benchmarks.data_parallel:measure",
                    "minigrad",
                    processes=count,
                    accumulate=processes,
                    tokens=tokens,
                    updates=updates,
                )
                times.append(answer["ms"])
        one, several = (statistics.median(times) for times in found.values())
        result.add(tokens, one, several, several / one)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
