"""Fonts for what matplotlib draws: where letters are looked for that its own font lacks."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from typing import Any

# Tried before all other fonts, in this order: plain ones, and those that have many scripts.
OTHER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Emoji",
    "Arial Unicode MS",
    "Unifont",
)
NO_LETTERS = ("Last Resort", ".LastResort")  # fonts that have a box for everything


def installed(library: Any, letters: str, first: Iterable[str] = ("DejaVu Sans",)) -> list[str]:
    """The fonts in which letters are looked for, one after another.

    Args:
        library: matplotlib, with its font_manager.
        letters: what is to be drawn. Fonts are added until each letter is in one, or there are no more.
        first: fonts to be taken in any case, as far as they are there.
    """
    manager = library.font_manager
    files = {font.name: font.fname for font in sorted(manager.fontManager.ttflist, key=_plain)}
    found = [name for name in first if name in files] or ["DejaVu Sans"]
    missing = {ord(c) for c in letters if unicodedata.category(c)[0] not in "CZ"}  # spaces, and what joins
    missing.difference_update(*(_known(manager, files[name]) for name in found))
    for name in (*(other for other in OTHER_SCRIPTS if other in files), *sorted(files)):
        if not missing:
            break
        known = set() if name.startswith(NO_LETTERS) else missing & _known(manager, files[name])
        if known:
            found.append(name)
            missing -= known
    return found


def _plain(font: Any) -> tuple[bool, ...]:
    """What sorts the faces of a font: the one that is neither slanted, bold nor narrow comes last."""
    return font.style == "normal", font.weight == 400, font.stretch == "normal"


def _known(manager: Any, file: str) -> set[int]:
    """The code points that a font has; none where its file cannot be read."""
    try:
        return set(manager.get_font(file).get_charmap())
    except (OSError, RuntimeError):
        return set()


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
