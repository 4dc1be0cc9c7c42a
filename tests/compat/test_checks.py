"""``torch._check`` and its like: the same errors as PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as mg
from tests.support.cases import cases
from tests.support.parity import torch

CASES: list[tuple[str, Any]] = [
    (name, arguments)
    for name in ("_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented")
    for arguments in ((True,), (False,), (False, lambda: "text"), (1, None), (False, "no function"), (False, lambda: 3))
]
ALL: list[tuple[list[Any], str]] = [([True, True], "bool"), ([True, False], "bool"), ([], "bool"), ([1, 0], "int64")]


def outcome(function: Any, *arguments: Any) -> tuple[str, str]:
    """The error's class and text up to its first sentence; a module's name is taken as PyTorch's."""
    try:
        function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error).partition(". ")[0].rstrip(".").replace("minigrad.", "torch.")
    return "", ""


@cases("name, arguments", CASES)
def test_of_a_condition(name: str, arguments: tuple[Any, ...]) -> None:
    assert outcome(getattr(mg, name), *arguments) == outcome(getattr(torch, name), *arguments)


@cases("values, dtype", ALL)
def test_of_a_tensor(values: list[Any], dtype: str) -> None:
    ours, theirs = (lib.tensor(values, dtype=getattr(lib, dtype)) for lib in (mg, torch))
    assert outcome(mg._check_tensor_all, ours) == outcome(torch._check_tensor_all, theirs)
    found = outcome(mg._check_tensor_all_with, ValueError, ours, lambda: "text")
    assert found == outcome(torch._check_tensor_all_with, ValueError, theirs, lambda: "text")
    assert outcome(mg._check, ours)[0] == outcome(torch._check, theirs)[0] == "TypeError"
    assert outcome(mg._check_tensor_all, True)[0] == outcome(torch._check_tensor_all, True)[0] == "TypeError"


@cases("i, most", [(0, None), (-1, None), (3, 3), (4, 3)])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_of_a_size(i: int, most: int | None) -> None:
    assert outcome(lambda: mg._check_is_size(i, max=most)) == outcome(lambda: torch._check_is_size(i, max=most))
