"""The benchmark of sentence embeddings: minigrad and PyTorch make the same vectors; other ones are noticed."""

import numpy as np
import pytest

from benchmarks import sentences
from benchmarks.process import Differ
from tests.support.hugging_face import minilm, needs_transformers


@needs_transformers
def test_pytorch_makes_the_same_vectors() -> None:
    minilm()
    answers = {name: sentences.check(name, number=7, batch=3) for name in sentences.LIBRARIES}
    assert np.shape(answers["minigrad"]["vectors"]) == np.shape(answers["torch"]["vectors"]) == (7, 8)
    sentences.agree(answers)


def test_other_vectors_are_noticed() -> None:
    first = {"vectors": [[0.5, 0.25]]}
    sentences.agree({"minigrad": first})
    sentences.agree({"minigrad": first, "torch": {"vectors": [[0.5, 0.250001]]}})
    with pytest.raises(Differ, match=r"vectors differ by 1.0e-04"):
        sentences.agree({"minigrad": first, "torch": {"vectors": [[0.5, 0.2501]]}})
