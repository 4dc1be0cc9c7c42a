"""The toy translator, trained and scored by the command that a person types."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

from .place import Place
from .texts import translations

PAIRS = 100  # of a rehearsal: the fewest of which some are held out
_SIZES = "--layers 1 --d-model 8 --heads 2 --d-ff 8 --batch-tokens 32 --positions 16"
TINY = f"--preset toy --held-out 1 --steps 3 --warm-up 1 {_SIZES}".split()


def items(place: Place) -> dict[str, Callable[[], Any]]:
    """One training."""
    return {"minigrad train": lambda: trained(place)}


def trained(place: Place) -> dict[str, Any]:
    """Seconds and scores of a training. Raises RuntimeError: the command failed; its output is in the log."""
    folder = place.work / "toy"
    tiny = _tiny(place) if place.rehearsal else []
    command = place.command("minigrad", "train", "--device", place.device, "--run", str(folder), *tiny)
    start = time.perf_counter()
    done = subprocess.run(command, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"minigrad train ended with code {done.returncode}")
    scores = json.loads((folder / "test.json").read_text(encoding="utf-8"))
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    exact = scores["exact"] / scores["sentences"]
    row = {"training": "toy", "seconds in all": seconds, "BLEU": scores["bleu"]["value"], "exact": exact}
    return {**row, "log": [json.loads(line) for line in lines[-2:]]}


def _tiny(place: Place) -> list[str]:
    pairs, table = translations(place, "toy")[0], place.work / "pairs.tsv"
    rows = [f"{a}\t{b}\n" for a, b in zip(pairs.source, pairs.target, strict=True)]
    table.write_text("".join(rows[:PAIRS]), encoding="utf-8")
    return [*TINY, "--data", str(table)]
