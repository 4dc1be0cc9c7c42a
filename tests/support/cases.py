"""Tables within one test: all rows run, and those that fail are listed; errors that must be raised, one a line."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import minigrad

Test = Callable[..., None]
rng: Any = np.random  # conftest seeds it for each test, and ``cases`` for each row


def cases(names: str, rows: Iterable[Any]) -> Callable[[Test], Test]:
    """As ``pytest.mark.parametrize``, in one test: each row begins with the same seeds, and an ExceptionGroup has the
    error of each row that fails. A row that skips counts if all others do, too."""
    keys, table = [name.strip() for name in names.split(",")], list(rows)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures: list[BaseException] = []
            skips: list[BaseException] = []
            for row in table:
                minigrad.manual_seed(0)
                np.random.seed(0)
                values = dict(zip(keys, row if len(keys) > 1 else (row,), strict=True))
                try:
                    test(**values, **fixtures)
                except pytest.skip.Exception as skip:
                    skips.append(skip)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note("with " + ", ".join(f"{name}={_shown(value)}" for name, value in values.items()))
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} rows fail", failures)
            if len(skips) == len(table):
                raise skips[0]

        signature = inspect.signature(test)
        kept = [p for name, p in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate


def programs(text: str) -> list[str]:
    """A table of expressions that semicolons divide, for ``eval``."""
    return [" ".join(program.split()) for program in text.split(";")]


def _shown(value: Any) -> str:
    """A value as it is read in a table: of a function, where it stands."""
    if isinstance(value, FunctionType):
        return f"{value.__name__} of line {value.__code__.co_firstlineno}"
    return f"({', '.join(map(_shown, value))})" if isinstance(value, tuple) else repr(value)


def raises(
    kind: type[BaseException] | tuple[type[BaseException], ...], words: str | None, call: Callable[..., Any]
) -> None:
    """A call must raise an error of this kind whose text matches."""
    with pytest.raises(kind, match=words):
        call()


def pairwise(*options: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Few rows of a grid, in which each value of an option meets each value of every other option."""
    grid = list(itertools.product(*(range(len(values)) for values in options)))
    pairs = {row: set(itertools.combinations(enumerate(row), 2)) for row in grid}
    open_pairs, rows = set().union(*pairs.values()), []
    while open_pairs:
        best = max(grid, key=lambda row: len(pairs[row] & open_pairs))
        open_pairs -= pairs[best]
        rows.append(tuple(values[i] for values, i in zip(options, best, strict=True)))
    return rows
