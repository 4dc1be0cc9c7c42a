"""Sentences through one vector and with attention: what is counted, and, trained in full, what the lesson claims."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as mg
from examples.autoencoder import sentences
from examples.autoencoder.sentences import ATTENTION, ONE, Copied, SentenceBatches
from examples.lesson.blocks import Chart, Checked, Matrix, Section, Steps, Text
from minigrad.text.tokenizer import BOS, EOS


def claims(sections: list[Section]) -> list[bool]:
    return [b.holds for section in sections for b in section.blocks if isinstance(b, Checked)]


def test_a_pair_is_a_sentence_and_the_same(copied: Copied) -> None:
    batches = SentenceBatches(copied.sentences, seed=3)
    rows = list(batches.epoch(0))
    read = [row for source, _ in rows for row in source.tolist()]
    written = [row for _, target in rows for row in target.tolist()]
    assert len(read) == 80 and all([BOS, *a] == b for a, b in zip(read, written, strict=True))
    assert all(EOS in row for row in read)
    later = list(batches.epoch(0, start=1))
    assert len(later) == len(rows) - 1 and all(mg.equal(a[0], b[0]) for a, b in zip(later, rows[1:], strict=True))


def test_what_is_counted(copied: Copied) -> None:
    """One vector loses all sentences of nine words and more, attention every tenth sentence."""
    wrong = [0]
    one = [s if len(s) < 9 else wrong for s in copied.sentences]
    attention = [wrong if i % 10 == 0 else s for i, s in enumerate(copied.sentences)]
    made = sentences.sections(copied._replace(written={ONE: one, ATTENTION: attention}))
    blocks = [b for section in made for b in section.blocks]
    (chart,) = (b for b in blocks if isinstance(b, Chart))
    for series in chart.series[:1]:
        assert list(series.y) == [100.0 if x < 9 else 0.0 for x in series.x]
    counts = np.bincount(copied.lengths)
    assert list(chart.series[0].x) == [n for n, count in enumerate(counts) if count >= sentences.LEAST]
    quarter = copied.longest_quarter()
    assert copied.lengths[quarter].min() > copied.lengths[~quarter].max() and 0.25 <= quarter.mean() < 0.6
    table = next(b for b in blocks if isinstance(b, Steps))
    assert table.rows[1][0] == ATTENTION and table.rows[0][1] == f"{100 * (copied.lengths[~quarter] < 9).mean():.1f} %"
    examples = [b for b in blocks if isinstance(b, Steps)][1]
    assert [row[0] for row in examples.rows[:3]] == ["read", ONE, ATTENTION]
    assert examples.rows[0][1] == copied.words.decode(copied.sentences[int(copied.lengths.argmax())])
    (weights,) = (b for b in blocks if isinstance(b, Matrix))
    assert weights.rows[-1] == "⟨end⟩" and weights.array.shape == (len(weights.rows), len(weights.columns))
    assert claims(made) == [True, True, True]


def test_claims_can_fail_and_nothing_may_go_wrong(copied: Copied) -> None:
    made = sentences.sections(copied._replace(written={ONE: copied.sentences, ATTENTION: copied.sentences}))
    assert claims(made)[:2] == [False, False]
    assert Text("Nothing: every sentence came back as it was.") in made[1].blocks


@pytest.mark.nightly
def test_long_sentences_do_not_fit_through_one_vector() -> None:
    computed = sentences.trained(600, seed=0, held_out=1000)
    quarter = computed.longest_quarter()
    short, long = (float(computed.exact(ONE)[rows].mean()) for rows in (~quarter, quarter))
    assert long < short - 0.15
    assert float(computed.exact(ATTENTION)[quarter].mean()) > 0.9 > long + 0.2
    assert all(claims(sentences.sections(computed)))
