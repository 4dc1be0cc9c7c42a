"""The program: each command by its line, and one clear line for what is wrong."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.bert import cli

FEW = ["--layers", "1", "--width", "16", "--heads", "2", "--vocabulary", "200", "--max-length", "24"]


def test_from_one_command_to_the_next(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, sst2 = str(tmp_path / "run"), str(data / "sst2")
    train = ["sst2", "--data", sst2, "--from", "scratch", "--run", run, "--epochs", "4", "--rate", "0.01", *FEW]
    assert cli.main(train) == 0
    printed = capsys.readouterr()
    assert "best, after" in printed.out and "the most frequent answer: accuracy 0.6" in printed.out
    assert "200 examples to learn from, 40 to measure by; 28 updates" in printed.err
    assert cli.main(train) == 0  # again: the result of the finished run
    again = capsys.readouterr()
    assert again.out == printed.out and "holds a finished training of 28 steps" in again.err
    assert cli.main(["evaluate", run, "--data", f"{sst2}/dev.tsv"]) == 0
    assert capsys.readouterr().out.strip().partition(": ")[2] in printed.out
    assert cli.main(["predict", run, "a lovely film", "a dull song"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["positive", "negative"]
    assert lines[0].endswith("a lovely film") and len(lines) == 2


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "line", "beginning"),
    [
        ("mrpc", 'The "film" is dull.\tIt is lovely.', "equivalent\t"),
        ("conll", "anna Berg sees Oslo", "anna/B-PER Berg/I-PER sees Oslo/B-LOC"),
        ("squad", "What does anna like?\tanna likes the song.", "song\t"),
    ],
)
def test_predictions_of_lines(
    name: str,
    line: str,
    beginning: str,
    trained: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name == "conll":
        pytest.importorskip("seqeval", reason="seqeval counts entities")
    run = str(trained(name))
    capsys.readouterr()
    (tmp_path / "lines").write_text(f"{line}\n\n{line}\n", encoding="utf-8")
    assert cli.main(["predict", run, "--input", str(tmp_path / "lines")]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second and first.startswith(beginning)
    monkeypatch.setattr("sys.stdin", io.StringIO(line + "\n"))
    assert cli.main(["predict", run]) == 0
    assert capsys.readouterr().out.splitlines() == [first]


def test_pretrain_questions_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, run = tmp_path / "text.txt", str(tmp_path / "run")
    text.write_text("The sea is near. The town is far.\nA boat goes out to sea! Who is in the boat?\n" * 20)
    assert cli.main(["pretrain", "--text", str(text), "--run", run, "--updates", "4", "--batch", "8", *FEW]) == 0
    assert "masked words loss" in capsys.readouterr().out
    line = ["search", "a boat", "far", "--input", str(text), "--from", f"{run}/model", "--max-length", "24"]
    assert cli.main([*line, "--no-cache", "--top", "2"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 6 and out[0] == "a boat" and out[3] == "far"
    assert cli.main(["questions", str(tmp_path / "q")]) == 0
    assert json.loads((tmp_path / "q" / "dev.json").read_text())["version"] == "1.1"


def run(line: list[str]) -> int:
    """The exit status, also where the options are wrong."""
    try:
        return cli.main(line)
    except SystemExit as stopped:
        return int(stopped.code or 0)


def test_wrong_options(capsys: pytest.CaptureFixture[str]) -> None:
    for line, status, message in (
        (["sst2"], 1, "sst2 needs its data: --data DIR"),
        (["sst2", "--data", "missing"], 1, "missing has no train.tsv"),
        (["conll", "--data", "missing"], 1, "missing has no eng.train or train.txt"),
        (["sst2", "--epochs", "0"], 2, "a whole number from 1 on is needed, not '0'"),
        (["pretrain", "--layers", "1000000000"], 2, "a whole number from 1 to 1,000 is needed"),
        (["sst2", "--rate", "-1"], 2, "a number above 0 is needed, not '-1'"),
        (["sst2", "--rate", "nan"], 2, "a number above 0 is needed, not 'nan'"),
        (["sst2", "--dropout", "1"], 2, "a number from 0 on, below 1, is needed"),
        (["sst2", "--seed", "x"], 2, "a whole number from 0 to"),
        (["squad", "--from", "scratch", "--width", "30"], 1, "d_model (30) must be a multiple of heads (4)"),
        (["pretrain"], 2, "--text"),
        (["pretrain", "--text", "missing.txt"], 1, "there is no file missing.txt"),
        (["predict", "nowhere", "x"], 1, "nowhere holds no fine-tuned model"),
        (["search", "x", "--input", "missing.txt"], 1, "there is no file missing.txt"),
        (["search", "x", "--input", "missing.txt", "--top", "0"], 2, "a whole number from 1 on"),
        (["glue"], 2, "invalid choice: 'glue'"),
        ([], 2, "command"),
    ):
        assert run(line) == status, line
        error = capsys.readouterr().err
        assert message in error and "Traceback" not in error, line


def test_wrong_input(trained: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, empty, odd = str(trained("sst2")), tmp_path / "empty", tmp_path / "odd"
    empty.write_text("", encoding="utf-8")
    odd.write_text("a film\todd\n", encoding="utf-8")
    capsys.readouterr()
    for line, message in (
        (["predict", model, ""], "there is no input"),
        (["predict", model, "--input", str(empty)], "there is no input"),
        (["predict", model, "two\ttexts"], "sst2 needs a text without a tab"),
        (["evaluate", model, "--data", str(empty)], "has no examples"),
        (["evaluate", model, "--data", str(odd)], "the label 'odd' is not among those of the training"),
    ):
        assert run(line) == 1
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and error.startswith("error: ")
