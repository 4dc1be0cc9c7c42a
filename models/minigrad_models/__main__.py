"""The ``minigrad`` command, which can also be run as ``python -m minigrad_models``."""

from __future__ import annotations

import sys

from .commands.minigrad_command import main

if __name__ == "__main__":
    sys.exit(main())
