"""The command ``minigrad``, also as ``python -m minigrad``."""

from __future__ import annotations

import sys

from .commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
