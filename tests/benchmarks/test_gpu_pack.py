"""The folder for another machine: texts, and wheels for its Python."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import pack

main: Any = __import__("benchmarks.gpu.__main__", fromlist=["main"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is gathered; the data are beside it."""
    data = tmp_path / "data"
    for name in ("tinyshakespeare/input.txt", "multi30k/train.en", "multi30k/train.de.gz", "multi30k/features.npy"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(name)
    monkeypatch.setenv("MINIGRAD_DATA", str(data))
    monkeypatch.setattr(pack, "FOLDER", tmp_path / "carry")
    return tmp_path / "carry"


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_texts_are_gathered_again_each_time(folder: Path) -> None:
    folder.mkdir()
    (folder / "old").touch()
    assert main.main(["--pack"]) == 0
    assert files(folder) == ["multi30k/train.de.gz", "multi30k/train.en", "tinyshakespeare/input.txt"]
    assert (folder / "multi30k" / "train.de.gz").read_text() == "multi30k/train.de.gz"
