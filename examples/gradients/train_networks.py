"""Trains four networks of equal size on tasks that require memory, until they solve them or run out of updates."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import minigrad as mg
from minigrad import Tensor, nn
from minigrad_models.training.progress import Progress
from minigrad_models.training.update import update

from .sequences import TASKS, Task

BATCH, HELD_OUT = 64, 256  # sequences in an update, and in an evaluation
EVERY = 50  # updates between evaluations
CLIP = 1.0
RATE = 0.01


class Recurrent(nn.Module):
    """A recurrent layer and its output at every step: (B, T, D) -> (B, T, O)."""

    def __init__(self, layer: nn.RNN | nn.LSTM | nn.GRU, outputs: int) -> None:
        super().__init__()
        self.layer, self.out = layer, nn.Linear(layer.hidden_size, outputs)
        if isinstance(layer, nn.LSTM):  # forget bias 1, as only the sum of the two biases counts
            forget = slice(layer.hidden_size, 2 * layer.hidden_size)
            layer.bias_ih_l0.data[forget], layer.bias_hh_l0.data[forget] = 1.0, 0.0

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.layer(x)[0])


class CausalTransformer(nn.Module):
    """Two blocks of causal self-attention, which only look back, like recurrent networks: (B, T, D) -> (B, T, O)."""

    def __init__(self, inputs: int, outputs: int, steps: int, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Linear(inputs, width)
        self.positions = nn.SinusoidalPositionalEncoding(width, steps)
        block = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, 2, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.out = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.out(self.blocks(self.positions(self.embed(x)), mask=mask, is_causal=True))


RECURRENT = {"RNN": (nn.RNN, 128), "LSTM": (nn.LSTM, 64), "GRU": (nn.GRU, 74)}  # and the width of the state
NETWORKS = (*RECURRENT, "transformer")


def network(name: str, task: Task) -> nn.Module:
    """One of ``NETWORKS`` for a task. Each has 17,000 to 20,000 parameters."""
    if name == "transformer":
        return CausalTransformer(task.inputs, task.outputs, task.steps)
    layer, width = RECURRENT[name]
    return Recurrent(layer(task.inputs, width, batch_first=True), task.outputs)


@dataclass(frozen=True)
class Trained:
    """The result of training a network."""

    task: type[Task]
    network: str
    length: int  # of the task
    updates: int  # until the task was solved, or all updates
    score: float  # on held-out sequences
    solved: bool


def train_all(lengths: Sequence[int], updates: int, seed: int) -> list[Trained]:
    """Train all networks on all tasks at all lengths, with a progress bar."""
    jobs = [(task(length), name) for task in TASKS for length in lengths for name in NETWORKS]
    began = time.monotonic()
    with Progress(updates * len(jobs), math.inf) as bar:
        return [_train(task, name, updates, seed, bar, began) for task, name in jobs]


def _train(task: Task, name: str, updates: int, seed: int, bar: Progress, began: float) -> Trained:
    """Train with Adam and clipped gradients."""
    mg.manual_seed(seed)
    model = network(name, task)
    adam = mg.optim.Adam(model.parameters(), lr=RATE)
    random, held_out = _random(task, seed, 0), task.draw(_random(task, seed, 1), HELD_OUT)
    score, step = _score(task, model, held_out), 0
    bar.evaluated(f"{task.name} {task.length}, {name}:", score)
    while step < updates and not task.solved(score):
        result = update(model, adam, task.loss, [task.draw(random, BATCH)], CLIP, step + 1)
        step += 1
        bar.advance(result.loss, result.weight * task.steps, time.monotonic() - began)
        if step % EVERY == 0 or step == updates:
            score = _score(task, model, held_out)
            bar.evaluated(f"{task.name} {task.length}, {name}:", score)
    bar.steps -= updates - step
    return Trained(type(task), name, task.length, step, score, task.solved(score))


def _random(task: Task, seed: int, use: int) -> np.random.Generator:
    return np.random.default_rng([seed % 2**64, task.length, use])


@mg.no_grad()
def _score(task: Task, model: nn.Module, batch: tuple[Tensor, Tensor]) -> float:
    return task.score(model, batch)
