"""Numeric options, and devices."""

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from minigrad_models.commands import minigrad_command
from minigrad_models.programs.options import device, positive, whole
from tests.support.cases import raises


def test_whole_numbers() -> None:
    within = {"0": 0, "-3": -3, "007": 7, "12": 12}
    assert {text: whole(-3, 12)(text) for text in within} == within
    for text in ("-4", "13", "", "1.5", "1e3", "١٢", "²", "9" * 5000, "--1", "1_0", " 1"):
        with pytest.raises(ArgumentTypeError, match=r"expected a whole number from -3 to 12, not '"):
            whole(-3, 12)(text)
    assert whole()("123456789012") == 123_456_789_012
    raises(ArgumentTypeError, "expected a whole number of at least 1, not '0'", lambda: whole()("0"))


def test_positive_numbers() -> None:
    assert [positive()("1e-3"), positive(0)("0"), positive(2)("2.5")] == [0.001, 0.0, 2.5]
    for text in ("0", "-1", "nan", "inf", "1,5", ""):
        with pytest.raises(ArgumentTypeError, match="expected a number above 0, not '"):
            positive()(text)
    raises(ArgumentTypeError, "expected a number of at least 2, not '1'", lambda: positive(2)("1"))


def test_a_device_is_checked_before_anything_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert device("cpu") == "cpu"
    raises(ArgumentTypeError, "'tpu' is not a device", lambda: device("tpu"))
    command = ["train", "--data", str(tmp_path / "nothing.tsv"), "--run", str(tmp_path / "run")]
    assert minigrad_command.main([*command, "--device", "tpu"]) == 1
    assert "'tpu' is not a device" in capsys.readouterr().err and not list(tmp_path.iterdir())
