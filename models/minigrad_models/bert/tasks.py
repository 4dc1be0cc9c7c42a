"""The four fine-tunings, and what each is by default: measured on two cores, see docs/language_bert_tasks.md."""

from __future__ import annotations

from typing import Any

from .bert_data import pairs
from .classification import Classification
from .spans import Spans
from .tagging import Tagging
from .task import Recipe, Task

TASKS: dict[str, Task[Any, Any]] = {
    task.name: task
    for task in (
        Classification(
            name="mrpc",
            about="whether two sentences say the same (MRPC): accuracy and F1",
            files="a folder with train.tsv as MRPC has it, and dev.tsv; without that, a tenth of train.tsv is held out",
            recipe=Recipe(4, 32, 1e-4),
            scratch=Recipe(10, 32, 5e-4),
            longest=128,
            metric="f1",
            count=2,
            reader=pairs,
            names={"0": "different", "1": "equivalent"},
            positive="equivalent",
        ),
        Classification(
            name="sst2",
            about="whether a review is positive (SST-2): accuracy",
            files="a folder with train.tsv and dev.tsv: sentence, tab, label",
            recipe=Recipe(3, 32, 1e-4),
            scratch=Recipe(10, 32, 5e-4),
            longest=128,
            metric="accuracy",
            names={"0": "negative", "1": "positive"},
        ),
        Spans(
            name="squad",
            about="where a text answers a question (SQuAD 1.1): F1 and exact match",
            files="a folder with train.json and dev.json in SQuAD's format (default: questions that a grammar writes)",
            recipe=Recipe(3, 16, 1e-4),
            scratch=Recipe(20, 32, 1e-3),
            longest=192,
            metric="f1",
        ),
        Tagging(
            name="conll",
            about="names of persons, places, organisations (CoNLL-2003): F1 of entities",
            files="a folder with eng.train and eng.testa, plain or as .gz",
            recipe=Recipe(4, 32, 1e-4),
            scratch=Recipe(10, 32, 1e-3),
            longest=128,
            metric="f1",
        ),
    )
}
