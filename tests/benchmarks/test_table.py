"""Tables as Markdown and as values."""

import pytest

from benchmarks.table import Table


@pytest.fixture
def table() -> Table:
    times = Table("Times", ("step", "ms", "ratio"), ("", ".1f", ".2f"), notes=["a note"])
    times.add("small", 1.25, 0.5)
    times.add("a larger one", "not installed", None)
    return times


def test_text(table: Table) -> None:
    assert table.text().splitlines() == [
        "### Times",
        "",
        "| step         |            ms | ratio |",
        "| ---          |           --: |   --: |",
        "| small        |           1.2 |  0.50 |",
        "| a larger one | not installed |     – |",
        "",
        "a note",
    ]
