"""The command line: ``python -m minigrad.translate --help`` tells of its commands."""

from __future__ import annotations

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
