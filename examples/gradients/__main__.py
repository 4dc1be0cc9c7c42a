"""The command line: ``python -m examples.gradients --help`` tells of it."""

from __future__ import annotations

import sys

from .gradients_command import main

if __name__ == "__main__":
    sys.exit(main())
