"""The lesson on masks: which words BERT hides, what each model sees, and where a loss is."""

from __future__ import annotations

import numpy as np

import minigrad as mg
from examples.lectures import masking

MASK = masking.VOCABULARY.index(masking.MASK)


def many(count: int = 4000) -> tuple[masking.Exercise, mg.Tensor]:
    words = masking.ids(masking.WORDS).expand(count, len(masking.WORDS))
    return masking.bert(words, mg.Generator().manual_seed(1)), words


def test_three_words_of_twenty_are_chosen() -> None:
    exercise, words = many()
    read, targets, true = exercise.read.numpy(), exercise.targets.numpy(), words.numpy()
    chosen = targets != masking.NONE
    assert (chosen.sum(-1) == 3).all() and not chosen[:, [0, -1]].any()
    assert (targets[:, 1:-1][chosen[:, 1:-1]] == true[chosen[:, 1:-1]]).all()
    assert (read[:, 1:-1][~chosen[:, 1:-1]] == true[~chosen[:, 1:-1]]).all()
    assert np.abs(chosen[:, 1:-1].mean(0) - 0.15).max() < 0.03  # every place alike
    hidden = read[:, 1:-1][chosen[:, 1:-1]]
    assert abs((hidden == MASK).mean() - 0.8) < 0.02
    assert hidden.min() >= MASK  # a random word is no [CLS], [SEP] or [BOS]


def test_gpt_reads_a_shifted_sentence() -> None:
    exercise = masking.gpt(masking.ids(masking.SHORT))
    assert masking._names(exercise.read[0]) == [masking.BOS, *masking.SHORT[:-1]]
    assert masking._names(exercise.targets[0]) == list(masking.SHORT)


def test_what_is_seen_is_what_changes_a_state() -> None:
    network = masking.Network()
    x = network.embed(masking.ids(masking.SHORT))
    changed = x.clone()
    changed[0, 3] += 1
    for causal in (False, True):
        moved = (network.states(changed, causal) - network.states(x, causal))[0].detach().abs().amax(-1).numpy()
        assert (moved > 1e-6).tolist() == [not causal or i >= 3 for i in range(6)]
        seen = masking.seen(network, masking.SHORT, causal)
        assert (seen[:, 3] > 0).tolist() == (moved > 1e-6).tolist()


def test_gradients_come_where_losses_are() -> None:
    network, exercise = masking.Network(), masking.draws()[0]
    losses = masking.losses(network, exercise, causal=False)
    logits = network.logits(exercise.read, False)[0].detach().numpy()
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    targets = exercise.targets[0].numpy()
    wanted = [-log_p[i, t] if t != masking.NONE else 0 for i, t in enumerate(targets)]
    np.testing.assert_allclose(losses.each, wanted, atol=1e-12)
    p = np.exp(log_p)
    p[np.arange(len(p)), np.maximum(targets, 0)] -= 1  # ∂(−ln p)/∂z = p − 1 at the target
    sizes = np.linalg.norm(p, axis=-1) / 3 * (targets != masking.NONE)
    np.testing.assert_allclose(losses.gradients, sizes, atol=1e-12)
