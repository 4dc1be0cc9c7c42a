"""``minigrad viz``: the arguments select the picture."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minigrad.viz.view import View
from minigrad_models.commands import minigrad_command as cli
from minigrad_models.commands.viz import view_of
from minigrad_models.translation import Translator
from minigrad_models.viz.training import TrainingView


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a three-step training run."""
    folder = tmp_path / "first"
    folder.mkdir()
    lines = (json.dumps({"step": step, "loss": 1 / step}) for step in (1, 2, 3))
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_run_is_drawn_to_a_file(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = run.with_name("curves.html")
    assert cli.main(["viz", str(run), "--output", str(file)]) == 0
    assert capsys.readouterr().err == f"wrote {file}\n"
    assert "loss" in file.read_text(encoding="utf-8")


def test_runs_are_compared_and_shown_without_a_file(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second, views = run.with_name("second"), list[View]()
    second.mkdir()
    (second / "log.jsonl").write_bytes((run / "log.jsonl").read_bytes())
    monkeypatch.setattr(View, "show", lambda view: views.append(view))  # a function, which binds as a method
    assert cli.main(["viz", str(run), str(second / "log.jsonl")]) == 0
    (view,) = views
    assert isinstance(view, TrainingView) and [one.name for one in view.runs] == ["first", "second"]


def test_a_sentence_is_translated_and_its_attention_drawn(run: Path, monkeypatch: Any, capsys: Any) -> None:
    drawings: list[Any] = []

    class Stub:
        def translate(self, sentences: list[str]) -> list[Any]:
            return [SimpleNamespace(source=sentence, text=sentence.upper(), notes=["a word"]) for sentence in sentences]

        def look(self, translation: Any) -> Any:
            drawings.append(translation)
            return view_of([str(run)])

    monkeypatch.setattr(Translator, "load", lambda path, device: Stub())
    assert cli.main(["viz", str(run), "two words", "--output", str(run / "a.html")]) == 0
    output = capsys.readouterr()
    assert output.out == "TWO WORDS\n" and output.err.startswith("note: a word\n") and drawings[0].source == "two words"


def test_arguments_that_cannot_be_drawn_are_errors(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(run.parent)
    for name in ("model.safetensors", "a.mid"):
        Path(name).write_bytes(b"")
    rows = [
        (["nowhere"], "nowhere does not exist"),
        (["model.safetensors"], "also give a sentence"),
        (["first", "two", "words"], "one sentence in quotation marks"),
        (["a.mid", "first"], "one MIDI file"),
        (["."], "has no log.jsonl"),
    ]
    for words, message in rows:
        assert cli.main(["viz", *words]) == 1
        error = capsys.readouterr().err
        assert error.startswith("error: ") and message in error and error.count("\n") == 1
