"""A few cases of each part of ``python -m tests.fuzz``, and checks that faults are detected."""

import mmap
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="each case runs in a forked process")
watch = pytest.importorskip("tests.fuzz.watch")  # resource is POSIX's
for module in ("tqdm", "tokenizers", "sacrebleu"):
    pytest.importorskip(module)

from tests.fuzz import files  # noqa: E402
from tests.fuzz.__main__ import main  # noqa: E402


@pytest.mark.parametrize(("part", "cases"), [("bombs", 60), ("files", 12)])
def test_a_few_cases_of_each(part: str, cases: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([part, "--seconds", "5", "--cases", str(cases), "--seed", "0"]) == 0, capsys.readouterr().out
    assert "0 findings" in capsys.readouterr().out


def test_faults_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def fills() -> None:  # new pages, which an array may not get
        np.frombuffer(mmap.mmap(-1, 128 << 20), np.uint8)[::4096] = 1

    def prints() -> None:
        sys.stderr.write("Traceback (most recent call last)")

    monkeypatch.setattr(watch, "MOST_MEMORY", 64 << 20)
    assert watch.watched(lambda: None, ()) == ""
    assert watch.watched(lambda: int("x"), (ValueError,)) == ""
    assert "invalid literal" in watch.watched(lambda: int("x"), (TypeError,))
    assert "Traceback" in watch.watched(prints, ())
    assert "SIGKILL" in watch.watched(lambda: os.kill(os.getpid(), signal.SIGKILL), ())
    assert "MiB" in watch.watched(fills, ())
    assert "it takes" in watch.watched(lambda: sum(range(1_000_000)), (), 0.001)
    assert "MiB" in watch.watched(fills, (), memory=32 << 20)
    monkeypatch.setattr(watch, "LONGEST", 0.2)
    assert "hangs" in watch.watched(lambda: time.sleep(600), ())


def test_a_finding_is_printed_and_sets_the_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    finding = watch.Finding("case 7", "it hangs")
    monkeypatch.setattr("tests.fuzz.files.cases", lambda folder, rng: (finding for _ in range(1)))
    assert main(["files", "--seed", "3"]) == 1
    output = capsys.readouterr().out
    assert "FOUND with --seed 3: case 7\nit hangs" in output and "1 cases" in output
    with pytest.raises(SystemExit):
        main(["nothing"])


def test_the_same_seed_corrupts_in_the_same_way() -> None:
    data = bytes(range(256)) * 4
    spoiled = [[files.spoiled(data, random.Random(seed)) for seed in range(50)] for _ in range(2)]
    assert spoiled[0] == spoiled[1] and len(set(spoiled[0])) > 40


def test_long_errors_and_errors_without_a_name_are_detected(tmp_path: Path) -> None:
    from tests.fuzz.bombs import Case, _read

    def refuses(path: Path, message: str) -> None:
        raise ValueError(message)

    for message, words in (("x" * 10_000, "a message of 10,000 letters"), ("no name", "is not named")):
        with pytest.raises(AssertionError, match=words):
            _read(tmp_path, [Case("", "x", bytes, partial(refuses, message=message))])
    _read(tmp_path, [Case("", "x", bytes, partial(refuses, message=f"{tmp_path / 'x'} is empty"))])
