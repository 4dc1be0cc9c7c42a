"""What is left: the names of PyTorch's databases that minigrad lacks, and those that differ, each with the reason.

``left.toml`` has them. The tests fail on a name that is missing or differs and is not listed, and on one that is listed
and neither missing nor different any more.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_suffix(".toml")


@cache
def reasons(table: str) -> dict[str, str]:
    """Reason by pattern of names, of a table of the file ("missing", "different", "different.int64")."""
    result = tomllib.loads(FILE.read_text(encoding="utf-8"))
    for part in table.split("."):
        result = result.get(part, {})
    return {pattern: reason for pattern, reason in result.items() if isinstance(reason, str)}


def reason_for(name: str, *tables: str) -> str | None:
    """Why a name is left: that of the first pattern that matches the whole of it."""
    for table in tables:
        for pattern, reason in reasons(table).items():
            if re.fullmatch(pattern, name):
                return reason
    return None
