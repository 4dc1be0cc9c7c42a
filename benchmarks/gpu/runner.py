"""Stages as processes of their own, each with its own limit of time, killed as a group.

A stage's process appends a line of JSON to its file of rows when an item begins and when it ends (see ``child``). So
its rows survive any end of it: an error, a lost CUDA context, the limit. An item whose process dies,
or is silent for too long, has failed, and another process goes on with the next item.
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
TAIL = 400  # lines that are kept of a stage that fails
POLL = 0.05  # seconds between looks at a process
DYING = 5.0  # seconds to wait for a process that was killed
Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """The settings that all stages share."""

    device: str  # "cuda"; "strict" in a rehearsal
    work: Path  # a folder for files of this run
    environment: dict[str, str] = field(default_factory=dict)  # added to that of this process


@dataclass
class Result:
    """The rows of a stage. ``status``: "ok", "failed", "out of time" or "left out"."""

    name: str
    status: str = "left out"
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)


def run(stage: Stage, shared: Run, seconds: float) -> Result:
    """Run a stage for at most so many seconds, or its own limit."""
    rows, log = shared.work / f"{stage.name}.jsonl", shared.work / f"{stage.name}.log"
    rows.touch()
    start = time.monotonic()
    end = start + min(seconds, stage.seconds)
    code: int | str = "begins"
    goes_on = True
    while goes_on:
        before = len(read(rows)[0])
        code = _process(stage, shared, rows, log, end)
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
        begun, _ = read(rows)
        _give_up(rows, code, stage.patience, tail)
        goes_on = code not in (0, "limit") and len(begun) > before  # else another process would not begin, either
    results = read(rows)[1]
    is_ok = code == 0 and not any("failed" in row for row in results)
    status = "ok" if is_ok else "out of time" if code == "limit" else "failed"
    return Result(stage.name, status, round(time.monotonic() - start, 2), results, [] if is_ok else tail)


def _process(stage: Stage, shared: Run, rows: Path, log: Path, end: float) -> int | str:
    """One process of a stage. Returns its exit code, or why it was killed: "limit" or "silence"."""
    options = {"device": shared.device, "work": str(shared.work), "seconds": max(1.0, end - time.monotonic())}
    module = stage.module if "." in stage.module else f"benchmarks.gpu.{stage.module}"
    command = [sys.executable, "-m", "benchmarks.gpu.child", stage.name, module, str(rows), json.dumps(options)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **shared.environment}
    start = time.time()
    with log.open("ab") as written:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": written, "stderr": subprocess.STDOUT}
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
    """End a process, and all that it has started."""
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # a driver may hold a process back
        process.wait(DYING)


def read(file: Path) -> tuple[list[str], list[Row]]:
    """The items that have begun, and the rows of those that have ended."""
    names, results = [], []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
            if "begin" in row:
                names.append(row["begin"])
            else:
                results.append({"item": row["item"], **row})
        except (ValueError, KeyError, TypeError):
            results.append({"item": "a row", "failed": f"no row of a stage: {line[:200]}"})
    return names, results


def _give_up(file: Path, code: int | str, patience: float, tail: list[str]) -> None:
    """If an item has begun and not ended, write that it has failed."""
    names, results = read(file)
    if not names or names[-1] in [row["item"] for row in results]:
        return
    last = next((line for line in reversed(tail) if line.strip()), "")
    why = {"limit": "the stage's time was over", "silence": f"nothing was heard of it for {patience:g} s"}
    reason = why.get(str(code), f"its process ended with code {code}: {last[:300]}")
    append(file, {"item": names[-1], "failed": reason})


def append(file: Path, row: Row) -> None:
    """Write a row in one piece."""
    with file.open("ab", buffering=0) as opened:
        opened.write((json.dumps(row) + "\n").encode())
