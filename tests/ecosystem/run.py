"""Runs one example in the environment whose Python this is, and writes its results to a file.

    python -P run.py EXAMPLE RESULTS [--minigrad]

``--minigrad`` first puts minigrad in PyTorch's place, in an environment without PyTorch. Nothing else differs between
the two sides, except one step on PyTorch's: a torchvision whose C++ library was not built for that PyTorch cannot be
imported, and most libraries use only its Python part, so its operators are declared beforehand (``name_operators``).

The results are a safetensors file: numbers and tensors by name, and as metadata a JSON text of the values that must be
equal (strings, single ints, dtypes) and the seconds that ``run()`` took. Nothing is pickled.
"""

import argparse
import importlib
import importlib.util
import json
import random
import re
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

Flat = tuple[dict[str, np.ndarray], dict[str, Any]]


def flatten(results: Mapping[str, Any], tensor: Any) -> Flat:
    """Split results into arrays, which may differ by rounding, and values that must be equal, both by name.

    Args:
        results: numbers, strings, tensors, arrays, and sequences and mappings of these; a sequence of only numbers is
            one array.
        tensor: the class of tensors.

    Raises:
        TypeError: a value of another type.
    """
    arrays: dict[str, np.ndarray] = {}
    equal: dict[str, Any] = {}

    def put(name: str, value: Any) -> None:
        if isinstance(value, tensor):
            equal[f"{name}.dtype"] = str(value.dtype)
            value = value.detach()
            of_numpy = not str(value.dtype).endswith(("bfloat16", "e4m3fn", "e5m2"))
            put(name, (value if of_numpy else value.float()).cpu().numpy())
        elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
            value = np.array(value, order="C")
            arrays[name] = np.stack([value.real, value.imag], -1) if value.dtype.kind == "c" else value
        elif isinstance(value, float | complex):
            put(name, np.asarray(value))
        elif value is None or isinstance(value, str | int):
            equal[name] = value
        elif isinstance(value, Mapping):
            for key, part in value.items():
                put(f"{name}.{key}", part)
        elif isinstance(value, list | tuple | np.ndarray) and not _is_numbers(value):
            equal[f"{name}.length"] = len(value)
            for number, part in enumerate(value):
                put(f"{name}.{number}", part)
        elif isinstance(value, list | tuple):
            put(name, np.array(value))
        else:
            raise TypeError(f"{name} is a {type(value).__name__}: results are numbers, strings, tensors and arrays")

    for name, value in results.items():
        put(name, value)
    return arrays, equal


def _is_numbers(value: Any) -> bool:
    return bool(value) and all(type(part) in (int, float, bool) for part in value)


def name_operators() -> None:
    """Declare torchvision's operators in PyTorch if torchvision's own library cannot do so.

    They cannot be called: an example that needs one fails.
    """
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return
    torch: Any = importlib.import_module("torch")
    folder = Path(spec.origin).parent
    try:
        for library in folder.glob("_C*.so"):
            torch.ops.load_library(str(library))
    except OSError:
        text = (folder / "_meta_registrations.py").read_text(encoding="utf-8")
        names = {"nms", *re.findall(r'register_meta\("(\w+)"\)|register_fake\("torchvision::(\w+)"\)', text)}
        for name in sorted({"nms", *("".join(groups) for groups in names)}):
            torch.library.define(f"torchvision::{name}", "(Tensor a) -> Tensor")


def load(name: str, program: Path) -> Any:
    """Import a file as a module under a name, by which pickle finds its classes again."""
    spec = importlib.util.spec_from_file_location(name, program)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Run the example from a seed, and write what it returned."""
    parser = argparse.ArgumentParser(description="Run one example, and write its results.")
    parser.add_argument("example", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--minigrad", action="store_true", help="use minigrad instead of PyTorch")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.minigrad:
        if importlib.util.find_spec("torch"):
            sys.exit("PyTorch is installed in the environment that must be without it")
        from minigrad.compat import as_torch

        as_torch()
    else:
        name_operators()
        importlib.import_module("torch._dynamo")  # not while the clock runs, in an optimiser's first step
    import torch

    load("training", Path(__file__).with_name("training.py"))
    example = load("example", options.example)
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    start = time.perf_counter()
    results = example.run()
    seconds = time.perf_counter() - start
    arrays, equal = flatten(results, torch.Tensor)
    save_file(arrays, options.results, {"equal": json.dumps(equal), "seconds": str(seconds)})


if __name__ == "__main__":
    main()
