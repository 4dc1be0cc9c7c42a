"""Common mistakes: minigrad's error messages are no worse than PyTorch's.

``mistakes.toml`` lists each with the messages of both libraries. "No worse" means: the error has the same type or a
subclass of it; it names the op or uses PyTorch's words; it contains every number of PyTorch's message; it is at most
one line longer; and its traceback ends at the user's line, or one frame further in.
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
from minigrad.autograd.tracebacks import get_traceback_filtering, set_traceback_filtering
from tests.support.cases import cases
from tests.support.parity import torch

TABLE = Path(__file__).with_name("mistakes.toml")
HERE, PACKAGE = "<the user's program>", str(Path(minigrad.__file__).parent)
NOTHING = "nothing"


@dataclass(frozen=True)
class Mistake:
    """A row of the table.

    Attributes:
        name: a short description of the mistake.
        code: a program that makes it, with ``torch``, ``nn``, ``F``, ``data`` and ``FILE``, the path of a new file.
        theirs, ours: "type: message", or "nothing" where the program runs.
        op: the op that our message names.
        unneeded: numbers of PyTorch's message that ours may omit.
        because: the reason why another type of exception, or none, is no worse.
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


def message_of(mistake: Mistake, library: Any, file: Path) -> tuple[str, Exception | warnings.WarningMessage | None]:
    """A library's message about a mistake, and the error or warning itself."""
    names = {"torch": library, "nn": library.nn, "F": library.nn.functional, "data": library.utils.data}
    names |= {"FILE": str(file), "__name__": "program", "print": lambda *_: None}
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        try:
            exec(compile(mistake.code, HERE, "exec"), names)
        except Exception as error:
            return f"{type(error).__name__}: {error}".rstrip(), error
    return (f"{messages[0].category.__name__}: {messages[0].message}", messages[0]) if messages else (NOTHING, None)


def fits(text: str, recorded: str) -> bool:
    """Whether a message is the recorded one, in which "…" stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, recorded.split("…"))), text, re.DOTALL) is not None


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", text))


@cases("mistake", MISTAKES)
def test_ours_is_no_worse(mistake: Mistake, tmp_path: Path) -> None:
    before = get_traceback_filtering()
    set_traceback_filtering(True)
    try:
        text, raised = message_of(mistake, minigrad, tmp_path / "model.pt")
    finally:
        set_traceback_filtering(before)
    assert fits(text, mistake.ours), text
    if isinstance(raised, Exception):
        check_traceback(raised)
    elif raised is not None:
        assert raised.filename == HERE
    (_, _, ours), (theirs, _, words) = text.partition(": "), mistake.theirs.partition(": ")
    assert "torch" not in ours, "our own name is minigrad"
    if mistake.because:
        return
    kind = type(raised) if isinstance(raised, Exception) else raised.category  # type: ignore[union-attr]
    assert issubclass(kind, TYPES[theirs])
    assert mistake.op in ours if mistake.op else words.rstrip(" .…").lower() in ours.lower()
    assert numbers(words) - numbers(ours) <= set(mistake.unneeded)
    assert ours.count("\n") <= words.count("\n") + 1


def check_traceback(error: Exception) -> None:
    """Tracebacks, also of chained errors, omit the library's frames, except one after the user's line."""
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
    text = message_of(mistake, torch, tmp_path / "model.pt")[0]
    assert fits(re.sub(r"\x1b\[\dm", "", text), mistake.theirs), text


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, "docs/generate_mistakes.py", "--check"]
    subprocess.run(command, check=True, cwd=TABLE.parent.parent)
