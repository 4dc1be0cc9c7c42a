"""The command line of the autoencoders."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.autoencoder import cli, learning
from minigrad.training import Outcome


def test_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["digits"], "there is no 'digits'; there are codes, denoising, sentences"),
        (["--updates", "0"], "a whole number from 1 to 1,000,000 is needed, not '0'"),
        (["--updates", "many"], "not 'many'"),
        (["--sentence-updates", "-3"], "not '-3'"),
        (["--seed", "x"], "argument --seed: a whole number from 0 to 9,223,372,036,854,775,807 is needed, not 'x'"),
        (["--seed=-1"], "not '-1'"),
        (["--seed", str(2**63)], "is needed, not '9223372036854775808'"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
    ):
        with pytest.raises(SystemExit) as stopped:
            cli.main(arguments)
        assert stopped.value.code == 2 and message in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.nightly
def test_a_small_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], open_file: Callable[..., Any]) -> None:
    assert cli.main(["codes", "--updates", "300", "--save", str(tmp_path / "pages")]) == 0
    written = capsys.readouterr()
    assert "[ok] held-out digits come back with less error than from two principal components" in written.out
    assert "training digits through two numbers: 37,506 parameters, 300 updates" in written.err
    page = open_file(tmp_path / "pages" / "autoencoder.html", color_scheme="dark")
    page.wait_for_selector(".plane canvas[data-code]")
    assert page.locator(".checked").count() == 2 and page.locator(".pictures canvas").count() == 15
    page.set_viewport_size({"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_seed_gives_the_same_numbers_and_no_extra_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("matplotlib", "tokenizers", "tqdm", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    texts = []
    for seed in ("4", "4", str(2**63 - 1)):
        assert cli.main(["codes", "denoising", "--updates", "1", "--seed", seed]) == 1
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]
    assert "[WRONG]" in texts[0] and "Noise as a teacher" in texts[0]


def test_ctrl_c_ends_the_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(learning.Trainer, "fit", lambda self: Outcome("interrupted", 3, 1.0, None, 0))
    assert cli.main(["codes"]) == 130
    assert not capsys.readouterr().out
