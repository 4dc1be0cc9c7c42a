"""Fonts for what matplotlib draws: where letters are looked for that its own font lacks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

OTHER_SCRIPTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "PingFang SC",
                 "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS", "Noto Sans Devanagari",
                 "Noto Sans Thai", "Unifont", "Noto Emoji")  # fmt: skip


def installed(library: Any, first: Iterable[str] = ("DejaVu Sans",)) -> list[str]:
    """The fonts that letters are looked for in, one after another.

    Args:
        library: matplotlib, with its font_manager. first: those to be tried before any other.
    """
    there = set(library.font_manager.get_font_names())
    return [name for name in (*first, *OTHER_SCRIPTS) if name in there] or ["DejaVu Sans"]


def tell_missing(caught: list[warnings.WarningMessage]) -> None:
    """One warning about letters without a font, in the place of one or more for each.

    Args:
        caught: what was warned of while the picture was drawn; all else is warned of again, as it was.
    """
    missing = {str(w.message) for w in caught if "missing from" in str(w.message)}
    for other in caught:
        if str(other.message) not in missing:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if missing:
        warnings.warn(
            f"no font is known here for {len(missing)} of the letters, which become boxes; the Noto fonts "
            f"have all scripts, and an SVG file takes the fonts of whoever opens it",
            stacklevel=4,
        )
