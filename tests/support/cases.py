"""Tables within one test: all rows run, and failed rows are listed; expected errors, one per line."""

import functools
import inspect
import itertools
import traceback
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
import pytest

import minigrad

T = TypeVar("T")
Test = Callable[..., None]
MOST_SHOWN = 9  # failures that are shown with tracebacks
rng: Any = np.random  # conftest seeds it for each test, and ``each`` for each row


def each(rows: Iterable[T], check: Callable[[T], object], name: Callable[[T], object] | None = None) -> None:
    """Check all rows, each with the same seeds, and list the failures. Skips if every row does."""
    __tracebackhide__ = True
    table, failures, skips = list(rows), [], []
    for row in table:
        minigrad.manual_seed(0)
        np.random.seed(0)
        try:
            check(row)
        except pytest.skip.Exception as skip:
            skips.append(skip)
        except (Exception, pytest.fail.Exception):  # including DID NOT RAISE
            failures.append(f"{str((name or _shown)(row))[:300]}:\n{traceback.format_exc(-3)}")
    if failures:
        pytest.fail("\n".join([f"{len(failures)} of {len(table)} rows fail", *failures[:MOST_SHOWN]]), pytrace=False)
    if table and len(skips) == len(table):
        raise skips[0]


def cases(names: str, rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Like ``pytest.mark.parametrize``, within one test: see ``each``."""
    keys, table = [name.strip() for name in names.split(",")], list(rows)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            def check(row: Any) -> None:
                test(**dict(zip(keys, row if len(keys) > 1 else (row,), strict=True)), **fixtures)

            each(table, check)

        signature = inspect.signature(test)
        parameters = [p for name, p in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    return decorate


def programs(text: str) -> list[str]:
    """A table of expressions for ``eval``, separated by semicolons."""
    return [" ".join(program.split()) for program in text.split(";")]


def _shown(value: Any) -> str:
    """A value as text for a table; a function is shown with its line."""
    if isinstance(value, FunctionType):
        return f"{value.__name__} of line {value.__code__.co_firstlineno}"
    return f"({', '.join(map(_shown, value))})" if isinstance(value, tuple) else repr(value)


def raises(
    kind: type[BaseException] | tuple[type[BaseException], ...], words: str | None, call: Callable[..., Any]
) -> None:
    """Assert that a call raises an error of this type whose text matches."""
    with pytest.raises(kind, match=words):
        call()


def pairwise(*options: Sequence[Any]) -> list[tuple[Any, ...]]:
    """A few rows of a grid that pair each value of an option with each value of every other option."""
    grid = list(itertools.product(*(range(len(values)) for values in options)))
    pairs = {row: set(itertools.combinations(enumerate(row), 2)) for row in grid}
    open_pairs, rows = set().union(*pairs.values()), []
    while open_pairs:
        best = max(grid, key=lambda row: len(pairs[row] & open_pairs))
        open_pairs -= pairs[best]
        rows.append(tuple(values[i] for values, i in zip(options, best, strict=True)))
    return rows
