"""Breaks the library in fifty places, one at a time, and shows that a test notices: ``python -m tests.mutants``.

It works on a copy of the checkout, runs pytest with the arguments that follow, and prints for each break the first test
that failed, or SURVIVED. The exit status is the number of survivors.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).with_suffix(".toml")
LEFT_OUT = shutil.ignore_patterns(".git", "node_modules", ".*_cache", "__pycache__", "site")


def main(arguments: list[str]) -> int:
    """Try all breaks. Returns the number of those that no test notices."""
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        for path, tests, old, new in breaks():
            whole = (copy / path).read_text(encoding="utf-8")
            (copy / path).write_text(whole.replace(old, new), encoding="utf-8")
            failed = first_failure(copy, [*tests, *arguments])
            (copy / path).write_text(whole, encoding="utf-8")
            survivors += not failed
            print(f"{path}: {old.strip()!r}: {failed or 'SURVIVED'}", flush=True)
    print(f"{survivors} survived")
    return survivors


def breaks() -> list[tuple[str, list[str], str, str]]:
    """The file of each break, the tests that have to notice it, the text, and what takes its place."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["file"]
    return [(entry["path"], entry["tests"], old, new) for entry in entries for old, new in entry["breaks"]]


def first_failure(checkout: Path, arguments: list[str]) -> str:
    """The name of the first test that fails; "" if none does."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", str(os.cpu_count() or 1)]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1, 2):
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    names = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return names[0] if names else ("nothing can be imported" if done.returncode == 2 else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
