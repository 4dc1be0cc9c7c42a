"""Pre-training: masks, sentence pairs, and a run that learns and resumes."""

from pathlib import Path

import numpy as np
import pytest

from minigrad_models.bert.bert import IGNORED, BertForMaskedLM, BertForPreTraining
from minigrad_models.bert.pretraining import CLS, MASK, SEP, Examples, Options, Place, Sentences, pretrain, split
from minigrad_models.bert.tasks import TASKS, Recipe
from minigrad_models.bert.train_bert import Options as FineTuning, Size, finetune, load
from minigrad_models.training import read_log

SMALL = Size(layers=1, width=32, heads=2, vocabulary=120, dropout=0.0)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words in a fixed order, so that a model can learn the missing word and the next sentence."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    lines = "One two three four five. Six seven eight nine ten!\n\nalpha beta gamma delta? Epsilon zeta eta theta.\n"
    path.write_text(lines * 60, encoding="utf-8")
    return path


def options(text: Path, run: Path, **changes: object) -> Options:
    usual = Options(text, run, SMALL, 60, 32, 5e-3, 16, 30, progress=False)
    return usual._replace(**changes)  # type: ignore[arg-type]


def test_sentences_of_a_text(text: Path, tmp_path: Path) -> None:
    assert split(text)[:3] == ["One two three four five.", "Six seven eight nine ten!", "alpha beta gamma delta?"]
    (tmp_path / "t").write_text('He said "Go." She went. at 3.5 km\n', encoding="utf-8")
    assert split(tmp_path / "t") == ['He said "Go."', "She went.", "at 3.5 km"]


def test_rows_of_sentences() -> None:
    sentences = Sentences([[10 * i + j for j in range(1 + i % 4)] for i in range(300)])
    places = sentences.places(12, np.random.default_rng(0))
    follow = [place for place in places if place.follows]
    assert 0.4 < len(follow) / len(places) < 0.6
    for place in places:
        sizes = [last - first for first, last in (place.a, place.b)]
        assert min(sizes) >= 1 and sum(sizes) <= 12
        assert {place.a[0], place.b[0]} <= set(sentences.starts.tolist())
        assert (place.b[0] == place.a[1]) or not place.follows
    assert all(place.b[0] >= place.a[1] or place.b[0] < place.a[0] for place in places)
    assert sum(place.b[0] == place.a[1] for place in places if not place.follows) < 5
    assert {place.b[1] for place in places} <= set(sentences.starts.tolist())  # all second sentences are whole
    read = np.zeros(len(sentences.ids), bool)
    for place in places:
        read[place.a[0] : place.a[1]] = True
        read[place.b[0] : place.b[1]] |= place.follows
    assert read.mean() > 0.95


def test_masks() -> None:
    sentences = Sentences([[5 + (i + j) % 90 for j in range(10)] for i in range(400)])
    examples = Examples(sentences, 95, 23, 8, seed=0)
    places = [Place((i, i + 10), (i + 10, i + 20), i % 20 == 0) for i in range(0, 3900, 10)]
    batch = examples.masked(places, np.random.default_rng(0))
    tokens, words = batch.tokens.numpy(), batch.words.numpy()
    picks = words != IGNORED
    assert (picks.sum(1) == 3).all()  # 15 % of 20
    ids = sentences.ids
    original = np.array([[CLS, *ids[a : a + 10], SEP, *ids[a + 10 : a + 20], SEP] for (a, _), *_ in places])
    assert (words[picks] == original[picks]).all() and (tokens[~picks] == original[~picks]).all()
    masked, same = (tokens[picks] == MASK).mean(), (tokens[picks] == original[picks]).mean()
    assert masked == pytest.approx(0.8, abs=0.04) and same == pytest.approx(0.1, abs=0.04)
    assert (tokens[picks] >= MASK).all() and batch.types.tolist()[0] == [0] * 12 + [1] * 11
    assert batch.follows.tolist() == [0, 1] * 195 and bool(batch.mask.all())


@pytest.mark.nightly
def test_a_pretrained_model_can_be_finetuned(text: Path, tmp_path: Path, data: Path) -> None:
    metrics = pretrain(options(text, tmp_path / "run"))
    first, *_, last = [line["loss"] for line in read_log(tmp_path / "run") if "loss" in line] + [metrics["loss"]]
    assert last < first and metrics["masked_words_loss"] < 3  # log 40 is 3.7
    assert metrics["loss"] == pytest.approx(metrics["masked_words_loss"] + metrics["next_sentence_loss"])
    model = tmp_path / "run" / "model"
    assert BertForPreTraining.from_pretrained(model).config.positions == 16
    with pytest.warns(UserWarning, match="weights unknown to BertForMaskedLM"):
        BertForMaskedLM.from_pretrained(model)
    usual = FineTuning(data / "sst2", str(model), tmp_path / "fine", Recipe(1, 50, 1e-3), progress=False)
    finetune(TASKS["sst2"], usual)
    fine = load(tmp_path / "fine")
    assert fine.model.config.d_model == 32 and fine.encoder.longest == 16  # its number of positions


def test_texts_that_are_too_short(tmp_path: Path) -> None:
    for text, count in (("One. Two.\n", 2), ("\n", 0)):
        (tmp_path / "t").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=f"has {count} sentences, too few"):
            pretrain(options(tmp_path / "t", tmp_path / "run"))
