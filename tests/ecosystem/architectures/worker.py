"""One architecture after another: reads a line of JSON per task from ``pool.py``, and answers with one.

Sides: "torch" builds a model and stores weights, inputs and results in the type's folder; "minigrad" loads it, computes
and compares the same, and saves it again; "back" reads that with PyTorch. If float32 differs, "torch64" and
"minigrad64" do the same in float64: some models amplify rounding until PyTorch's own float32 exceeds the tolerance
(where the choice of an expert depends on it, or a step of AdamW along a gradient that should be 0).
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .compare import compare
from .inputs import candidates
from .measure import Arrays, host, loss_and_outputs, measure
from .shrink import RECIPES, shrink

SECONDS_OF_TORCH, MOST_PARAMETERS = 20, 25_000_000
EXPECTED = {"float32": "expected.npz", "float64": "expected.float64.npz"}
Reply = dict[str, Any]


class _TooSlow(Exception):
    """An attempt exceeded its time limit."""


def _limit(seconds: int) -> None:
    """Raise ``_TooSlow`` in the running attempt after some seconds of processor time; 0 for no limit."""

    def stop(*signal: Any) -> None:
        raise _TooSlow(f"more than {seconds} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def torch_side(folder: Path, kind: str, name: str, task: str) -> Reply:
    """The first recipe that PyTorch builds, saves, loads and runs."""
    errors = []
    for recipe in RECIPES:
        shutil.rmtree(folder, ignore_errors=True)
        started = time.perf_counter()
        _limit(SECONDS_OF_TORCH)
        try:
            reply = _try_recipe(folder, kind, name, task, recipe)
            return {**reply, "recipe": recipe, "seconds": round(time.perf_counter() - started, 2)}
        except Exception as error:
            errors.append(f"{recipe}: {_last_line(error)}")
            if isinstance(error, _TooSlow):
                break
        finally:
            _limit(0)
    return {"ok": False, "why": errors[0], "all": errors}


def _try_recipe(folder: Path, kind: str, name: str, task: str, recipe: str) -> Reply:
    import torch
    import transformers

    cls = getattr(transformers, name)
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in cls(shrink(kind, recipe)).parameters())
    if size > MOST_PARAMETERS:
        raise ValueError(f"{size:,} parameters are too many")
    torch.manual_seed(0)
    model = cls(shrink(kind, recipe)).eval()
    _perturb(model)
    model.save_pretrained(folder / "weights")
    loaded = cls.from_pretrained(folder / "weights", dtype=torch.float32).eval()
    inputs = _first_that_runs(model, loaded, kind, task)
    loaded = cls.from_pretrained(folder / "weights", dtype=torch.float32)  # some cache results without gradients
    try:
        expected, why = measure(loaded, inputs)
    except _TooSlow:
        raise
    except Exception as error:
        loaded = cls.from_pretrained(folder / "weights", dtype=torch.float32)
        (expected, _), why = measure(loaded, inputs, generates=False), _last_line(error)
    if not np.isfinite(expected["losses"]).all():
        raise ValueError("PyTorch's losses are not finite")
    np.savez(folder / "inputs.npz", **inputs)
    np.savez(folder / "expected.npz", **expected)
    gradients = sum(key.startswith("gradient.") for key in expected)
    parts = {"gradients": gradients, "parameters": len(list(model.parameters())), "inputs": sorted(inputs)}
    ids = any(key.startswith("generated") for key in expected)
    return {"ok": True, "class": name, "no_ids": why, "ids": ids, **parts}


def _perturb(model: Any) -> None:
    """Make every parameter random, even biases and norms, which start as zeros and ones."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and parameter.requires_grad:
                width = parameter.shape[-1] if parameter.dim() else 1
                parameter.add_(torch.randn(parameter.shape) * min(0.1, 0.5 / max(width, 1) ** 0.5))


