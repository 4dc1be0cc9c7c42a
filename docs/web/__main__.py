"""Build the changed parts of the site, and show it:  python -m docs.web [--serve] [--port N] [--out FOLDER]"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .build import SITE, build
from .server import serve


def main() -> int:
    """Run the command line."""
    p = argparse.ArgumentParser(prog="python tasks.py site", description="Build the site.")
    p.add_argument("--out", type=Path, default=SITE, metavar="FOLDER", help="output folder (default: site/)")
    p.add_argument("--serve", action="store_true", help="serve it on this machine")
    port = "port of the server (default: 8000; 0: any free port)"
    p.add_argument("--port", type=int, metavar="N", default=8000, help=port)
    options = p.parse_args()
    build(options.out)
    if options.serve:
        try:
            serve(options.out, options.port)
        except (OSError, OverflowError) as error:
            print(f"Port {options.port} cannot be used ({error}): choose another with --port.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
