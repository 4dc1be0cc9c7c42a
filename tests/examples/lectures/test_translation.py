"""The lesson on training and inference: shifted targets, losses, and one pass or many."""

from __future__ import annotations

import pytest

import minigrad as mg
from examples.lectures import translation
from minigrad.models.transformer import pad
from minigrad.nn import functional as F


@pytest.fixture(scope="module")
def trained() -> translation.Trained:
    return translation.train()


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
