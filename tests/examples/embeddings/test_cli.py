"""The program: a small run with all its output, other texts, and wrong options."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.embeddings import __main__ as cli, lesson, text
from examples.embeddings.vectors import Vectors
from tests.support.browser import texts

FEW = ["--epochs", "1", "--width", "8", "--min-count", "1", "--piece", "64"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tales.txt"
    path.write_text("the king loves the queen\n\nthe queen loves the king <b>\n\n" * 40, encoding="utf-8")
    return path


def test_a_users_own_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = [f"--vectors={file.parent / 'v.pt'}", "--save", str(file.parent / "pages"), "--rate", "0.05"]
    status = cli.main([*FEW, "--text", str(file), *saved, "--epochs", "8", "--nearest", "king"])
    printed = capsys.readouterr()
    assert status == 0 and "queen" in printed.out and "[ok]" in printed.out and "words a second" in printed.err
    assert (file.parent / "pages" / "embeddings.html").exists()
    assert '"tokens":["the",' in (file.parent / "pages" / lesson.MAP).read_text(encoding="utf-8")
    vectors = Vectors.load(file.parent / "v.pt")
    assert set(vectors.words) == {"the", "king", "queen", "loves", "b"} and vectors.array.shape == (5, 8)
    assert cli.main(["--load", str(file.parent / "v.pt"), "--analogy", "the", "king", "loves"]) == 0
    assert "the : king = loves : ?" in capsys.readouterr().out


def test_shipped_corpus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(cli, "shipped", lambda language: text.shipped(language, 1000))
    cli.main(["--language", "italian", "--epochs", "1", "--width", "16", "--save", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "All questions of the grammar" in printed and "number of nouns" in printed and " : ?" in printed
    assert (tmp_path / "embeddings.html").exists()


@pytest.mark.nightly
def test_the_page(file: Path, open_file: Callable[..., Any]) -> None:
    cli.main([*FEW, "--text", str(file), "--save", str(file.parent), "--nearest", "king"])
    page = open_file(file.parent / "embeddings.html", color_scheme="dark")
    page.wait_for_selector("#lecture section")
    assert texts(page, "h2") == ["The training objective", "Nearest words"] and page.locator("svg").count()
    page = open_file(file.parent / lesson.MAP, color_scheme="dark")
    page.wait_for_selector("canvas")


def test_wrong_options(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, status, message in (
        (["--text", "missing.txt"], 1, "file not found: missing.txt"),
        (["--load", "missing.txt"], 1, "file not found: missing.txt"),
        (["--nearest", "kinng"], 1, "has no word 'kinng'; there is 'king'"),
        (["--analogy", "king", "queen", "dragon"], 1, "has no word 'dragon'"),
        (["--width", "0"], 2, "width must be from 1 to 10,000, not 0"),
        (["--width", "1000000000000"], 2, "width must be from 1 to 10,000, not 1000000000000"),
        (["--subsample", "-1"], 2, "subsample must be positive"),
        (["--min-count", "0"], 2, "expected a whole number of at least 1, not '0'"),
        (["--vectors", "none/v.pt"], 2, "folder not found: none"),
        (["--language", "german"], 2, "invalid choice"),
        (["--seed", "x"], 2, "a whole number from 0 to"),
    ):
        source = [] if {"--text", "--load", "--language"} & set(arguments) else ["--text", str(file)]
        try:
            assert cli.main([*FEW, *source, *arguments]) == status
        except SystemExit as stopped:
            assert stopped.code == status
        error = capsys.readouterr().err
        assert message in error and "Traceback" not in error
