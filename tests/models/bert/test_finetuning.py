"""The fine-tuning loop of all four tasks: it learns a rule, resumes bitwise, and its folders load again."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from minigrad_models.bert import train_bert
from minigrad_models.bert.bert import BertForSequenceClassification
from minigrad_models.bert.tasks import TASKS, Recipe
from minigrad_models.bert.train_bert import Options, Size, finetune, load
from minigrad_models.training import Trainer
from tests.support.cases import raises

BARS = {"sst2": 1.0, "mrpc": 0.95, "squad": 0.9, "conll": 1.0}  # each task's metric after learning its rule


@pytest.mark.parametrize("name", [pytest.param(task, marks=[pytest.mark.nightly] * (task != "sst2")) for task in BARS])
def test_a_rule_is_learned(name: str, trained: Callable[[str], Path], data: Path) -> None:
    if name == "conll":
        pytest.importorskip("seqeval", reason="seqeval counts entities")
    model = load(trained(name))
    train, questions = model.task.read(data / name)
    metrics = model.task.metrics(questions, model.answers(questions))
    majority = model.task.metrics(questions, model.task.majority(train, questions))
    assert metrics[model.task.metric] >= BARS[name]
    assert majority[model.task.metric] < metrics[model.task.metric] or name == "conll"  # its words have one tag each


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["sst2", "squad"])
def test_a_run_resumes_bitwise(
    name: str, options: Callable[..., Options], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does so even if the model has to learn its word pieces again."""
    size = Size(1, 32, 2, 300, dropout=0.1)
    whole, parts = (options(name, tmp_path / run, recipe=Recipe(1, 32, 1e-3), size=size) for run in ("whole", "parts"))
    finetune(TASKS[name], whole)
    update, updates = Trainer._update, []

    def interrupted(self: Trainer) -> None:
        update(self)
        updates.append(1)
        self._stop.asked = len(updates) == 3

    monkeypatch.setattr(Trainer, "_update", interrupted)
    raises(KeyboardInterrupt, None, lambda: finetune(TASKS[name], parts))
    assert len(updates) == 3 and not (parts.run / "model").exists()
    finetune(TASKS[name], parts)
    for file in ("model/model.safetensors", "model/config.json", "model/tokenizer.json"):
        assert (whole.run / file).read_bytes() == (parts.run / file).read_bytes()


def test_another_configuration_is_refused(options: Callable[..., Options], tmp_path: Path) -> None:
    usual = options("sst2", tmp_path, recipe=Recipe(1, 100, 1e-3))
    finetune(TASKS["sst2"], usual)
    with pytest.raises(ValueError, match=r"a different configuration: config\.rate \(0.001 there, 0.002 now\)"):
        finetune(TASKS["sst2"], usual._replace(recipe=Recipe(1, 100, 2e-3)))
    with pytest.raises(ValueError, match=r"a different configuration: config\.first weights"):
        finetune(TASKS["sst2"], usual._replace(seed=1))


def test_a_folder_has_the_names_of_labels(trained: Callable[[str], Path]) -> None:
    folder = trained("sst2") / "model"
    described = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert described["id2label"] == {"0": "negative", "1": "positive"}
    assert described["architectures"] == ["BertForSequenceClassification"]
    assert load(folder).labels == load(trained("sst2")).labels == ["negative", "positive"]
    model = BertForSequenceClassification.from_pretrained(folder)
    assert model.tokenizer.encode("a lovely film").tokens == ["[CLS]", "a", "lovely", "film", "[SEP]"]


def test_models_to_reject(options: Callable[..., Options], trained: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(trained("sst2") / "model", tmp_path / "model")
    with pytest.raises(ValueError, match="a length of 33 pieces does not fit in the model's 32 positions"):
        finetune(TASKS["sst2"], options("sst2", tmp_path / "run", source=str(folder), longest=33))
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"has no tokenizer: tokenizer.json and vocab.txt are missing"):
        finetune(TASKS["sst2"], options("sst2", tmp_path / "run", source=str(folder)))


def test_folders_of_no_task(tmp_path: Path) -> None:
    raises(FileNotFoundError, r"has no fine-tuned model: task\.json is missing", lambda: load(tmp_path))
    for content, message in (
        ("{", "task.json is damaged"),
        ("[1]", "task.json is damaged"),
        ('{"task": "glue", "max_length": 16}', "unknown task 'glue'"),
        ('{"task": "sst2", "max_length": 0}', "task.json is damaged: max_length is 0"),
        ('{"task": "sst2"}', "task.json is damaged: max_length"),
    ):
        (tmp_path / train_bert.TASK).write_text(content, encoding="utf-8")
        raises(ValueError, message, lambda: load(tmp_path))


def test_no_data(options: Callable[..., Options], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"has no train.tsv"):
        finetune(TASKS["sst2"], options("sst2", tmp_path, data=tmp_path))
