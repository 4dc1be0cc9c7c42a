"""Where letters are looked for that a font lacks, with stand-ins for matplotlib's list of fonts."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from minigrad.viz.attention.raster import installed, tell_missing

LETTERS = {
    "DejaVu Sans": "abcשל",
    "DejaVu Sans bold": "abc",
    "Noto Sans CJK SC": "abc猫",
    "Arimo": "abcש",
    "Zilla": "नम",
    "Last Resort High-Efficiency": "abcשל猫नम🙂",
}


def library(*names: str) -> Any:
    """As much of matplotlib as is asked for; a font's file is named like it."""

    def font(file: str) -> Any:
        if file not in LETTERS:
            raise RuntimeError("In FT2Font: can not load face")
        return SimpleNamespace(get_charmap=lambda: dict.fromkeys(map(ord, LETTERS[file]), 1))

    def entry(file: str) -> Any:
        weight = 700 if file.endswith("bold") else 400
        name = file.removesuffix(" bold")
        return SimpleNamespace(name=name, fname=file, style="normal", weight=weight, stretch="normal")

    manager = SimpleNamespace(ttflist=list(map(entry, names)))
    return SimpleNamespace(font_manager=SimpleNamespace(fontManager=manager, get_font=font))


ALL = (
    "Zilla",
    "DejaVu Sans",
    "DejaVu Sans bold",
    "Damaged",
    "Noto Sans CJK SC",
    "Arimo",
    "Last Resort High-Efficiency",
)


@pytest.mark.parametrize(
    ("letters", "found"),
    [
        ("abc", ["DejaVu Sans"]),
        ("", ["DejaVu Sans"]),
        ("a\u200d \x00\n", ["DejaVu Sans"]),
        ("של", ["DejaVu Sans"]),  # which the bold face lacks
        ("猫a", ["DejaVu Sans", "Noto Sans CJK SC"]),
        ("न猫", ["DejaVu Sans", "Noto Sans CJK SC", "Zilla"]),
        ("🙂", ["DejaVu Sans"]),  # the last resort has only boxes: a warning says more
    ],
)
def test_fonts_are_added_for_letters_that_are_missing(letters: str, found: list[str]) -> None:
    assert installed(library(*ALL), letters) == found


def test_fonts_that_come_first_and_are_not_there() -> None:
    assert installed(library(*ALL), "ש", ("Helvetica", "Arimo", "Zilla")) == ["Arimo", "Zilla"]
    assert installed(library(*ALL), "abc", ("Helvetica",)) == ["DejaVu Sans"]


def test_one_warning_for_all_letters_without_a_font() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for letter in ("猫", "न", "न"):
            warnings.warn(f"Glyph {ord(letter)} missing from font(s) DejaVu Sans.", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tell_missing(caught)
        tell_missing([])
    first, second = (str(w.message) for w in told)
    assert first == "something else" and second.startswith("no font is known here for 2 of the letters")
