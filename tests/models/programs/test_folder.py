"""The models that a program suggests if the named one does not exist, and its message when stopped."""

import sys
from pathlib import Path

import pytest

from minigrad import zeros
from minigrad_models.gpt.gpt_run import PROGRAM as GPT
from minigrad_models.gpt.gpt_settings import Settings
from minigrad_models.music.music_run import PROGRAM as MUSIC
from minigrad_models.programs import folder
from minigrad_models.programs.folder import MODEL, Program, write_model


@pytest.fixture(autouse=True)
def _(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folder, "is_on_path", lambda name: True)
    for name in (folder.TYPED, folder.AGAIN):
        monkeypatch.delenv(name, raising=False)


def run_of(program: Program, name: str, **more: object) -> None:
    described = program.described(Settings(), {}, model={}, **more)
    write_model(Path("runs") / name, {"weight": zeros(2)}, 1, described)


def refusal(program: Program) -> str:
    with pytest.raises(FileNotFoundError) as error:
        program.find(Path("runs/none"))
    return str(error.value)


def test_only_models_of_the_same_program_are_suggested() -> None:
    run_of(MUSIC, "bach", ranges=[])
    for name, content in (("empty", b""), ("noise", b"\x10" * 99)):
        (Path("runs") / name).mkdir()
        (Path("runs") / name / MODEL).write_bytes(content)
    assert refusal(GPT) == "there is no model in runs/none. To get one, train first: minigrad gpt train"
    for name in ("verne", "austen"):
        run_of(GPT, name, tokenizer={})
    run_of(GPT, "unreadable", unknown=1)
    there = "Existing runs: runs/austen, runs/verne. Choose one with --run, or train first"
    assert refusal(GPT) == f"there is no model in runs/none. {there}: minigrad gpt train"
    assert "Existing runs: runs/bach. Choose" in refusal(MUSIC)


def test_the_command_that_resumes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["minigrad", "gpt", "train", "--fresh", "--input", "a b.txt"])
    assert GPT.stopped(Path("runs/a")).endswith("same command:\n  minigrad gpt train --input 'a b.txt'")
    monkeypatch.setenv(folder.AGAIN, "python -m examples.compare")
    assert GPT.stopped(Path("runs/a")).endswith("same command:\n  python -m examples.compare")
