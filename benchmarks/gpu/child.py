"""The process of a stage, which runs the items not started by an earlier process, and writes their rows.

    python -m benchmarks.gpu.child STAGE MODULE ROWS OPTIONS

The module's ``items(place)`` returns functions by name. A function returns a row, which is a dict of strings and
numbers, or a list of rows. It raises ``Missing`` if a library is not installed, and, in a rehearsal, ``NeedsGpu`` if it
needs a real GPU.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..process import Missing
from .place import NeedsGpu, Place
from .runner import append, read

LONGEST = 6000  # characters in a reason
LOST = 70  # exit code if the GPU has stopped responding


def main(stage: str, module: str, file: str, options: str) -> None:
    """Run the rest of the stage."""
    rows, option = Path(file), json.loads(options)
    place = Place(stage, rows, option["device"], Path(option["work"]), option["seconds"])
    place.begin()
    started, _ = read(rows)
    for name, function in importlib.import_module(module).items(place).items():
        if name in started:
            continue
        append(rows, {"begin": name})
        start = time.perf_counter()
        answer = _answer(function)
        for row in answer:
            append(rows, {"item": name, "seconds": round(time.perf_counter() - start, 3), **row})
        if "failed" in answer[-1]:
            try:
                place.synchronize()
            except Exception:
                print("the GPU has stopped responding; another process continues", file=sys.stderr)
                os._exit(LOST)  # CUDA's own clean-up may hang


def _answer(function: Callable[[], Any]) -> list[dict[str, Any]]:
    """The rows of an item, or the reason why it has no rows."""
    try:
        values = function()
        return [{"values": plain(row)} for row in (values if isinstance(values, list) else [values or {}])]
    except Missing as missing:
        return [{"missing": str(missing)}]
    except NeedsGpu as needs:
        return [{"needs": f"needs a GPU: {needs}"}]
    except Exception as error:
        traceback.print_exc()
        return [{"failed": f"{type(error).__name__}: {error}"[:LONGEST]}]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row in types that JSON supports: NumPy scalars become Python numbers; NaN and infinities become strings."""
    values = {k: v.item() if hasattr(v, "item") else v for k, v in row.items()}
    return {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
