"""What is missing is told with a command; then all that the next steps need is installed."""

import re
from pathlib import Path

from book import WHEEL, command, one_line, start, step

import minigrad as mg
from minigrad import viz

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
EXTRAS = "music,translate,viz"
TOOLS = ("ipykernel", "jedi", "mypy", "nbclient")


@step("a PNG without the extra: the error names a command that fetches minigrad's library, not another project")
def _() -> None:
    try:
        viz.graph(mg.ones(2, requires_grad=True).sum()).save("first.png")
    except ImportError as error:
        assert re.search(r"pip install vl-convert-python", str(error)) and "minigrad[" not in str(error), error
    else:
        raise AssertionError("a PNG without the library that draws it")


@step("training needs the extra translate, and says so before it begins")
def _() -> None:
    told = one_line(command("minigrad", "train", status=1))
    assert "pip install " in told and "minigrad[" not in told, told


@step("pip install 'minigrad_nn….whl[…]'; checkers, trainings and the like begin in the background")
def _() -> None:
    command("pip", "install", "-q", f"{WHEEL}[{EXTRAS}]", *TOOLS)
    pairs = (f"{number}\t{' '.join(DIGITS[int(d)] for d in str(number))}\n" for number in range(0, 900, 3))
    Path("numbers.tsv").write_text("".join(pairs), encoding="utf-8")
    start("train", "minigrad", "train", "--data", "numbers.tsv", "--steps", "60", "--run", "runs/numbers")
    start("mypy", "mypy", "--strict", "user.py")
