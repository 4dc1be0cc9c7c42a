"""The benchmark of sentence embeddings: minigrad and PyTorch make the same vectors; other ones are noticed."""

from __future__ import annotations

from typing import Any

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
    sentences.agree({"minigrad": first, "torch": {"missing": "not installed"}})
    sentences.agree({"minigrad": first, "torch": {"vectors": [[0.5, 0.250001]]}})
    with pytest.raises(Differ, match=r"vectors differ by 1.0e-04"):
        sentences.agree({"minigrad": first, "torch": {"vectors": [[0.5, 0.2501]]}})


@pytest.mark.parametrize("there", [True, False])
def test_table(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        if not there:
            return {"missing": "no weights"}
        if function.endswith("check"):
            return {"vectors": [[0.5]]}
        return {"time": {"minigrad": 1500.0, "torch": 2000.0}[library] / arguments["batch"]}

    monkeypatch.setattr(sentences, "ask", answer)
    table = sentences.table(rounds=2, seconds=1.0)
    if there:
        assert table.written() == [["1", "1,500", "2,000", "0.75", "–"], ["32", "47", "62", "0.75", "1.0"]]
        assert not table.notes
    else:
        assert [row[1:4] for row in table.written()] == [["–"] * 3] * 2 and table.notes == ["no weights"]
