"""PyTorch's database of operators: what minigrad has of it agrees, but for what ``left.toml`` lists."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="PyTorch's databases need it")

DTYPES = ["float64", "float32", "float16", "int64", "bool", "complex128"]


@pytest.mark.parity
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(dtype: str) -> None:
    import torch

    from .left import reason_for
    from .operators import reports  # here, as the database takes seconds to load

    wrong = []
    for report in reports(getattr(torch, dtype)):
        if report.differences is None:
            if reason_for(report.name, "missing") is None:
                wrong.append(f"{report.name} is missing")
        elif report.differences and reason_for(report.name, "different", f"different.{dtype}") is None:
            wrong.append(f"{report.name}: {report.differences[0]}")
    assert not wrong, "\n".join(wrong)
