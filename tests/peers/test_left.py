"""The table of what is left: what does not fit it is found."""

from __future__ import annotations

import pytest

from tests.support.cases import cases

from . import left
from .left import Row, idle, problems, reason_for


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        "missing": (Row(("sparse.*",), "dense ones alone"),),
        "different": (Row(("exp", "ldexp [01]"), "rounded", ("float16",)),),
        "accepted": (),
    }
    monkeypatch.setattr(left, "rows", rows.__getitem__)


def test_a_reason_is_that_of_the_first_row_that_speaks_of_a_name_and_a_dtype() -> None:
    assert reason_for("sparse.mm", "missing", "int64") == "dense ones alone"
    assert reason_for("exp", "different", "float16") == reason_for("ldexp 1", "different", "float16") == "rounded"
    assert reason_for("exp", "different", "float64") is reason_for("exp2", "different", "float16") is None


@cases(
    "name, verdict, dtype, found",
    [
        ("sparse.mm", "missing", "float64", []),
        ("exp", "different", "float16", []),
        ("log", "agrees", "float64", []),
        ("log", "missing", "float64", ["log is missing and not listed: why"]),
        ("exp", "different", "float64", ["exp is different and not listed: why"]),
        ("exp", "agrees", "float16", ["exp is listed as different and is not: rounded"]),
        ("sparse.mm", "agrees", "float64", ["sparse.mm is listed as missing and is not: dense ones alone"]),
        ("log 3", "accepted", "", ["log 3 is accepted and not listed: why"]),
    ],
)
def test_a_verdict_that_does_not_fit_the_table(name: str, verdict: str, dtype: str, found: list[str]) -> None:
    assert list(problems([(name, verdict, "why")], dtype)) == found


def test_a_row_for_nothing() -> None:
    assert not list(idle("missing", [("sparse.mm", "bool")]))
    assert list(idle("different", [("exp", "float64"), ("ldexp 0", "float16")])) == [
        "different: exp stands for nothing: rounded"
    ]
