"""A real text: words of Shakespeare's are near those that a reader would name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from examples.embeddings.text import from_file
from examples.embeddings.training import Settings, train

DATA = Path(os.environ.get("MINIGRAD_DATA", Path(__file__).parents[4] / "shared" / "data")) / "tinyshakespeare"


@pytest.mark.nightly
@pytest.mark.skipif(not DATA.is_dir(), reason="no tinyshakespeare: set MINIGRAD_DATA to its parent")
def test_nearest_words() -> None:
    corpus = from_file(DATA / "input.txt")
    vectors = train(corpus, Settings(epochs=15), progress=False).vectors

    def near(word: str) -> set[str]:
        return {other for other, _ in vectors.nearest(word)}

    assert {"juliet", "tybalt"} <= near("romeo")
    assert "romeo" in near("juliet") and "art" in near("thou") and "richard" in near("king")
    assert "her" in {word for word, _ in vectors.analogy("he", "him", "she")}
