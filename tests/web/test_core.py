"""The library in WebAssembly: some of its tests run in the browser's Python, in Node."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.web import core_tests

ROOT = Path(core_tests.__file__).parents[2]
MISSING = [program for program in ("node", "npm") if shutil.which(program) is None]
SAMPLE = (
    *(f"tests/autograd/test_{name}.py" for name in ("mode", "observer", "tape", "views")),
    "tests/compat/test_function.py",
    *(f"tests/nn/test_{name}.py" for name in ("init", "layers", "losses", "module", "pooling", "state_dict")),
    *(f"tests/serialization/test_{name}.py" for name in ("checkpoint", "safetensors_file", "serialization")),
    *("tests/ops/test_joining.py", "tests/ops/test_derivatives.py", "tests/functions", "tests/optim"),
)


@pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {' and '.join(MISSING)}, for the browser's Python")
def test_a_sample_of_the_tests_passes_in_the_browsers_python() -> None:
    command = [sys.executable, "-m", "docs.web.core_tests", *SAMPLE]
    ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    lines = (ran.stdout + ran.stderr).splitlines()[-60:]
    output = "\n".join(line[:300] for line in lines)  # Node prints lines of a megabyte
    assert ran.returncode == 0, output
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", ran.stdout.splitlines()[-1])}
    assert counts["passed"] >= 200 and "failed" not in counts, output
