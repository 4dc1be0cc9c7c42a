"""The command line: without sentences it trains, with sentences it translates them."""

from __future__ import annotations

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
