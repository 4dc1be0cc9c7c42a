"""The benchmark of Hugging Face's models: both libraries compute the same; other results are noticed."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import hugging_face
from benchmarks.process import ask
from tests.support.hugging_face import needs_transformers


@needs_transformers
@pytest.mark.parametrize("work", hugging_face.WORK)
def test_pytorch_computes_the_same(work: str) -> None:
    answers = {name: ask("benchmarks.hugging_face:check", name, work=work) for name in hugging_face.LIBRARIES}
    assert all(len(answer["numbers"]) >= 72 for answer in answers.values())
    hugging_face.agree(work, answers)


@pytest.mark.parametrize("there", [True, False])
def test_table(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        if not there and library == "torch":
            return {"missing": "not installed"}
        if function.endswith("check"):
            return {"numbers": [0.5]}
        return {"time": {"minigrad": 1500.0, "torch": 2000.0}[library]}

    monkeypatch.setattr(hugging_face, "ask", answer)
    table = hugging_face.table(rounds=2, seconds=1.0)
    ending = ["1,500", "2,000", "0.75", "1.0"] if there else ["1,500", "–", "–", "1.0"]
    assert [row[2:] for row in table.written()] == [ending] * 5
    assert [row[1] for row in table.written()] == ["", "all", "one", "all", "one"]
    assert table.notes == ([] if there else ["torch: not installed"])
