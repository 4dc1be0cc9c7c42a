"""Trains a language model of nanoGPT's larger size with each library, from the same weights on the same batches.

    python -m benchmarks.learning [--updates 1000] [--batch 8] [--work gpt-384]

The text is tinyshakespeare if MINIGRAD_DATA has it (``minigrad data tinyshakespeare``), else the bundled sentences. The
recipe is nanoGPT's: AdamW, a warm-up and a cosine, and gradients clipped at norm 1. Only dropout draws differ.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from .machine import describe
from .process import Answer, ask, library_module
from .program import parser, show
from .steps import BOTH
from .table import Table
from .workloads import SIZES, build

RATE, LAST_RATE, WARM_UP, CLIP = 1e-3, 1e-4, 100, 1.0
TIMES, VALIDATED = 4, 20  # evaluations, and batches in each


def train(library: str, work: str, updates: int, batch: int) -> Answer:
    """The losses on held-out text after each quarter of the updates, and the seconds that the updates took."""
    from minigrad_models.gpt.gpt_settings import DataSettings
    from minigrad_models.gpt.text import read

    torch, text = library_module(library), read(DataSettings())
    alphabet = {letter: i for i, letter in enumerate(sorted(set(text.train + text.validation)))}
    parts = [np.array([alphabet[letter] for letter in part]) for part in (text.train, text.validation)]
    size = replace(SIZES[work], vocabulary=len(alphabet), batch=batch)
    torch.manual_seed(0)
    model = build(torch, size, size.dropout)
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.99), weight_decay=size.weight_decay)

    def loss_on(ids: Any, draw: Any) -> Any:
        rows = ids[draw.integers(0, len(ids) - size.length - 1, (batch, 1)) + np.arange(size.length + 1)]
        logits = model(torch.from_numpy(rows[:, :-1].copy()))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(rows[:, 1:].reshape(-1)))

    losses, seconds, draw = [], 0.0, np.random.default_rng(0)
    for part in range(TIMES):
        start = time.perf_counter()
        for update in range(part * updates // TIMES, (part + 1) * updates // TIMES):
            fall = (1 + math.cos(math.pi * update / updates)) / 2
            adam.param_groups[0]["lr"] = min(1, (update + 1) / WARM_UP) * (LAST_RATE + (RATE - LAST_RATE) * fall)
            adam.zero_grad()
            loss_on(parts[0], draw).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            adam.step()
        seconds += time.perf_counter() - start
        model.eval()
        with torch.no_grad():
            held_out = np.random.default_rng(1)
            losses.append(sum(float(loss_on(parts[1], held_out)) for _ in range(VALIDATED)) / VALIDATED)
        model.train()
    return {"text": text.name, "losses": losses, "seconds": seconds}


def main(arguments: list[str]) -> int:
    """Train with both libraries, and print the table."""
    options = parser("benchmarks.learning", __doc__, SIZES, updates=1000, batch=8).parse_args(arguments)
    work = (options.work or ["gpt-384"])[0]
    names = [f"after {(part + 1) * options.updates // TIMES:,}" for part in range(TIMES)]
    title = f"{describe('torch')}\n\nLoss on held-out text, {SIZES[work].title}, {options.batch} windows per update"
    table = Table(title, ("library", *names, "minutes"), ("", *[".4f"] * TIMES, ".1f"))
    for library in BOTH:
        answer = ask("benchmarks.learning:train", library, work=work, updates=options.updates, batch=options.batch)
        if "missing" in answer:
            table.notes.append(answer["missing"])
            continue
        table.add(library, *answer["losses"], answer["seconds"] / 60)
        table.notes = [f"text: {answer['text']}", *table.notes]
    show(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
