"""What is made small: cross-entropy with label smoothing, and R-Drop if wanted."""

from __future__ import annotations

from collections.abc import Callable

from minigrad import Tensor
from minigrad.text.tokenizer import PAD
from models.transformer import Transformer

from .data import Batch
from .settings import TrainingSettings


def loss_of(s: TrainingSettings) -> Callable[[Transformer, Batch], tuple[Tensor, float]]:
    """A function of the model and a batch: the mean loss a target token, and how many tokens these are."""

    def loss(model: Transformer, batch: Batch) -> tuple[Tensor, float]:
        r_drop = s.r_drop if batch.epoch >= s.r_drop_after else 0.0
        mean = model.loss(batch.source, batch.target, s.label_smoothing, r_drop, read=batch.read)
        return mean, float((batch.target[:, 1:] != PAD).sum())

    return loss
