"""Writes docs/pytorch.md: PyTorch's names in minigrad, and the differences.

    python docs/generate_pytorch.py            write it
    python docs/generate_pytorch.py --check    fail if it is out of date

The names are in docs/pytorch_names.txt; the running library determines whether they are provided.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NAMES = ROOT / "docs" / "pytorch_names.txt"
SUITES = ROOT / "docs" / "pytorch_suites.toml"
COUNTS, LEFT = (ROOT / "tests" / "peers" / name for name in ("counts.toml", "left.toml"))
PAGE = ROOT / "docs" / "pytorch.md"
INTRODUCTION = """\
# PyTorch's names

Written by `python docs/generate_pytorch.py`; a test fails when it is out of date.

A program for PyTorch runs on minigrad in one of these ways:

- `import minigrad as torch`, and `from minigrad import nn` for its other imports;
- `minigrad compat program.py arguments`, with the program unchanged;
- `minigrad.compat.as_torch()` before anything imports torch: as a call it is permanent, as `with as_torch() as
  torch:` it ends with the block, except for modules that the block imported; `as_torch(replace=True)` replaces a
  PyTorch that is already imported.

Libraries that import torch run in the same ways: [huggingface.md](huggingface.md) shows it with transformers.

You can import paths such as `torch.nn.modules.transformer` and `torch.cuda.amp`. Other spellings of names are in
[compat/names.py](../minigrad/compat/names.py), together with the names of functions without effect, which are in
[compat/no_ops.py](../minigrad/compat/no_ops.py). Absent names are in
[compat/absent.py](../minigrad/compat/absent.py), with alternatives: you can import them, use them in annotations
and derive from them; a call raises an error that explains this.

## General differences

- A process computes on one device, the CPU or (with CuPy) a GPU: `DataParallel` calls the module directly. Several
  processes work together as in PyTorch, including `torch.distributed` and `DistributedDataParallel`, through MPI, which
  "gloo" also selects, or NCCL. `torchrun -n 2 program.py` is
  `python -m minigrad.run -n 2 -m minigrad compat program.py`; `mpiexec` and a program's own
  `torch.multiprocessing.spawn` also start ranks; nothing else does. Models are not sharded: there is no FSDP.
- Nothing is compiled or recorded: `compile`, `jit.script` and `jit.trace` return their argument.
- `autocast` converts by PyTorch's two tables. On the CPU, `LSTMCell` also gives a 16-bit result, and
  `linear_cross_entropy` becomes a 16-bit product and a float32 loss, which holds all logits.
- bfloat16 needs the package ml_dtypes (`pip install -e ".[bfloat16]"`), and on a GPU also CuPy 14. In files it
  stays bfloat16; without the package it is loaded as float32, which holds all its numbers. `.array` has ml_dtypes'
  dtype.
- Nodes have PyTorch's names if an op or a function of minigrad corresponds to one op of PyTorch. If a function
  consists of several ops in PyTorch, the names within differ, as do the edges.
- An op on float16 or bfloat16 is computed in float32, and its result rounded, as in PyTorch; `grad_fn` then names the
  rounding. Some functions of several ops round after each.
- The suffix of a path selects the format of `save`. `.safetensors` is for weights, and any library's safetensors
  reads them; the file's metadata describes the structure around them, and tensors that are views of others. Any other
  path, such as `.pt` or `.pth`, and a file object get PyTorch's archive, which `torch.load(weights_only=True)` reads:
  state dicts, states of optimizers and schedulers, and tensors in plain containers, with views and ties preserved.
  NumPy's arrays, namespaces and the like need `weights_only=False` there, as in PyTorch's own files; here they are
  data. NumPy's times, which this format lacks, get the format of `.safetensors` under any name. An object that holds a
  module or an instance of a program's class is pickled. `load` looks at the content, not at the name, and so reads
  older files.
- If a file object holds several objects, each `load` reads one and leaves the file position after it; PyTorch does
  this only with its file format before 1.6.
