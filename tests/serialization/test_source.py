"""Files are replaced atomically, even if another program has them open for a moment."""

import os
import stat
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import minigrad as mg
from minigrad.compat.hub import download_url_to_file
from minigrad.serialization import source
from tests.support.cases import each
from tests.support.interrupts import Lines


class Busy:
    """Like ``os.replace`` on Windows while another program reads the file."""

    def __init__(self, times: int) -> None:
        self.left, self.replace = times, os.replace

    def __call__(self, temporary: str, target: str) -> None:
        self.left -= 1
        if self.left >= 0:
            raise PermissionError(13, "Access is denied", target)
        self.replace(temporary, target)


def write(path: Path, text: str) -> None:
    with source.replaced(path) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def test_a_file_that_is_open_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights"
    write(path, "old")
    monkeypatch.setattr(source, "PATIENCE", 60.0)
    monkeypatch.setattr(source.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(os, "replace", Busy(2))
    write(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights"
    write(path, "old")
    monkeypatch.setattr(source, "PATIENCE", 0.0)
    monkeypatch.setattr(os, "replace", Busy(9))
    with pytest.raises(PermissionError):
        write(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


WRITERS: dict[str, Callable[[str], object]] = {
    "save": lambda path: mg.save({"w": mg.arange(3)}, path),
    "save, pickled": lambda path: mg.save({"w": mg.arange(3), "f": Fraction(1, 2)}, path),
    "save_file": lambda path: mg.serialization.save_file({"w": mg.arange(3)}, path),
    "download": lambda path: download_url_to_file(Path(__file__).as_uri(), path),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_stays_a_pipe(name: str, tmp_path: Path) -> None:
    path, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(path)
    link.symlink_to(path)
    for target in (path, link):
        with pytest.raises(OSError, match="A file cannot replace a device or a pipe"):
            WRITERS[name](str(target))
    assert stat.S_ISFIFO(path.stat().st_mode) and sorted(tmp_path.iterdir()) == sorted({path, link})


def test_no_interrupt_leaves_a_folder(tmp_path: Path) -> None:
    path, moment = tmp_path / "weights", 1
    while Lines(moment).run(lambda: write(path, "new")):
        assert [file for file in tmp_path.iterdir() if file != path] == []
        moment += 1
    assert moment > 20 and path.read_text(encoding="utf-8") == "new"


@pytest.mark.skipif(os.name != "posix", reason="other systems have other names")
def test_names_that_no_file_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders = {"folder.pt", "folder.safetensors"}
    for folder in folders:
        (tmp_path / folder).mkdir()

    def check(case: tuple[str, str]) -> None:
        path = case[0] + case[1] * bool(case[0])
        with pytest.raises(OSError) as loading:
            mg.load(path)
        with pytest.raises(OSError) as saving:
            mg.save({}, path)
        assert type(saving.value) is type(loading.value) and str(saving.value) == str(loading.value)
        assert len(str(saving.value)) < 300 and {file.name for file in tmp_path.iterdir()} == folders

    each(product(["", "a\0b", "a\ud800b", "a" * 5000, "folder"], [".pt", ".safetensors"]), check)
