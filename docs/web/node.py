"""The site's npm packages, pinned by package-lock.json: npm checks each file's hash."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
STAMP = MODULES / ".minigrad-installed"


def install() -> None:
    """Install the packages of package-lock.json in docs/web/node_modules, if it is out of date. Raises SystemExit if
    npm is missing or fails."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == lock:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("The site needs Node.js 18 or later with npm: on Debian, sudo apt install nodejs npm.")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(command, cwd=HERE, check=False).returncode:
        raise SystemExit(f"npm could not install the site's packages ({' '.join(command[1:])}): see above.")
    STAMP.write_text(lock)


def run(program: str, *arguments: str | Path) -> None:
    """Run node, or a program that npm has installed. Raises SystemExit if it is missing or fails."""
    path = shutil.which(program, path=MODULES / ".bin") or shutil.which(program)  # on Windows it ends in .cmd
    if path is None:
        raise SystemExit(f"{program} is missing: delete {STAMP} to install it again.")
    if subprocess.run([path, *arguments], cwd=HERE, check=False).returncode:
        raise SystemExit(f"{program} failed: see above.")
