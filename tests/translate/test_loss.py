"""The loss that the settings ask for."""

from __future__ import annotations

import dataclasses

import pytest

import minigrad as mg
from minigrad.models.transformer import Config, Transformer, pad
from minigrad.text.tokenizer import BOS, EOS
from minigrad.translate.data import Batch
from minigrad.translate.loss import loss_of
from minigrad.translate.settings import TrainingSettings


@pytest.mark.parametrize(("epoch", "r_drop"), [(0, 0.0), (1, 0.0), (2, 5.0), (3, 5.0)])
def test_r_drop_begins_after_some_epochs(epoch: int, r_drop: float) -> None:
    target = pad([[BOS, 7, 8, EOS], [BOS, 9, EOS]])
    batch = Batch(pad([[4, 5, EOS], [6, EOS]]), target, target[:, :-1], 5, epoch)
    model = Transformer(Config(11, 8, 2, 1, 16, 0.3))
    settings = dataclasses.replace(TrainingSettings(), r_drop=5.0, r_drop_after=2)
    mg.manual_seed(1)
    found, weight = loss_of(settings)(model, batch)
    mg.manual_seed(1)
    expected = model.loss(batch.source, target, settings.label_smoothing, r_drop)
    assert float(found) == float(expected)
    assert weight == 5.0
