"""The steps and what they share: commands that are run and looked at, and some that go on in the background."""

import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

WHEEL = Path(sys.argv[1])
SECONDS = 300  # for a command; one that hangs must not hang all
_steps: list[tuple[str, Callable[[], None]]] = []
_running: dict[str, tuple[subprocess.Popen[str], IO[str]]] = {}


def step(title: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """A decorator: the function is the next step."""

    def add(function: Callable[[], None]) -> Callable[[], None]:
        _steps.append((title, function))
        return function

    return add


def run() -> int:
    """Do all steps, each in a line, also after one that failed. Returns the exit status."""
    failed, begin = 0, time.perf_counter()
    for number, (title, function) in enumerate(_steps, 1):
        start, error = time.perf_counter(), ""
        try:
            function()
        except Exception:
            error = traceback.format_exc(limit=-4)
            failed += 1
        verdict = "FAILED" if error else "ok"
        print(f"{number:>2} {verdict:<6} {title} ({time.perf_counter() - start:.1f} s)\n{error}", end="", flush=True)
    for process, _ in _running.values():
        process.kill()
    print(f"{len(_steps) - failed} of {len(_steps)} steps ok, {time.perf_counter() - begin:.0f} s")
    return int(failed > 0)


def command(*words: str, status: int = 0, **more: Any) -> str:
    """What a command of the environment prints, on both streams. It must end with this status."""
    ran = subprocess.run(words, check=False, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, **more)
    said = ran.stdout + ran.stderr
    assert ran.returncode == status, f"{' '.join(words)} ended with {ran.returncode}, not {status}:\n{said[-3000:]}"
    return said


def python(program: str, *arguments: str, status: int = 0) -> str:
    """What a program prints that a person has written to a file."""
    file = Path(tempfile.mkdtemp(dir=".")) / "program.py"
    file.write_text(program, encoding="utf-8")
    return command("python", str(file), *arguments, status=status)


def start(name: str, *words: str) -> None:
    """Begin a command that a later step ``finish``es."""
    output = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (until ``finish``)
    _running[name] = (subprocess.Popen(words, stdout=output, stderr=output, text=True), output)


def finish(name: str, status: int = 0) -> str:
    """What a started command has printed, when it has ended."""
    process, output = _running.pop(name)
    ended = process.wait(SECONDS)
    output.seek(0)
    said = output.read()
    assert ended == status, f"{name} ended with {ended}, not {status}:\n{said[-3000:]}"
    return said


def one_line(said: str) -> str:
    """What an error says, in a line and without a traceback."""
    (line,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in said, said
    return line