def _first_that_runs(model: Any, loaded: Any, kind: str, task: str) -> Arrays:
    import torch

    first: Exception | None = None
    for inputs in candidates(loaded, kind, task):
        try:
            tensors = {key: torch.tensor(value) for key, value in inputs.items()}
            with torch.no_grad():
                loss, outputs = loss_and_outputs(loaded, tensors)
                before = dict(loss_and_outputs(model, tensors)[1])
            loss, _ = loss_and_outputs(loaded, tensors)
            loss.backward()
            loaded.zero_grad()
        except _TooSlow:
            raise
        except Exception as error:
            first = first or error
            continue
        if not (torch.is_tensor(loss) and loss.isfinite()):
            first = first or ValueError("the loss is not finite")
            continue
        for key, value in outputs:
            if not torch.allclose(value.float(), before[key].float(), rtol=1e-4, atol=1e-5, equal_nan=True):
                raise ValueError(f"PyTorch does not read back what it saved: {key} differs")
        return inputs
    raise first or ValueError("no rule for its inputs")


def minigrad_side(folder: Path, kind: str, name: str, task: str, dtype: str = "float32") -> Reply:
    """The same on minigrad, from the files that PyTorch wrote."""
    import torch
    import transformers

    inputs, expected = dict(np.load(folder / "inputs.npz")), dict(np.load(folder / EXPECTED[dtype]))
    model = getattr(transformers, name).from_pretrained(folder / "weights", dtype=getattr(torch, dtype))
    generates = any(key.startswith("generated") for key in expected)
    try:
        if dtype == "float32":
            model.save_pretrained(folder / "saved")
        actual, _ = measure(model, inputs, generates)
        problems = compare(actual, expected)
    except Exception as error:
        return {"ok": False, "why": _last_line(error), "trace": traceback.format_exc()}
    return {"ok": not problems, "why": "; ".join(problems[:3]), "all": problems, "ran": True}


def torch_side_again(folder: Path, kind: str, name: str, task: str) -> Reply:
    """PyTorch's results in float64 with the same weights and inputs."""
    import torch
    import transformers

    inputs, before = dict(np.load(folder / "inputs.npz")), dict(np.load(folder / EXPECTED["float32"]))
    model = getattr(transformers, name).from_pretrained(folder / "weights", dtype=torch.float64)
    expected, _ = measure(model, inputs, any(key.startswith("generated") for key in before))
    np.savez(folder / EXPECTED["float64"], **expected)
    own = compare({key: x.astype(expected[key].dtype) for key, x in before.items()}, expected)
    return {"ok": True, "float32 itself": own}


def back_side(folder: Path, kind: str, name: str, task: str) -> Reply:
    """PyTorch reads the model that minigrad saved, and reproduces its outputs."""
    import torch
    import transformers

    inputs, expected = (dict(np.load(folder / f"{part}.npz")) for part in ("inputs", "expected"))
    model = getattr(transformers, name).from_pretrained(folder / "saved", dtype=torch.float32).eval()
    with torch.no_grad():
        _, outputs = loss_and_outputs(model, {key: torch.tensor(value) for key, value in inputs.items()})
    wrong = [k for k, v in outputs if not _same(host(v), expected[f"output.{k}"])]
    shutil.rmtree(folder / "saved")
    return {"ok": not wrong, "why": f"torch reads back other {', '.join(wrong)}" if wrong else ""}


def _same(actual: Any, expected: Any) -> bool:
    """Equal up to rounding, whose size depends on the largest numbers in the sums."""
    largest = np.abs(np.nan_to_num(expected)).max(initial=1)
    return np.allclose(actual, expected, 1e-5, 1e-6 * largest, equal_nan=True)


def _last_line(error: BaseException) -> str:
    """An error's type and text, on one line, and the program line that raised it."""
    text = " ".join(str(error).split())[:200]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "ecosystem" not in f.filename]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {text}{place}"


SIDES: dict[str, Callable[..., Reply]] = {"torch": torch_side, "torch64": torch_side_again, "back": back_side}
SIDES |= {"minigrad": minigrad_side, "minigrad64": partial(minigrad_side, dtype="float64")}


def main() -> None:
    """Answer until there are no more lines."""
    side = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w")  # output of libraries goes to stderr
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    if side.startswith("minigrad"):
        from minigrad.compat import as_torch

        as_torch()
    import torch
    import transformers

    torch.set_num_threads(1)
    logging: Any = transformers.logging
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    for line in sys.stdin:
        folder, kind, name, task = json.loads(line)
        try:
            reply = SIDES[side](Path(folder), kind, name, task)
        except Exception as error:
            reply = {"ok": False, "why": _last_line(error), "trace": traceback.format_exc()}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
