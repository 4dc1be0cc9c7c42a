"""What the site takes from npm, pinned by package-lock.json: npm checks each file's hash."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
STAMP = MODULES / ".minigrad-installed"


def install() -> None:
    """See to it that docs/web/node_modules holds what package-lock.json says. Raises SystemExit: npm is missing, or has
    failed."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == lock:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("The site needs Node.js 18 or later with npm: on Debian, sudo apt install nodejs npm.")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(command, cwd=HERE, check=False).returncode:
        raise SystemExit(f"npm could not install what the site carries ({' '.join(command[1:])}): see above.")
    STAMP.write_text(lock)


def run(program: str, *arguments: str) -> None:
    """Run a program that npm has installed. Raises SystemExit: it is missing, or has failed."""
    found = shutil.which(program, path=MODULES / ".bin")  # on Windows it ends in .cmd
    if found is None:
        raise SystemExit(f"{program} is missing: delete {STAMP}, and it is installed again.")
    if subprocess.run([found, *arguments], cwd=HERE, check=False).returncode:
        raise SystemExit(f"{program} has failed: see above.")


def run_python(packs: Path, program: Path, *arguments: str) -> None:
    """Run a program with the browser's Python, and the packs of a folder (node.mjs). Raises SystemExit: Node.js is
    missing, or the program has failed."""
    if shutil.which("node") is None:
        raise SystemExit("The site needs Node.js 18 or later: on Debian, sudo apt install nodejs.")
    command = ["node", str(HERE / "node.mjs"), str(packs), str(program), *arguments]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"{program.name} has failed under Pyodide: see above.")
