"""One training step of an encoder-decoder transformer on minigrad and PyTorch, from one source text.

    python -m benchmarks.training_step [--work small] [--rounds 5]

Each library runs in a process of its own, in turns; figures are medians. Both start from the same weights,
and their losses and gradients are compared in float64 before any time is printed. It needs PyTorch.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.machine import describe

# layers, d_model, heads, d_ff, vocabulary, pairs, tokens a side, dropout
WORK = {
    "small": (2, 128, 4, 256, 300, 64, 12, 0.1),
    "multi30k": (4, 128, 4, 256, 10_000, 256, 16, 0.3),
    "wide": (6, 512, 8, 2048, 10_000, 16, 32, 0.1),
}


def build(torch: Any, work: str, dropout: float) -> Any:
    """A model on either library (``torch`` is one of them), its weights from one stream of random numbers."""
    layers, d_model, heads, d_ff, vocabulary, _, _, _ = WORK[work]
    nn = torch.nn

    class Model(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, d_model)
            self.transformer = nn.Transformer(d_model, heads, layers, layers, d_ff, dropout, batch_first=True)

        def forward(self, source: Any, target: Any, mask: Any) -> Any:
            states = self.transformer(
                self.embedding(source), self.embedding(target), tgt_mask=mask, tgt_is_causal=True
            )
            return nn.functional.linear(states, self.embedding.weight)

    model = Model()
    draw = np.random.default_rng(0)
    with torch.no_grad():
        for parameter in model.parameters():
            values = draw.standard_normal(tuple(parameter.shape)).astype(np.float32) * 0.05
            parameter.copy_(torch.from_numpy(values + (parameter.dim() == 1)))
    return model


def run(library: str, work: str, steps: int) -> dict[str, Any]:
    """Times of ``steps`` training steps in milliseconds; loss and gradient norm in float64."""
    torch: Any = importlib.import_module(library)
    _, _, _, _, vocabulary, pairs, length, dropout = WORK[work]
    draw = np.random.default_rng(1)
    source = torch.from_numpy(draw.integers(0, vocabulary, (pairs, length)))
    target = torch.from_numpy(draw.integers(0, vocabulary, (pairs, length + 1)))
    mask = torch.nn.Transformer.generate_square_subsequent_mask(length)

    def loss_of(model: Any, mask: Any) -> Any:
        logits = model(source, target[:, :-1], mask)
        wanted = target[:, 1:].reshape(-1)
        return torch.nn.functional.cross_entropy(logits.reshape(-1, vocabulary), wanted, label_smoothing=0.1)

    plain = build(torch, work, 0.0).double()
    first = loss_of(plain, mask.double())
    first.backward()
    norm = float(torch.nn.utils.clip_grad_norm_(plain.parameters(), 1e9))
    model = build(torch, work, dropout)
    adam = torch.optim.Adam(model.parameters(), lr=1e-4)
    times = []
    for _ in range(steps + 1):
        start = time.perf_counter()
        adam.zero_grad()
        loss_of(model, mask).backward()
        adam.step()
        times.append(1000 * (time.perf_counter() - start))
    return {"times": times[1:], "loss": first.item(), "norm": norm}


def measure(library: str, work: str, steps: int) -> dict[str, Any]:
    """``run`` in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.training_step",
        "--child",
        library,
        "--work",
        work,
        "--steps",
        str(steps),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(work: str, rounds: int, steps: int) -> str:
    """A line of the table.

    Raises:
        SystemExit: the libraries do not compute the same.
    """
    found: dict[str, list[dict[str, Any]]] = {"minigrad": [], "torch": []}
    for _ in range(rounds):
        for library, results in found.items():
            results.append(measure(library, work, steps))
    ours, theirs = found["minigrad"][0], found["torch"][0]
    for what in ("loss", "norm"):
        if abs(ours[what] / theirs[what] - 1) > 1e-9:
            raise SystemExit(f"{work}: the {what} is {ours[what]} on minigrad and {theirs[what]} on PyTorch")
    ms = {name: statistics.median(t for r in results for t in r["times"]) for name, results in found.items()}
    ratio = ms["minigrad"] / ms["torch"]
    return f"{work:10} minigrad {ms['minigrad']:7.1f} ms, PyTorch {ms['torch']:7.1f} ms, ratio {ratio:.2f}"


def main() -> None:
    """Print the table, and on what it was measured."""
    p = argparse.ArgumentParser(description="Time a training step on minigrad and on PyTorch.")
    p.add_argument("--work", choices=WORK, action="append", help="may be repeated (default: all)")
    p.add_argument("--rounds", type=int, default=3, help="processes of each library (default: 3)")
    p.add_argument("--steps", type=int, default=5, help="timed steps in each (default: 5)")
    p.add_argument("--child", choices=("minigrad", "torch"), help=argparse.SUPPRESS)
    given = p.parse_args()
    if given.child:
        print(json.dumps(run(given.child, given.work[0], given.steps)))
        return
    print(describe("torch"))
    for work in given.work or WORK:
        print(compare(work, given.rounds, given.steps), flush=True)


if __name__ == "__main__":
    main()
