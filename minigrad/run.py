"""Start a program as several ranks: ``python -m minigrad.run -n 4 program.py``."""

from __future__ import annotations

import sys

from .distributed.launch import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
