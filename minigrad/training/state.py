"""Where a training stands: all that is neither weights nor an optimiser's."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Window:
    """Sums over the updates since the last line of the log."""

    updates: int = 0
    loss: float = 0.0  # weighed by tokens
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
    """The place of a training, as a checkpoint keeps it.

    Attributes:
        step: updates made. epoch, batch: the place in the data. tokens: learned from.
        seconds: of training, all runs in the folder together.
        best, best_step: the best metric, and when. bad: evaluations since then.
        evaluated: the step of the last evaluation. snapshots: the steps of those that count.
        lines: of the log. window: what the next one will tell.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    tokens: float = 0.0
    seconds: float = 0.0
    best: float | None = None
    best_step: int = 0
    bad: int = 0
    evaluated: int = 0
    snapshots: list[int] = field(default_factory=list)
    lines: int = 0
    window: Window = field(default_factory=Window)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @staticmethod
    def from_dict(state: dict[str, Any]) -> State:
        """What ``as_dict`` told."""
        return State(**{**state, "window": Window(**state["window"])})
