"""Sound: a MIDI file played into a WAV file by a synthesiser that is installed, FluidSynth or TiMidity++."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

from minigrad.serialization.source import replaced

RATE = 44_100  # samples a second
FOLDERS = ("/usr/share/sounds/sf2", *(f"{place}/share/soundfonts" for place in ("/usr", "/usr/local", "/opt/homebrew")))
"""Where systems keep soundfonts, the recorded instruments that a synthesiser plays."""
_HEADER_BYTES = 44  # of a WAV file


def write_wav(path: str | os.PathLike[str], midi_path: str | os.PathLike[str], seconds: float = 300.0) -> Path:
    """Play a MIDI file into a WAV file: stereo, 16 bits, 44.1 kHz.

    FluidSynth plays with a soundfont: the one that the environment variable SOUNDFONT names, or the first in the usual
    folders. TiMidity++ takes the same one, or else the one in its own configuration. ``seconds`` limits its time.

    Raises RuntimeError: no synthesiser or no soundfont is installed, or it failed. FileNotFoundError: there is no such
    MIDI file, soundfont, or folder. TimeoutError: it takes longer. OSError: the file cannot be written; an older one
    stays.
    """
    source, target = Path(midi_path).absolute(), Path(path)
    if not source.is_file():
        raise FileNotFoundError(errno.ENOENT, "there is no such file", str(source))
    if not (folder := target.absolute().parent).is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(folder))
    font = soundfont()
    with replaced(target) as temporary:
        hidden = Path(temporary).absolute()
        command = _command(source, hidden, font)
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False, cwd=hidden.parent
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{command[0]} takes longer than {seconds:g} s for {source}") from None
        if done.returncode or hidden.stat().st_size <= _HEADER_BYTES:
            said = (done.stderr + done.stdout).decode(errors="replace").strip()[-500:]
            raise RuntimeError(f"{command[0]} could not play {source}: {said or f'it ended with {done.returncode}'}")
    return target


def soundfont() -> Path | None:
    """The soundfont to play with; None if there is none. Raises FileNotFoundError: SOUNDFONT names no file."""
    if named := os.environ.get("SOUNDFONT"):
        if not Path(named).is_file():
            raise FileNotFoundError(errno.ENOENT, "SOUNDFONT names no file", named)
        return Path(named).absolute()
    fonts = (font for folder in FOLDERS for font in sorted(Path(folder).glob("*.sf[23]")))
    return next(fonts, None)


def _command(source: Path, target: Path, font: Path | None) -> list[str]:
    """The command that plays ``source`` into ``target``. Raises RuntimeError: no synthesiser can."""
    fluidsynth, timidity = shutil.which("fluidsynth"), shutil.which("timidity")
    if fluidsynth and font:
        return [fluidsynth, "-ni", "-q", "-r", str(RATE), "-T", "wav", "-F", str(target), str(font), str(source)]
    if timidity:
        own = []
        if font:
            configuration = target.parent / "timidity.cfg"
            configuration.write_text(f'soundfont "{font}"\n', encoding="utf-8")
            own = ["-c", str(configuration)]
        return [timidity, *own, "-s", str(RATE), "-Ow", "-o", str(target), str(source)]
    missing, fix = "no synthesiser is installed", "install FluidSynth and a soundfont"
    if fluidsynth:
        missing, fix = "FluidSynth has no soundfont", "name one in the environment variable SOUNDFONT, or install one"
    debian, macos = "apt install fluidsynth timgm6mb-soundfont", "brew install fluid-synth"
    raise RuntimeError(f"{missing}: {fix} (on Debian: {debian}; on macOS: {macos})")
