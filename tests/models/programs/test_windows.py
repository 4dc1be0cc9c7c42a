"""Windows of several sequences, which all programs for causal models use."""

import numpy as np
import pytest

import minigrad as mg
from minigrad_models.gpt.gpt2 import GPT2, Config
from minigrad_models.programs.validation import pieces, score_windows


def test_windows_begin_on_a_grid() -> None:
    for tokens in (2, 8, 9, 13, 50):
        cuts = pieces(tokens, 8, 4, cycle=4)
        assert [i for _, first, end in cuts for i in range(first, end)] == list(range(tokens - 1))
        for begin, first, end in cuts:
            assert begin % 4 == 0 and end - begin <= 8
            assert first - begin >= min(first, 4), "each token sees half a window"


def test_sequences_do_not_see_each_other() -> None:
    mg.manual_seed(0)
    model = GPT2(Config(9, 8, 8, 2, 1, dropout=0.0, embedding_dropout=0.0, attention_dropout=0.0)).eval()
    sequences = [np.random.default_rng(i).integers(0, 9, length) for i, length in enumerate((5, 21, 2, 9))]
    scored: list[int] = []
    total = sum(score_windows(model, ids, 8, 4) * (len(ids) - 1) for ids in sequences)
    mean = score_windows(model, sequences, 8, 4, batch=3, progress=scored.append)
    assert mean == pytest.approx(total / 33, rel=1e-5) and sum(scored) == 33
