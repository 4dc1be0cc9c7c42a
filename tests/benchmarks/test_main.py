"""The command: its options, its output, and that the other parts run when one fails."""

import importlib
from typing import Any

import pytest

from benchmarks.process import Differ
from benchmarks.table import Table

main: Any = importlib.import_module("benchmarks.__main__")


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    def works(options: Any) -> Table:
        table = Table("Works", ("what", "ms"), ("", ".1f"))
        table.add("one", 1.0)
        return table

    def fails(options: Any) -> Table:
        raise Differ("the losses differ")

    monkeypatch.setattr(main, "PARTS", {"fails": fails, "works": works})


def test_a_part_that_fails_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([]) == 1
    printed = capsys.readouterr()
    assert "numpy" in printed.out.splitlines()[0]
    assert "| one  | 1.0 |" in printed.out
    assert "fails: the losses differ" in printed.err


def test_bad_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--only", "nothing"], "unknown part 'nothing'"),
        (["--work", "nothing"], "invalid choice: 'nothing'"),
        (["--rounds", "0"], "greater than 0"),
        (["--seconds", "nan"], "greater than 0"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main.main(arguments)
        assert stopped.value.code == 2
        assert message in capsys.readouterr().err
