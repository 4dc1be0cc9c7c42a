"""Many cases of one check in one test."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")


def each(cases: Iterable[T], check: Callable[[T], object], name: Callable[[T], object] = repr) -> None:
    """Check all cases, and list those that fail."""
    cases, failures = list(cases), []
    for case in cases:
        try:
            check(case)
        except (Exception, pytest.fail.Exception):  # also DID NOT RAISE
            failures.append(f"{str(name(case))[:200]}:\n{traceback.format_exc(-3)}")
    assert not failures, "\n".join([f"{len(failures)} of {len(cases)} cases fail", *failures[:9]])
