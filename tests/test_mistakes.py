"""Mistakes that people make: what is said about them is no worse than what PyTorch says.

``mistakes.toml`` has each with the messages of both libraries. "No worse" means: an error of the same type, or of one
derived from it; it names the op, or has PyTorch's words; every number of PyTorch's message stands in it; it is not
longer by more than a line; and its traceback ends at the user's line, or one frame behind it.
"""

import builtins
import pickle
import re
import subprocess
import sys
import tomllib
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import minigrad
from minigrad.tracebacks import get_traceback_filtering, set_traceback_filtering
from tests.support.cases import cases
from tests.support.parity import torch

TABLE = Path(__file__).with_name("mistakes.toml")
HERE, PACKAGE = "<the user's program>", str(Path(minigrad.__file__).parent)
NOTHING = "nothing"


@dataclass(frozen=True)
class Mistake:
    """A row of the table.

    Attributes:
        name: what the mistake is.
        code: a program that makes it, with ``torch``, ``nn``, ``F``, ``data`` and ``FILE``, the path of a new file.
        theirs, ours: "type: message", or "nothing" where the program runs.
        op: what our message names.
        unneeded: numbers of PyTorch's message that ours need not have.
        because: why an exception of another type, or none, is no worse.
    """

    name: str
    code: str
    theirs: str
    ours: str
    op: str = ""
    unneeded: tuple[str, ...] = ()
    because: str = ""


MISTAKES = [Mistake(**row) for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["mistake"]]
TYPES: dict[str, Any] = {**vars(builtins), "UnpicklingError": pickle.UnpicklingError}


def made(mistake: Mistake, library: Any, file: Path) -> tuple[str, Exception | warnings.WarningMessage | None]:
    """What a library says about a mistake, and the error or warning that says it."""
    names = {"torch": library, "nn": library.nn, "F": library.nn.functional, "data": library.utils.data}
    names |= {"FILE": str(file), "__name__": "program", "print": lambda *_: None}
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            exec(compile(mistake.code, HERE, "exec"), names)
        except Exception as error:
            return f"{type(error).__name__}: {error}".rstrip(), error
    return (f"{given[0].category.__name__}: {given[0].message}", given[0]) if given else (NOTHING, None)


def fits(text: str, recorded: str) -> bool:
    """Whether a message is the recorded one, but for what "…" stands for."""
    return re.fullmatch(".*".join(map(re.escape, recorded.split("…"))), text, re.DOTALL) is not None


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


@cases("mistake", MISTAKES)
def test_ours_is_no_worse(mistake: Mistake, tmp_path: Path) -> None:
    before = get_traceback_filtering()
    set_traceback_filtering(True)
    try:
        text, raised = made(mistake, minigrad, tmp_path / "model.pt")
    finally:
        set_traceback_filtering(before)
    assert fits(text, mistake.ours), text
    if isinstance(raised, Exception):
        check_traceback(raised)
    elif raised is not None:
        assert raised.filename == HERE
    (_, _, said), (theirs, _, words) = text.partition(": "), mistake.theirs.partition(": ")
    assert "torch" not in said, "our own name is minigrad"
    if mistake.because:
        return
    kind = type(raised) if isinstance(raised, Exception) else raised.category  # type: ignore[union-attr]
    assert issubclass(kind, TYPES[theirs])
    assert mistake.op in said if mistake.op else words.rstrip(" .…").lower() in said.lower()
    assert numbers(words) - numbers(said) <= set(mistake.unneeded)
    assert said.count("\n") <= words.count("\n") + 1


def check_traceback(error: Exception) -> None:
    """The library's frames are left out, of chained errors, too; one may stay, after the user's line."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # after ours
    inside = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    assert frames[0].filename == HERE
    assert len(inside) <= 1, inside
    assert error.__cause__ is None and (error.__context__ is None or error.__suppress_context__)


@cases("mistake", MISTAKES)
def test_theirs_is_still_so(mistake: Mistake, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
    if not torch.__version__.startswith("2.13."):
        pytest.skip("the table has the messages of PyTorch 2.13")
    text = made(mistake, torch, tmp_path / "model.pt")[0]
    assert fits(re.sub(r"\x1b\[\dm", "", text), mistake.theirs), text


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, "docs/generate_mistakes.py", "--check"]
    subprocess.run(command, check=True, cwd=TABLE.parent.parent)