- Switches in `torch.backends` can be set and read, and have no effect, with one exception: `allow_tf32`,
  fp32_precision` and `set_float32_matmul_precision` let a GPU multiply float32 in TF32. They also control convolutions,
    which use matrix products; PyTorch has `cudnn.allow_tf32` for these.
- `__version__` is minigrad's own. In `minigrad compat` and after `as_torch()` it is the version of the PyTorch whose
  names minigrad has, `minigrad.version.torch`, so that programs can compare it.
- `torch.cuda` without a GPU reports no devices and no bytes, like PyTorch without CUDA.
- From the same seed, random numbers on the CPU are PyTorch's; normal ones in float32 to 4 units in the last place. The
  gamma, Poisson and binomial distributions, and distributions based on them (Beta, Dirichlet, Chi2, StudentT,
  FisherSnedecor, Wishart, LKJCholesky, NegativeBinomial, InverseGamma), draw other numbers, and so do the calls after
  them. `gradgradcheck` draws its directions from a separate stream.
- Dropout on the CPU draws from PyTorch's stream in programs that run with `minigrad compat` or `as_torch`, and in
  packages that were imported under `as_torch`. After `import minigrad as torch` it draws from a faster stream, as it
  does on a GPU, where PyTorch has a separate generator. `set_dropout_stream("pytorch")` or `("fast")`, or the
  environment variable `MINIGRAD_DROPOUT_STREAM`, selects the stream for any program and device. The cost of PyTorch's
  stream: an update of a default `nn.TransformerEncoderLayer` takes 1.07 to 1.09 times as long (one core of an AMD EPYC,
  2026-11-27). A million elements take 4.5 ms instead of 0.13 ms; PyTorch itself takes 14 ms.
- `channels_last` is an order in memory, as in PyTorch. Layers compute in the order of indices, so it saves no time. In
  a program that runs as PyTorch's, their results have PyTorch's memory layout, because dropout draws in that order.
  Results of `scaled_dot_product_attention` with dropout do not, and of some operations on transposed tensors
  (indexing, `flip`, `sort`, `repeat`, sums of two tensors in different orders): call `contiguous()` before dropout.
- Among equal elements, `topk`, `kthvalue` and an unstable `sort` may return other indices.
- `softmax` of a row that is all -inf gives zeros, like attention without a key; PyTorch's gives NaN
  outside of `scaled_dot_product_attention`.
- Integers are compared with numbers outside of their dtype's range by value: a uint8 is never less than -2. PyTorch
  takes -2 modulo 256 first.
- minigrad accepts some arguments with a natural meaning that PyTorch rejects: `softmax` and `norm` of integers, class
  indices of any integer dtype, dtypes by name, NumPy arrays with negative strides.
- The error for a missing name has PyTorch's full name, and the nearest name or an alternative.
"""


class Name(NamedTuple):
    """A line of the table of names.

    Attributes:
        section: the heading above it.
        path: the name without "torch.".
        programs: how many of the scanned programs use it.
        keywords: the keywords that they pass.
        difference: the difference from PyTorch, or "".
    """

    section: str
    path: str
    programs: int
    keywords: tuple[str, ...]
    difference: str


def read_names() -> list[Name]:
    """The table of names."""
    names, section = [], ""
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            entry, _, difference = line.partition(" | ")
            path, programs, *keywords = entry.split()
            names.append(Name(section, path, int(programs), tuple(keywords), difference))
    return names


def lookup(path: str) -> Any:
    """The object that a name refers to.

    Raises:
        AttributeError: it does not exist.
        ImportError: its module does not exist.
    """
    value: Any = importlib.import_module("minigrad")
    for part in path.split("."):
        if isinstance(value, ModuleType) and not hasattr(value, part):
            value = importlib.import_module(f"{value.__name__}.{part}")
        else:
            value = getattr(value if hasattr(value, part) else _objects().get(value, value), part)
    return value


@cache
def _objects() -> dict[Any, Any]:
    """Instances, for attributes that classes do not have: ``Optimizer.param_groups``, ``Module.training``."""
    library: Any = importlib.import_module("minigrad")
    layer = library.nn.Linear(1, 1)
    return {
        library.Tensor: library.ones(1),
        library.nn.Module: layer,
        library.optim.Optimizer: library.optim.SGD(layer.parameters(), lr=1.0),
    }


def is_provided(path: str) -> bool:
    """Whether a name is available."""
    try:
        return not importlib.import_module("minigrad.compat.absent").is_absent(lookup(path))
    except (AttributeError, ImportError):
        return False


def unknown_keywords(name: Name) -> list[str]:
    """Keywords that the signature does not accept."""
    try:
        parameters = inspect.signature(lookup(name.path)).parameters
    except (TypeError, ValueError):
        return list(name.keywords)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return []
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    accepted = {key for key, parameter in parameters.items() if parameter.kind not in positional}
    return [keyword for keyword in name.keywords if keyword not in accepted]


def write_page(names: list[Name]) -> str:
    """The whole page."""
    provided = sum(is_provided(name.path) for name in names)
    parts = [
        INTRODUCTION,
        "## Name by name\n",
        (
            f"{provided} of the {len(names)} names that 29 public programs use are provided. The number says how "
            "many of these use\na name; the keywords are the ones that they pass.\n"
        ),
    ]
    for section, group in groupby(names, lambda name: name.section):
        parts.append(f"### {section}\n\n| name | programs | provided | differences |\n|---|---|---|---|")
        parts += [_row(name) for name in group]
        parts.append("")
    absent = importlib.import_module("minigrad.compat.absent")
    parts.append("## Absent, with alternatives\n\n| name | instead |\n|---|---|")
    parts += [f"| `torch.{path}` | {reason} |" for path, reason in sorted(absent.ABSENT.items(), key=_by_name)]
    parts.append("")
    parts.append(write_suites())
    parts.append(write_databases())
    return "\n".join(parts).rstrip() + "\n"


def write_suites() -> str:
    """The section on PyTorch's test files: how many of their tests pass, and why the others do not."""
    parts = [
        "## PyTorch's test files\n",
        (
            "The files under `test/` of PyTorch's sources (release 2.6) ran on both libraries, with substitutes for "
            "`torch.testing._internal`;\nminigrad contains no line of them. A test counts if it passes with PyTorch "
            "2.13 on the CPU.\n"
        ),
    ]
    for suite in tomllib.loads(SUITES.read_text(encoding="utf-8"))["suite"]:
        left = sum(row["tests"] for row in suite["left"])
        total = suite["pass"] + left
        parts.append(f"### `{suite['file']}`\n")
        if not left:
            parts.append(f"All {total} tests pass.\n")
            continue
        parts.append(f"Of {total} tests {suite['pass']} pass, and {left} do not:\n\n| tests | reason |\n|---|---|")
        parts += [f"| {row['tests']} | {row['reason']} |" for row in suite["left"]]
        parts.append("")
    return "\n".join(parts)


def write_databases() -> str:
    """The section on PyTorch's own databases: counts and differences."""
    counts = tomllib.loads(COUNTS.read_text(encoding="utf-8"))
    left = tomllib.loads(LEFT.read_text(encoding="utf-8"))
    errors = counts["errors"]
    parts = [
        "## PyTorch's own tests\n",
        (
            "PyTorch's tests use three databases (`torch.testing._internal`): operators, modules and "
            "optimizers,\neach with sample inputs, and with inputs that must be rejected. The samples run on both "
            "libraries; results,\ndtypes, shapes and gradients are compared, for operators also with their methods and "
            "in-place methods. Second-order means\ngradients of gradients, in float64, with respect to every argument "
            "that PyTorch differentiates and whose\n`gradgradcheck` passes in PyTorch. Measured with "
            f"PyTorch {counts['pytorch']} by `python -m tests.peers`, which writes these counts; "
            "`tests/peers`\nfails on any difference or missing name that is not in a table below, and on any entry "
            "there that agrees.\n"
        ),
        "| database | names | provided | agree in all samples | samples | differ | PyTorch itself refuses | missing |",
        "|---|---|---|---|---|---|---|---|",
    ]
    dtypes = ("float64", "float32", "float16", "bfloat16", "int64", "bool", "complex128")
    for run in (*dtypes, "second-order", "modules", "optimizers"):
        title = run if run in ("modules", "optimizers") else f"operators, {run}"
        columns = ("names", "provided", "agree", "samples", "different", "skipped", "missing")
        parts.append(f"| {title} | {' | '.join(f'{counts[run][column]:,}' for column in columns)} |")
    parts.append(
        f"\nPyTorch rejects {sum(errors.values())} inputs of operators: minigrad rejects {errors['clear']} in its own "
        f"words and {errors['others']} in NumPy's or\nPython's, and accepts {errors['accepted']}."
    )
    for table, heading, title in (
        ("missing", "Missing", "name"),
        ("different", "Different", "name"),
        ("accepted", "Accepted, though PyTorch refuses", "function"),
    ):
        parts.append(f"\n### {heading}\n\n| {title} | dtypes | reason |\n|---|---|---|")
        for row in left[table]:
            names = dict.fromkeys(name.split()[0] if table == "accepted" else name for name in row["names"])
            code = ", ".join(f"`{name}`" for name in names)
            parts.append(f"| {code} | {', '.join(row.get('dtypes', ['all']))} | {row['reason']} |")
    return "\n".join(parts)


def _row(name: Name) -> str:
    keywords = f" ({', '.join(name.keywords)})" if name.keywords else ""
    there = "yes" if is_provided(name.path) else "no"
    return f"| `torch.{name.path}`{keywords} | {name.programs} | {there} | {name.difference} |"


def _by_name(row: tuple[str, str]) -> str:
    return row[0].lower()


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description="Write docs/pytorch.md, the table of PyTorch's names.")
    parser.add_argument("--check", action="store_true", help="only check whether the page is up to date")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT))  # this checkout, even if another one is installed
    text = write_page(read_names())
    if check:
        current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        advice = "up to date" if current else "out of date: python docs/generate_pytorch.py"
        print(f"docs/pytorch.md is {advice}")
        return 0 if current else 1
    PAGE.write_text(text, encoding="utf-8", newline="\n")
    print("wrote docs/pytorch.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
