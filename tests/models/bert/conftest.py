"""Small data in the formats of the data sets, made by rules that a small model learns in seconds."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="the tokenizers library reads word pieces")

from minigrad_models.bert.tasks import TASKS, Recipe
from minigrad_models.bert.train_bert import SCRATCH, Options, Size, finetune

SMALL = Size(layers=1, width=32, heads=2, vocabulary=300, dropout=0.0)
GOOD, BAD = ("lovely", "warm", "clever"), ("dull", "cold", "silly")
THINGS, NAMES = ("film", "plot", "ending", "song"), ("anna", "boris", "clara", "dario")


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each task."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)
    for name, write in (("sst2", _sst2), ("mrpc", _mrpc), ("conll", _conll), ("squad", _squad)):
        (folder / name).mkdir()
        write(folder / name, random)
    return folder


def _sst2(folder: Path, random: np.random.Generator) -> None:
    for name, count in (("train", 200), ("dev", 40)):
        labels = random.integers(0, 2, count).tolist()
        lines = [f"a {random.choice((BAD, GOOD)[i])} {random.choice(THINGS)}\t{i}" for i in labels]
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _mrpc(folder: Path, random: np.random.Generator) -> None:
    """Equivalent, as two in three are: the second sentence has a good word, whatever the first has."""
    lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
    for i in range(300):
        same = int(random.random() < 0.66)
        one, other = random.choice(GOOD + BAD), random.choice((BAD, GOOD)[same])
        lines.append(f'{same}\t{i}\t{i + 1}\tThe "film" is {one}.\tIt is {other}.')
    (folder / "train.tsv").write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")


def _conll(folder: Path, random: np.random.Generator) -> None:
    for name, count in (("eng.train", 200), ("eng.testa", 40)):
        lines = ["-DOCSTART- -X- O O", ""]
        for _ in range(count):
            who, where = random.choice(NAMES), random.choice(("Rome", "Oslo"))
            lines += [f"{who} NNP I-NP I-PER", "Berg NNP I-NP I-PER", "sees VB I-VP O", f"{where} NNP I-NP I-LOC", ""]
        (folder / name).write_text("\n".join(lines), encoding="utf-8")


def _squad(folder: Path, random: np.random.Generator) -> None:
    for name, count in (("train", 200), ("dev", 40)):
        paragraphs = []
        for i in range(count):
            who, thing = random.choice(NAMES), random.choice(THINGS)
            answers = [{"text": str(thing), "answer_start": len(who) + 11}]
            asked = {"id": f"{name}-{i}", "question": f"What does {who} like?", "answers": answers}
            paragraphs.append({"context": f"{who} likes the {thing}.", "qas": [asked]})
        content = {"version": "1.1", "data": [{"paragraphs": paragraphs}]}
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture(scope="session")
def options(data: Path) -> Callable[..., Options]:
    """(name of a task, folder of the run, changes) -> options of a small model from scratch."""

    def small(name: str, run: Path, **changes: object) -> Options:
        usual = Options(data / name, SCRATCH, run, Recipe(6, 16, 5e-3), 32, SMALL, progress=False)
        return usual._replace(**changes)  # type: ignore[arg-type]

    return small


@pytest.fixture(scope="session")
def trained(options: Callable[..., Options], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run of a task, trained when it is first asked for."""
    folder = tmp_path_factory.mktemp("runs")

    def run(name: str) -> Path:
        if not (folder / name).exists():
            finetune(TASKS[name], options(name, folder / name))
        return folder / name

    return run
