"""Start a program as several ranks: ``python -m minigrad.run -n 4 program.py``."""

from __future__ import annotations

import sys

from minigrad.distributed.launch import main  # absolute: ``-m`` may know this file by another name

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
