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

This page is written by `python docs/generate_pytorch.py`, and a test fails when it is out of date.

You can run a PyTorch program on minigrad in any of these ways:

- In the program, write `import minigrad as torch`, and change its other imports in the same way, as in
  `from minigrad import nn`.
- Run `minigrad compat program.py arguments` and leave the program unchanged.
- Call `minigrad.compat.as_torch()` before anything imports torch. A plain call is permanent. In a
  `with as_torch() as torch:` statement, minigrad replaces torch only within the block, except for modules that the
  block imported. `as_torch(replace=True)` replaces a PyTorch that is already imported.

Libraries that import torch run in the same ways. [huggingface.md](huggingface.md) shows this with transformers.

You can import paths such as `torch.nn.modules.transformer` and `torch.cuda.amp`.
[compat/names.py](../minigrad/compat/names.py) lists other spellings of names. It also lists the functions without
effect, which are defined in [compat/no_ops.py](../minigrad/compat/no_ops.py).
[compat/absent.py](../minigrad/compat/absent.py) lists absent names, with alternatives. You can import absent names, use
them in annotations and derive from them, but a call raises an error that explains the alternative.

## General differences

- A process computes on one device, either the CPU or (with CuPy) a GPU, so `DataParallel` calls the module directly.
  Several processes work together as in PyTorch, including `torch.distributed` and `DistributedDataParallel`. They
  communicate over MPI, which "gloo" also selects, or over NCCL. Instead of `torchrun -n 2 program.py`, run
  `python -m minigrad.run -n 2 -m minigrad compat program.py`. Ranks can also be started by `mpiexec` or by the
  program's own `torch.multiprocessing.spawn`, but not in any other way. Models are not sharded, so there is no FSDP.
- Nothing is compiled or recorded: `compile`, `jit.script` and `jit.trace` return their argument.
- `autocast` chooses dtypes by PyTorch's two tables of functions. On the CPU, `LSTMCell` also gives a 16-bit result, and
  `linear_cross_entropy` becomes a 16-bit product followed by a float32 loss, which stores all logits.
- bfloat16 needs the ml_dtypes package (`pip install -e ".[bfloat16]"`) and, on a GPU, CuPy 14. Files store bfloat16
  numbers unchanged. Without the package, they are loaded as float32, which can represent all of them. The dtype of
  `.array` is the one from ml_dtypes.
- Nodes have PyTorch's names if a minigrad op or function corresponds to one PyTorch op. If PyTorch composes a function
  from several ops, the names of the nodes inside it differ, as do the edges.
- As in PyTorch, an op on float16 or bfloat16 is computed in float32, and its result is rounded. `grad_fn` then names
  the rounding. Some functions that consist of several ops round the result of each op.
- The suffix of a path selects the format of `save`. `.safetensors` is for weights, and any safetensors library can read
  these files. Their metadata describes the structure around the weights, and tensors that are views of others. For any
  other path, such as `.pt` or `.pth`, and for a file object, `save` writes PyTorch's archive format.
  `torch.load(weights_only=True)` can read state dicts, states of optimizers and schedulers, and tensors in plain
  containers from such an archive, with views and ties preserved. NumPy arrays, namespaces and similar objects need
  `weights_only=False` in PyTorch, even in files that PyTorch wrote, but minigrad treats them as data. The archive
  format does not support NumPy's dates and times, so objects that contain them are written in the format of
  `.safetensors` under any name. An object that holds a module or an instance of a user-defined class is pickled. `load`
  looks at the content of a file rather than its name, so it can also read older files.
- If a file object holds several objects, each `load` reads one and leaves the file position after it. PyTorch does this
  only with the file format that it used before version 1.6.
- Switches in `torch.backends` can be set and read but have no effect, with one exception: `allow_tf32`,
  `fp32_precision` and `set_float32_matmul_precision` let a GPU multiply float32 numbers in TF32. These switches also
  control convolutions, which use matrix products. PyTorch has `cudnn.allow_tf32` for convolutions.
- `__version__` is minigrad's own version. In `minigrad compat` and after `as_torch()`, it is `minigrad.version.torch`,
  the PyTorch version whose names minigrad provides, so that programs can compare it.
- Without a GPU, `torch.cuda` reports no devices and no bytes, like PyTorch without CUDA.
- With the same seed, random numbers on the CPU equal PyTorch's. Normally distributed float32 numbers agree to within 4
  units in the last place. The gamma, Poisson and binomial distributions, and distributions based on them (Beta,
  Dirichlet, Chi2, StudentT, FisherSnedecor, Wishart, LKJCholesky, NegativeBinomial, InverseGamma), draw different
  numbers, and so do the calls that follow. `gradgradcheck` draws its directions from a separate stream.
