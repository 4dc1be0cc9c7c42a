"""The command line: ``python -m examples.lectures --help`` tells of it."""

from __future__ import annotations

import sys

from .lectures_command import main

if __name__ == "__main__":
    sys.exit(main())
