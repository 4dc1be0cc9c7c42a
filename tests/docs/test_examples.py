"""The examples in docstrings and docs/examples.txt print the output that they show, and every used name has one."""

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import minigrad as mg
from docs.web import reference
from minigrad import nn, optim
from minigrad.utils import data

ROOT = Path(__file__).parents[2]
NAMES = {"mg": mg, "nn": nn, "F": nn.functional, "optim": optim, "lr_scheduler": optim.lr_scheduler, "data": data}
# Names without an example: they need a GPU or several ranks, are base classes, or have no effect.
WITHOUT = """
    Tensor.cuda nn.Module.cuda cuda.* backends.* distributed.* nn.DistributedDataParallel nn.RNNBase optim.Optimizer
    utils.data.Sampler utils.tensorboard.SummaryWriter compile jit.* autograd.Variable nn.attention.* nn.parallel_apply
    nn.data_parallel serialization.safe_globals amp.GradScaler.* optim.Optimizer.load_state_dict
    optim.lr_scheduler.*step optim.lr_scheduler.*state_dict distributions.categorical.Categorical
    nn.init.kaiming_uniform Tensor.bfloat16
"""
EXEMPT = re.compile("|".join(name.replace(".", r"\.").replace("*", r".*") for name in WITHOUT.split()))
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples() -> Iterator[tuple[str, str, int]]:
    """Docstrings with examples: their place, their text, and their first line."""
    for path in sorted(path for top in ("minigrad", "models") for path in (ROOT / top).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ">>>" in text else ():
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstring = ast.get_docstring(node) or ""
                if ">>>" in docstring:
                    place = f"{path.relative_to(ROOT).as_posix()}:{getattr(node, 'name', '')}"
                    yield place, docstring, node.body[0].lineno


EXAMPLES = [*examples(), *((name, text, 1) for name, text in reference.examples().items())]


def test_examples_print_their_expected_output() -> None:
    wrong: list[str] = []
    for place, docstring, line in EXAMPLES:
        mg.manual_seed(0)
        test = doctest.DocTestParser().get_doctest(docstring, dict(NAMES), place, place.partition(":")[0], line - 1)
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=wrong.append)
    assert not wrong, "".join(wrong)


def test_names_that_programs_use_have_an_example() -> None:
    """docs/pytorch.md lists the names that 29 public programs use."""
    rows = re.findall(r"^\| `torch\.([\w.]+)`[^|]*\| \d+ \| yes", (ROOT / "docs/pytorch.md").read_text("utf-8"), re.M)
    missing = []
    for name in rows:
        value: Any = mg
        for part in name.split("."):
            value = getattr(value, part, None)
        has_example = f"minigrad.{name}" in reference.examples() or ">>>" in (inspect.getdoc(value) or "")
        if callable(value) and not has_example and "._" not in f".{name}" and not EXEMPT.fullmatch(name):
            missing.append(name)
    assert len(rows) > 400 and not missing
