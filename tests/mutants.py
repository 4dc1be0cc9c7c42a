"""Breaks the library in fifty places, one at a time, and checks that a test fails: ``python -m tests.mutants``.

It works on a copy of the checkout, passes its arguments on to pytest, and prints for each mutant the first test that
failed, or SURVIVED. The exit status is the number of survivors.
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
    """Try all mutants. Returns the number of survivors."""
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
    """Each mutant's file, the tests that must fail, the text, and its replacement."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["file"]
    return [(entry["path"], entry["tests"], old, new) for entry in entries for old, new in entry["breaks"]]


def first_failure(checkout: Path, arguments: list[str]) -> str:
    """The name of the first test that fails, or ""."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", str(os.cpu_count() or 1)]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.run(
        [*command, *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode not in (0, 1, 2):
        raise RuntimeError(process.stdout[-2000:] + process.stderr[-2000:])
    names = re.findall(r"^(?:FAILED|ERROR) (\S+)", process.stdout, re.MULTILINE)
    return names[0] if names else ("nothing can be imported" if process.returncode == 2 else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
