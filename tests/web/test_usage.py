"""Examples of public names in the reference: lines of documents and programs that call them."""

from __future__ import annotations

import re

from web import usage
from web.documents import ROOT


def calls(code: str, aliases: dict[str, str] | None = None) -> dict[str, str]:
    """The names that a program calls, each with its line."""
    found = usage._calls(code, "a.md", 10, {} if aliases is None else aliases)
    return {name: f"{use.line} {use.code}" for name, use in found}


def test_names_are_whole_however_they_are_imported() -> None:
    code = "import minigrad as mg\nfrom minigrad import nn\nfrom minigrad.nn import functional as F\n\n"
    code += "x = mg.ones(2)\nlayer = nn.init.ones_(x)\ny = F.relu(x)\n"
    assert calls(code) == {
        "minigrad.ones": "15 x = mg.ones(2)",
        "minigrad.nn.init.ones_": "16 layer = nn.init.ones_(x)",
        "minigrad.nn.functional.relu": "17 y = F.relu(x)",
    }


def test_each_example_stands_where_it_says() -> None:
    for name, use in usage.uses().items():
        if use.file.endswith(".ipynb"):
            continue
        row = (ROOT / use.file).read_text(encoding="utf-8").splitlines()[use.line - 1]
        assert row.strip() == use.code, name
        assert re.search(rf"\b{name.rpartition('.')[2]}\b|\(", use.code)
