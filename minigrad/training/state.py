"""The position of a training: everything besides weights and the optimiser's state."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Window:
    """Sums over the updates since the last line of the log."""

    updates: int = 0
    loss: float = 0.0  # weighted by tokens
    tokens: float = 0.0
    norm: float = 0.0

    def add(self, loss: float, tokens: float, norm: float) -> None:
        """Count one update."""
        self.updates += 1
        self.loss += loss * tokens
        self.tokens += tokens
        self.norm += norm

    def means(self) -> dict[str, float]:
        """The loss per token, and the norm per update."""
        return {"loss": self.loss / self.tokens, "grad_norm": self.norm / self.updates}


@dataclass
class State:
    """The position of a training in a checkpoint."""

    step: int = 0  # updates so far
    epoch: int = 0
    batch: int = 0  # of the epoch
    tokens: float = 0.0  # learned from
    seconds: float = 0.0  # of training, all runs in the folder together
    best: float | None = None  # the best metric
    best_step: int = 0
    bad: int = 0  # evaluations since the best
    evaluated: int = 0  # the step of the last evaluation
    snapshots: list[int] = field(default_factory=list)  # the steps of those to keep
    lines: int = 0  # of the log
    window: Window = field(default_factory=Window)  # for the next line
