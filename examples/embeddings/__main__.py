"""The command line: ``python -m examples.embeddings --help`` tells of it."""

from __future__ import annotations

import sys

from .embeddings_command import main

if __name__ == "__main__":
    sys.exit(main())
