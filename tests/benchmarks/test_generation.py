"""minigrad and transformers write the same greedy texts; other ones are noticed."""

from typing import Any

import pytest

from benchmarks import generation, process
from tests.support.hugging_face import needs_transformers

SIZE, BATCH = generation.TINY, 3


def test_our_texts() -> None:
    answer = generation.check("minigrad", list(SIZE), BATCH)
    generation.agree(SIZE, BATCH, {"minigrad": answer})
    assert len({token for row in answer["greedy"] for token in row}) > 3


@needs_transformers
def test_transformers_writes_the_same() -> None:
    generation.agree(SIZE, BATCH, {name: generation.check(name, list(SIZE), BATCH) for name in generation.LIBRARIES})


def test_table(monkeypatch: pytest.MonkeyPatch) -> None:
    missing: list[str] = []

    def answer(function: str, library: str, **arguments: Any) -> dict[str, Any]:
        if library in missing:
            return {"missing": "not installed"}
        if function.endswith("check"):
            return dict.fromkeys(generation.WAYS, [[1] * SIZE.tokens] * arguments["batch"])
        return dict.fromkeys(generation.WAYS, {"minigrad": 10.0, "transformers": 20.0}[library])

    monkeypatch.setattr(process, "ask", answer)
    rows = generation.table(1, 1.0, (SIZE,)).written()
    assert rows[0] == ["greedy", "40", "1", "600", "300", "2.00", "1.5"]
    assert [row[2:4] for row in rows] == [["1", "600"]] * 3 + [["8", "4,800"]] * 3
    missing.append("transformers")
    assert generation.table(1, 1.0, (SIZE,)).written()[0] == ["greedy", "40", "1", "600", "–", "–", "1.5"]
