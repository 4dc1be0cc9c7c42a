"""Sound, by the synthesisers that are installed; and what is said where there is none."""

import shutil
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

from minigrad.music import Note, synthesis, write_midi, write_wav
from tests.support.cases import raises

pytest.importorskip("mido")
NOTES = [Note(60, 100, 0.5, 1.5), Note(64, 100, 1.0, 2.0)]


@pytest.fixture
def tune(tmp_path: Path) -> Path:
    (tmp_path / "my music").mkdir()
    return write_midi(tmp_path / "my music" / "-tune.mid", NOTES)


@pytest.mark.parametrize("program", ["fluidsynth", "timidity"])
def test_a_file_is_heard(program: str, tune: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = shutil.which(program)
    if not installed or not synthesis.soundfont():
        pytest.skip(f"no {program} with a soundfont: on Debian, apt install {program} timgm6mb-soundfont")
    monkeypatch.setattr(shutil, "which", lambda name: installed if name == program else None)
    path = write_wav(tmp_path / "my music" / "-sound.wav", tune)
    assert sorted(file.name for file in path.parent.iterdir()) == ["-sound.wav", "-tune.mid"]
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (2, 2, 44_100)
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2).astype(float)
    assert 1.5 < len(samples) / 44_100 < 12  # TiMidity++ leaves out silence at the beginning; the last notes echo
    loudness = [np.abs(samples[int(44_100 * t) :][:8820]).max() for t in (0.6, 0.9)]
    assert min(loudness) > 500


def script(path: Path, code: str) -> str:
    """A program in place of a synthesiser; ``target`` is the file that it is to write."""
    start = f"#!{sys.executable}\nimport sys, time\ntarget = sys.argv[sys.argv.index('-o') + 1]\n"
    path.write_text(start + code)
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a script")
def test_a_program_that_fails_or_hangs(tune: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "x.wav"
    target.write_text("old")
    fake = script(tmp_path / "fake", "print('no such instrument', file=sys.stderr)\nsys.exit(3)")
    monkeypatch.setattr(shutil, "which", lambda name: fake if name == "timidity" else None)
    raises(RuntimeError, r"fake could not play .*tune\.mid: no such instrument", lambda: write_wav(target, tune))
    script(tmp_path / "fake", "")
    raises(RuntimeError, "it ended with 0", lambda: write_wav(target, tune))
    script(tmp_path / "fake", "time.sleep(60)")
    raises(TimeoutError, r"longer than 0\.3 s", lambda: write_wav(target, tune, seconds=0.3))
    assert target.read_text() == "old"
    script(tmp_path / "fake", "open(target, 'wb').write(bytes(100))")
    assert write_wav(target, tune).read_bytes() == bytes(100)


def test_what_is_missing(tune: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOUNDFONT", raising=False)
    monkeypatch.setattr(synthesis, "FOLDERS", (str(tmp_path / "none"),))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    raises(RuntimeError, "apt install fluidsynth timgm6mb-soundfont", lambda: write_wav(tmp_path / "x.wav", tune))
    monkeypatch.setattr(shutil, "which", lambda name: name if name == "fluidsynth" else None)
    raises(RuntimeError, r"no soundfont.*SOUNDFONT", lambda: write_wav(tmp_path / "x.wav", tune))
    raises(FileNotFoundError, r"no such file.*none\.mid", lambda: write_wav(tmp_path / "x.wav", tmp_path / "none.mid"))
    raises(FileNotFoundError, "no such folder", lambda: write_wav(tmp_path / "none" / "x.wav", tune))


def test_soundfonts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOUNDFONT", raising=False)
    monkeypatch.setattr(synthesis, "FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    assert synthesis.soundfont() is None
    for name in ("b.sf2", "a.sf3", "c.txt"):
        (tmp_path / name).touch()
    assert synthesis.soundfont() == tmp_path / "a.sf3"
    monkeypatch.setenv("SOUNDFONT", str(tmp_path / "b.sf2"))
    assert synthesis.soundfont() == tmp_path / "b.sf2"
    monkeypatch.setenv("SOUNDFONT", str(tmp_path / "d.sf2"))
    raises(FileNotFoundError, "SOUNDFONT", synthesis.soundfont)
