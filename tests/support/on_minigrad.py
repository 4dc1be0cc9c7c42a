"""Programs that import transformers with minigrad in PyTorch's place: in a separate process, because an installed
PyTorch must not be replaced in this one, and a process imports a library only once."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MISSING = importlib.util.find_spec("transformers") is None
needs_transformers = pytest.mark.skipif(MISSING, reason="not installed: transformers")


def printed(program: str, *arguments: object, folder: Path) -> Any:
    """The last line of a program's output, read as JSON; ``sys.argv[1:]`` are the arguments."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "MINIGRAD")}
    offline = {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "TQDM_DISABLE": "1"}
    (folder / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "minigrad", "compat", str(folder / "program.py"), *map(str, arguments)]
    environment = {**os.environ, **threads, **offline}
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])
