"""The program that ``process.ask`` runs: a single measurement of one library.

python -m benchmarks.child benchmarks.process:imported minigrad {}
"""

from __future__ import annotations

import importlib
import json
import sys

from .process import Missing


def main(function: str, library: str, arguments: str) -> None:
    """Call the function and print its answer on the last line."""
    module, name = function.split(":")
    try:
        answer = getattr(importlib.import_module(module), name)(library, **json.loads(arguments))
    except Missing as missing:
        answer = {"missing": str(missing)}
    print("\n" + json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
