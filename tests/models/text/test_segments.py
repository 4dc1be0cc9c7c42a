"""Segments: each row continues where it ended, epochs can be resumed, and memory is carried along."""

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad_models.text import Recurrence, Segments
from minigrad_models.text.batching import Segment

TEXT = np.arange(100, 205, dtype=np.uint16)  # each token encodes its position


def test_each_row_continues_where_it_ended() -> None:
    batches = Segments(TEXT, 3, 4)
    firsts = set()
    for epoch in range(8):
        segments = list(batches.epoch(epoch))
        assert [segment.begins for segment in segments] == [True] + [False] * (len(segments) - 1)
        rows = np.concatenate([segment.tokens.numpy() for segment in segments], 1)
        assert (np.diff(rows, axis=1) == 1).all()
        assert (np.concatenate([segment.targets.numpy() for segment in segments], 1) == rows + 1).all()
        assert len(np.unique(rows)) == rows.size > 104 - 4 - 12 and rows[-1, -1] + 1 < 205
        assert (rows[1:, 0] == rows[:-1, -1] + 1).all()
        assert all(s.tokens.shape == (3, 4) and s.tokens.dtype is s.targets.dtype is mg.int64 for s in segments)
        firsts.add(int(rows[0, 0]))
    assert len(firsts) > 1 and max(firsts) < 104


def test_an_epoch_can_be_resumed_anywhere() -> None:
    batches = Segments(TEXT, 2, 5, 3)
    whole = list(batches.epoch(4))
    for start in range(len(whole) + 1):
        for expected, segment in zip(whole[start:], Segments(TEXT, 2, 5, 3).epoch(4, start), strict=True):
            assert mg.equal(segment.tokens, expected.tokens) and segment.begins == expected.begins


def test_a_text_of_one_segment_and_the_token_after_it() -> None:
    assert all(len(list(Segments(TEXT[:17], 3, 4).epoch(n))) == 1 for n in range(20))
    for rows, length, size, message in (
        (3, 4, 16, "a text of 16 tokens is too short for 3 rows of 4 tokens"),
        (0, 4, 50, "not 0 rows of 4 tokens"),
        (3, 0, 50, "not 3 rows of 0 tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            Segments(TEXT[:size], rows, length)


class Echo(nn.Module):
    """A model whose memory is the last segment, and whose loss is the memory's sum."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(mg.ones(1))

    def segment_loss(self, tokens: Any, targets: Any, memory: Any = None, length: Any = None) -> Any:
        return self.weight.sum() * (0.0 if memory is None else memory.sum()), tokens.float()


def test_memory_is_carried_between_segments_until_the_text_ends(device: str) -> None:
    model, recurrence = Echo().to(device), Recurrence()
    row = mg.tensor([[1, 2, 3]])
    losses = [recurrence(model, Segment(n * row, n * row, begins)) for n, begins in ((1, True), (2, False), (3, True))]
    assert [(float(loss), weight) for loss, weight in losses] == [(0.0, 3), (6.0, 3), (0.0, 3)]
    other = Recurrence()
    other.load_state_dict(recurrence.state_dict())
    assert float(other(model, Segment(row, row, False))[0]) == 18.0
    assert Recurrence().state_dict() == {"memory": None}
    with pytest.raises(ValueError, match="memory must be a tensor, not int"):
        other.load_state_dict({"memory": 3})
