"""Threads that share each operation against ranks that share the batches of an update.

    python -m benchmarks.data_parallel [--updates 60] [--rounds 3]

Both train the transformer of the preset multi30k (4 + 4 layers of width 128, 6,000 tokens) with
minigrad_models.training, each update of as many batches as there are cores. With one rank these come one after
another, and each operation is shared by all threads; with several each rank has a batch of its own.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.distributed.launch import command
from minigrad_models.training import Settings, Trainer, read_log
from minigrad_models.translation.transformer import Config, Transformer

from .machine import describe
from .process import Answer, Failed, alternate, ask, middle
from .program import parser, show
from .table import Table, ratio

LENGTH, VOCABULARY = 16, 6000
TOKENS = (1024, 2048, 4096)  # of each batch
WARM_UP = 5  # updates that are not counted


class Random:
    """Batches of random tokens."""

    def __init__(self, tokens: int) -> None:
        self.rows = tokens // LENGTH

    def epoch(self, number: int, start: int = 0) -> Iterator[Any]:
        """Source and target of each batch."""
        for i in range(start, 1000):
            draw = np.random.default_rng((number, i))
            source = draw.integers(4, VOCABULARY, (self.rows, LENGTH))
            yield mg.tensor(source), mg.tensor(draw.integers(4, VOCABULARY, (self.rows, LENGTH + 1)))


def measure(library: str, ranks: int, accumulate: int, tokens: int, updates: int) -> Answer:
    """{"ms": median milliseconds of an update}"""
    with tempfile.TemporaryDirectory() as folder:
        words = [folder, str(accumulate), str(tokens), str(updates)]
        program = "import sys; from benchmarks.data_parallel import train; train(*sys.argv[1:])"
        start = command([sys.executable, "-c", program, *words], ranks)
        if subprocess.run(start, check=False).returncode:
            raise Failed(f"{ranks} ranks could not train")
        seconds = [line["seconds"] for line in read_log(folder)]
    return {"ms": 1000 * statistics.median(np.diff(seconds[WARM_UP:]).tolist())}


def train(folder: str, accumulate: str, tokens: str, updates: str) -> None:
    """As one of the ranks, or alone."""
    mg.distributed.init_process_group()
    mg.manual_seed(0)
    model = Transformer(Config(VOCABULARY, 128, 4, 4, 256, 0.3, norm_first=True))
    optimizer = mg.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    settings = Settings(
        steps=int(updates) + WARM_UP, accumulate=int(accumulate), log_every=1, progress=False, save_seconds=None
    )
    loss = lambda model, batch: (model.loss(*batch, 0.1), float(tokens))
    Trainer(model, optimizer, Random(int(tokens)), loss, folder=folder, settings=settings).fit()
    mg.distributed.destroy_process_group()


def table(updates: int, rounds: int, ranks: int) -> Table:
    """A row for each size of a batch; medians of the rounds."""
    columns = ("tokens of a batch", "1 rank, ms", f"{ranks} ranks, ms", "ratio")
    result = Table(f"An update of {ranks} batches", columns, (",d", ".0f", ".0f", ".2f"))
    for tokens in TOKENS:
        options: dict[str, Any] = {"accumulate": ranks, "tokens": tokens, "updates": updates}
        answers = alternate(
            ("1", str(ranks)),
            rounds,
            lambda count: ask("benchmarks.data_parallel:measure", "minigrad", ranks=int(count), **options),  # noqa: B023
            f"ranks on batches of {tokens:,} tokens",
        )
        times = [middle(each, "ms") for each in answers.values()]
        result.add(tokens, *times, ratio(*reversed(times)))
    return result


def main() -> None:
    """Measure in turns, and print a table."""
    cores = os.cpu_count() or 1
    p = parser("benchmarks.data_parallel", __doc__, updates=60, rounds=3, ranks=cores)
    options = p.parse_args()
    if options.ranks < 2:
        p.error("at least 2 ranks are needed")
    print(describe(), flush=True)
    show(table(options.updates, options.rounds, options.ranks))


if __name__ == "__main__":
    main()
