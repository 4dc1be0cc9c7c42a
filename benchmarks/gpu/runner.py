"""Runs stages as separate processes, each with its own time limit. Stages are killed as process groups.

The process of a stage appends a line of JSON to its file of rows when an item starts and ends (see ``child``), so the
rows survive every kind of failure: an error, a lost CUDA context, or the time limit. If the process of an item dies or
is silent for too long, the item has failed, and another process continues with the next item.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .stages import Stage

ROOT = Path(__file__).parents[2]
TAIL = 400  # log lines to keep from a stage that fails
POLL = 0.05  # seconds between polls of a process
DYING = 5.0  # seconds to wait for a killed process
Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """The settings that all stages share."""

    device: str  # "cuda"; "strict" in a rehearsal
    work: Path  # a folder for the files of this run
    environment: dict[str, str] = field(default_factory=dict)  # added to this process's environment


@dataclass
class Result:
    """The rows of a stage. ``status``: "ok", "failed", "out of time" or "left out"."""

    name: str
    status: str = "left out"
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)


def run(stage: Stage, shared: Run, seconds: float) -> Result:
    """Run a stage for at most ``seconds``, or up to its own limit."""
    rows, log = shared.work / f"{stage.name}.jsonl", shared.work / f"{stage.name}.log"
    rows.touch()
    start = time.monotonic()
    end = start + min(seconds, stage.seconds)
    code: int | str = "begins"
    proceed = True
    while proceed:
        before = len(read(rows)[0])
        code = _process(stage, shared, rows, log, end)
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
        started, _ = read(rows)
        _give_up(rows, code, stage.patience, tail)
        proceed = code not in (0, "limit") and len(started) > before  # otherwise another process could not start either
    results = read(rows)[1]
    is_ok = code == 0 and not any("failed" in row for row in results)
    status = "ok" if is_ok else "out of time" if code == "limit" else "failed"
    return Result(stage.name, status, round(time.monotonic() - start, 2), results, [] if is_ok else tail)


def _process(stage: Stage, shared: Run, rows: Path, log: Path, end: float) -> int | str:
    """Run a process for a stage. Returns its exit code, or why it was killed: "limit" or "silence"."""
    options = {"device": shared.device, "work": str(shared.work), "seconds": max(1.0, end - time.monotonic())}
    module = stage.module if "." in stage.module else f"benchmarks.gpu.{stage.module}"
    command = [sys.executable, "-m", "benchmarks.gpu.child", stage.name, module, str(rows), json.dumps(options)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **shared.environment}
    start = time.time()
    with log.open("ab") as output:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **streams)
        try:
            while (code := process.poll()) is None:
                time.sleep(POLL)
                if time.monotonic() > end:
                    return "limit"
                if time.time() - max(start, rows.stat().st_mtime) > stage.patience:
                    return "silence"
            return code
        finally:
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all processes that it has started."""
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # a driver may delay the end of a process
        process.wait(DYING)


def read(file: Path) -> tuple[list[str], list[Row]]:
    """The items that have started, and the rows of the finished ones."""
    names, results = [], []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
            if "begin" in row:
                names.append(row["begin"])
            else:
                results.append({"item": row["item"], **row})
        except (ValueError, KeyError, TypeError):
            results.append({"item": "a row", "failed": f"not a row of a stage: {line[:200]}"})
    return names, results


def _give_up(file: Path, code: int | str, patience: float, tail: list[str]) -> None:
    """Record that an item failed if it has started but not ended."""
    names, results = read(file)
    if not names or names[-1] in [row["item"] for row in results]:
        return
    last = next((line for line in reversed(tail) if line.strip()), "")
    why = {"limit": "the stage ran out of time", "silence": f"no output for {patience:g} s"}
    reason = why.get(str(code), f"its process ended with code {code}: {last[:300]}")
    append(file, {"item": names[-1], "failed": reason})


def append(file: Path, row: Row) -> None:
    """Append a row with a single write."""
    with file.open("ab", buffering=0) as opened:
        opened.write((json.dumps(row) + "\n").encode())
