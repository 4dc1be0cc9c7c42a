"""PyTorch's databases of operators, modules and optimisers: minigrad agrees, but for what ``left.toml`` lists."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's databases need it")
pytestmark = pytest.mark.parity


def check(reports: Iterable[object], dtype: str, table: str = "") -> None:
    """Fail with a line for each name that is missing or differs, and is not listed."""
    from .left import reason_for

    wrong = []
    for report in reports:
        name, differences = report.name, report.differences  # type: ignore[attr-defined]
        if differences is None and reason_for(name, f"{table}missing") is None:
            wrong.append(f"{name} is missing")
        if differences and reason_for(name, f"{table}different", f"{table}different.{dtype}") is None:
            wrong.append(f"{name}: {differences[0]}")
    assert not wrong, "\n".join(wrong)


# The databases are imported within the tests, as they take seconds to load.


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "bool", "complex128"])
def test_operators(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    from .operators import reports

    check(reports(getattr(torch, dtype)), dtype)


def test_modules() -> None:
    from .modules import reports

    check(reports(torch.float64), "float64", "modules.")


def test_optimizers() -> None:
    from .optimizers import reports

    check(reports(torch.float64), "float64", "optimizers.")