- Dropout on the CPU draws from PyTorch's stream in programs that run with `minigrad compat` or `as_torch`, and in
  packages that were imported under `as_torch`. After `import minigrad as torch`, it draws from a faster stream. It also
  does so on a GPU, where PyTorch has a separate generator. To select the stream for any program and device, call
  `set_dropout_stream("pytorch")` or `set_dropout_stream("fast")`, or set the environment variable
  `MINIGRAD_DROPOUT_STREAM`. With PyTorch's stream, an update of a default `nn.TransformerEncoderLayer` takes 1.07 to
  1.09 times as long (one core of an AMD EPYC, 2026-11-27). Drawing a million elements takes 4.5 ms instead of 0.13 ms,
  while PyTorch itself takes 14 ms.
- `channels_last` is a memory order, as in PyTorch. Layers compute in the order of indices, so it does not save time. In
  a program that runs with `minigrad compat` or `as_torch`, the results of layers have PyTorch's memory layout, because
  dropout draws in that order. The results of `scaled_dot_product_attention` with dropout and of some operations on
  transposed tensors (indexing, `flip`, `sort`, `repeat`, sums of two tensors in different orders) do not have PyTorch's
  layout. Call `contiguous()` on them before dropout.
- Among equal elements, `topk`, `kthvalue` and an unstable `sort` may return different indices from PyTorch's.
- `softmax` of a row that is all -inf gives zeros, as does attention without any keys. In PyTorch, such a row gives NaN
  outside `scaled_dot_product_attention`.
- Integers are compared by value with numbers outside their dtype's range, so a uint8 is never less than -2. PyTorch
  first takes -2 modulo 256.
- minigrad accepts some arguments that PyTorch rejects although their meaning is clear: `softmax` and `norm` of
  integers, class indices of any integer dtype, dtypes by name, and NumPy arrays with negative strides.
- The error for a missing name gives PyTorch's full name and either the nearest name or an alternative.
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
            f"{provided} of the {len(names)} names that 29 public programs use are provided. The second column shows "
            "how many of these\nprograms use a name. The keywords in parentheses are the ones that they pass.\n"
        ),
    ]
    for section, group in groupby(names, lambda name: name.section):
        parts.append(f"### {section}\n\n| name | programs | provided | differences |\n|---|---|---|---|")
        parts += [_row(name) for name in group]
        parts.append("")
    absent = importlib.import_module("minigrad.compat.absent")
    parts.append("## Absent names and alternatives\n\n| name | instead |\n|---|---|")
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
            "These files from `test/` in PyTorch's source code (release 2.6) were run on both libraries, with "
            "substitutes for\n`torch.testing._internal`. minigrad does not contain any line of them. A test counts if "
            "it passes with PyTorch 2.13\non the CPU.\n"
        ),
    ]
    for suite in tomllib.loads(SUITES.read_text(encoding="utf-8"))["suite"]:
        left = sum(row["tests"] for row in suite["left"])
        total = suite["pass"] + left
        parts.append(f"### `{suite['file']}`\n")
        if not left:
            parts.append(f"All {total} tests pass.\n")
            continue
        parts.append(f"{suite['pass']} of {total} tests pass, and {left} do not:\n\n| tests | reason |\n|---|---|")
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
            "PyTorch's tests use three databases (`torch.testing._internal`): operators, modules and optimizers. "
            "Each provides\nsample inputs and inputs that must be rejected. The samples are run on both libraries, "
            "and the results, dtypes,\nshapes and gradients are compared. For operators, their methods and "
            'in-place methods are compared as well.\n"Second-order" means gradients of gradients, in float64, with '
            "respect to every argument that PyTorch differentiates\nand whose `gradgradcheck` passes in PyTorch. "
            f"The counts were measured with PyTorch {counts['pytorch']} by `python -m tests.peers`,\nwhich writes "
            "them. `tests/peers` fails on any difference or missing name that is not in a table below, and on any\n"
            "entry in a table that agrees.\n"
        ),
        "| database | names | provided | agree in all samples | samples | differ | PyTorch itself rejects | missing |",
        "|---|---|---|---|---|---|---|---|",
    ]
    dtypes = ("float64", "float32", "float16", "bfloat16", "int64", "bool", "complex128")
    for run in (*dtypes, "second-order", "modules", "optimizers"):
        title = run if run in ("modules", "optimizers") else f"operators, {run}"
        columns = ("names", "provided", "agree", "samples", "different", "skipped", "missing")
        parts.append(f"| {title} | {' | '.join(f'{counts[run][column]:,}' for column in columns)} |")
    parts.append(
        f"\nPyTorch rejects {sum(errors.values())} operator inputs. minigrad rejects {errors['clear']} of them with "
        f"its own error messages and {errors['others']} with\nmessages from NumPy or Python, and accepts the other "
        f"{errors['accepted']}."
    )
    for table, heading, title in (
        ("missing", "Missing", "name"),
        ("different", "Different", "name"),
        ("accepted", "Accepted by minigrad but rejected by PyTorch", "function"),
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
