"""The benchmark of Hugging Face's models: both libraries compute the same; other results are noticed."""

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
