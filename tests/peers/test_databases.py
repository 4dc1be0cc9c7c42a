"""PyTorch's databases of operators, modules and optimisers: minigrad agrees, except for the names in ``left.toml``."""

import importlib
import tomllib
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's databases need it")
DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "bool", "complex128"]
# In float64 compare all operators, in each other dtype a quarter of them; ``python -m tests.peers`` compares all.
PARTS = {dtype: slice(number % 4, None, 4) for number, dtype in enumerate(DTYPES)} | {"float64": slice(None)}
MOST_MISSING, MOST_ACCEPTED = 60, 60  # names in a run; error inputs
MOST_DIFFERENT = dict.fromkeys(DTYPES, 20) | {"float64": 8, "second-order": 8}
MOST_DIFFERENT["bfloat16"] = 30  # its 8 bits round differently if a sum has another order


def shown() -> dict[str, Any]:
    """The counts that docs/pytorch.md shows."""
    return tomllib.loads(Path(__file__).with_name("counts.toml").read_text(encoding="utf-8"))


# The tests import the databases themselves, because that takes seconds.


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    from .left import problems
    from .operators import reports
    from .report import counts, verdicts

    results = list(reports(getattr(torch, dtype), part=PARTS[dtype]))
    assert not list(problems(verdicts(results), dtype))
    tally, page = counts(results), shown()
    if dtype == "float64" and page["pytorch"] == torch.__version__.partition("+")[0]:
        assert tally["agree"] >= page[dtype]["agree"], "python -m tests.peers"


def test_second_order() -> None:
    """One operator in forty; ``python -m tests.peers second-order`` compares all."""
    from .left import problems
    from .operators import SECOND, reports
    from .report import verdicts

    results = list(reports(torch.float64, part=slice(3, None, 40), second=True))
    assert sum(report.samples for report in results) > 100
    assert not list(problems(verdicts(results), SECOND))


@pytest.mark.parametrize("run", MOST_DIFFERENT)
def test_the_page_shows_that_few_differ(run: str) -> None:
    tally = shown()[run]
    assert tally["missing"] <= MOST_MISSING
    assert tally["different"] <= MOST_DIFFERENT[run]


def test_public_names() -> None:
    from .operators import public_names

    there = public_names()
    assert list(there.values()).count(False) <= MOST_MISSING


def test_every_row_of_the_table_matches_something() -> None:
    from .left import idle
    from .operators import all_names

    names = [(name.text, dtype) for dtype in DTYPES for name in all_names(getattr(torch, dtype))]
    assert not [*idle("missing", names), *idle("different", names)]


@pytest.mark.parametrize("name", ["modules", "optimizers"])
def test_modules_and_optimizers(name: str) -> None:
    from .left import problems
    from .report import verdicts

    database: Any = importlib.import_module(f"tests.peers.{name}")
    assert not list(problems(verdicts(database.reports(torch.float64)), "float64"))


def test_errors() -> None:
    """minigrad rejects every input that PyTorch rejects, with its own message, or ``left.toml`` has a reason."""
    from .errors import refusals
    from .left import idle, problems

    inputs = list(refusals())
    assert not [f"{r.name} {r.number}: {r.ours}" for r in inputs if r.verdict == "others"]
    # Several variants of an operator have the same inputs.
    assert not list(problems((f"{r.name} {r.number}", r.verdict, r.theirs) for r in inputs))
    assert not list(idle("accepted", [(f"{r.name} {r.number}", "") for r in inputs if r.verdict == "accepted"]))
    assert sum(r.verdict == "accepted" for r in inputs) <= MOST_ACCEPTED
