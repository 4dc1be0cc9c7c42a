"""Fonts for what matplotlib draws: those that have the letters which its own font lacks."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from typing import Any

# Tried before all other fonts, in this order: plain ones, and those that have many scripts.
OTHER_SCRIPTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "PingFang SC", "Microsoft YaHei", "Malgun Gothic"),
    *("Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Arial Unicode MS", "Unifont"),
)
NO_LETTERS = ("Last Resort", ".LastResort")  # fonts that have a box for everything


def installed(library: Any, letters: str, first: Iterable[str] = ("DejaVu Sans",)) -> list[str]:
    """The installed fonts in which to look for letters, in order.

    Args:
        library: matplotlib, with its font_manager.
        letters: what is to be drawn. Fonts are added until each letter is in one, or there are no more.
        first: fonts to take in any case, as far as they are installed.
    """
    manager = library.font_manager
    files = {font.name: font.fname for font in sorted(manager.fontManager.ttflist, key=_plain)}
    fonts = [name for name in first if name in files] or ["DejaVu Sans"]
    missing = {ord(c) for c in letters if unicodedata.category(c)[0] not in "CZ"}  # spaces, and what joins
    missing.difference_update(*(_code_points(manager, files[name]) for name in fonts))
    for name in (*(other for other in OTHER_SCRIPTS if other in files), *sorted(files)):
        if not missing:
            break
        if not name.startswith(NO_LETTERS) and (new := missing & _code_points(manager, files[name])):
            fonts.append(name)
            missing -= new
    return fonts


def _plain(font: Any) -> tuple[bool, ...]:
    """Sorts the faces of a font: the one that is neither slanted, bold nor narrow comes last."""
    return font.style == "normal", font.weight == 400, font.stretch == "normal"


def _code_points(manager: Any, file: str) -> set[int]:
    try:
        return set(manager.get_font(file).get_charmap())
    except (OSError, RuntimeError):  # a damaged file
        return set()


def tell_missing(caught: list[warnings.WarningMessage]) -> None:
    """One warning about all letters without a font, in place of matplotlib's for each; others are repeated."""
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
