"""The training loss: cross-entropy with label smoothing, and R-Drop if configured."""

from __future__ import annotations

from collections.abc import Callable

from minigrad import Tensor

from .encoder_decoder import TranslationModel
from .translation_data import Batch
from .translation_settings import TrainingSettings


def loss_of(s: TrainingSettings) -> Callable[[TranslationModel, Batch], tuple[Tensor, float]]:
    """(model, batch) -> the mean loss per target token, and the number of target tokens."""

    def loss(model: TranslationModel, batch: Batch) -> tuple[Tensor, float]:
        r_drop = s.r_drop if batch.epoch >= s.r_drop_after else 0.0
        mean = model.loss(batch.source, batch.target, s.label_smoothing, r_drop, read=batch.read)
        return mean, float(batch.weight)

    return loss
