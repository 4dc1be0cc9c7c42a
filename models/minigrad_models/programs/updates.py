"""The settings of a training's updates, and what is made of them: the optimiser, its rate, the settings of the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minigrad import nn, optim

from ..training import Settings as LoopSettings
from ..training import schedules
from .settings import amount, chance, count, other, setting

# Settings of ``Updates`` that do not affect the result of a training.
FREE = {"ranks", "device", "minutes", "save_seconds", "log_every"}


@dataclass(frozen=True)
class Updates:
    """The updates, their optimiser, and what is kept of them; a program's own section of them has more."""

    steps: int = count(8000, "updates")
    minutes: float = amount(0.0, "the most minutes of training; 0: no limit")
    accumulate: int = count(1, "batches whose gradients make one update", 10_000)
    ranks: int = count(
        1, "processes that share these batches, each with its share of the cores; at most accumulate", 1024
    )
    optimizer: str = setting("adamw", "Adam, or Muon for the matrices of the layers", ("adamw", "muon"))
    learning_rate: float = amount(0.005, "the highest learning rate")
    warm_up: int = count(2000, "updates in which the learning rate rises")
    schedule: str = setting(
        "inverse_sqrt", "the fall of the learning rate", ("inverse_sqrt", "inverse_sqrt_with_decay", "linear", "cosine")
    )
    decay_fraction: float = setting(
        0.4, "the part of all updates in which inverse_sqrt_with_decay falls to zero", limits=(0, 1)
    )
    weight_decay: float = amount(0.0, "decoupled weight decay (AdamW)")
    clip: float = amount(1.0, "the largest norm of the gradient; 0: no limit")
    evaluate_every: int = count(500, "updates between evaluations")
    patience: int = amount(0, "evaluations without improvement before the training stops; 0: no limit")
    snapshot_every: int = count(125, "updates between snapshots of the weights")
    average: int = amount(10, "the number of last snapshots to average; 0: the last weights alone")
    ema: float = chance(0.0, "decay of an exponential moving average, which replaces that of snapshots; 0: none")
    save_seconds: float = amount(60.0, "seconds between checkpoints; 0: only with snapshots and evaluations")
    log_every: int = count(20, "updates between lines of the log")
    seed: int = setting(0, "the same seed gives the same model, to the bit", limits=(0, 2**63 - 1))
    device: str = setting("cpu", '"cpu", "cuda" or "cuda:1"')

    def rate(self, final: float = 0.0) -> Callable[[int], float]:
        """The learning rate at an update, as a fraction of the highest; a cosine ends at the fraction ``final``."""
        if self.schedule == "inverse_sqrt":
            return schedules.inverse_sqrt(self.warm_up)
        if self.warm_up >= self.steps:
            raise ValueError(f"--warm-up is {self.warm_up:,}: it must be less than --steps, which is {self.steps:,}")
        if self.schedule == "inverse_sqrt_with_decay":
            return schedules.inverse_sqrt_with_decay(self.warm_up, self.steps, self.decay_fraction)
        if self.schedule == "cosine":
            return schedules.cosine(self.warm_up, self.steps, final)
        return schedules.linear(self.warm_up, self.steps)

    def make_optimizer(
        self,
        model: nn.Module,
        betas: tuple[float, float] = (0.9, 0.98),  # and eps: Vaswani et al. 2017, section 5.3
        eps: float = 1e-9,
        decay_vectors: bool = True,
    ) -> optim.AdamW:
        """AdamW; or Muon for the matrices of the layers, and AdamW for embeddings and vectors. Without
        ``decay_vectors``, biases and the weights of norms have no weight decay."""
        options: dict[str, Any] = {"lr": self.learning_rate, "betas": betas, "eps": eps}
        options["weight_decay"] = self.weight_decay
        tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
        muon, rest = list[Any](), list[Any]()
        for p in model.parameters():
            (muon if self.optimizer == "muon" and p.ndim == 2 and id(p) not in tables else rest).append(p)
        groups: list[dict[str, Any]] = [{"params": rest}]
        if not decay_vectors:
            vectors = {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0}
            groups = [{"params": [p for p in rest if p.ndim >= 2]}, vectors]
        if self.optimizer == "adamw":
            return optim.AdamW(groups, **options)
        return optim.MuonWithAdamW([{"params": muon, "muon": True}, *groups], **options)

    def loop_settings(self, evaluated: bool, **more: Any) -> LoopSettings:
        """The settings of the loop; TOML has no None, and 0 stands for it. ``more`` are those that are not here."""
        same = ("steps", "accumulate", "evaluate_every", "snapshot_every", "log_every", "seed")
        values = {name: getattr(self, name) for name in same}
        values |= {name: getattr(self, name) or None for name in ("minutes", "clip", "save_seconds")}
        patience = (self.patience or None) if evaluated else None
        return LoopSettings(
            **values, patience=patience, keep_snapshots=self.average, ema_decay=self.ema or None, **more
        )


@dataclass(frozen=True)
class LanguageUpdates(Updates):
    """The updates of a causal model."""

    steps: int = other(Updates, "steps", 2000)
    learning_rate: float = other(Updates, "learning_rate", 1e-3)
    warm_up: int = other(Updates, "warm_up", 100)
    schedule: str = other(Updates, "schedule", "cosine")
    weight_decay: float = other(Updates, "weight_decay", 0.1)
    evaluate_every: int = other(Updates, "evaluate_every", 250)
    snapshot_every: int = other(Updates, "snapshot_every", 250)
    average: int = other(Updates, "average", 0)
    final_rate: float = amount(1e-4, "the learning rate at the end of a cosine")
    beta2: float = chance(0.99, "decay of Adam's mean of squared gradients")
    batch: int = count(12, "windows in a batch")
    window: int = amount(0, "tokens of such a window; 0: as many as the model sees")

    def check(self, d_model: int, heads: int, context: int) -> None:
        """Raise ValueError: a model of these sizes cannot be, or not learn so."""
        if d_model % heads:
            raise ValueError(f"d_model ({d_model}) must be a multiple of heads ({heads})")
        if self.window > context:
            raise ValueError(f"window ({self.window}) is more than the model sees: context is {context}")
        if self.final_rate > self.learning_rate:
            raise ValueError(f"final_rate is {self.final_rate:g}, above the learning_rate of {self.learning_rate:g}")

    def rate(self, final: float | None = None) -> Callable[[int], float]:
        """As in ``Updates``; a cosine ends at ``final_rate``."""
        return super().rate(self.final_rate / self.learning_rate if self.learning_rate else 0.0)

    def make_optimizer(self, model: nn.Module, *options: Any, **more: Any) -> optim.AdamW:
        """As in ``Updates``; vectors do not decay."""
        return super().make_optimizer(model, (0.9, self.beta2), 1e-8, decay_vectors=False)
