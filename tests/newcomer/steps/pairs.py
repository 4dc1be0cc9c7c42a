"""A person's own pairs: numbers as digits and as words."""

from __future__ import annotations

from pathlib import Path

ONES = (  # noqa: SIM905 (words, to be read)
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905


def in_words(number: int) -> str:
    """A number below a thousand: "two hundred twenty one"."""
    if number >= 100:
        return f"{ONES[number // 100]} hundred" + (f" {in_words(number % 100)}" if number % 100 else "")
    if number < 20:
        return ONES[number]
    return TENS[number // 10 - 2] + (f" {ONES[number % 10]}" if number % 10 else "")


def write_pairs() -> None:
    """numbers.tsv, of 300 pairs."""
    lines = (f"{number}\t{in_words(number)}\n" for number in range(0, 900, 3))
    Path("numbers.tsv").write_text("".join(lines), encoding="utf-8")
