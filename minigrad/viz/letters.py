"""How wide text is, without a font: a table of advances, the same for pictures that Python and that pages draw.

The advances are those of DejaVu Sans and DejaVu Serif, the widest among the fonts that pages ask for: what has room
for these has room for the others.
"""

from __future__ import annotations

import unicodedata
from typing import Literal

Family = Literal["sans", "serif"]
# Of the characters from space to "~", in 1/1000 of the font's size.
_SANS = (
    "318 401 460 838 636 950 780 275 390 390 500 838 318 361 318 337 636 636 636 636 636 636 636 636 636 636 337 337 "
    "838 838 838 531 1000 684 686 698 770 632 575 775 752 295 295 656 557 863 748 787 603 787 695 635 611 732 684 989 "
    "685 611 685 390 337 390 838 500 500 613 635 550 635 615 352 635 634 278 278 579 278 974 634 612 635 635 411 521 "
    "392 634 592 818 592 592 525 636 337 636 838"
)
_SERIF = (
    "318 402 460 838 636 950 890 275 390 390 500 838 318 338 318 337 636 636 636 636 636 636 636 636 636 636 337 337 "
    "838 838 838 536 1000 722 735 765 802 730 694 799 872 395 401 747 664 1024 875 820 673 820 753 685 667 843 722 "
    "1028 712 660 695 390 337 390 838 500 500 596 640 560 640 592 370 640 644 320 310 606 320 948 644 602 640 640 478 "
    "513 402 644 565 856 564 565 527 636 337 636 838"
)
_OTHERS = {"×": 838, "−": 838, "…": 1000, "·": 318, "‖": 500, "∇": 698}


def _table(widths: str) -> dict[str, int]:
    return dict(zip(map(chr, range(32, 127)), map(int, widths.split()), strict=True)) | _OTHERS


_ADVANCES: dict[Family, dict[str, int]] = {"sans": _table(_SANS), "serif": _table(_SERIF)}
_USUAL, _WIDE = 750, 1000  # of other letters; of those of East Asia, and emoji


def width(text: str, size: float, family: Family = "sans", bold: bool = False) -> float:
    """How much room a line of text needs, in the unit of the font's ``size``."""
    thousandths = 0
    known = _ADVANCES[family]
    for letter in text:
        thousandths += known[letter] if letter in known else _other(letter)
    return (1.12 if bold else 1.0) * thousandths * size / 1000


def _other(letter: str) -> int:
    """The advance of a letter that the table does not have, by what kind it is."""
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return _WIDE if unicodedata.east_asian_width(letter) in "WF" else _USUAL
