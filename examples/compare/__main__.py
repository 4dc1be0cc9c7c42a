"""The command line: ``python -m examples.compare --help`` tells of it."""

from __future__ import annotations

import sys

from .compare_command import main

if __name__ == "__main__":
    sys.exit(main())
