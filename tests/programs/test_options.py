"""Options that are numbers."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from minigrad.programs.options import positive, whole


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("-3", -3), ("007", 7), ("12", 12)])
def test_numbers_within_the_limits(text: str, value: int) -> None:
    assert whole(-3, 12)(text) == value


@pytest.mark.parametrize("text", ["-4", "13", "", "1.5", "1e3", "١٢", "²", "9" * 5000, "--1", "1_0", " 1"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"a whole number from -3 to 12 is needed, not '"):
        whole(-3, 12)(text)


def test_without_an_upper_limit() -> None:
    assert whole()("123456789012") == 123_456_789_012
    with pytest.raises(ArgumentTypeError, match="a whole number from 1 on is needed, not '0'"):
        whole()("0")


def test_positive_numbers() -> None:
    assert [positive()("1e-3"), positive(0)("0"), positive(2)("2.5")] == [0.001, 0.0, 2.5]
    for text in ("0", "-1", "nan", "inf", "1,5", ""):
        with pytest.raises(ArgumentTypeError, match="a number above 0 is needed, not '"):
            positive()(text)
    with pytest.raises(ArgumentTypeError, match="a number from 2 on is needed, not '1'"):
        positive(2)("1")
