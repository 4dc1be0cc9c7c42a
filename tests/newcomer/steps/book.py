"""The list of steps, and helpers that run commands, some of them in the background."""

import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

WHEEL = Path(sys.argv[1])
SECONDS = 300  # per command, so that a hanging one does not block the rest
_steps: list[tuple[str, Callable[[], None]]] = []
_running: dict[str, tuple[subprocess.Popen[str], IO[str]]] = {}


def step(title: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Decorator that adds the function as the next step."""

    def add(function: Callable[[], None]) -> Callable[[], None]:
        _steps.append((title, function))
        return function

    return add


def run() -> int:
    """Run all steps, even after a failure, and print a line for each. Returns the exit status."""
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
    """Run a command of the environment, check its exit status, and return its output on both streams."""
    ran = subprocess.run(words, check=False, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, **more)
    output = ran.stdout + ran.stderr
    assert ran.returncode == status, f"{' '.join(words)} ended with {ran.returncode}, not {status}:\n{output[-3000:]}"
    return output


def python(program: str, *arguments: str, status: int = 0) -> str:
    """Write a program to a file, run it, and return its output."""
    file = Path(tempfile.mkdtemp(dir=".")) / "program.py"
    file.write_text(program, encoding="utf-8")
    return command("python", str(file), *arguments, status=status)


def start(name: str, *words: str) -> None:
    """Start a command that a later step ``finish``es."""
    output = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (until ``finish``)
    _running[name] = (subprocess.Popen(words, stdout=output, stderr=output, text=True), output)


def finish(name: str, status: int = 0) -> str:
    """Wait for the end of a started command, and return its output."""
    process, output = _running.pop(name)
    ended = process.wait(SECONDS)
    output.seek(0)
    text = output.read()
    assert ended == status, f"{name} ended with {ended}, not {status}:\n{text[-3000:]}"
    return text


def one_line(text: str) -> str:
    """The error line of an output, which must have only one and no traceback."""
    (line,) = [line for line in text.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in text, text
    return line
