"""Tests of a table: one test for all rows, which fails with the names and messages of all rows that fail."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import minigrad

Test = Callable[..., None]


def check_all(check: Callable[[Any], object], rows: Iterable[Any], what: str = "row") -> None:
    """Call ``check`` with each row, each with the same seed; fail with the rows that fail and their messages."""
    __tracebackhide__ = True
    errors: list[tuple[str, BaseException]] = []
    for number, row in enumerate(rows):
        minigrad.manual_seed(0)
        np.random.seed(0)
        try:
            check(row)
        except (Exception, pytest.fail.Exception) as error:
            errors.append((f"{what} {number}: {row}", error))
    if errors:
        text = "\n".join(f"{row[:300]}\n{type(error).__name__}: {error}" for row, error in errors)
        raise AssertionError(f"{len(errors)} fail:\n{text}") from errors[0][1]


def in_one_test(names: str, rows: Iterable[Any]) -> Callable[[Test], Test]:
    """``pytest.mark.parametrize``, but all rows are one test."""
    keys, table = [name.strip() for name in names.split(",")], list(rows)

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def all_rows(**fixtures: Any) -> None:
            def check(row: Any) -> None:
                test(**fixtures, **dict(zip(keys, row if len(keys) > 1 else (row,), strict=True)))

            check_all(check, table, names)

        parameters = [p for name, p in signature.parameters.items() if name not in keys]
        all_rows.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return all_rows

    return decorate
