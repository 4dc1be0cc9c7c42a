"""The lesson on training and inference: shifted targets, losses, and one pass or many."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minigrad as mg
from examples.lectures import translation
from examples.lesson.blocks import Choice, Steps
from minigrad.models.transformer import pad
from minigrad.nn import functional as F


@pytest.fixture(scope="module")
def trained() -> translation.Trained:
    return translation.train()


def test_targets_are_shifted(trained: translation.Trained) -> None:
    rows = next(b for b in translation._words(trained).blocks if isinstance(b, Steps)).rows
    texts = {row[0]: [text for text in row[1:] if text] for row in rows if row[0] != "as numbers"}
    assert texts == {
        "encoder reads": ["I", "love", "you", "very", "much", "EOS"],
        "decoder reads": ["SOS", "Ti", "amo", "molto"],
        "should come out": ["Ti", "amo", "molto", "EOS"],
    }


def test_the_first_loss_is_the_mean_over_all_pairs(trained: translation.Trained) -> None:
    start = translation.train(0)
    rows = [translation._ids(*start[1:3], sentence) for sentence in translation.PAIRS]
    source, target = (pad([row[i] for row in rows]) for i in (0, 1))
    with mg.no_grad():
        logits = start.model(source, target[:, :-1])
    wanted = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)
    assert trained.losses[0] == pytest.approx(float(wanted), abs=1e-5)
    assert len(trained.losses) == translation.UPDATES and list(trained.looks) == list(translation.LOOKS)


def test_the_seed_decides_all(trained: translation.Trained) -> None:
    mg.manual_seed(99)
    few = 15
    again = translation.train(few)
    assert again.losses == trained.losses[:few]
    assert again.looks[few].text == trained.looks[few].text


def test_the_loss_of_each_token(trained: translation.Trained) -> None:
    (choice,) = (b for b in translation._loss(trained).blocks if isinstance(b, Choice))
    last = trained.looks[translation.UPDATES].probabilities
    np.testing.assert_allclose(last.sum(-1), 1, atol=1e-5)
    target = translation.tokens(trained)[1]
    chances = [last[i, token] for i, token in enumerate(target[1:])]
    assert min(chances) > 0.9 and choice.names[-1] == str(translation.UPDATES)
    shown = choice.options[-1].how(0, target[1])  # type: ignore[union-attr,misc]
    assert shown.endswith(f"loss −ln {chances[0]:.4f} = {-math.log(chances[0]):.3f}")


def test_inference_reads_what_it_wrote(trained: translation.Trained) -> None:
    steps = translation.write(trained)
    read = [translation.names(trained.italian, step.tokens) for step in steps]
    assert read == [["SOS", "Ti", "amo", "molto"][: i + 1] for i in range(4)]
    assert translation.name(trained.italian, steps[-1].chosen) == "EOS"
    other = translation.write(trained, "I like cats")
    assert translation.names(trained.italian, [s.chosen for s in other]) == ["Mi", "piacciono", "i", "gatti", "EOS"]


def test_passes_are_counted(trained: translation.Trained) -> None:
    assert translation.passes(trained, translation.teacher_forced) == (1, 1)
    assert translation.passes(trained, translation.write) == (1, 4)
    assert not trained.model.encoder[0]._forward_pre_hooks
