"""Small generated music: chorales of a few bars of chord progressions, and piano scales."""

import json
from pathlib import Path

import pytest

pytest.importorskip("mido", reason="mido reads and writes MIDI files")
pytest.importorskip("tqdm", reason="tqdm draws bars")

from minigrad_models.music import music_command as cli
from minigrad_models.music.midi import write_midi
from tests.support.music import SMALL, chorale, notes_of, scale


@pytest.fixture(scope="session")
def chorales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A .json file of chorales."""
    path = tmp_path_factory.mktemp("chorales") / "chorales.json"
    parts = {"train": range(8), "valid": range(8, 11), "test": range(11, 13)}
    path.write_text(json.dumps({part: [chorale(i, 24 + i).tolist() for i in parts[part]] for part in parts}))
    return path


@pytest.fixture(scope="session")
def performances(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of .mid files."""
    folder = tmp_path_factory.mktemp("performances")
    for i in range(3):
        write_midi(folder / f"{i}.mid", scale(60 + i))
    return folder


@pytest.fixture(scope="session")
def run(chorales: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twenty updates on chorales."""
    folder = tmp_path_factory.mktemp("run") / "chorales"
    assert cli.main(["train", "--data", str(chorales), "--run", str(folder), *SMALL, "--steps", "20"]) == 0
    return folder


@pytest.fixture(scope="session")
def piano(performances: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twenty updates on performances."""
    folder = tmp_path_factory.mktemp("run") / "piano"
    options = ["--preset", "piano", *SMALL, "--cycle", "0", "--steps", "20"]
    assert cli.main(["train", "--data", str(performances), "--run", str(folder), *options]) == 0
    return folder


@pytest.fixture
def four_voices(tmp_path: Path) -> Path:
    """A chorale as a file."""
    return write_midi(tmp_path / "four.mid", notes_of(chorale(5)), 100.0)
