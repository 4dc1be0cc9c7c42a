"""Times nanoGPT's setup: how long training takes to reach a validation loss, in minigrad and PyTorch.

Both libraries train the same character model (``workloads.build``) on the same text, with the same batches in the same
order and the same optimizer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..workloads import TINY, WORK, build
from .place import Place
from .programs import plays

BARS = (2.0, 1.8, 1.6, 1.5)  # nats per character, in the order in which they are reached
WARM_UP, RATE = 100, 1e-3
HELD_OUT = 0.1
RESERVE = 5.0  # seconds left unused at the end of the stage


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """A single training run."""
    return {"by characters": lambda: trained(place)}


class Text:
    """A text encoded as characters, from which batches of windows are drawn."""

    def __init__(self, place: Place, batch: int, length: int) -> None:
        text, self.name = plays(place)
        characters = sorted(set(text))
        numbers = {character: i for i, character in enumerate(characters)}
        ids = np.array([numbers[character] for character in text])
        self.vocabulary, cut = len(characters), int(len(ids) * (1 - HELD_OUT))
        self.parts = {"train": ids[:cut], "validation": ids[cut:]}
        self.shape, self.length = (batch, 1), length

    def batch(self, torch: Any, device: str, part: str, number: int) -> tuple[Any, Any]:
        """The tokens of a batch (B, T), and the next tokens (B * T)."""
        ids, places = self.parts[part], np.arange(self.length + 1)
        starts = np.random.default_rng((number, part == "train")).integers(0, len(ids) - self.length, self.shape)
        both = torch.from_numpy(ids[starts + places]).to(device)
        return both[:, :-1], both[:, 1:].reshape(-1)


def trained(place: Place) -> list[dict[str, Any]]:
    """The seconds and updates until the loss reaches each of BARS, within the time limit of the stage."""
    torch, device = place.module(), place.named()
    work = place.choose(replace(WORK["gpt-384"], batch=64), replace(TINY["tiny-gpt"], length=8))
    text = Text(place, work.batch, work.length)
    work = replace(work, vocabulary=text.vocabulary)
    torch.manual_seed(0)
    model = build(torch, work, work.dropout).to(device)
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.99), weight_decay=0.1)
    every, batches, most = place.choose((100, 20, 5000), (1, 1, 2))
    points: list[tuple[float, int, float]] = []
    start, end = time.perf_counter(), place.left() - RESERVE
    for number in range(1, most + 1):
        adam.param_groups[0]["lr"] = RATE * min(1.0, number / WARM_UP)
        adam.zero_grad()
        _loss(torch, model, *text.batch(torch, device, "train", number)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        if number % every == 0:
            points.append((time.perf_counter() - start, number, validated(torch, model, text, device, batches)))
            if points[-1][2] <= BARS[-1] or time.perf_counter() - start > end:
                break
    return _rows(place, text.name, points)


def _loss(torch: Any, model: Any, tokens: Any, targets: Any) -> Any:
    logits = model(tokens)
    return torch.nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), targets)


def validated(torch: Any, model: Any, text: Text, device: str, batches: int) -> float:
    """The mean loss on some batches from the held-out text."""
    model.eval()
    with torch.no_grad():
        losses = [_loss(torch, model, *text.batch(torch, device, "validation", i)).item() for i in range(batches)]
    model.train()
    return float(np.mean(losses))


def _rows(place: Place, name: str, points: list[tuple[float, int, float]]) -> list[dict[str, Any]]:
    """A row for each bar that was reached, and a row for the end."""
    who = place.library
    firsts = [(f"{bar}", next((f for f in points if f[2] <= bar), None)) for bar in BARS]
    rows = [
        {"text": name, "loss": bar, f"{who} s": first[0], f"{who} updates": first[1]} for bar, first in firsts if first
    ]
    seconds, updates, loss = points[-1]
    last = {f"{who} s": seconds, f"{who} updates": updates, f"{who} loss": loss}
    return [*rows, {"text": name, "loss": "at the end", **last}]
