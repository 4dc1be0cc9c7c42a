"""``python -m minigrad``: the command that the distribution installs, as ``minigrad`` where scripts are on PATH."""

from __future__ import annotations

import sys
from importlib.metadata import distribution

if __name__ == "__main__":
    (command,) = distribution("minigrad-nn").entry_points.select(group="console_scripts", name="minigrad")
    sys.exit(command.load()())
