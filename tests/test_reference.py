"""The examples of the reference run, and every public function has one."""

import doctest
import inspect
import re
from pathlib import Path

import minigrad
from docs.web.reference import examples
from minigrad import nn, optim
from minigrad.nn import functional
from minigrad.optim import lr_scheduler
from minigrad.utils import data

NAMES = {"mg": minigrad, "nn": nn, "optim": optim, "F": functional, "lr_scheduler": lr_scheduler, "data": data}
PAGE = Path(__file__).parents[1] / "docs" / "pytorch.md"
# Without an example: functions that need a GPU or several ranks, base classes, and names without effect.
EXEMPT = """
    Tensor.cuda nn.Module.cuda cuda.* backends.* distributed.* nn.DistributedDataParallel nn.RNNBase optim.Optimizer
    utils.data.Sampler utils.tensorboard.SummaryWriter compile jit.* autograd.Variable nn.attention.* nn.parallel_apply
    nn.data_parallel serialization.safe_globals amp.GradScaler.* optim.Optimizer.load_state_dict
    optim.lr_scheduler.*step optim.lr_scheduler.*state_dict distributions.categorical.Categorical
    nn.init.kaiming_uniform Tensor.bfloat16
"""
EXEMPT_NAME = re.compile("|".join(name.replace(".", r"\.").replace("*", r".*") for name in EXEMPT.split()))


def test_examples_print_what_they_show() -> None:
    runner = doctest.DocTestRunner(verbose=False)
    for name, example in examples().items():
        runner.run(doctest.DocTestParser().get_doctest(example, dict(NAMES), name, "docs/examples.txt", 0))
    assert runner.summarize(verbose=False).failed == 0


def test_every_function_of_pytorchs_that_programs_use_has_an_example() -> None:
    missing = []
    for name in re.findall(r"^\| `torch\.([\w.]+)`[^|]*\| \d+ \| yes", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        value = minigrad
        for part in name.split("."):
            value = getattr(value, part, None)
        has_example = f"minigrad.{name}" in examples() or ">>>" in (inspect.getdoc(value) or "")
        if callable(value) and not has_example and "._" not in f".{name}" and not EXEMPT_NAME.fullmatch(name):
            missing.append(name)
    assert not missing
