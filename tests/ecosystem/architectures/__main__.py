"""Run the architectures: print a line for each, write a table of results to the folder, and count successes."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .find import KINDS
from .pool import TESTS, Worker

Found = dict[str, tuple[str, str]]
LIST = "import json; from ecosystem.architectures.find import *; f = find(); print(json.dumps([f, distinct(f)]))"


def main() -> int:
    """Run the command line; 0 if all architectures work."""
    options = _options()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run([options.torch, "-c", LIST], capture_output=True, text=True, check=True, cwd=TESTS)
    classes, distinct = json.loads(listed.stdout.splitlines()[-1])
    types = _chosen(options.types, classes, distinct)
    expected = _ask(options, "torch", classes, types, 5 * 25, options.again)
    run = [kind for kind in types if expected[kind]["ok"]]
    ours = _ask(options, "minigrad", classes, run, options.seconds, True)
    _settle(options, classes, ours)
    back = _ask(options, "back", classes, [kind for kind in run if ours[kind]["ok"]], 60, True)
    good = [kind for kind in run if ours[kind]["ok"] and back[kind]["ok"]]
    for kind in types:
        if kind not in good:
            side = next(side for side in (expected, ours, back) if not side[kind]["ok"])
            print(f"{kind:28} {classes[kind][0]:40} {'torch: ' if side is expected else ''}{side[kind]['why']}")
    wide = [kind for kind in good if "dtype" in ours[kind]]
    if wide:
        print(f"only in float64: {', '.join(wide)}")
    print(f"{len(good)} of {len(run)} work; PyTorch itself does not run {len(types) - len(run)} more here")
    return 0 if len(good) == len(run) else 1


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem.architectures", description=__doc__)
    parser.add_argument("types", nargs="*", help='model types, "kinds", or a range of first letters: "a-l"')
    parser.add_argument("--folder", type=Path, required=True, help="weights, inputs and results")
    parser.add_argument("--torch", required=True, help="Python of an environment with PyTorch")
    parser.add_argument("--minigrad", required=True, help="Python of an environment with minigrad")
    parser.add_argument("--again", action="store_true", help="also measure PyTorch again")
    parser.add_argument("--seconds", type=float, default=120, help="time limit of minigrad for one architecture")
    return parser.parse_args()


def _chosen(types: list[str], classes: Found, distinct: list[str]) -> list[str]:
    kinds: list[str] = []
    for word in types or ["0-z"]:
        if word == "kinds":
            kinds += KINDS
        elif len(word) == 3 and word[1] == "-":
            kinds += [kind for kind in distinct if word[0] <= kind[0] <= word[2]]
        elif word in classes:
            kinds.append(word)
        else:
            raise SystemExit(f"transformers has no model type {word!r}")
    return list(dict.fromkeys(kinds))


def _settle(options: Any, classes: Found, ours: dict[str, Any]) -> None:
    """Decide in float64 where float32 ran but differs, and PyTorch's float32 differs as much from its float64."""
    open_ = [kind for kind, reply in ours.items() if not reply["ok"] and reply.get("ran")]
    theirs = _ask(options, "torch64", classes, open_, 250, True)
    open_ = [kind for kind in open_ if theirs[kind]["ok"] and theirs[kind]["float32 itself"]]
    again = _ask(options, "minigrad64", classes, open_, 2 * options.seconds, True)
    for kind in [kind for kind in again if again[kind]["ok"]]:
        ours[kind] = {**ours[kind], "ok": True, "dtype": "float64"}
        (options.folder / f"{kind}.minigrad.json").write_text(json.dumps(ours[kind], indent=1))


def _ask(options: Any, side: str, classes: Found, types: list[str], seconds: float, again: bool) -> dict[str, Any]:
    """The answers of one side, each stored in ``TYPE.SIDE.json``."""
    python = options.minigrad if side.startswith("minigrad") else options.torch
    worker = Worker(python, side, options.folder / f"{side}.log")
    answers = {}
    for i, kind in enumerate(types, 1):
        file = options.folder / f"{kind}.{side}.json"
        if again or not file.exists():
            started = time.perf_counter()
            reply = worker.ask([str(options.folder / kind), kind, *classes[kind]], seconds)
            file.write_text(json.dumps({"wall": round(time.perf_counter() - started, 2), **reply}, indent=1))
        answers[kind] = json.loads(file.read_text())
        verdict = "ok" if answers[kind]["ok"] else answers[kind]["why"]
        print(f"{side} {i}/{len(types)} {kind:28} {verdict}", flush=True)
    worker.stop()
    return answers


if __name__ == "__main__":
    sys.exit(main())
