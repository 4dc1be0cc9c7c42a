"""A worker in a separate process, which is restarted after a crash, after a timeout, and after a number of tasks."""

import json
import os
import select
import subprocess
from pathlib import Path
from typing import Any

TASKS_PER_PROCESS = 100  # modules of transformers stay in memory
SECONDS_TO_START = 60
TESTS = Path(__file__).parents[2]  # some libraries install a package "tests", which would shadow this one


class Worker:
    """One side's worker.

    Args:
        python: the interpreter.
        side: "torch", "minigrad" or "back".
        log: the file for the output of the process.
    """

    def __init__(self, python: str, side: str, log: Path) -> None:
        self._command = [python, "-m", "ecosystem.architectures.worker", side]
        self._log, self._done = log, 0
        self._process: subprocess.Popen[str] | None = None

    def ask(self, task: list[str], seconds: float) -> dict[str, Any]:
        """The answer to a task, or the reason for its failure."""
        if self._done >= TASKS_PER_PROCESS:
            self.stop()
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        limit = seconds + (0 if self._done else SECONDS_TO_START)
        self._done += 1
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            self.stop()
            return {"ok": False, "why": "the worker does not start"}
        ready, _, _ = select.select([process.stdout], [], [], limit)
        answer = process.stdout.readline() if ready else ""
        if answer:
            reply: dict[str, Any] = json.loads(answer)
            return reply
        self.stop()
        return {"ok": False, "why": f"the process died ({process.returncode})" if ready else f"more than {seconds} s"}

    def _start(self) -> subprocess.Popen[str]:
        settings = {**os.environ, "OMP_NUM_THREADS": "1", "MINIGRAD_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        with self._log.open("a") as log:
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log, "text": True}
            self._process = subprocess.Popen(self._command, **pipes, cwd=TESTS, env=settings)
        return self._process

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process, self._done = None, 0
