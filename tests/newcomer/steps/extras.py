"""Errors name the command that installs a missing library; then the next steps' libraries are installed."""

import re
from pathlib import Path

from book import WHEEL, command, one_line, start, step

import minigrad as mg
from minigrad import viz

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
EXTRAS = "music,translate,viz"
TOOLS = ("ipykernel", "jedi", "mypy", "nbclient")


@step("a PNG without the extra: the error names a command that installs the library, not another project")
def _() -> None:
    try:
        viz.graph(mg.ones(2, requires_grad=True).sum()).save("first.png")
    except ImportError as error:
        assert re.search(r"pip install vl-convert-python", str(error)) and "minigrad[" not in str(error), error
    else:
        raise AssertionError("a PNG without the library that draws it")


@step("training without the extra translate is an error before it starts")
def _() -> None:
    error = one_line(command("minigrad", "train", status=1))
    assert "pip install " in error and "minigrad[" not in error, error


@step("pip install 'minigrad_nn….whl[…]'; type checkers and training start in the background")
def _() -> None:
    command("pip", "install", "-q", f"{WHEEL}[{EXTRAS}]", *TOOLS)
    pairs = (f"{number}\t{' '.join(DIGITS[int(d)] for d in str(number))}\n" for number in range(0, 900, 3))
    Path("numbers.tsv").write_text("".join(pairs), encoding="utf-8")
    start("train", "minigrad", "train", "--data", "numbers.tsv", "--steps", "60", "--run", "runs/numbers")
    start("mypy", "mypy", "--strict", "user.py")
